/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_hspp`: the kernel's CUBIC whose slow start is ended by HyStart++ (RFC 9406,
 * core/hystart_pp.h) instead of HyStart. The constants are in `hspp_config`, which a loader may
 * change before it loads.
 */
#include "common.bpf.h"
#include "core/hystart_pp.h"

const volatile struct ss_hspp_config hspp_config SEC(".rodata.config") = SS_HSPP_DEFAULTS;

struct ss_socket {
	struct ss_flow flow;
	struct ss_hspp hspp;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ss_socket);
} ss_sockets SEC(".maps");

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
	struct ss_socket *s = bpf_sk_storage_get(&ss_sockets, sk, 0, 0);

	if (s)
		ss_hspp_on_congestion(&s->hspp);
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(op_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct ss_socket *s = bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
	struct ss_hspp_config config = ss_config();
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = { tp->snd_cwnd, tp->snd_ssthresh };
	struct ss_ack a = {};

	if (s && ss_in_slow_start(tp) && ss_hspp_active(&s->hspp, &w)) {
		if (!ss_window_limited(tp))
			return;
		a.delivered = acked;
		a.paced = sk->sk_pacing_status != 0;
		if (ss_hspp_on_ack(&s->hspp, &config, &a, &w) == SS_GROW)
			ss_set_window(tp, tp->snd_cwnd + w.cwnd);
		return;
	}
	cubictcp_cong_avoid(sk, ack, acked);
	if (s)
		ss_note_epoch(&s->flow, sk);
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
		ss_hspp_restart(&s->hspp);
		ss_note_epoch(&s->flow, sk);
	}
}

SEC("struct_ops")
void BPF_PROG(op_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(op_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ss_socket *s = bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
	struct ss_hspp_config config = ss_config();
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = { tp->snd_cwnd, tp->snd_ssthresh };
	struct ss_ack a = {};

	cubictcp_acked(sk, sample);
	if (!s)
		return;
	ss_read_ack(&a, &s->flow, sk, sample->rtt_us);
	if (ss_in_slow_start(tp) && a.delivered &&
	    ss_hspp_on_delivery(&s->hspp, &config, &a, &w) == SS_EXIT)
		ss_set_threshold(tp, w.ssthresh);
	ss_note_ack(&s->flow, &a, sk);
}

SEC("struct_ops")
__u32 BPF_PROG(op_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ss_hspp = {
	.init = (void *)op_init,
	.ssthresh = (void *)op_ssthresh,
	.cong_avoid = (void *)op_cong_avoid,
	.set_state = (void *)op_state,
	.cwnd_event = (void *)op_event,
	.pkts_acked = (void *)op_acked,
	.undo_cwnd = (void *)op_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ss_hspp",
};

char _license[] SEC("license") = "Dual MIT/GPL";
