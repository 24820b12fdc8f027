/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_search`, `ss_search31`, `ss_search40`: the kernel's CUBIC whose slow start is ended by
 * SEARCH 2.0, 3.1 or 4.0 (core/search.h) instead of HyStart. SS_VERSION and SS_NAME come from the
 * Makefile; the other options are in `search_config`, which a loader may change before it loads.
 *
 * Linux calls `pkts_acked` before the window grows and before anything is sent, as the core
 * wants. The rate sample is not known there, so whether the application limits the sender is
 * asked of the connection. A pause is measured from the last ACK less its round-trip time,
 * because the time of the last send is kept in ticks of unknown length.
 */
#include "common.bpf.h"
#include "core/search.h"

#ifndef SS_VERSION
#define SS_VERSION SS_SEARCH_20
#define SS_NAME ss_search
#endif

const volatile struct ss_search_config search_config SEC(".rodata.config") = {
	.version = SS_VERSION,
	.exit = SS_VERSION == SS_SEARCH_40 ? SS_EXIT_DRAIN : SS_EXIT_PLAIN,
	.threshold = SS_VERSION == SS_SEARCH_40 ? 260 : 350,
	.alpha = 0,
};

struct ss_socket {
	struct ss_flow flow;
	struct ss_search search;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ss_socket);
} ss_sockets SEC(".maps");

static __always_inline struct ss_search_config ss_config(void)
{
	struct ss_search_config config = {
		.version = search_config.version,
		.exit = search_config.exit,
		.threshold = search_config.threshold,
		.alpha = search_config.alpha,
	};

	return config;
}

SEC("struct_ops")
void BPF_PROG(op_init, struct sock *sk)
{
	struct ss_socket *s;

	cubictcp_init(sk);
	ss_hystart_off(sk);
	bpf_sk_storage_delete(&ss_sockets, sk);
	s = bpf_sk_storage_get(&ss_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (s)
		s->flow.delivered = ss_tcp(sk)->delivered;
}

SEC("struct_ops")
__u32 BPF_PROG(op_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(op_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct ss_socket *s = bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = {};
	struct ss_ack a = {};

	if (!s || !s->search.draining || !ss_in_slow_start(tp)) {
		cubictcp_cong_avoid(sk, ack, acked);
		if (s)
			ss_note_epoch(&s->flow, sk);
		return;
	}
	if (!ss_window_limited(tp))
		return;
	ss_read_ack(&a, &s->flow, sk, -1);
	switch (ss_search_on_ack(&s->search, &a, &w)) {
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
}

SEC("struct_ops")
void BPF_PROG(op_state, struct sock *sk, __u8 new_state)
{
	struct ss_socket *s;

	cubictcp_state(sk, new_state);
	if (new_state != SS_CA_LOSS)
		return;
	ss_hystart_off(sk);
	s = bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
	if (s) {
		ss_search_restart(&s->search);
		ss_note_epoch(&s->flow, sk);
	}
}

SEC("struct_ops")
void BPF_PROG(op_event, struct sock *sk, enum tcp_ca_event event)
{
	struct ss_socket *s = bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
	__u64 now;

	cubictcp_cwnd_event(sk, event);
	if (!s)
		return;
	if (event == CA_EVENT_CWND_RESTART) {
		ss_search_restart(&s->search);
	} else if (event == CA_EVENT_TX_START && s->flow.last_ack > s->flow.last_rtt) {
		now = bpf_ktime_get_ns();
		ss_search_on_resume(&s->search, now, s->flow.last_ack - s->flow.last_rtt);
	}
}

SEC("struct_ops")
void BPF_PROG(op_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ss_socket *s = bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
	struct ss_search_config config = ss_config();
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = { tp->snd_cwnd, tp->snd_ssthresh };
	struct ss_ack a = {};

	cubictcp_acked(sk, sample);
	if (!s)
		return;
	ss_read_ack(&a, &s->flow, sk, sample->rtt_us);
	if (ss_in_slow_start(tp) && a.delivered &&
	    ss_search_on_delivery(&s->search, &config, &a, &w) == SS_EXIT) {
		ss_set_window(tp, w.cwnd);
		ss_set_threshold(tp, w.ssthresh);
	}
	ss_note_ack(&s->flow, &a, sk);
}

SEC("struct_ops")
__u32 BPF_PROG(op_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops SS_NAME = {
	.init = (void *)op_init,
	.ssthresh = (void *)op_ssthresh,
	.cong_avoid = (void *)op_cong_avoid,
	.set_state = (void *)op_state,
	.cwnd_event = (void *)op_event,
	.pkts_acked = (void *)op_acked,
	.undo_cwnd = (void *)op_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = SS_STRING(SS_NAME),
};

char _license[] SEC("license") = "Dual MIT/GPL";
