/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_bic`: BIC (core/bic.h) with standard slow start, as in Linux's module except for its clock,
 * which has 250 ticks per second on every kernel. The options are in `bic_config`, which a loader
 * may change before it loads.
 */
#include "common.bpf.h"
#include "core/bic.h"

#define SS_NAME ss_bic
#define SS_STATE struct ss_bic

const volatile struct ss_bic_config bic_config SEC(".rodata.config") = SS_BIC_DEFAULTS;

static __always_inline struct ss_bic_config ss_config(void)
{
	struct ss_bic_config config = {
		.hz = bic_config.hz,
		.fast_convergence = bic_config.fast_convergence,
		.delayed_ack = bic_config.delayed_ack,
	};

	return config;
}

static __always_inline void ss_started(struct ss_bic *s, struct sock *sk)
{
	ss_bic_begin(s);
}

static __always_inline void ss_delivered(struct ss_bic *s, const struct ss_ack *a, __u32 acked,
					 __u32 state)
{
	if (state == SS_CA_OPEN)
		ss_bic_on_delivery(s, acked);
}

static __always_inline __u32 ss_growth(struct ss_bic *s, __u64 now, __u32 cwnd, __u32 acked)
{
	struct ss_bic_config config = ss_config();

	return ss_bic_on_ack(s, &config, now, cwnd, acked);
}

static __always_inline __u32 ss_threshold(struct ss_bic *s, __u32 cwnd)
{
	struct ss_bic_config config = ss_config();

	return ss_bic_on_congestion(s, &config, cwnd);
}

static __always_inline void ss_event(struct ss_bic *s, struct sock *sk, enum tcp_ca_event event)
{
}

static __always_inline void ss_forgotten(struct ss_bic *s)
{
	ss_bic_begin(s);
}

#include "avoidance.bpf.h"
