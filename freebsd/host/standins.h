/* SPDX-License-Identifier: MIT */
/*
 * What cc_search.c uses of FreeBSD's kernel, for a program on another system: a connection whose
 * fields the program sets, a clock that it sets, and a CUBIC that does nothing. `__FreeBSD_version`
 * chooses the interface, of 14 (plain integers as signals) or 15 (an enumeration).
 */
#ifndef SLOWSTART_STANDINS_H
#define SLOWSTART_STANDINS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define __unused __attribute__((unused))
#define roundup2(x, y) (((x) + ((y) - 1)) & ~((y) - 1))
#define malloc(size, type, flags) calloc(1, size)
#define free(memory, type) (free)(memory)

/* Declarations that a kernel would collect. */
#define SYSCTL_DECL(name) struct ss_declared_##name
#define SYSCTL_NODE(parent, id, name, ...) int ss_node_##name __unused
#define SYSCTL_UINT(parent, id, name, ...) struct ss_knob_##name
#define DECLARE_CC_MODULE(name, algorithm) struct ss_module_##name
#define MODULE_VERSION(name, version) struct ss_version_##name
#define MODULE_DEPEND(name, ...) struct ss_depend_##name

struct tcpcb {
	uint32_t snd_cwnd;
	uint32_t snd_ssthresh;
	uint32_t snd_max;
	uint32_t snd_una;
	uint32_t t_flags;
	uint32_t t_maxseg;
	uint32_t srtt_us;
};

#define IN_RECOVERY(flags) ((flags) != 0)
#define TCP_TMR_GRANULARITY_USEC 2

struct cc_var {
	void *cc_data;
	int bytes_this_ack;
#if __FreeBSD_version >= 1500000
	struct tcpcb *tp;
#else
	union {
		struct tcpcb *tcp;
	} ccvc;
#endif
};

#if __FreeBSD_version >= 1500000
typedef enum { CC_ACK = 0x0001, CC_RTO = 0x0200 } ccsignal_t;
typedef ccsignal_t ss_standin_ack;
typedef ccsignal_t ss_standin_cong;
#define CCV(ccv, what) (ccv)->tp->what
#else
enum { CC_ACK = 0x0001, CC_RTO = 0x0200 };
typedef uint16_t ss_standin_ack;
typedef uint32_t ss_standin_cong;
#define CCV(ccv, what) (ccv)->ccvc.tcp->what
#endif

struct cc_algo {
	char name[16];
	size_t (*cc_data_sz)(void);
	int (*cb_init)(struct cc_var *ccv, void *memory);
	void (*cb_destroy)(struct cc_var *ccv);
	void (*conn_init)(struct cc_var *ccv);
	void (*ack_received)(struct cc_var *ccv, ss_standin_ack type);
	void (*cong_signal)(struct cc_var *ccv, ss_standin_cong type);
	void (*post_recovery)(struct cc_var *ccv);
	void (*after_idle)(struct cc_var *ccv);
	void (*rttsample)(struct cc_var *ccv, uint32_t usec_rtt, uint32_t rxtcnt, uint32_t fas);
};

typedef int64_t sbintime_t;

extern int64_t ss_now;

static inline sbintime_t sbinuptime(void)
{
	return ss_now;
}

static inline int64_t sbttons(sbintime_t time)
{
	return time;
}

static inline uint32_t tcp_get_srtt(struct tcpcb *tp, int unit __unused)
{
	return tp->srtt_us;
}

static inline unsigned int tcp_fixed_maxseg(const struct tcpcb *tp)
{
	return tp->t_maxseg;
}

#endif
