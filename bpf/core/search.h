/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * SEARCH (Slow start Exit At Right CHokepoint) 2.0, 3.1 and 4.0 in integers.
 *
 * Sources: Ataei Kachooei, MS thesis (WPI, December 2024), Algorithm 1, with its errata repaired;
 * the netdev patch of January 2025; draft-chung-ccwg-search-09. The results equal those of the
 * simulator's `search:arithmetic=percent`, bit for bit: nanoseconds, whole bytes, the look-back's
 * fraction in whole percent. Fractions of 2^-64 and shifted 16-bit bins are left out: the first
 * need 128 bits, the second save memory that socket storage has.
 *
 * Assumes that no window holds 2^53 bytes, that the state begins as zeros, and that the hooks are
 * called in slow start only.
 */
#ifndef SLOWSTART_SEARCH_H
#define SLOWSTART_SEARCH_H

#include "types.h"

/* W: bins in a window of 3.5 initial round trips. */
#define SS_BINS 10
/* Bins of one initial round trip, rounded up, and of two, rounded down. */
#define SS_BINS_OF_RTT_UP 3
#define SS_BINS_OF_TWO_RTTS 5
#define SS_BINS_OF_RTT_DOWN 2
/* Slots: a power of two above the look-back, the window and the bin before it. */
#define SS_ACKED_SLOTS 32
#define SS_SENT_SLOTS 64
/* The longest look-back in bins: EXTRA_BINS 15, or 40 in 4.0, less what the ring needs. */
#define SS_LOOKBACK_20 14
#define SS_LOOKBACK_31 13
#define SS_LOOKBACK_40 38
/* Linux's TCP_INIT_CWND, below which no exit takes the window. */
#define SS_LEAST_WINDOW 10
/* Segments delivered for each one that is sent while the window drains. */
#define SS_DRAIN_RATIO 3
/* RTTs above this count as this long. */
#define SS_LONGEST_RTT 3600000000000ull
#define SS_MICROSECOND 1000ull
/* TCP_RTO_MIN: a pause longer than SRTT plus this invalidates the bins. */
#define SS_RTO_MIN 200000000ull

enum ss_search_version { SS_SEARCH_20 = 20, SS_SEARCH_31 = 31, SS_SEARCH_40 = 40 };
enum ss_search_exit { SS_EXIT_PLAIN, SS_EXIT_ROLLBACK, SS_EXIT_DRAIN };

struct ss_search_config {
	__u32 version;
	__u32 exit;
	__u32 threshold; /* THRESH in thousandths */
	__u32 alpha;     /* initial round trips without an ACK that are tolerated; 0: any number */
	__u32 passive;   /* the first decision is reported, and has no effect */
};

struct ss_search {
	__u64 bin;   /* a bin's duration; 0 while it is not known */
	__u64 end;   /* of the bin that is being filled */
	__u64 index; /* of the last bin that ended; 0 when the bins were opened */
	__u64 srtt;
	__u64 drain_since;
	/* The last test, for traces: delivery's deficit to the expectation, in thousandths. */
	__u64 norm;
	__u32 norm_negative;
	__u32 norm_known;
	__u32 open;
	__u32 opened_before;
	__u32 draining;
	__u32 drain_target;
	__u32 drain_carry;
	__u32 exits; /* decisions so far */
	__u64 acked[SS_ACKED_SLOTS];
	__u64 sent[SS_SENT_SLOTS];
};

/* Forgets the bins and, if `full`, their duration. */
static __always_inline void ss_search_reset(struct ss_search *s, __u32 full)
{
	s->open = 0;
	s->norm_known = 0;
	if (full)
		s->bin = 0;
}

/* Slow start begins again. */
static __always_inline void ss_search_restart(struct ss_search *s)
{
	ss_search_reset(s, 1);
	s->draining = 0;
}

/* Sending resumes; the last send before was at `idle_since`. */
static __always_inline void ss_search_on_resume(struct ss_search *s, __u64 now, __u64 idle_since)
{
	if (now > idle_since && now - idle_since > s->srtt + SS_RTO_MIN)
		ss_search_restart(s);
}

static __always_inline void ss_search_store(struct ss_search *s, const struct ss_search_config *c,
					    __u64 index, __u64 acked, __u64 sent)
{
	s->index = index;
	s->acked[index & (SS_ACKED_SLOTS - 1)] = acked;
	if (c->version == SS_SEARCH_40)
		s->sent[index & (SS_SENT_SLOTS - 1)] = sent;
}

static __always_inline void ss_search_open(struct ss_search *s, const struct ss_search_config *c,
					   const struct ss_ack *a, __u64 rtt)
{
	__u64 acked = a->acked;

	if (s->bin == 0) {
		s->bin = rtt * 35 / 100;
		if (s->bin < SS_MICROSECOND)
			s->bin = SS_MICROSECOND;
	}
	/* 2.0 counts what the first ACK of the connection acknowledged. */
	if (!s->opened_before && c->version == SS_SEARCH_20)
		acked = 0;
	s->opened_before = 1;
	s->open = 1;
	s->end = a->now + s->bin;
	ss_search_store(s, c, 0, acked, a->sent);
}

/* The bytes of bins `from + 1` to `to`. */
static __always_inline __u64 ss_search_acked(const struct ss_search *s, __u64 from, __u64 to)
{
	__u64 first = s->acked[from & (SS_ACKED_SLOTS - 1)];
	__u64 last = s->acked[to & (SS_ACKED_SLOTS - 1)];

	return last > first ? last - first : 0;
}

static __always_inline __u64 ss_search_sent(const struct ss_search *s, __u64 from, __u64 to)
{
	__u64 first = s->sent[from & (SS_SENT_SLOTS - 1)];
	__u64 last = s->sent[to & (SS_SENT_SLOTS - 1)];

	return last > first ? last - first : 0;
}

/* The test at the end of a bin: whether the path is full. */
static __always_inline __u32 ss_search_test(struct ss_search *s, const struct ss_search_config *c,
					    __u64 rtt)
{
	__u64 back = rtt / s->bin;
	__u64 percent = (rtt % s->bin) * 100 / s->bin;
	__u64 longest, last, current, newer, older, expected, missing;

	s->norm_known = 0;
	if (c->version == SS_SEARCH_20)
		longest = SS_LOOKBACK_20;
	else if (c->version == SS_SEARCH_31)
		longest = SS_LOOKBACK_31;
	else
		longest = SS_LOOKBACK_40;
	if (back > longest || s->index <= back + SS_BINS)
		return 0;
	last = s->index - back;
	current = ss_search_acked(s, s->index - SS_BINS, s->index);
	if (c->version == SS_SEARCH_40) {
		newer = ss_search_sent(s, last - SS_BINS, last);
		older = ss_search_sent(s, last - SS_BINS - 1, last - 1);
	} else {
		newer = ss_search_acked(s, last - SS_BINS, last);
		older = ss_search_acked(s, last - SS_BINS - 1, last - 1);
	}
	expected = (older * percent + newer * (100 - percent)) / 100;
	if (c->version != SS_SEARCH_40)
		expected *= 2;
	if (expected == 0)
		return 0;
	s->norm_known = 1;
	if (current > expected) {
		/* Rounded down, that is away from zero. */
		s->norm = ((current - expected) * 1000 + expected - 1) / expected;
		s->norm_negative = 1;
		return 0;
	}
	missing = (expected - current) * 1000;
	s->norm = missing / expected;
	s->norm_negative = 0;
	return missing >= expected * c->threshold;
}

/* Acts as configured once the path is full. */
static __always_inline enum ss_step ss_search_act(struct ss_search *s,
						  const struct ss_search_config *c,
						  const struct ss_ack *a, struct ss_window *w)
{
	__u64 smss = a->smss ? a->smss : 1;
	__u64 segments;

	if (c->passive)
		return s->exits++ ? SS_NOTHING : SS_LOG;
	s->exits++;
	if (c->exit == SS_EXIT_DRAIN) {
		segments = ss_search_acked(s, s->index - SS_BINS_OF_RTT_UP, s->index) / smss;
		s->drain_target = segments > SS_LEAST_WINDOW ? segments : SS_LEAST_WINDOW;
		s->drain_carry = 0;
		s->drain_since = a->now;
		s->draining = 1;
		return SS_DRAIN;
	}
	if (c->exit == SS_EXIT_ROLLBACK) {
		segments = ss_search_acked(s, s->index - SS_BINS_OF_TWO_RTTS, s->index) / smss;
		if (segments < w->cwnd) {
			w->cwnd -= segments;
			if (w->cwnd < SS_LEAST_WINDOW)
				w->cwnd = SS_LEAST_WINDOW;
		} else if (c->version != SS_SEARCH_20) {
			w->cwnd = SS_LEAST_WINDOW;
		}
	}
	w->ssthresh = w->cwnd;
	return SS_EXIT;
}

/*
 * An ACK delivered data, before the window grows. SS_EXIT: `w` is what window and threshold
 * become.
 */
static __always_inline enum ss_step ss_search_on_delivery(struct ss_search *s,
							  const struct ss_search_config *c,
							  const struct ss_ack *a,
							  struct ss_window *w)
{
	__u64 rtt = a->rtt, passed, acked, sent, missed;
	__u32 limited, silent, i;

	s->srtt = a->srtt;
	if (s->draining) {
		s->drain_carry += a->delivered;
		return SS_NOTHING;
	}
	if (!a->has_rtt)
		return SS_NOTHING;
	if (rtt < SS_MICROSECOND)
		rtt = SS_MICROSECOND;
	if (rtt > SS_LONGEST_RTT)
		rtt = SS_LONGEST_RTT;
	if (!s->open || s->bin == 0) {
		ss_search_open(s, c, a, rtt);
		return SS_NOTHING;
	}
	/* A bin of 2.0 ends strictly after its end. */
	if (a->now < s->end || (c->version == SS_SEARCH_20 && a->now == s->end))
		return SS_NOTHING;
	passed = (a->now - s->end) / s->bin + 1;
	limited = a->app_limited && c->version != SS_SEARCH_20;
	silent = c->alpha && passed > (__u64)c->alpha * SS_BINS_OF_RTT_DOWN;
	if (limited || silent) {
		ss_search_reset(s, !limited && passed > SS_BINS);
		ss_search_open(s, c, a, rtt);
		return SS_NOTHING;
	}
	/* Bins that passed without an ACK delivered nothing. */
	missed = passed - 1;
	acked = s->acked[s->index & (SS_ACKED_SLOTS - 1)];
	for (i = 0; i < SS_ACKED_SLOTS; i++) {
		if (i >= missed)
			break;
		s->acked[(s->index + 1 + i) & (SS_ACKED_SLOTS - 1)] = acked;
	}
	if (c->version == SS_SEARCH_40) {
		sent = s->sent[s->index & (SS_SENT_SLOTS - 1)];
		for (i = 0; i < SS_SENT_SLOTS; i++) {
			if (i >= missed)
				break;
			s->sent[(s->index + 1 + i) & (SS_SENT_SLOTS - 1)] = sent;
		}
	}
	s->end += s->bin * passed;
	ss_search_store(s, c, s->index + passed, a->acked, a->sent);
	if (!ss_search_test(s, c, rtt))
		return SS_NOTHING;
	return ss_search_act(s, c, a, w);
}

/*
 * What the ACK does to the window, after losses are known and where growth is allowed. SS_NOTHING:
 * ordinary slow start.
 */
static __always_inline enum ss_step ss_search_on_ack(struct ss_search *s, const struct ss_ack *a,
						     struct ss_window *w)
{
	__u32 released, cwnd;

	if (!s->draining)
		return SS_NOTHING;
	if (a->now == s->drain_since) {
		w->cwnd = 0;
		return SS_GROW;
	}
	released = s->drain_carry / SS_DRAIN_RATIO;
	s->drain_carry -= released * SS_DRAIN_RATIO;
	cwnd = a->in_flight + released;
	if (cwnd > s->drain_target) {
		w->cwnd = cwnd;
		return SS_SET;
	}
	w->cwnd = s->drain_target;
	w->ssthresh = s->drain_target;
	ss_search_restart(s);
	return SS_EXIT;
}

#endif
