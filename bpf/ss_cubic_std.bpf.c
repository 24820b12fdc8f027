/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_cubic_std`: the kernel's CUBIC with standard slow start, that is without HyStart, for the
 * sockets that select it. (The module parameter of tcp_cubic switches it for all.)
 */
#include "common.bpf.h"

SEC("struct_ops")
void BPF_PROG(op_init, struct sock *sk)
{
	cubictcp_init(sk);
	ss_hystart_off(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(op_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(op_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	cubictcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
void BPF_PROG(op_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
	if (new_state == SS_CA_LOSS)
		ss_hystart_off(sk);
}

SEC("struct_ops")
void BPF_PROG(op_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(op_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
__u32 BPF_PROG(op_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ss_cubic_std = {
	.init = (void *)op_init,
	.ssthresh = (void *)op_ssthresh,
	.cong_avoid = (void *)op_cong_avoid,
	.set_state = (void *)op_state,
	.cwnd_event = (void *)op_event,
	.pkts_acked = (void *)op_acked,
	.undo_cwnd = (void *)op_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ss_cubic_std",
};

char _license[] SEC("license") = "Dual MIT/GPL";
