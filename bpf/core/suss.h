/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * SUSS (Arghavani, Zhang, Eyers and Arghavani, SIGCOMM 2024) in integers. The results equal those
 * of the simulator's `suss`, bit for bit.
 *
 * In a round of slow start the blue segments are those that plain slow start would send. Once the
 * ACKs of the last round's blue segments are in, HyStart's two tests are extrapolated by one round;
 * if neither would end slow start then, red segments leave as well, paced over the rest of the
 * round after a guard interval. HyStart ends slow start; its train test counts blue ACKs only. The
 * round-trip times and trains in the state are microseconds.
 *
 * Assumes that the hooks are called in slow start only, except for ss_suss_on_timeout.
 */
#ifndef SLOWSTART_SUSS_H
#define SLOWSTART_SUSS_H

#include "hystart.h"

/* No acceleration below this round-trip time: 10 ms. */
#define SS_SUSS_LEAST_RTT 10000ull
/* A timeout that leaves a smaller window than this switches it off for good. */
#define SS_SUSS_LEAST_WINDOW 40u
/* Binary digits of the fraction of a ratio. */
#define SS_SUSS_SCALE 10
/* What one sent burst adds while red segments are paced. */
#define SS_SUSS_GROWTH 2u
/* Bounds that no path reaches, so that nothing overflows: rounds, 71 minutes, bytes, segments. */
#define SS_SUSS_DOUBLINGS 24u
#define SS_SUSS_LONGEST 0xffffffffull
#define SS_SUSS_MOST_BYTES (1ull << 43)
#define SS_SUSS_MOST_WINDOW (1u << 20)

enum ss_suss_state {
	SS_SUSS_CLOCKED, /* everything is clocked by ACKs */
	SS_SUSS_PACING,  /* red segments are being paced */
	SS_SUSS_ENDED,   /* slow start has ended */
	SS_SUSS_OFF,     /* off for good: HyStart alone */
};

enum ss_suss_colour {
	SS_SUSS_RED,
	SS_SUSS_BLUE,
	SS_SUSS_TAIL, /* the last of the blue segments: the next ACK is red */
};

struct ss_suss_config {
	__u32 talk; /* the first test of the authors' talk instead of their patch's */
	__u32 max;  /* rounds that may be accelerated, at most 10 */
};

#define SS_SUSS_DEFAULTS { 0, 3 }

struct ss_suss {
	struct ss_hystart hystart;
	__u64 head;        /* the round ends when this offset is passed */
	__u64 tail;        /* the last blue offset */
	__u64 round_start;
	__u64 last_train;  /* the blue train of the last accelerated round */
	__u64 cap;         /* growth goes on up to this window, where `capped` */
	__u64 limit;       /* red segments may fill this window */
	__u64 rate;        /* and leave at so many bytes per second, */
	__u64 from;        /* not before this time, in nanoseconds */
	__u64 blue_acked;  /* blue segments acknowledged in this round */
	__u32 state;
	__u32 colour;
	__u32 round;
	__u32 initial_window; /* 0 before the first ACK */
	__u32 over;        /* no round is accelerated any more */
	__u32 jumps;       /* rounds that were accelerated */
	__u32 lowered_in;  /* the round in which the smallest RTT was last lowered */
	__u32 capped;      /* the train test has fired */
	__u32 pacing;      /* the red segments have begun to leave */
	__u32 reserved;
};

static __always_inline void ss_suss_begin(struct ss_suss *s, __u64 now, __u64 snd_nxt)
{
	ss_hystart_begin(&s->hystart, now, snd_nxt);
	s->head = snd_nxt;
	s->tail = snd_nxt;
	s->round_start = now / 1000;
	s->last_train = 0;
	s->cap = 0;
	s->limit = 0;
	s->rate = 0;
	s->from = 0;
	s->blue_acked = 0;
	s->state = SS_SUSS_CLOCKED;
	s->colour = SS_SUSS_RED;
	s->round = 1;
	s->initial_window = 0;
	s->over = 0;
	s->jumps = 0;
	s->lowered_in = 0;
	s->capped = 0;
	s->pacing = 0;
}

static __always_inline __u32 ss_suss_is_running(const struct ss_suss *s)
{
	return s->state == SS_SUSS_CLOCKED || s->state == SS_SUSS_PACING;
}

/* HyStart's train test on blue ACKs. */
static __always_inline __u32 ss_suss_judge_train(struct ss_suss *s,
						 const struct ss_hystart_config *c,
						 const struct ss_ack *a, __u32 cwnd)
{
	__u64 now = a->now / 1000, threshold, jumps = s->jumps & 31;

	if (s->capped)
		return cwnd > s->cap;
	if (!ss_suss_is_running(s) || s->colour == SS_SUSS_RED ||
	    !ss_hystart_extends(&s->hystart, c, now))
		return 0;
	threshold = (s->hystart.delay_min + ss_hystart_ack_delay(a->pacing_rate)) / 2;
	if (ss_hystart_length(&s->hystart, now) << jumps > threshold) {
		s->capped = 1;
		s->cap = cwnd + s->blue_acked * ((1ull << jumps) - 1);
	}
	return 0;
}

/* Whether the train would go on for one more round. */
static __always_inline __u32 ss_suss_train_fits(const struct ss_suss *s,
						const struct ss_suss_config *c, __u64 train)
{
	__u64 whole = train << ((s->round - 2) & 15);
	__u64 before, growth;

	if (c->talk)
		return whole <= s->hystart.delay_min / 4;
	before = (s->last_train ? s->last_train : 1) << ((s->round - 3) & 15);
	growth = (whole << SS_SUSS_SCALE) / (before << 1);
	if (whole && growth > (1ull << 62) / whole)
		return 0;
	return growth * whole >> (SS_SUSS_SCALE - 1) <= s->hystart.delay_min;
}

/* Whether exponential growth would go on for one more round than this, after such a blue train. */
static __always_inline __u32 ss_suss_may_accelerate(struct ss_suss *s,
						    const struct ss_suss_config *c, __u64 train)
{
	__u64 min = s->hystart.delay_min, age;

	if (s->round == 2) {
		if (c->max && min > SS_SUSS_LEAST_RTT && train < min / 4)
			return 1;
		s->state = SS_SUSS_OFF;
		return 0;
	}
	if (!ss_suss_train_fits(s, c, train) || s->hystart.curr_rtt > SS_SUSS_LONGEST)
		return 0;
	age = s->round > s->lowered_in ? s->round - s->lowered_in : 0;
	return (age + 1) * s->hystart.curr_rtt <= min * (age + 1) + min * age / 8;
}

/* All blue segments of the last round are acknowledged. */
static __always_inline void ss_suss_end_of_blue(struct ss_suss *s, const struct ss_suss_config *c,
						const struct ss_ack *a, __u32 cwnd)
{
	__u32 before = s->round - 1, shift;
	__u64 now = a->now / 1000, elapsed, train, red, in_flight, duration, slot, bytes;
	__u64 blue = (__u64)s->initial_window
		     << (before > SS_SUSS_DOUBLINGS ? SS_SUSS_DOUBLINGS : before);

	s->tail = s->head + blue * a->smss - 1;
	/* Round 1 has no blue train before it; the first that may be accelerated is round 2. */
	if (s->over || (s->round > 2 && s->round >= c->max + 2)) {
		s->over = 1;
		return;
	}
	elapsed = now > s->round_start ? now - s->round_start : 0;
	if (elapsed > SS_SUSS_LONGEST)
		elapsed = SS_SUSS_LONGEST;
	train = blue * elapsed / (2 * (s->blue_acked ? s->blue_acked : 1));
	if (train > SS_SUSS_LONGEST)
		train = SS_SUSS_LONGEST;
	if (!ss_suss_may_accelerate(s, c, train)) {
		s->over = 1;
		return;
	}
	s->last_train = train;
	/* At most 10, as `max` is. */
	shift = before & 15;
	red = (blue << shift) - blue;
	in_flight = ((blue / 2) << (shift ? shift - 1 : 0)) - blue / 2;
	slot = s->hystart.delay_min >> shift;
	duration = s->hystart.delay_min - slot;
	if (slot <= train) {
		s->state = SS_SUSS_CLOCKED;
		return;
	}
	bytes = red * a->smss;
	if (bytes > SS_SUSS_MOST_BYTES)
		bytes = SS_SUSS_MOST_BYTES;
	s->state = SS_SUSS_PACING;
	s->jumps++;
	s->rate = bytes * 1000000 / (duration ? duration : 1);
	s->from = a->now + (slot - train) / 2 * 1000;
	s->limit = cwnd + a->delivered + red;
	s->limit = s->limit > in_flight ? s->limit - in_flight : 0;
}

static __always_inline void ss_suss_measure(struct ss_suss *s, const struct ss_suss_config *c,
					    const struct ss_ack *a, __u32 cwnd)
{
	if (s->colour == SS_SUSS_TAIL)
		s->colour = SS_SUSS_RED;
	if (a->acked > s->head) {
		s->colour = SS_SUSS_BLUE;
		s->blue_acked = 0;
		s->round++;
		s->round_start = a->now / 1000;
		s->head = a->snd_nxt;
		s->pacing = 0;
		s->state = SS_SUSS_CLOCKED;
	}
	if (a->acked > s->tail) {
		s->colour = SS_SUSS_TAIL;
		ss_suss_end_of_blue(s, c, a, cwnd);
	}
	if (s->colour != SS_SUSS_RED)
		s->blue_acked += a->delivered;
}

/* The detectors; why slow start ends now, if it does. */
static __always_inline __u32 ss_suss_detect(struct ss_suss *s, const struct ss_hystart_config *c,
					    const struct ss_ack *a, __u32 cwnd)
{
	__u64 rtt = ss_hystart_sample(a);
	__u32 train;

	if (ss_hystart_observe(&s->hystart, rtt))
		s->lowered_in = s->round;
	if (s->hystart.found || !ss_hystart_follow(&s->hystart, c, a, cwnd))
		return SS_WHY_OWN;
	train = s->state == SS_SUSS_OFF ? ss_hystart_train(&s->hystart, c, a) :
					  ss_suss_judge_train(s, c, a, cwnd);
	if (train)
		return SS_WHY_TRAIN;
	return ss_hystart_delay(&s->hystart, c, rtt) ? SS_WHY_DELAY : SS_WHY_OWN;
}

/* An ACK delivered data, before the window grows. SS_EXIT: `w` has the new window and threshold. */
static __always_inline enum ss_step ss_suss_on_delivery(struct ss_suss *s,
							const struct ss_suss_config *c,
							const struct ss_ack *a, struct ss_window *w)
{
	const struct ss_hystart_config hystart = SS_HYSTART_LINUX;
	__u32 why;

	if (!s->initial_window) {
		s->initial_window = w->cwnd > SS_SUSS_MOST_WINDOW ? SS_SUSS_MOST_WINDOW : w->cwnd;
		if (!s->initial_window)
			s->initial_window = 1;
		s->tail = s->head + (__u64)s->initial_window * a->smss - 1;
		if (a->paced)
			s->state = SS_SUSS_OFF;
	}
	why = a->has_rtt ? ss_suss_detect(s, &hystart, a, w->cwnd) : SS_WHY_OWN;
	if (why) {
		s->hystart.found = 1;
		s->hystart.why = why;
		/* After more than one acceleration the window is what is in flight. */
		if (s->state != SS_SUSS_OFF) {
			s->state = SS_SUSS_ENDED;
			s->pacing = 0;
			if (s->jumps > 1)
				w->cwnd = a->in_flight ? a->in_flight : 1;
		}
		w->ssthresh = w->cwnd;
		return SS_EXIT;
	}
	if (a->advanced && !a->reducing && ss_suss_is_running(s) && !s->capped)
		ss_suss_measure(s, c, a, w->cwnd);
	return SS_NOTHING;
}

/* Whether an ACK grows nothing: red segments grow as they leave. */
static __always_inline __u32 ss_suss_holds(const struct ss_suss *s)
{
	return s->state == SS_SUSS_PACING && s->colour == SS_SUSS_RED;
}

/* A segment has left, and so much is in flight with it. SS_GROW: `w->cwnd` is the growth. */
static __always_inline enum ss_step ss_suss_after_sent(struct ss_suss *s, __u32 in_flight,
						       struct ss_window *w)
{
	if (s->state != SS_SUSS_PACING || w->cwnd >= s->limit || w->cwnd > in_flight)
		return SS_NOTHING;
	s->pacing = 1;
	w->cwnd = SS_SUSS_GROWTH;
	return SS_GROW;
}

/* A loss or a mark. SS_SET: `w->cwnd` is the window that is to be reduced. */
static __always_inline enum ss_step ss_suss_on_congestion(struct ss_suss *s, __u32 in_flight,
							  struct ss_window *w)
{
	__u32 running = ss_suss_is_running(s);

	s->pacing = 0;
	if (s->state != SS_SUSS_OFF)
		s->state = SS_SUSS_ENDED;
	if (!running)
		return SS_NOTHING;
	w->cwnd = in_flight ? in_flight : 1;
	return SS_SET;
}

/* A timeout that leaves so much in flight; the window is then one segment more. */
static __always_inline void ss_suss_on_timeout(struct ss_suss *s, __u64 now, __u64 snd_nxt,
					       __u32 in_flight)
{
	s->pacing = 0;
	if (in_flight + 1 < SS_SUSS_LEAST_WINDOW)
		s->state = SS_SUSS_OFF;
	s->hystart.delay_min = 0;
	ss_hystart_restart(&s->hystart, now, snd_nxt);
}

#endif
