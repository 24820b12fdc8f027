/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * BIC in integers. The results equal those of the simulator's `bic`, bit for bit.
 *
 * A binary search for the window of the last loss: below it the window grows by a quarter of what
 * is missing each round trip (at most 16 segments), around it slowly, above it the same way
 * outward. Sources: Xu, Harfoush and Rhee, INFOCOM 2004, with the constants of Linux 6.12.
 */
#ifndef SLOWSTART_BIC_H
#define SLOWSTART_BIC_H

#include "additive.h"

/* The window after a reduction, in 1024ths. */
#define SS_BIC_BETA 819ull
#define SS_BIC_BETA_SCALE 1024ull
/* The most segments per round trip. */
#define SS_BIC_MAX_INCREMENT 16ull
/* The part of the gap that one step of the search closes. */
#define SS_BIC_B 4ull
/* Up to here BIC is Reno. */
#define SS_BIC_LOW_WINDOW 14u
/* Round trips for the last segments around the maximum. */
#define SS_BIC_SMOOTH_PART 20ull
/* While the capacity is unknown the window grows by at least a twentieth per round trip. */
#define SS_BIC_UNKNOWN_COUNT 20ull
/* The ACK ratio is counted in sixteenths. */
#define SS_BIC_RATIO_SHIFT 4

struct ss_bic_config {
	__u32 hz;
	__u32 fast_convergence;
	__u32 delayed_ack; /* growth is scaled by the ACK ratio */
	__u32 reserved;
};

#define SS_BIC_DEFAULTS { 250, 1, 1, 0 }

struct ss_bic {
	__u64 credit;
	__u64 count;     /* segments to be acknowledged for one of growth */
	__u64 last_time; /* tick of the last update */
	__u32 last_cwnd; /* window of the last update */
	__u32 last_max;  /* window before the last reduction; 0 when unknown */
	__u32 ack_ratio; /* segments per ACK, smoothed */
	__u32 reserved;
};

/* A connection begins, or a timeout has invalidated the state. */
static __always_inline void ss_bic_begin(struct ss_bic *s)
{
	s->credit = 0;
	s->count = 0;
	s->last_time = 0;
	s->last_cwnd = 0;
	s->last_max = 0;
	s->ack_ratio = 2 << SS_BIC_RATIO_SHIFT;
}

/* An ACK of so many segments, while the congestion state is open. */
static __always_inline void ss_bic_on_delivery(struct ss_bic *s, __u32 acked)
{
	s->ack_ratio = s->ack_ratio - (s->ack_ratio >> SS_BIC_RATIO_SHIFT) + acked;
}

/* The divisor by the window alone. */
static __always_inline __u64 ss_bic_raw_count(const struct ss_bic *s, __u64 cwnd)
{
	__u64 slow = cwnd * SS_BIC_SMOOTH_PART / SS_BIC_B;
	__u64 linear = cwnd / SS_BIC_MAX_INCREMENT;
	__u64 max = s->last_max, count, distance;

	if (cwnd < max) {
		distance = (max - cwnd) / SS_BIC_B;
		if (distance > SS_BIC_MAX_INCREMENT)
			count = linear;
		else
			count = distance > 1 ? cwnd / distance : slow;
	} else if (cwnd < max + SS_BIC_B) {
		count = slow;
	} else if (cwnd < max + SS_BIC_MAX_INCREMENT * (SS_BIC_B - 1)) {
		count = cwnd * (SS_BIC_B - 1) / (cwnd - max);
	} else {
		count = linear;
	}
	return !max && count > SS_BIC_UNKNOWN_COUNT ? SS_BIC_UNKNOWN_COUNT : count;
}

static __always_inline void ss_bic_update(struct ss_bic *s, const struct ss_bic_config *c, __u32 cwnd,
					  __u64 now)
{
	__u64 tick = now / ss_tick(c->hz);

	if (s->last_cwnd == cwnd && tick - s->last_time <= c->hz / 32)
		return;
	s->last_cwnd = cwnd;
	s->last_time = tick;
	if (cwnd <= SS_BIC_LOW_WINDOW) {
		s->count = cwnd;
		return;
	}
	s->count = ss_bic_raw_count(s, cwnd);
	if (c->delayed_ack)
		s->count = (s->count << SS_BIC_RATIO_SHIFT) / (s->ack_ratio ? s->ack_ratio : 1);
	if (!s->count)
		s->count = 1;
}

/* The growth by an ACK above the threshold that leaves `acked` segments for it. */
static __always_inline __u32 ss_bic_on_ack(struct ss_bic *s, const struct ss_bic_config *c, __u64 now,
					   __u32 cwnd, __u32 acked)
{
	ss_bic_update(s, c, cwnd, now);
	return ss_additive(&s->credit, acked, s->count);
}

/* A congestion episode begins: the threshold. */
static __always_inline __u32 ss_bic_on_congestion(struct ss_bic *s, const struct ss_bic_config *c,
						  __u32 cwnd)
{
	__u64 left;

	s->credit = 0;
	if (cwnd < s->last_max && c->fast_convergence)
		s->last_max = cwnd * (SS_BIC_BETA_SCALE + SS_BIC_BETA) / (2 * SS_BIC_BETA_SCALE);
	else
		s->last_max = cwnd;
	left = cwnd <= SS_BIC_LOW_WINDOW ? cwnd / 2 : cwnd * SS_BIC_BETA / SS_BIC_BETA_SCALE;
	return left > 2 ? left : 2;
}

#endif
