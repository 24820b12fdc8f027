/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * HyStart++ (RFC 9406, or the patch for Linux of 2025) in integers. The results equal those of the
 * simulator's `hystart++`, or `hystart++:form=patch`, bit for bit.
 *
 * It runs only in the initial slow start, which lasts until a threshold is first set. The detectors
 * run before the window grows, so the final threshold is the window before the last ACK's growth.
 *
 * Assumes that the state begins as zeros and that the hooks are called in slow start only.
 */
#ifndef SLOWSTART_HYSTART_PP_H
#define SLOWSTART_HYSTART_PP_H

#include "types.h"

struct ss_hspp_config {
	__u64 min_rtt_thresh; /* MIN_RTT_THRESH */
	__u64 max_rtt_thresh; /* MAX_RTT_THRESH */
	__u32 min_rtt_divisor;
	__u32 n_rtt_sample;
	__u32 css_growth_divisor;
	__u32 css_rounds;
	__u32 limit; /* L, where the sender does not pace */
	__u32 patch; /* rounds begin with a flight, and an ACK may grow the window by all it delivered */
};

/* RFC 9406 section 4.3. */
#define SS_HSPP_DEFAULTS(patch) { 4000000ull, 16000000ull, 8, 8, 4, 5, 8, patch }

struct ss_hspp {
	__u64 last_min;    /* lastRoundMinRTT, where `last_known` */
	__u64 current_min; /* currentRoundMinRTT, where `samples` is not 0 */
	__u64 window_end;
	__u64 baseline;    /* cssBaselineMinRtt */
	__u32 last_known;
	__u32 samples;     /* rttSampleCount */
	__u32 begun;       /* the first round's end is known */
	__u32 css;
	__u32 rounds;      /* rounds of CSS that ended */
	__u32 carry;       /* credited in CSS and not yet grown */
	__u32 over;        /* the initial slow start is over */
	__u32 exits;
};

static __always_inline __u32 ss_hspp_active(const struct ss_hspp *s, const struct ss_window *w)
{
	return !s->over && w->ssthresh == SS_INFINITE;
}

/* A congestion episode begins. */
static __always_inline void ss_hspp_on_congestion(struct ss_hspp *s)
{
	s->over = 1;
}

/* Slow start begins again after a timeout. */
static __always_inline void ss_hspp_restart(struct ss_hspp *s)
{
	s->last_known = 0;
	s->samples = 0;
	s->begun = 0;
	s->css = 0;
	s->carry = 0;
}

/* Enters or leaves CSS after a sample (section 4.2). */
static __always_inline void ss_hspp_judge(struct ss_hspp *s, const struct ss_hspp_config *c)
{
	__u64 threshold;

	if (s->samples < c->n_rtt_sample)
		return;
	if (s->css) {
		if (s->current_min < s->baseline)
			s->css = 0;
	} else if (s->last_known) {
		threshold = s->last_min / (c->min_rtt_divisor ? c->min_rtt_divisor : 1);
		if (threshold > c->max_rtt_thresh)
			threshold = c->max_rtt_thresh;
		if (threshold < c->min_rtt_thresh)
			threshold = c->min_rtt_thresh;
		if (s->current_min >= s->last_min + threshold) {
			s->css = 1;
			s->baseline = s->current_min;
			s->rounds = 0;
		}
	}
}

/* A sample of the round. The patch tests for spurious CSS with samples beyond the counted ones. */
static __always_inline void ss_hspp_sample(struct ss_hspp *s, const struct ss_hspp_config *c,
					   __u64 rtt)
{
	__u32 counted = s->samples;

	if (counted == 0 || rtt < s->current_min)
		s->current_min = rtt;
	if (counted != ~0u)
		s->samples++;
	if (!(c->patch && s->css && counted < c->n_rtt_sample))
		ss_hspp_judge(s, c);
}

/* A round ended; whether slow start does, too. */
static __always_inline __u32 ss_hspp_end_round(struct ss_hspp *s, const struct ss_hspp_config *c,
					       __u64 snd_nxt)
{
	s->window_end = snd_nxt;
	s->last_min = s->current_min;
	s->last_known = s->samples != 0;
	s->samples = 0;
	if (!s->css)
		return 0;
	s->rounds++;
	return s->rounds >= c->css_rounds;
}

/* An ACK delivered data, before the window grows. SS_EXIT: `w` has the new threshold. */
static __always_inline enum ss_step ss_hspp_on_delivery(struct ss_hspp *s,
							const struct ss_hspp_config *c,
							const struct ss_ack *a, struct ss_window *w)
{
	__u32 ended = 0;

	if (!ss_hspp_active(s, w))
		return SS_NOTHING;
	if (!s->begun) {
		s->begun = 1;
		s->window_end = c->patch ? 0 : a->snd_nxt;
	}
	if (c->patch) {
		if (a->acked > s->window_end)
			ended = ss_hspp_end_round(s, c, a->snd_nxt);
		if (!ended && a->has_rtt)
			ss_hspp_sample(s, c, a->rtt);
	} else {
		if (a->has_rtt)
			ss_hspp_sample(s, c, a->rtt);
		if (a->acked >= s->window_end)
			ended = ss_hspp_end_round(s, c, a->snd_nxt);
	}
	if (!ended)
		return SS_NOTHING;
	s->over = 1;
	s->exits++;
	w->ssthresh = w->cwnd;
	return SS_EXIT;
}

/* What the ACK does to the window, where growth is allowed. SS_GROW: `w->cwnd` is the growth. */
static __always_inline enum ss_step ss_hspp_on_ack(struct ss_hspp *s,
						   const struct ss_hspp_config *c,
						   const struct ss_ack *a, struct ss_window *w)
{
	__u32 divisor = c->css_growth_divisor ? c->css_growth_divisor : 1;
	__u32 credited = a->delivered;

	if (!ss_hspp_active(s, w))
		return SS_NOTHING;
	if (!a->paced && !c->patch && credited > c->limit)
		credited = c->limit;
	if (s->css) {
		s->carry += credited;
		credited = s->carry / divisor;
		s->carry -= credited * divisor;
	}
	w->cwnd = credited;
	return SS_GROW;
}

#endif
