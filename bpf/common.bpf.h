/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shared by the congestion controls of this folder: the kernel's own CUBIC, called by its kfuncs,
 * with HyStart off for the socket at hand, and facts about a socket in the core's units.
 *
 * Assumes Linux 5.13 to 7.0 (kfuncs cubictcp_*), built with BTF.
 */
#ifndef SLOWSTART_COMMON_BPF_H
#define SLOWSTART_COMMON_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "core/types.h"

/* The map has the name of its congestion control, so that it can be found. */
#define SS_STRING(name) SS_STRING_OF(name)
#define SS_STRING_OF(name) #name

/* Any user may select it, and it may be the default of a network namespace. */
#define TCP_CONG_NON_RESTRICTED 1
/* States of the sender; the enumeration in BTF has the same values. */
#define SS_CA_OPEN 0
#define SS_CA_CWR 2
#define SS_CA_RECOVERY 3
#define SS_CA_LOSS 4

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* The two fields of the kernel's CUBIC that matter here. */
struct bictcp___ss {
	__u32 epoch_start;
	__u8 found;
} __attribute__((preserve_access_index));

static __always_inline struct tcp_sock *ss_tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct bictcp___ss *ss_cubic(struct sock *sk)
{
	return (struct bictcp___ss *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* HyStart takes the exit for found, and looks for none. A timeout clears that. */
static __always_inline void ss_hystart_off(struct sock *sk)
{
	ss_cubic(sk)->found = 1;
}

static __always_inline __u32 ss_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Whether the window limits the sender; in slow start it may grow to twice what was used. */
static __always_inline __u32 ss_window_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return ss_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Linux's default of tcp_min_tso_segs. */
#define SS_LEAST_BURST 2

/* What every start-up of this folder keeps for a socket, beside its own state. */
struct ss_flow {
	__u64 last_ack;     /* ns */
	__u64 last_rtt;     /* ns */
	__u64 acked;        /* bytes, at the last ACK */
	__u64 epoch_began;  /* ns; 0 while CUBIC has no epoch */
	__u32 epoch_start;  /* as CUBIC has it */
	__u32 delivered;    /* segments, at the last ACK */
};

/* The record of the end of a slow start; crates/kernel reads it. */
struct ss_exit {
	__u64 now;    /* ns, CLOCK_MONOTONIC: when the ACK came */
	__u32 bin;    /* SEARCH: bins since the first; HyStart++: rounds of CSS; SUSS: accelerated rounds */
	__u32 why;    /* enum ss_why */
	__u64 norm;   /* SEARCH: how far delivery fell short of the expectation, in thousandths */
	__u32 source; /* own IPv4 address, as on the wire */
	__u32 cwnd;   /* segments, before the exit changed it */
};

/* Sent, and neither delivered nor declared lost. */
static __always_inline __u32 ss_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* The time of the event at hand in nanoseconds, and the next new offset. */
static __always_inline __u64 ss_now(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp * 1000;
}

static __always_inline __u64 ss_next(const struct tcp_sock *tp)
{
	return tp->bytes_acked + (__u32)(tp->snd_nxt - tp->snd_una);
}

static __always_inline __u32 ss_ca_state(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

/* Notes when a growth epoch of CUBIC begins; call after each growth. */
static __always_inline void ss_note_epoch(struct ss_flow *flow, struct sock *sk)
{
	__u32 start = ss_cubic(sk)->epoch_start;

	if (start != flow->epoch_start) {
		flow->epoch_start = start;
		flow->epoch_began = start ? ss_tcp(sk)->tcp_mstamp * 1000 : 0;
	}
}

/* The ACK at hand in the core's units. CUBIC hides samples in the first second of an epoch. */
static __always_inline void ss_read_ack(struct ss_ack *a, struct ss_flow *flow, struct sock *sk,
					__s32 rtt_us)
{
	struct tcp_sock *tp = ss_tcp(sk);
	__u32 state = ss_ca_state(tp);

	a->now = ss_now(tp);
	a->has_rtt = rtt_us >= 0;
	a->rtt = rtt_us > 0 ? (__u64)rtt_us * 1000 : 0;
	if (flow->epoch_began && a->now - flow->epoch_began < 1000000000ull)
		a->has_rtt = 0;
	a->srtt = (__u64)(tp->srtt_us >> 3) * 1000;
	a->acked = tp->bytes_acked;
	a->sent = tp->bytes_sent;
	a->snd_nxt = ss_next(tp);
	a->delivered = tp->delivered - flow->delivered;
	a->in_flight = ss_in_flight(tp);
	a->smss = tp->mss_cache;
	a->app_limited = tp->app_limited != 0;
	a->paced = sk->sk_pacing_status != 0;
	a->advanced = tp->bytes_acked != flow->acked;
	a->reducing = state == SS_CA_CWR || state == SS_CA_RECOVERY;
	a->pacing_rate = sk->sk_pacing_rate;
}

static __always_inline void ss_note_ack(struct ss_flow *flow, const struct ss_ack *a,
					struct sock *sk)
{
	flow->delivered = ss_tcp(sk)->delivered;
	flow->acked = a->acked;
	flow->last_ack = a->now;
	if (a->rtt)
		flow->last_rtt = a->rtt;
}

static __always_inline void ss_set_window(struct tcp_sock *tp, __u32 cwnd)
{
	if (cwnd > tp->snd_cwnd_clamp)
		cwnd = tp->snd_cwnd_clamp;
	tp->snd_cwnd = cwnd ? cwnd : 1;
}

static __always_inline void ss_set_threshold(struct tcp_sock *tp, __u32 ssthresh)
{
	tp->snd_ssthresh = ssthresh > 2 ? ssthresh : 2;
}

#endif
