/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The congestion control itself: the kernel's CUBIC, and the hooks of a start-up. A program defines
 * SS_NAME and includes this file last. One with its own start-up defines before it:
 *
 *   SS_STATE                              the state of a socket, a type that begins as zeros
 *   ss_started(own, sk)                   the connection begins
 *   ss_congested(own, sk)                 a congestion episode begins
 *   ss_restarted(own, sk)                 slow start begins again after a timeout
 *   ss_delivered(own, ack, window)        an ACK in slow start, before the window grows
 *   ss_grow(own, sk, flow, acked)         growth by an ACK; 0 leaves it to CUBIC
 *   ss_event(own, sk, flow, event)        any other event
 *   ss_evidence(own, exit)                the evidence for an exit
 *
 * and, where SS_SENDING is defined,
 *
 *   ss_sending(own, sk)                   data may leave; returns the fewest segments of a burst
 */
#ifndef SLOWSTART_CONTROL_BPF_H
#define SLOWSTART_CONTROL_BPF_H

#include "common.bpf.h"

#ifdef SS_STATE

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

/* Records of the ends of slow starts. If no program reads them, the first ones stay. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} ss_exits SEC(".maps");

static __always_inline struct ss_socket *ss_socket_of(struct sock *sk)
{
	return bpf_sk_storage_get(&ss_sockets, sk, 0, 0);
}

static __always_inline void ss_tell_exit(struct ss_socket *s, struct sock *sk,
					 const struct ss_ack *a, __u32 cwnd)
{
	struct ss_exit *record = bpf_ringbuf_reserve(&ss_exits, sizeof(*record), 0);

	if (!record)
		return;
	record->now = a->now;
	record->bin = 0;
	record->why = SS_WHY_OWN;
	record->norm = 0;
	record->source = sk->__sk_common.skc_rcv_saddr;
	record->cwnd = cwnd;
	ss_evidence(&s->own, record);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

#endif

SEC("struct_ops")
void BPF_PROG(op_init, struct sock *sk)
{
	cubictcp_init(sk);
	ss_hystart_off(sk);
#ifdef SS_STATE
	struct ss_socket *s;

	bpf_sk_storage_delete(&ss_sockets, sk);
	s = bpf_sk_storage_get(&ss_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (s) {
		s->flow.delivered = ss_tcp(sk)->delivered;
		s->flow.acked = ss_tcp(sk)->bytes_acked;
		ss_started(&s->own, sk);
	}
#endif
}

SEC("struct_ops")
__u32 BPF_PROG(op_ssthresh, struct sock *sk)
{
#ifdef SS_STATE
	struct ss_socket *s = ss_socket_of(sk);

	if (s)
		ss_congested(&s->own, sk);
#endif
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(op_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
#ifdef SS_STATE
	struct ss_socket *s = ss_socket_of(sk);

	if (s && ss_in_slow_start(ss_tcp(sk)) && ss_grow(&s->own, sk, &s->flow, acked))
		return;
	cubictcp_cong_avoid(sk, ack, acked);
	if (s)
		ss_note_epoch(&s->flow, sk);
#else
	cubictcp_cong_avoid(sk, ack, acked);
#endif
}

SEC("struct_ops")
void BPF_PROG(op_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
	if (new_state != SS_CA_LOSS)
		return;
	ss_hystart_off(sk);
#ifdef SS_STATE
	struct ss_socket *s = ss_socket_of(sk);

	if (s) {
		ss_restarted(&s->own, sk);
		ss_note_epoch(&s->flow, sk);
	}
#endif
}

SEC("struct_ops")
void BPF_PROG(op_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
#ifdef SS_STATE
	struct ss_socket *s = ss_socket_of(sk);

	if (s)
		ss_event(&s->own, sk, &s->flow, event);
#endif
}

SEC("struct_ops")
void BPF_PROG(op_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
#ifdef SS_STATE
	struct ss_socket *s = ss_socket_of(sk);
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = { tp->snd_cwnd, tp->snd_ssthresh };
	struct ss_ack a = {};
	enum ss_step step;

	if (!s)
		return;
	ss_read_ack(&a, &s->flow, sk, sample->rtt_us);
	if (ss_in_slow_start(tp) && a.delivered) {
		step = ss_delivered(&s->own, &a, &w);
		if (step == SS_EXIT || step == SS_DRAIN || step == SS_LOG)
			ss_tell_exit(s, sk, &a, tp->snd_cwnd);
		if (step == SS_EXIT) {
			ss_set_window(tp, w.cwnd);
			ss_set_threshold(tp, w.ssthresh);
		}
	}
	ss_note_ack(&s->flow, &a, sk);
#endif
}

#ifdef SS_SENDING
SEC("struct_ops")
__u32 BPF_PROG(op_sending, struct sock *sk)
{
	struct ss_socket *s = ss_socket_of(sk);

	return s ? ss_sending(&s->own, sk) : SS_LEAST_BURST;
}
#endif

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
#ifdef SS_SENDING
	.min_tso_segs = (void *)op_sending,
#endif
	.undo_cwnd = (void *)op_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = SS_STRING(SS_NAME),
};

char _license[] SEC("license") = "Dual MIT/GPL";

#endif
