/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * HyStart in integers, in the form of its paper (Ha and Rhee, Computer Networks 55(9), 2011), and
 * the parts of Linux's form that SUSS uses. The results equal those of the simulator's
 * `hystart:variant=paper`, bit for bit.
 *
 * The paper: a train of ACKs as long as half the smallest RTT ends slow start, and so does the
 * smallest of the first eight RTTs of a round that is a sixteenth (2 to 8 ms) above that of the
 * round before; neither below 16 segments.
 *
 * Times in the state are microseconds. The hooks are called in slow start only.
 */
#ifndef SLOWSTART_HYSTART_H
#define SLOWSTART_HYSTART_H

#include "types.h"

/* No round-trip time is known. */
#define SS_NO_RTT (~0ull)
/* Four bursts of the largest size, in byte-microseconds: a train's allowance for aggregation. */
#define SS_HYSTART_BURSTS (4 * 65536 * 1000000ull)
#define SS_HYSTART_ACK_DELAY_MOST 1000ull

struct ss_hystart_config {
	__u64 ack_delta; /* largest spacing of ACKs in a train */
	__u64 delay_min; /* least and largest increase of delay that counts */
	__u64 delay_max;
	__u32 low_window;
	__u32 min_samples;
	__u32 train; /* which detectors run */
	__u32 delay;
};

#define SS_HYSTART_PAPER { 2000, 2000, 8000, 16, 8, 1, 1 }
#define SS_HYSTART_LINUX { 2000, 4000, 16000, 16, 8, 1, 1 }

struct ss_hystart {
	__u64 round_start;
	__u64 last_ack;  /* of the train */
	__u64 end;       /* the round ends when this offset is passed */
	__u64 curr_rtt;  /* smallest of the round */
	__u64 last_rtt;  /* smallest of the round before */
	__u64 delay_min; /* smallest of the connection; 0 when unknown */
	__u32 samples;
	__u32 found;     /* a detector fired; only a timeout arms them again */
	__u32 why;
	__u32 reserved;
};

static __always_inline void ss_hystart_round(struct ss_hystart *s, __u64 now, __u64 snd_nxt)
{
	s->round_start = now;
	s->last_ack = now;
	s->end = snd_nxt;
	s->curr_rtt = SS_NO_RTT;
	s->samples = 0;
}

/* A connection begins, at `now` in nanoseconds. */
static __always_inline void ss_hystart_begin(struct ss_hystart *s, __u64 now, __u64 snd_nxt)
{
	ss_hystart_round(s, now / 1000, snd_nxt);
	s->last_rtt = SS_NO_RTT;
	s->delay_min = 0;
	s->found = 0;
	s->why = SS_WHY_OWN;
}

/* Slow start begins again after a timeout. */
static __always_inline void ss_hystart_restart(struct ss_hystart *s, __u64 now, __u64 snd_nxt)
{
	s->found = 0;
	s->last_rtt = SS_NO_RTT;
	ss_hystart_round(s, now / 1000, snd_nxt);
}

/* Whole microseconds, at least one. */
static __always_inline __u64 ss_hystart_sample(const struct ss_ack *a)
{
	return a->rtt < 2000 ? 1 : a->rtt / 1000;
}

/* Takes a sample of the connection's smallest RTT; 1 when it is a new one. */
static __always_inline __u32 ss_hystart_observe(struct ss_hystart *s, __u64 rtt)
{
	if (s->delay_min && rtt >= s->delay_min)
		return 0;
	s->delay_min = rtt;
	return 1;
}

static __always_inline __u64 ss_hystart_length(const struct ss_hystart *s, __u64 now)
{
	return now > s->round_start ? now - s->round_start : 0;
}

/* Whether this ACK belongs to the train of the round. */
static __always_inline __u32 ss_hystart_extends(struct ss_hystart *s,
						const struct ss_hystart_config *c, __u64 now)
{
	if (now > s->last_ack && now - s->last_ack > c->ack_delta)
		return 0;
	s->last_ack = now;
	return 1;
}

/* The increase of delay that counts. */
static __always_inline __u64 ss_hystart_increase(const struct ss_hystart_config *c, __u64 part)
{
	if (part > c->delay_max)
		part = c->delay_max;
	return part > c->delay_min ? part : c->delay_min;
}

/* An ACK delivered data, before the window grows. SS_EXIT: `w` has the new threshold. */
static __always_inline enum ss_step ss_hystart_on_delivery(struct ss_hystart *s,
							   const struct ss_hystart_config *c,
							   const struct ss_ack *a,
							   struct ss_window *w)
{
	__u64 now = a->now / 1000, rtt = ss_hystart_sample(a), train;
	__u32 why = SS_WHY_OWN;

	if (!a->has_rtt)
		return SS_NOTHING;
	ss_hystart_observe(s, rtt);
	if (s->found)
		return SS_NOTHING;
	if (a->acked >= s->end) {
		s->last_rtt = s->curr_rtt;
		ss_hystart_round(s, now, a->snd_nxt);
	}
	if (c->train && ss_hystart_extends(s, c, now)) {
		train = ss_hystart_length(s, now);
		if (train && train >= s->delay_min / 2)
			why = SS_WHY_TRAIN;
	}
	if (c->delay && s->samples < c->min_samples) {
		if (rtt < s->curr_rtt)
			s->curr_rtt = rtt;
		s->samples++;
	}
	if (!why && c->delay && s->samples >= c->min_samples && s->last_rtt != SS_NO_RTT &&
	    s->curr_rtt >= s->last_rtt + ss_hystart_increase(c, (s->last_rtt + 15) / 16))
		why = SS_WHY_DELAY;
	if (!why || w->cwnd < c->low_window)
		return SS_NOTHING;
	s->found = 1;
	s->why = why;
	w->ssthresh = w->cwnd;
	return SS_EXIT;
}

/* Linux: begins a round if this ACK does; whether detectors run at this window. */
static __always_inline __u32 ss_hystart_follow(struct ss_hystart *s,
					       const struct ss_hystart_config *c,
					       const struct ss_ack *a, __u32 cwnd)
{
	if (a->acked > s->end)
		ss_hystart_round(s, a->now / 1000, a->snd_nxt);
	return cwnd >= c->low_window;
}

/* Linux: a train's allowance for aggregation, by the pacing rate. */
static __always_inline __u64 ss_hystart_ack_delay(__u64 pacing_rate)
{
	__u64 delay = pacing_rate ? SS_HYSTART_BURSTS / pacing_rate : 0;

	return delay > SS_HYSTART_ACK_DELAY_MOST ? SS_HYSTART_ACK_DELAY_MOST : delay;
}

/* Linux: whether the train of the round is too long. */
static __always_inline __u32 ss_hystart_train(struct ss_hystart *s,
					      const struct ss_hystart_config *c,
					      const struct ss_ack *a)
{
	__u64 now = a->now / 1000, threshold;

	if (!ss_hystart_extends(s, c, now))
		return 0;
	threshold = s->delay_min + ss_hystart_ack_delay(a->pacing_rate);
	if (!a->paced)
		threshold /= 2;
	return ss_hystart_length(s, now) > threshold;
}

/* Linux: whether a sample of the round shows that the delay has grown too much. */
static __always_inline __u32 ss_hystart_delay(struct ss_hystart *s,
					      const struct ss_hystart_config *c, __u64 rtt)
{
	if (rtt < s->curr_rtt)
		s->curr_rtt = rtt;
	if (s->samples < c->min_samples) {
		s->samples++;
		return 0;
	}
	return s->curr_rtt > s->delay_min + ss_hystart_increase(c, s->delay_min / 8);
}

#endif
