/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shared by the avoidances: a clock with a given number of ticks per second, whatever the kernel's
 * own is, and additive increase. The results equal those of the simulator's `AdditiveIncrease` and
 * `Jiffies`.
 */
#ifndef SLOWSTART_ADDITIVE_H
#define SLOWSTART_ADDITIVE_H

#include "types.h"

#define SS_SECOND 1000000000ull

/* The length of a tick. */
static __always_inline __u64 ss_tick(__u32 hz)
{
	return SS_SECOND / (hz ? hz : 1);
}

/* A span in ticks, rounded up. */
static __always_inline __u64 ss_ticks_up(__u64 span, __u32 hz)
{
	__u64 tick = ss_tick(hz);

	return span / tick + (span % tick != 0);
}

/* Growth by `acked` segments when every `per` of them earn one; `credit` carries the remainder. */
static __always_inline __u32 ss_additive(__u64 *credit, __u32 acked, __u64 per)
{
	__u64 growth = 0;

	if (!per)
		per = 1;
	/* A divisor that has just become smaller takes effect at once, but earns one segment only. */
	if (*credit >= per) {
		*credit = 0;
		growth = 1;
	}
	*credit += acked;
	growth += *credit / per;
	*credit %= per;
	return growth;
}

#endif
