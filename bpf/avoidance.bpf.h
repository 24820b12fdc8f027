/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A congestion control with its own congestion avoidance: standard slow start as in Linux, and the
 * hooks of the avoidance. A program defines SS_NAME and, before it includes this file last,
 *
 *   SS_STATE                                the state of a socket, a type that begins as zeros
 *   ss_started(own, sk)                     the connection begins
 *   ss_delivered(own, ack, acked, state)    an ACK, before anything grows: segments acknowledged
 *                                           cumulatively, and the state of the sender
 *   ss_growth(own, now, cwnd, acked)        the growth by what is left of an ACK above the threshold
 *   ss_threshold(own, cwnd)                 a congestion episode begins
 *   ss_event(own, sk, event)                any other event
 *   ss_forgotten(own)                       after a timeout
 */
#ifndef SLOWSTART_AVOIDANCE_BPF_H
#define SLOWSTART_AVOIDANCE_BPF_H

#include "common.bpf.h"

struct ss_socket {
	struct ss_flow flow;
	SS_STATE own;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ss_socket);
} ss_sockets SEC(".maps");

static __always_inline struct ss_socket *ss_socket_of(struct sock *sk)
{
	return bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(op_init, struct sock *sk)
{
	struct ss_socket *s;

	bpf_sk_storage_delete(&ss_sockets, sk);
	s = bpf_sk_storage_get(&ss_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (s) {
		s->flow.delivered = ss_tcp(sk)->delivered;
		s->flow.acked = ss_tcp(sk)->bytes_acked;
		ss_started(&s->own, sk);
	}
}

SEC("struct_ops")
__u32 BPF_PROG(op_ssthresh, struct sock *sk)
{
	struct ss_socket *s = ss_socket_of(sk);
	__u32 cwnd = ss_tcp(sk)->snd_cwnd;

	if (s)
		return ss_threshold(&s->own, cwnd);
	return cwnd / 2 > 2 ? cwnd / 2 : 2;
}

SEC("struct_ops")
void BPF_PROG(op_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct ss_socket *s = ss_socket_of(sk);
	struct tcp_sock *tp = ss_tcp(sk);
	__u32 cwnd = tp->snd_cwnd, gap;

	if (!ss_window_limited(tp))
		return;
	if (ss_in_slow_start(tp)) {
		gap = tp->snd_ssthresh - cwnd;
		if (acked <= gap) {
			ss_set_window(tp, cwnd + acked);
			return;
		}
		cwnd += gap;
		acked -= gap;
		ss_set_window(tp, cwnd);
	}
	if (s)
		ss_set_window(tp, cwnd + ss_growth(&s->own, ss_now(tp), cwnd, acked));
}

SEC("struct_ops")
void BPF_PROG(op_state, struct sock *sk, __u8 new_state)
{
	struct ss_socket *s = ss_socket_of(sk);

	if (s && new_state == SS_CA_LOSS)
		ss_forgotten(&s->own);
}

SEC("struct_ops")
void BPF_PROG(op_event, struct sock *sk, enum tcp_ca_event event)
{
	struct ss_socket *s = ss_socket_of(sk);

	if (s)
		ss_event(&s->own, sk, event);
}

SEC("struct_ops")
void BPF_PROG(op_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ss_socket *s = ss_socket_of(sk);
	struct ss_ack a = {};

	if (!s)
		return;
	ss_read_ack(&a, &s->flow, sk, sample->rtt_us);
	if (a.delivered)
		ss_delivered(&s->own, &a, sample->pkts_acked, ss_ca_state(ss_tcp(sk)));
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

#endif
