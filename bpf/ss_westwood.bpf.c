/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_westwood`: Westwood+ (core/westwood.h) with standard slow start, as in Linux's module except
 * for its clock, which has 250 ticks per second on every kernel (`westwood_config`, which a loader
 * may change before it loads), and for ACKs that deliver nothing, which it does not count.
 */
#include "common.bpf.h"
#include "core/westwood.h"

#define SS_NAME ss_westwood
#define SS_STATE struct ss_westwood

const volatile struct ss_westwood_config westwood_config SEC(".rodata.config") =
	SS_WESTWOOD_DEFAULTS;

static __always_inline struct ss_westwood_config ss_config(void)
{
	struct ss_westwood_config config = { .hz = westwood_config.hz };

	return config;
}

static __always_inline void ss_started(struct ss_westwood *s, struct sock *sk)
{
	struct ss_westwood_config config = ss_config();

	ss_westwood_begin(s, &config, ss_now(ss_tcp(sk)));
}

static __always_inline void ss_delivered(struct ss_westwood *s, const struct ss_ack *a, __u32 acked,
					 __u32 state)
{
	struct ss_westwood_config config = ss_config();

	ss_westwood_on_delivery(s, &config, a);
}

static __always_inline __u32 ss_growth(struct ss_westwood *s, __u64 now, __u32 cwnd, __u32 acked)
{
	return ss_westwood_on_ack(s, cwnd, acked);
}

static __always_inline __u32 ss_threshold(struct ss_westwood *s, __u32 cwnd)
{
	return ss_westwood_on_congestion(s, cwnd);
}

/* The end of a reduction, and a timeout, whose threshold was Reno's a moment ago. */
static __always_inline void ss_event(struct ss_westwood *s, struct sock *sk,
				     enum tcp_ca_event event)
{
	struct tcp_sock *tp = ss_tcp(sk);
	__u32 window;

	if (event == CA_EVENT_COMPLETE_CWR) {
		window = ss_westwood_product(s, tp->mss_cache);
		ss_set_threshold(tp, window);
		ss_set_window(tp, window);
	} else if (event == CA_EVENT_LOSS) {
		ss_set_threshold(tp, ss_westwood_on_timeout(s, tp->mss_cache));
	}
}

static __always_inline void ss_forgotten(struct ss_westwood *s)
{
	s->credit = 0;
}

#include "avoidance.bpf.h"
