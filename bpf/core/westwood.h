/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Westwood+ in integers. The results equal those of the simulator's `westwood`, bit for bit.
 *
 * Grows like Reno, and measures how many bytes are acknowledged per round trip. When a reduction
 * ends, window and threshold become what that bandwidth needs at the smallest round-trip time; a
 * timeout takes it as its threshold. Sources: Dell'Aera, Grieco and Mascolo 2004, with the integers
 * of Linux 6.12. Round-trip times and samples are counted in ticks.
 */
#ifndef SLOWSTART_WESTWOOD_H
#define SLOWSTART_WESTWOOD_H

#include "additive.h"

/* The shortest span of a bandwidth sample: 50 ms. */
#define SS_WESTWOOD_SHORTEST 50000000ull
/* The round-trip time before there is a sample: 20 s. */
#define SS_WESTWOOD_INITIAL_RTT 20000000000ull
/* No window in use is near this bound. */
#define SS_WESTWOOD_MOST 0x80000000ull

struct ss_westwood_config {
	__u32 hz;
	__u32 reserved;
};

#define SS_WESTWOOD_DEFAULTS { 250, 0 }

struct ss_westwood {
	__u64 credit;
	__u64 bw_once;      /* bandwidth after one filter and after both, in bytes per tick */
	__u64 bw_twice;
	__u64 sample_start; /* the sample at hand, and what it acknowledged so far */
	__u64 acked;
	__u64 snd_una;      /* at the last ACK, where `begun` */
	__u64 accounted;    /* counted for duplicate ACKs and not yet acknowledged cumulatively */
	__u64 rtt;          /* of the ACK before */
	__u64 rtt_min;
	__u32 begun;
	__u32 renews;       /* the smallest round-trip time is taken anew */
};

static __always_inline void ss_westwood_begin(struct ss_westwood *s,
					      const struct ss_westwood_config *c, __u64 now)
{
	s->credit = 0;
	s->bw_once = 0;
	s->bw_twice = 0;
	s->sample_start = now / ss_tick(c->hz);
	s->acked = 0;
	s->snd_una = 0;
	s->accounted = 0;
	s->rtt = ss_ticks_up(SS_WESTWOOD_INITIAL_RTT, c->hz);
	s->rtt_min = s->rtt;
	s->begun = 0;
	s->renews = 1;
}

/* Ends the sample at hand if it is long enough: two low-pass filters of 7/8, the first unfiltered. */
static __always_inline void ss_westwood_sample(struct ss_westwood *s,
					       const struct ss_westwood_config *c, __u64 now)
{
	__u64 tick = now / ss_tick(c->hz);
	__u64 delta = tick > s->sample_start ? tick - s->sample_start : 0;
	__u64 least = ss_ticks_up(SS_WESTWOOD_SHORTEST, c->hz);
	__u64 sample;

	if (delta <= (s->rtt > least ? s->rtt : least))
		return;
	sample = s->acked / delta;
	if (!s->bw_once && !s->bw_twice) {
		s->bw_once = sample;
		s->bw_twice = sample;
	} else {
		s->bw_once = (7 * s->bw_once + sample) >> 3;
		s->bw_twice = (7 * s->bw_twice + s->bw_once) >> 3;
	}
	s->acked = 0;
	s->sample_start = tick;
}

/*
 * What an ACK acknowledges, in bytes: a segment for a duplicate ACK, which later cumulative ACKs do
 * not count again.
 */
static __always_inline __u64 ss_westwood_count(struct ss_westwood *s, __u64 snd_una, __u32 smss)
{
	__u64 advance = snd_una > s->snd_una ? snd_una - s->snd_una : 0;

	s->snd_una = snd_una;
	if (!advance) {
		s->accounted += smss;
		return smss;
	}
	if (advance <= smss)
		return advance;
	if (s->accounted >= advance) {
		s->accounted -= advance;
		return smss;
	}
	advance -= s->accounted;
	s->accounted = 0;
	return advance;
}

/* An ACK delivered data. */
static __always_inline void ss_westwood_on_delivery(struct ss_westwood *s,
						    const struct ss_westwood_config *c,
						    const struct ss_ack *a)
{
	__u32 first = !s->begun;

	if (first) {
		s->begun = 1;
		s->snd_una = a->acked;
	}
	ss_westwood_sample(s, c, a->now);
	if (!first)
		s->acked += ss_westwood_count(s, a->acked, a->smss);
	/* The sample of this ACK comes after the smallest one is taken. */
	if (s->renews || s->rtt < s->rtt_min)
		s->rtt_min = s->rtt;
	s->renews = 0;
	if (a->has_rtt)
		s->rtt = ss_ticks_up(a->rtt, c->hz);
}

/* The growth by an ACK above the threshold that leaves `acked` segments for it. */
static __always_inline __u32 ss_westwood_on_ack(struct ss_westwood *s, __u32 cwnd, __u32 acked)
{
	return ss_additive(&s->credit, acked, cwnd);
}

/* A congestion episode begins: the threshold while it lasts. */
static __always_inline __u32 ss_westwood_on_congestion(struct ss_westwood *s, __u32 cwnd)
{
	s->credit = 0;
	return cwnd / 2 > 2 ? cwnd / 2 : 2;
}

/* What the bandwidth needs, in segments: window and threshold when a reduction ends. */
static __always_inline __u32 ss_westwood_product(const struct ss_westwood *s, __u32 smss)
{
	__u64 segments = s->bw_twice * s->rtt_min / (smss ? smss : 1);

	if (segments > SS_WESTWOOD_MOST)
		segments = SS_WESTWOOD_MOST;
	return segments > 2 ? segments : 2;
}

/* A timeout, the first for this window: the threshold. */
static __always_inline __u32 ss_westwood_on_timeout(struct ss_westwood *s, __u32 smss)
{
	s->credit = 0;
	s->renews = 1;
	return ss_westwood_product(s, smss);
}

#endif
