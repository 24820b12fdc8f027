/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shared by the parts of the core. It compiles for BPF (after vmlinux.h), for the host, and
 * without any header of an operating system.
 *
 * Windows, deliveries and data in flight are counted in segments, sequence offsets and totals in
 * bytes, and times in nanoseconds unless stated otherwise. There is no floating point, no signed
 * division and no unbounded loop.
 */
#ifndef SLOWSTART_TYPES_H
#define SLOWSTART_TYPES_H

#ifdef __linux__
#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif
#elif !defined(__VMLINUX_H__)
/* The same types where Linux's headers are missing. */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* A threshold that was never set. */
#define SS_INFINITE 0x7fffffffu

/* What a hook requests for the window. */
enum ss_step {
	SS_NOTHING, /* leave it to the caller's ordinary slow start */
	SS_GROW,    /* add `cwnd` segments */
	SS_SET,     /* the window is `cwnd`, slow start goes on */
	SS_EXIT,    /* the window is `cwnd`, the threshold `ssthresh` */
	SS_DRAIN,   /* slow start is over; window and threshold follow when the queue has drained */
	SS_LOG,     /* slow start would be over, and goes on: the decision is only reported */
};

/* Why slow start ended, where more than one reason is possible. */
enum ss_why { SS_WHY_OWN, SS_WHY_TRAIN, SS_WHY_DELAY };

struct ss_window {
	__u32 cwnd;
	__u32 ssthresh;
};

/* An ACK that delivered data. */
struct ss_ack {
	__u64 now;
	__u64 rtt;         /* the sample, where `has_rtt` */
	__u64 srtt;
	__u64 acked;       /* cumulatively acknowledged since the connection began */
	__u64 sent;        /* sent since then, retransmissions included, before this ACK's answer */
	__u64 snd_nxt;     /* next new offset */
	__u32 delivered;   /* by this ACK */
	__u32 in_flight;
	__u32 smss;
	__u32 has_rtt;
	__u32 app_limited;
	__u32 paced;
	__u32 advanced;    /* `acked` did */
	__u32 reducing;    /* a reduction is in progress */
	__u64 pacing_rate; /* bytes per second, whether the sender paces or not */
};

#endif
