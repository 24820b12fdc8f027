/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_suss`: the kernel's CUBIC with SUSS (core/suss.h) as its start-up. The options are in
 * `suss_config`, which a loader may change before it loads.
 *
 * The kernel calls `min_tso_segs` each time before it sends: after an ACK, when the application
 * writes, and when the timer of TCP's own pacing expires. The red segments are released there, two
 * when the window is full, and paced by that timer (`sk_pacing_status`). Their rate is set anew
 * each time, because the kernel overwrites it with each ACK. The guard interval is charged to the
 * last blue burst: it leaves at a rate at which it would last until the first red segment may
 * leave. (Pacing credits a sender with up to half of a burst's time for the time since the last
 * one; the charge includes this credit.) Blue segments that need a second burst share the interval.
 *
 * The peer's advertised window holds: struct_ops may not write it.
 */
#include "common.bpf.h"
#include "core/suss.h"

/* SK_PACING_NONE and SK_PACING_NEEDED; BTF has no lasting name for their enumeration. */
#define SS_PACING_NONE 0
#define SS_PACING_NEEDED 1

/* The fields of the socket in which the pacing is set. */
struct ss_suss_socket {
	struct ss_suss suss;
	__u32 steers;       /* the pacing is ours */
	__u32 before_cwnd;  /* of the last episode, in case it is a timeout */
	__u32 before_state;
	__u32 reserved;
};

#define SS_NAME ss_suss
#define SS_STATE struct ss_suss_socket
#define SS_SENDING

const volatile struct ss_suss_config suss_config SEC(".rodata.config") = SS_SUSS_DEFAULTS;

static __always_inline void ss_started(struct ss_suss_socket *s, struct sock *sk)
{
	ss_suss_begin(&s->suss, ss_now(ss_tcp(sk)), ss_next(ss_tcp(sk)));
}

/* A timeout calls this too, and is known as one only a moment later. */
static __always_inline void ss_congested(struct ss_suss_socket *s, struct sock *sk)
{
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = { tp->snd_cwnd, tp->snd_ssthresh };

	s->before_cwnd = tp->snd_cwnd;
	s->before_state = s->suss.state;
	if (ss_suss_on_congestion(&s->suss, ss_in_flight(tp), &w) == SS_SET)
		ss_set_window(tp, w.cwnd);
}

static __always_inline void ss_restarted(struct ss_suss_socket *s, struct sock *sk)
{
	struct tcp_sock *tp = ss_tcp(sk);

	ss_suss_on_timeout(&s->suss, ss_now(tp), ss_next(tp), ss_in_flight(tp));
}

static __always_inline enum ss_step ss_delivered(struct ss_suss_socket *s, const struct ss_ack *a,
						 struct ss_window *w)
{
	struct ss_suss_config config = { .talk = suss_config.talk, .max = suss_config.max };
	struct ss_ack own = *a;

	/* Pacing that SUSS itself has switched on does not count. */
	if (s->steers)
		own.paced = 0;
	return ss_suss_on_delivery(&s->suss, &config, &own, w);
}

static __always_inline __u32 ss_grow(struct ss_suss_socket *s, struct sock *sk, struct ss_flow *flow,
				     __u32 acked)
{
	return ss_suss_holds(&s->suss);
}

static __always_inline void ss_event(struct ss_suss_socket *s, struct sock *sk, struct ss_flow *flow,
				     enum tcp_ca_event event)
{
	struct tcp_sock *tp = ss_tcp(sk);

	if (event != CA_EVENT_LOSS)
		return;
	s->suss.state = s->before_state;
	ss_set_window(tp, s->before_cwnd);
	ss_set_threshold(tp, cubictcp_recalc_ssthresh(sk));
}

static __always_inline void ss_evidence(const struct ss_suss_socket *s, struct ss_exit *record)
{
	record->bin = s->suss.jumps;
	record->why = s->suss.hystart.why;
}

static __always_inline void ss_steer(struct ss_suss_socket *s, struct sock *sk, __u64 rate)
{
	s->steers = 1;
	sk->sk_pacing_status = SS_PACING_NEEDED;
	sk->sk_pacing_rate = rate ? rate : 1;
}

/* Charges the burst of blue segments that leaves now with the time until the first red one may. */
static __always_inline void ss_guard(struct ss_suss_socket *s, struct sock *sk, __u32 segments)
{
	struct tcp_sock *tp = ss_tcp(sk);
	__u64 now = bpf_ktime_get_ns(), last = tp->tcp_wstamp_ns;
	__u64 credit = now > last ? now - last : 0;
	__u64 wait = s->suss.from > now ? s->suss.from - now : 1;

	wait += credit < wait ? credit : wait;
	ss_steer(s, sk, (__u64)segments * tp->mss_cache * 1000000000ull / wait);
}

static __always_inline __u32 ss_sending(struct ss_suss_socket *s, struct sock *sk)
{
	struct tcp_sock *tp = ss_tcp(sk);
	struct ss_window w = { tp->snd_cwnd, tp->snd_ssthresh };
	__u32 in_flight = ss_in_flight(tp);

	if (s->suss.state != SS_SUSS_PACING || !ss_in_slow_start(tp)) {
		if (s->steers) {
			s->steers = 0;
			sk->sk_pacing_status = SS_PACING_NONE;
		}
		return SS_LEAST_BURST;
	}
	if (!s->suss.pacing && w.cwnd > in_flight) {
		ss_guard(s, sk, w.cwnd - in_flight);
		return w.cwnd - in_flight;
	}
	if (ss_suss_after_sent(&s->suss, in_flight, &w) == SS_GROW)
		ss_set_window(tp, tp->snd_cwnd + w.cwnd);
	if (s->suss.pacing)
		ss_steer(s, sk, s->suss.rate);
	return SS_LEAST_BURST;
}

#include "control.bpf.h"
