/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_hspaper`: the kernel's CUBIC with HyStart in the form of its paper (core/hystart.h) instead
 * of the kernel's form. The constants are in `hystart_config`, which a loader may change before it
 * loads.
 */
#include "common.bpf.h"
#include "core/hystart.h"

#define SS_NAME ss_hspaper
#define SS_STATE struct ss_hystart

const volatile struct ss_hystart_config hystart_config SEC(".rodata.config") = SS_HYSTART_PAPER;

static __always_inline void ss_started(struct ss_hystart *s, struct sock *sk)
{
	ss_hystart_begin(s, ss_now(ss_tcp(sk)), ss_next(ss_tcp(sk)));
}

static __always_inline void ss_congested(struct ss_hystart *s, struct sock *sk)
{
}

static __always_inline void ss_restarted(struct ss_hystart *s, struct sock *sk)
{
	ss_hystart_restart(s, ss_now(ss_tcp(sk)), ss_next(ss_tcp(sk)));
}

static __always_inline enum ss_step ss_delivered(struct ss_hystart *s, const struct ss_ack *a,
						 struct ss_window *w)
{
	struct ss_hystart_config config = {
		.ack_delta = hystart_config.ack_delta,
		.delay_min = hystart_config.delay_min,
		.delay_max = hystart_config.delay_max,
		.low_window = hystart_config.low_window,
		.min_samples = hystart_config.min_samples,
		.train = hystart_config.train,
		.delay = hystart_config.delay,
	};

	return ss_hystart_on_delivery(s, &config, a, w);
}

static __always_inline __u32 ss_grow(struct ss_hystart *s, struct sock *sk, struct ss_flow *flow,
				     __u32 acked)
{
	return 0;
}

static __always_inline void ss_event(struct ss_hystart *s, struct sock *sk, struct ss_flow *flow,
				     enum tcp_ca_event event)
{
}

static __always_inline void ss_evidence(const struct ss_hystart *s, struct ss_exit *record)
{
	record->why = s->why;
}

#include "control.bpf.h"
