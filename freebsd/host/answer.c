/* SPDX-License-Identifier: MIT */
/*
 * FreeBSD's SEARCH on another system: cc_search.c as it is, over the stand-ins for the kernel. It
 * reads and answers the events of bpf/host/answer.c that concern `search VERSION EXIT THRESHOLD 0`,
 * so the same test judges both. It refuses what the module does not offer.
 */
#include <stdio.h>

#include "standins.h"

#include "../cc_search.c"

int64_t ss_now;

static struct tcpcb connection;
static struct cc_var variables;
static __u64 acked_before;

/* A CUBIC with a state of its own, whose last byte shows whether SEARCH's overlaps it. */
static char cubic_state[13];

static size_t cubic_size(void)
{
	return sizeof(cubic_state);
}

static int cubic_init(struct cc_var *ccv, void *memory)
{
	memset(memory, 0x5a, sizeof(cubic_state));
	ccv->cc_data = memory;
	return 0;
}

static void cubic_destroy(struct cc_var *ccv)
{
	(free)(ccv->cc_data);
}

static void cubic_nothing(struct cc_var *ccv __unused)
{
}

static void cubic_acked(struct cc_var *ccv, ss_standin_ack type __unused)
{
	memset(cubic_state, 0x5a, sizeof(cubic_state));
	if (memcmp(ccv->cc_data, cubic_state, sizeof(cubic_state)) != 0) {
		fprintf(stderr, "answer: SEARCH wrote into CUBIC's state\n");
		exit(3);
	}
}

static void cubic_signal(struct cc_var *ccv __unused, ss_standin_cong type __unused)
{
}

struct cc_algo cubic_cc_algo = {
	.name = "cubic",
	.cc_data_sz = cubic_size,
	.cb_init = cubic_init,
	.cb_destroy = cubic_destroy,
	.conn_init = cubic_nothing,
	.ack_received = cubic_acked,
	.cong_signal = cubic_signal,
	.post_recovery = cubic_nothing,
	.after_idle = cubic_nothing,
};

static int begin(const char *line)
{
	u_int alpha;

	if (sscanf(line, "search %u %u %u %u", &ss_version, &ss_exit, &ss_threshold, &alpha) != 4)
		return 0;
	if ((ss_version != SS_SEARCH_20 && ss_version != SS_SEARCH_31) || ss_exit == SS_EXIT_DRAIN ||
	    alpha != 0)
		return 0;
	if (variables.cc_data != NULL)
		search_cc_algo.cb_destroy(&variables);
	memset(&variables, 0, sizeof(variables));
#if __FreeBSD_version >= 1500000
	variables.tp = &connection;
#else
	variables.ccvc.tcp = &connection;
#endif
	acked_before = 0;
	return search_cc_algo.cb_init(&variables, NULL) == 0;
}

/* What FreeBSD's TCP does when an ACK arrives in slow start. */
static int deliver(const char *numbers, struct ss_window *w)
{
	struct ss_ack a;
	__u32 window;

	if (sscanf(numbers, "%llu %llu %llu %llu %llu %llu %u %u %u %u %u %u %u %u %llu %u %u", &a.now,
		   &a.rtt, &a.srtt, &a.acked, &a.sent, &a.snd_nxt, &a.delivered, &a.in_flight,
		   &a.smss, &a.has_rtt, &a.app_limited, &a.paced, &a.advanced, &a.reducing,
		   &a.pacing_rate, &w->cwnd, &w->ssthresh) != 17)
		return -1;
	ss_now = (int64_t)a.now;
	window = w->cwnd * a.smss;
	connection.t_maxseg = a.smss;
	connection.snd_cwnd = window;
	connection.snd_ssthresh = w->ssthresh == SS_INFINITE ? UINT32_MAX : w->ssthresh * a.smss;
	connection.srtt_us = (uint32_t)(a.srtt / 1000);
	connection.snd_una = 0;
	connection.snd_max = a.app_limited ? 0 : window;
	variables.bytes_this_ack = (int)(a.acked - acked_before);
	acked_before = a.acked;
	search_cc_algo.rttsample(&variables, (uint32_t)(a.rtt / 1000), a.has_rtt ? 1 : 2, 0);
	search_cc_algo.ack_received(&variables, CC_ACK);
	if (connection.snd_ssthresh == UINT32_MAX ||
	    connection.snd_ssthresh == w->ssthresh * a.smss)
		return SS_NOTHING;
	w->cwnd = connection.snd_cwnd / a.smss;
	w->ssthresh = connection.snd_ssthresh / a.smss;
	return SS_EXIT;
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		const struct ss_search *search;
		struct ss_window w = { 0, 0 };
		int step = SS_NOTHING;
		__u64 now, since;

		if (!strncmp(line, "delivery ", 9)) {
			step = deliver(line + 9, &w);
		} else if (sscanf(line, "resume %llu %llu", &now, &since) == 2) {
			/* tcp_output() calls after_idle once nothing was sent for a timeout. */
			if (now - since > (__u64)connection.srtt_us * 1000 + SS_RTO_MIN)
				search_cc_algo.after_idle(&variables);
		} else if (!strcmp(line, "restart\n")) {
			search_cc_algo.cong_signal(&variables, CC_RTO);
		} else if (strncmp(line, "ack ", 4) && strncmp(line, "congestion ", 11) &&
			   strncmp(line, "sent ", 5) && !begin(line)) {
			step = -1;
		}
		if (step < 0) {
			fprintf(stderr, "answer: cannot read: %s", line);
			return 2;
		}
		search = &ss_flow(&variables)->search;
		printf("%d %u %u 0 ", step, w.cwnd, w.ssthresh);
		if (search->norm_known)
			printf("%s%llu", search->norm_negative ? "-" : "", search->norm);
		else
			printf("-");
		printf(" 0 - 0\n");
		fflush(stdout);
	}
	return 0;
}
