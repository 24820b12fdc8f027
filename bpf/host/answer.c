/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The core on the host: reads one event a line and answers each with one line, so that a test can
 * compare it with the vectors and with the simulator's own code.
 *
 * A new connection, of a start-up or of an avoidance:
 *
 *   search VERSION EXIT THRESHOLD ALPHA    (the numbers of core/search.h)
 *   hystart++ N_RTT_SAMPLE CSS_DIVISOR CSS_ROUNDS LIMIT PATCH
 *   hystart TRAIN DELAY                    (variant=paper)
 *   suss TALK MAX
 *   bic HZ FAST_CONVERGENCE DELAYED_ACK
 *   westwood HZ
 *
 * Events of a start-up:
 *
 *   resume NOW IDLE_SINCE
 *   sent IN_FLIGHT CWND
 *   delivery NOW RTT SRTT ACKED SENT SND_NXT DELIVERED IN_FLIGHT SMSS HAS_RTT APP_LIMITED PACED
 *            ADVANCED REDUCING PACING_RATE CWND SSTHRESH
 *   ack      (the same)
 *   congestion NOW SND_NXT IN_FLIGHT TIMEOUT
 *   restart
 *
 * Events of an avoidance; CWND of the answer is the growth, SSTHRESH the threshold:
 *
 *   delivered  (as delivery)
 *   grow NOW CWND ACKED
 *   reduce CWND SMSS TIMEOUT
 *   recovered SMSS
 *   forget
 *
 * The answer: STEP CWND SSTHRESH PHASE NORM WHY RATE FROM, where PHASE is 0, 1 (CSS) or 2 (drain),
 * NORM is thousandths or `-`, WHY is that of core/types.h, and red segments leave at RATE bytes per
 * second from the time FROM on, or RATE is `-`.
 */
#include <stdio.h>
#include <string.h>

#include "../core/bic.h"
#include "../core/hystart.h"
#include "../core/hystart_pp.h"
#include "../core/search.h"
#include "../core/suss.h"
#include "../core/westwood.h"

static enum { SEARCH, HYSTART_PP, HYSTART, SUSS, BIC, WESTWOOD } kind;

static struct ss_search_config search_config;
static struct ss_search search;
static struct ss_hspp_config hspp_config;
static struct ss_hspp hspp;
static struct ss_hystart_config hystart_config;
static struct ss_hystart hystart;
static struct ss_suss_config suss_config;
static struct ss_suss suss;
static struct ss_bic_config bic_config;
static struct ss_bic bic;
static struct ss_westwood_config westwood_config;
static struct ss_westwood westwood;

static enum ss_step on_delivery(const struct ss_ack *a, struct ss_window *w)
{
	switch (kind) {
	case SEARCH:
		return ss_search_on_delivery(&search, &search_config, a, w);
	case HYSTART_PP:
		return ss_hspp_on_delivery(&hspp, &hspp_config, a, w);
	case HYSTART:
		return ss_hystart_on_delivery(&hystart, &hystart_config, a, w);
	case SUSS:
		return ss_suss_on_delivery(&suss, &suss_config, a, w);
	default:
		return SS_NOTHING;
	}
}

static enum ss_step on_ack(const struct ss_ack *a, struct ss_window *w)
{
	switch (kind) {
	case SEARCH:
		return ss_search_on_ack(&search, a, w);
	case HYSTART_PP:
		return ss_hspp_on_ack(&hspp, &hspp_config, a, w);
	case SUSS:
		if (ss_suss_holds(&suss)) {
			w->cwnd = 0;
			return SS_GROW;
		}
		return SS_NOTHING;
	default:
		return SS_NOTHING;
	}
}

static enum ss_step on_congestion(__u64 now, __u64 snd_nxt, __u32 in_flight, int timeout,
				  struct ss_window *w)
{
	switch (kind) {
	case HYSTART_PP:
		ss_hspp_on_congestion(&hspp);
		return SS_NOTHING;
	case HYSTART:
		if (timeout)
			ss_hystart_restart(&hystart, now, snd_nxt);
		return SS_NOTHING;
	case SUSS:
		if (!timeout)
			return ss_suss_on_congestion(&suss, in_flight, w);
		ss_suss_on_timeout(&suss, now, snd_nxt, in_flight);
		return SS_NOTHING;
	default:
		return SS_NOTHING;
	}
}

static void restart(void)
{
	if (kind == SEARCH)
		ss_search_restart(&search);
	else if (kind == HYSTART_PP)
		ss_hspp_restart(&hspp);
}

static void delivered(const struct ss_ack *a)
{
	if (kind == WESTWOOD)
		ss_westwood_on_delivery(&westwood, &westwood_config, a);
	/* `reducing` stands for every congestion state but open. */
	else if (kind == BIC && !a->reducing)
		ss_bic_on_delivery(&bic, a->delivered);
}

static __u32 grow(__u64 now, __u32 cwnd, __u32 acked)
{
	return kind == BIC ? ss_bic_on_ack(&bic, &bic_config, now, cwnd, acked) :
			     ss_westwood_on_ack(&westwood, cwnd, acked);
}

static __u32 reduce(__u32 cwnd, __u32 smss, int timeout)
{
	if (kind == BIC)
		return ss_bic_on_congestion(&bic, &bic_config, cwnd);
	return timeout ? ss_westwood_on_timeout(&westwood, smss) :
			 ss_westwood_on_congestion(&westwood, cwnd);
}

static void forget(void)
{
	if (kind == BIC)
		ss_bic_begin(&bic);
	else
		westwood.credit = 0;
}

static int begin(const char *line)
{
	struct ss_hspp_config hspp_defaults = SS_HSPP_DEFAULTS(0);
	struct ss_hystart_config paper = SS_HYSTART_PAPER;

	hspp_config = hspp_defaults;
	hystart_config = paper;
	if (sscanf(line, "search %u %u %u %u", &search_config.version, &search_config.exit,
		   &search_config.threshold, &search_config.alpha) == 4) {
		memset(&search, 0, sizeof(search));
		kind = SEARCH;
	} else if (sscanf(line, "hystart++ %u %u %u %u %u", &hspp_config.n_rtt_sample,
			  &hspp_config.css_growth_divisor, &hspp_config.css_rounds,
			  &hspp_config.limit, &hspp_config.patch) == 5) {
		memset(&hspp, 0, sizeof(hspp));
		kind = HYSTART_PP;
	} else if (sscanf(line, "hystart %u %u", &hystart_config.train, &hystart_config.delay) == 2) {
		ss_hystart_begin(&hystart, 0, 0);
		kind = HYSTART;
	} else if (sscanf(line, "suss %u %u", &suss_config.talk, &suss_config.max) == 2) {
		ss_suss_begin(&suss, 0, 0);
		kind = SUSS;
	} else if (sscanf(line, "bic %u %u %u", &bic_config.hz, &bic_config.fast_convergence,
			  &bic_config.delayed_ack) == 3) {
		ss_bic_begin(&bic);
		kind = BIC;
	} else if (sscanf(line, "westwood %u", &westwood_config.hz) == 1) {
		ss_westwood_begin(&westwood, &westwood_config, 0);
		kind = WESTWOOD;
	} else {
		return 0;
	}
	return 1;
}

static int read_ack(const char *numbers, struct ss_ack *a, struct ss_window *w)
{
	return sscanf(numbers, "%llu %llu %llu %llu %llu %llu %u %u %u %u %u %u %u %u %llu %u %u",
		      &a->now, &a->rtt, &a->srtt, &a->acked, &a->sent, &a->snd_nxt, &a->delivered,
		      &a->in_flight, &a->smss, &a->has_rtt, &a->app_limited, &a->paced, &a->advanced,
		      &a->reducing, &a->pacing_rate, &w->cwnd, &w->ssthresh) == 17;
}

static void answer(enum ss_step step, const struct ss_window *w)
{
	int phase = 0, why = SS_WHY_OWN;

	if (kind == SEARCH && search.draining)
		phase = 2;
	if (kind == HYSTART_PP && hspp.css)
		phase = 1;
	if (kind == HYSTART)
		why = hystart.why;
	if (kind == SUSS)
		why = suss.hystart.why;
	printf("%d %u %u %d ", step, w->cwnd, w->ssthresh, phase);
	if (kind == SEARCH && search.norm_known)
		printf("%s%llu", search.norm_negative ? "-" : "", search.norm);
	else
		printf("-");
	if (kind == SUSS && suss.pacing)
		printf(" %d %llu %llu\n", why, suss.rate, suss.from);
	else
		printf(" %d - 0\n", why);
	fflush(stdout);
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		enum ss_step step = SS_NOTHING;
		struct ss_window w = { 0, 0 };
		struct ss_ack a;
		__u64 now, other;
		__u32 in_flight, smss, acked;
		int timeout;

		if (!strncmp(line, "delivery ", 9) && read_ack(line + 9, &a, &w)) {
			step = on_delivery(&a, &w);
		} else if (!strncmp(line, "ack ", 4) && read_ack(line + 4, &a, &w)) {
			step = on_ack(&a, &w);
		} else if (!strncmp(line, "delivered ", 10) && read_ack(line + 10, &a, &w)) {
			delivered(&a);
		} else if (sscanf(line, "resume %llu %llu", &now, &other) == 2) {
			if (kind == SEARCH)
				ss_search_on_resume(&search, now, other);
		} else if (sscanf(line, "sent %u %u", &in_flight, &w.cwnd) == 2) {
			if (kind == SUSS)
				step = ss_suss_after_sent(&suss, in_flight, &w);
		} else if (sscanf(line, "congestion %llu %llu %u %d", &now, &other, &in_flight,
				  &timeout) == 4) {
			step = on_congestion(now, other, in_flight, timeout, &w);
		} else if (sscanf(line, "grow %llu %u %u", &now, &w.cwnd, &acked) == 3) {
			w.cwnd = grow(now, w.cwnd, acked);
		} else if (sscanf(line, "reduce %u %u %d", &w.cwnd, &smss, &timeout) == 3) {
			w.ssthresh = reduce(w.cwnd, smss, timeout);
		} else if (sscanf(line, "recovered %u", &smss) == 1) {
			w.ssthresh = kind == WESTWOOD ? ss_westwood_product(&westwood, smss) : 0;
		} else if (!strcmp(line, "forget\n")) {
			forget();
		} else if (!strcmp(line, "restart\n")) {
			restart();
		} else if (!begin(line)) {
			fprintf(stderr, "answer: cannot read: %s", line);
			return 2;
		}
		answer(step, &w);
	}
	return 0;
}
