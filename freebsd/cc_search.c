/* SPDX-License-Identifier: MIT */
/*
 * SEARCH for FreeBSD: the kernel's CUBIC, with SEARCH 2.0 or 3.1 as its slow start.
 *
 * The decision is that of bpf/core/search.h, which Linux's programs share (its first lines name the
 * sources). This file gives it what FreeBSD's `cc(9)` interface knows, and hands everything else to
 * CUBIC, whose state stands before SEARCH's in the same memory.
 *
 *   kldload ./cc_search.ko
 *   sysctl net.inet.tcp.cc.algorithm=search
 *   sysctl net.inet.tcp.cc.search.version=31     (20 is the default)
 *
 * Deviations from Linux's program, each because of what the interface offers:
 * - The default stack hands over no RTT samples, only its smoothed RTT. RACK gives the samples
 *   (`rttsample`).
 * - Delivered bytes are those that ACKs acknowledge; SACK blocks are not counted.
 * - The application limits the sender if a segment more would have fitted into the window.
 * - CUBIC treats a window equal to the threshold as slow start, so the first ACK after the exit
 *   still adds what it acknowledges.
 * - SEARCH 4.0 needs the bytes sent, which the interface does not count: it is not offered.
 * - HyStart++ of CUBIC needs `newround`, which this control does not pass on. It is off.
 */
#include <sys/param.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/socket.h>
#include <sys/socketvar.h>
#include <sys/sysctl.h>
#include <sys/systm.h>
#include <sys/time.h>

#include <net/vnet.h>

#include <netinet/in.h>
#include <netinet/in_pcb.h>
#include <netinet/tcp.h>
#include <netinet/tcp_timer.h>
#include <netinet/tcp_var.h>
#include <netinet/cc/cc.h>
#include <netinet/cc/cc_module.h>

#if __FreeBSD_version < 1500000
#undef __always_inline /* 14's does not say `inline`, so the core has its own */
#endif
#include "../bpf/core/search.h"

/* 14 passes signals as plain integers, and 15 as an enumeration. The connection has moved, too. */
#if __FreeBSD_version >= 1500000
typedef ccsignal_t ss_ack_type;
typedef ccsignal_t ss_cong_type;
#define SS_TCP(ccv) ((ccv)->tp)
#else
typedef uint16_t ss_ack_type;
typedef uint32_t ss_cong_type;
#define SS_TCP(ccv) ((ccv)->ccvc.tcp)
#endif

/* CUBIC of the kernel (sys/netinet/cc/cc_cubic.c). */
extern struct cc_algo cubic_cc_algo;

struct ss_flow {
	struct ss_search search;
	__u64 acked; /* bytes acknowledged since the connection began */
	__u64 rtt;   /* the newest sample in nanoseconds; 0 if none came since the last ACK */
	bool samples; /* whether the stack hands over samples */
};

static u_int ss_version = SS_SEARCH_20;
static u_int ss_exit = SS_EXIT_PLAIN;
static u_int ss_threshold = 350;
static u_int ss_passive = 0;

SYSCTL_DECL(_net_inet_tcp_cc);
static SYSCTL_NODE(_net_inet_tcp_cc, OID_AUTO, search, CTLFLAG_RW | CTLFLAG_MPSAFE, NULL,
    "SEARCH: slow start that exits at the right chokepoint");
SYSCTL_UINT(_net_inet_tcp_cc_search, OID_AUTO, version, CTLFLAG_RWTUN, &ss_version, 0,
    "20 (SEARCH 2.0) or 31 (SEARCH 3.1)");
SYSCTL_UINT(_net_inet_tcp_cc_search, OID_AUTO, exit, CTLFLAG_RWTUN, &ss_exit, 0,
    "0: keep the window at the exit; 1: roll it back by what two round trips delivered");
SYSCTL_UINT(_net_inet_tcp_cc_search, OID_AUTO, threshold, CTLFLAG_RWTUN, &ss_threshold, 0,
    "smallest shortfall of the delivery rate that ends slow start, in thousandths");
SYSCTL_UINT(_net_inet_tcp_cc_search, OID_AUTO, passive, CTLFLAG_RWTUN, &ss_passive, 0,
    "1: decide, and leave the window alone");

/* CUBIC's part of the memory, rounded up to the alignment of 64-bit numbers. */
static size_t
ss_offset(void)
{
	return (roundup2(cubic_cc_algo.cc_data_sz(), sizeof(__u64)));
}

static struct ss_flow *
ss_flow(struct cc_var *ccv)
{
	return ((struct ss_flow *)((char *)ccv->cc_data + ss_offset()));
}

static size_t
ss_data_sz(void)
{
	return (ss_offset() + sizeof(struct ss_flow));
}

static int
ss_cb_init(struct cc_var *ccv, void *memory)
{
	int error;
	bool mine = memory == NULL;

	if (mine) {
		memory = malloc(ss_data_sz(), M_CC_MEM, M_NOWAIT | M_ZERO);
		if (memory == NULL)
			return (ENOMEM);
	} else {
		memset(memory, 0, ss_data_sz());
	}
	error = cubic_cc_algo.cb_init(ccv, memory);
	if (error != 0 && mine)
		free(memory, M_CC_MEM);
	return (error);
}

static void
ss_rttsample(struct cc_var *ccv, uint32_t usec_rtt, uint32_t rxtcnt, uint32_t fas __unused)
{
	/* The RTT of a segment that was sent again is ambiguous. */
	if (rxtcnt <= 1)
		ss_flow(ccv)->rtt = (__u64)usec_rtt * 1000;
	ss_flow(ccv)->samples = true;
}

static bool
ss_in_slow_start(struct cc_var *ccv)
{
	return (CCV(ccv, snd_cwnd) < CCV(ccv, snd_ssthresh));
}

/* Sets window and threshold as SEARCH asks. A window that it keeps, it keeps to the byte. */
static void
ss_leave(struct cc_var *ccv, const struct ss_window *w, __u32 before, __u32 smss)
{
	if (w->cwnd != before)
		CCV(ccv, snd_cwnd) = w->cwnd * smss;
	CCV(ccv, snd_ssthresh) = CCV(ccv, snd_cwnd);
}

static void
ss_delivered(struct cc_var *ccv, struct ss_flow *flow)
{
	struct ss_search_config config = {
		.version = ss_version == SS_SEARCH_31 ? SS_SEARCH_31 : SS_SEARCH_20,
		.exit = ss_exit == SS_EXIT_ROLLBACK ? SS_EXIT_ROLLBACK : SS_EXIT_PLAIN,
		.threshold = ss_threshold,
		.passive = ss_passive,
	};
	struct ss_ack a = { 0 };
	struct ss_window w;
	__u32 before, flight;

	a.now = (__u64)sbttons(sbinuptime());
	a.srtt = (__u64)tcp_get_srtt(SS_TCP(ccv), TCP_TMR_GRANULARITY_USEC) * 1000;
	a.rtt = flow->samples ? flow->rtt : a.srtt;
	a.has_rtt = a.rtt != 0;
	a.smss = tcp_fixed_maxseg(SS_TCP(ccv));
	a.acked = flow->acked;
	a.delivered = ccv->bytes_this_ack / a.smss;
	a.advanced = 1;
	/* `snd_una` does not yet have this ACK: this is what was in flight before it. */
	flight = CCV(ccv, snd_max) - CCV(ccv, snd_una);
	a.in_flight = flight / a.smss;
	a.app_limited = flight + a.smss <= CCV(ccv, snd_cwnd);
	before = CCV(ccv, snd_cwnd) / a.smss;
	w.cwnd = before;
	w.ssthresh = CCV(ccv, snd_ssthresh) / a.smss;
	if (ss_search_on_delivery(&flow->search, &config, &a, &w) == SS_EXIT)
		ss_leave(ccv, &w, before, a.smss);
}

static void
ss_ack_received(struct cc_var *ccv, ss_ack_type type)
{
	struct ss_flow *flow = ss_flow(ccv);

	if (ccv->bytes_this_ack > 0)
		flow->acked += ccv->bytes_this_ack;
	if (type == CC_ACK && ss_in_slow_start(ccv) && !IN_RECOVERY(CCV(ccv, t_flags)))
		ss_delivered(ccv, flow);
	flow->rtt = 0;
	cubic_cc_algo.ack_received(ccv, type);
}

static void
ss_cong_signal(struct cc_var *ccv, ss_cong_type type)
{
	/* Slow start begins again after a timeout. */
	if (type == CC_RTO)
		ss_search_restart(&ss_flow(ccv)->search);
	cubic_cc_algo.cong_signal(ccv, type);
}

static void
ss_after_idle(struct cc_var *ccv)
{
	ss_search_restart(&ss_flow(ccv)->search);
	cubic_cc_algo.after_idle(ccv);
}

static void
ss_cb_destroy(struct cc_var *ccv)
{
	cubic_cc_algo.cb_destroy(ccv);
}

static void
ss_conn_init(struct cc_var *ccv)
{
	cubic_cc_algo.conn_init(ccv);
}

static void
ss_post_recovery(struct cc_var *ccv)
{
	cubic_cc_algo.post_recovery(ccv);
}

struct cc_algo search_cc_algo = {
	.name = "search",
	.cc_data_sz = ss_data_sz,
	.cb_init = ss_cb_init,
	.cb_destroy = ss_cb_destroy,
	.conn_init = ss_conn_init,
	.ack_received = ss_ack_received,
	.cong_signal = ss_cong_signal,
	.post_recovery = ss_post_recovery,
	.after_idle = ss_after_idle,
	.rttsample = ss_rttsample,
};

DECLARE_CC_MODULE(search, &search_cc_algo);
MODULE_VERSION(search, 1);
MODULE_DEPEND(search, cubic, 2, 2, 2);
