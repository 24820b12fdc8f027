/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_search`, `ss_search31`, `ss_search40`: the kernel's CUBIC with SEARCH 2.0, 3.1 or 4.0
 * (core/search.h) instead of HyStart. SS_VERSION and SS_NAME come from the Makefile; the other
 * options are in `search_config`, which a loader may change before it loads.
 *
 * Linux calls `pkts_acked` before the window grows and before anything is sent, as the core
 * requires. The rate sample is not known there, so the connection's own state shows whether the
 * application limits the sender. A pause is measured from the last ACK less its round-trip time,
 * because the time of the last send is kept in ticks of unknown length.
 */
#include "common.bpf.h"
#include "core/search.h"

#define SS_STATE struct ss_search

const volatile struct ss_search_config search_config SEC(".rodata.config") = {
	.version = SS_VERSION,
	.exit = SS_VERSION == SS_SEARCH_40 ? SS_EXIT_DRAIN : SS_EXIT_PLAIN,
	.threshold = SS_VERSION == SS_SEARCH_40 ? 260 : 350,
	.alpha = 0,
	.passive = 0,
};

static __always_inline void ss_started(struct ss_search *s, struct sock *sk)
{
}

static __always_inline void ss_congested(struct ss_search *s, struct sock *sk)
{
}

static __always_inline void ss_restarted(struct ss_search *s, struct sock *sk)
{
	ss_search_restart(s);
}

static __always_inline enum ss_step ss_delivered(struct ss_search *s, const struct ss_ack *a,
						 struct ss_window *w)
{
	struct ss_search_config config = {
		.version = search_config.version,
		.exit = search_config.exit,
		.threshold = search_config.threshold,
		.alpha = search_config.alpha,
		.passive = search_config.passive,
	};

	return ss_search_on_delivery(s, &config, a, w);
}

static __always_inline __u32 ss_grow(struct ss_search *s, struct sock *sk, struct ss_flow *flow,
				     __u32 acked)
{
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = {};
	struct ss_ack a = {};

	if (!s->draining)
		return 0;
	if (!ss_window_limited(tp))
		return 1;
	ss_read_ack(&a, flow, sk, -1);
	switch (ss_search_on_ack(s, &a, &w)) {
	case SS_SET:
		ss_set_window(tp, w.cwnd);
		break;
	case SS_EXIT:
		ss_set_window(tp, w.cwnd);
		ss_set_threshold(tp, w.ssthresh);
		break;
	default:
		break;
	}
	return 1;
}

static __always_inline void ss_event(struct ss_search *s, struct sock *sk, struct ss_flow *flow,
				     enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART)
		ss_search_restart(s);
	else if (event == CA_EVENT_TX_START && flow->last_ack > flow->last_rtt)
		ss_search_on_resume(s, bpf_ktime_get_ns(), flow->last_ack - flow->last_rtt);
}

static __always_inline void ss_evidence(const struct ss_search *s, struct ss_exit *record)
{
	record->bin = s->index;
	record->norm = s->norm;
}

#include "control.bpf.h"
