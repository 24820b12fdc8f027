/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The core on the host: reads one event a line and answers each with one line, so that a test can
 * hold it to the vectors and to the simulator's own code.
 *
 *   search VERSION EXIT THRESHOLD ALPHA    a new connection (the numbers of core/search.h)
 *   hystart++ N_RTT_SAMPLE CSS_DIVISOR CSS_ROUNDS LIMIT
 *   resume NOW IDLE_SINCE
 *   delivery NOW RTT SRTT ACKED SENT SND_NXT DELIVERED IN_FLIGHT SMSS HAS_RTT APP_LIMITED PACED CWND SSTHRESH
 *   ack      (the same)
 *   congestion
 *   restart
 *
 * The answer: STEP CWND SSTHRESH PHASE NORM, where PHASE is 0, 1 (CSS) or 2 (drain), and NORM is
 * thousandths or `-`.
 */
#include <stdio.h>
#include <string.h>

#include "../core/hystart_pp.h"
#include "../core/search.h"

static struct ss_search_config search_config;
static struct ss_search search;
static struct ss_hspp_config hspp_config;
static struct ss_hspp hspp;
static int is_search;

static enum ss_step on_delivery(const struct ss_ack *a, struct ss_window *w)
{
	return is_search ? ss_search_on_delivery(&search, &search_config, a, w)
			 : ss_hspp_on_delivery(&hspp, &hspp_config, a, w);
}

static enum ss_step on_ack(const struct ss_ack *a, struct ss_window *w)
{
	return is_search ? ss_search_on_ack(&search, a, w) : ss_hspp_on_ack(&hspp, &hspp_config, a, w);
}

static int new_search(const char *line)
{
	if (sscanf(line, "search %u %u %u %u", &search_config.version, &search_config.exit,
		   &search_config.threshold, &search_config.alpha) != 4)
		return 0;
	memset(&search, 0, sizeof(search));
	is_search = 1;
	return 1;
}

static int new_hystart(const char *line)
{
	struct ss_hspp_config defaults = SS_HSPP_DEFAULTS;

	hspp_config = defaults;
	if (sscanf(line, "hystart++ %u %u %u %u", &hspp_config.n_rtt_sample,
		   &hspp_config.css_growth_divisor, &hspp_config.css_rounds, &hspp_config.limit) != 4)
		return 0;
	memset(&hspp, 0, sizeof(hspp));
	is_search = 0;
	return 1;
}

static int read_ack(const char *numbers, struct ss_ack *a, struct ss_window *w)
{
	return sscanf(numbers, "%llu %llu %llu %llu %llu %llu %u %u %u %u %u %u %u %u", &a->now, &a->rtt,
		      &a->srtt, &a->acked, &a->sent, &a->snd_nxt, &a->delivered, &a->in_flight, &a->smss,
		      &a->has_rtt, &a->app_limited, &a->paced, &w->cwnd, &w->ssthresh) == 14;
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		enum ss_step step = SS_NOTHING;
		struct ss_window w = { 0, 0 };
		struct ss_ack a;
		__u64 now, since;
		int phase;

		if (!strncmp(line, "delivery ", 9) && read_ack(line + 9, &a, &w)) {
			step = on_delivery(&a, &w);
		} else if (!strncmp(line, "ack ", 4) && read_ack(line + 4, &a, &w)) {
			step = on_ack(&a, &w);
		} else if (sscanf(line, "resume %llu %llu", &now, &since) == 2) {
			if (is_search)
				ss_search_on_resume(&search, now, since);
		} else if (!strcmp(line, "congestion\n")) {
			if (!is_search)
				ss_hspp_on_congestion(&hspp);
		} else if (!strcmp(line, "restart\n")) {
			if (is_search)
				ss_search_restart(&search);
			else
				ss_hspp_restart(&hspp);
		} else if (!new_search(line) && !new_hystart(line)) {
			fprintf(stderr, "answer: cannot read: %s", line);
			return 2;
		}
		phase = is_search ? (search.draining ? 2 : 0) : (hspp.css ? 1 : 0);
		printf("%d %u %u %d ", step, w.cwnd, w.ssthresh, phase);
		if (is_search && search.norm_known)
			printf("%s%llu\n", search.norm_negative ? "-" : "", search.norm);
		else
			printf("-\n");
		fflush(stdout);
	}
	return 0;
}
