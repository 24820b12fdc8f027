/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_hspp`, `ss_hspatch`: the kernel's CUBIC with HyStart++ (core/hystart_pp.h) instead of
 * HyStart, in the form of RFC 9406 or of the patch for Linux of 2025. SS_PATCH and SS_NAME come
 * from the Makefile. The constants are in `hspp_config`, which a loader may change before it loads.
 */
#include "common.bpf.h"
#include "core/hystart_pp.h"

#define SS_STATE struct ss_hspp

const volatile struct ss_hspp_config hspp_config SEC(".rodata.config") = SS_HSPP_DEFAULTS(SS_PATCH);

static __always_inline struct ss_hspp_config ss_config(void)
{
	struct ss_hspp_config config = {
		.min_rtt_thresh = hspp_config.min_rtt_thresh,
		.max_rtt_thresh = hspp_config.max_rtt_thresh,
		.min_rtt_divisor = hspp_config.min_rtt_divisor,
		.n_rtt_sample = hspp_config.n_rtt_sample,
		.css_growth_divisor = hspp_config.css_growth_divisor,
		.css_rounds = hspp_config.css_rounds,
		.limit = hspp_config.limit,
		.patch = hspp_config.patch,
	};

	return config;
}

static __always_inline void ss_started(struct ss_hspp *s, struct sock *sk)
{
}

static __always_inline void ss_congested(struct ss_hspp *s, struct sock *sk)
{
	ss_hspp_on_congestion(s);
}

static __always_inline void ss_restarted(struct ss_hspp *s, struct sock *sk)
{
	ss_hspp_restart(s);
}

static __always_inline enum ss_step ss_delivered(struct ss_hspp *s, const struct ss_ack *a,
						 struct ss_window *w)
{
	struct ss_hspp_config config = ss_config();

	return ss_hspp_on_delivery(s, &config, a, w);
}

static __always_inline __u32 ss_grow(struct ss_hspp *s, struct sock *sk, struct ss_flow *flow,
				     __u32 acked)
{
	struct ss_hspp_config config = ss_config();
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = { tp->snd_cwnd, tp->snd_ssthresh };
	struct ss_ack a = {};

	if (!ss_hspp_active(s, &w))
		return 0;
	if (!ss_window_limited(tp))
		return 1;
	a.delivered = acked;
	a.paced = sk->sk_pacing_status != 0;
	if (ss_hspp_on_ack(s, &config, &a, &w) == SS_GROW)
		ss_set_window(tp, tp->snd_cwnd + w.cwnd);
	return 1;
}

static __always_inline void ss_event(struct ss_hspp *s, struct sock *sk, struct ss_flow *flow,
				     enum tcp_ca_event event)
{
}

static __always_inline void ss_evidence(const struct ss_hspp *s, struct ss_exit *record)
{
	record->bin = s->rounds;
}

#include "control.bpf.h"
