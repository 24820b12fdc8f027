/* quicly's congestion controller, filled with calls of slowstart.h.
 *
 * Written for quicly of April 2026 (quicly/cc.h, quicly/loss.h). quicly counts time in milliseconds,
 * reports an ACK frame as one number of bytes with a sample of the round-trip time, and a loss by its
 * packet number.
 *
 * Deviations:
 * - No packet comes with the time at which it left: an algorithm that reads rate samples is refused.
 * - Whether a loss belongs to the last reduction is judged by packet numbers, as quicly does.
 * - quicly sets the pace, at two windows per round trip, where it paces at all: an algorithm that
 *   sets a pace is refused.
 * - quicly retracts no loss, and detects no persistent congestion.
 * - Jump start and rapid start, quicly's own, are off.
 * - A connection can not change between this and another controller (quicly_set_cc). */

#include <stdio.h>
#include <string.h>

#include "slowstart_quicly.h"

#define NANOSECONDS 1000000
/* `enable_ratio` of a context for all connections. */
#define ALL 255

/* Stands in the part of quicly's state that belongs to a controller. */
struct state {
    struct slowstart_controller *controller;
    uint32_t datagram;
    /* When the last reduction began, in milliseconds. */
    int64_t reduced_at;
};

typedef char state_fits[sizeof(struct state) <= sizeof(((quicly_cc_t *)0)->state) ? 1 : -1];

static struct state get(const quicly_cc_t *cc) {
    struct state state;
    memcpy(&state, &cc->state, sizeof state);
    return state;
}

static void set(quicly_cc_t *cc, struct state state) {
    memcpy(&cc->state, &state, sizeof state);
}

static uint64_t nanoseconds(int64_t milliseconds) {
    return (uint64_t)milliseconds * NANOSECONDS;
}

static struct slowstart_controller *begin(const struct slowstart_quicly *self, uint32_t window,
                                          int64_t now, char *error, size_t room) {
    struct slowstart_options options = {
        .version = SLOWSTART_VERSION,
        .reports_lost = 1,
        .lacks_send_times = 1,
        .unpaced = !self->is_paced,
        .algorithm = self->algorithm,
        .now = nanoseconds(now),
        .datagram = self->datagram,
        .initial_window = window,
    };
    return slowstart_new(&options, error, room);
}

static uint32_t clamp(uint64_t bytes) {
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* What quicly and its statistics read. */
static void decide(quicly_cc_t *cc, int64_t now) {
    struct state state = get(cc);
    uint64_t threshold = slowstart_threshold(state.controller);
    struct slowstart_exit exit;

    cc->cwnd = clamp(slowstart_window(state.controller));
    cc->ssthresh = clamp(threshold);
    if (cc->cwnd > cc->cwnd_maximum)
        cc->cwnd_maximum = cc->cwnd;
    if (cc->cwnd_exiting_slow_start == 0 && slowstart_exited(state.controller, &exit)) {
        cc->cwnd_exiting_slow_start = clamp(exit.cwnd);
        cc->exit_slow_start_at = now;
    }
}

static void note_datagram(quicly_cc_t *cc, uint32_t datagram) {
    struct state state = get(cc);

    if (datagram == state.datagram)
        return;
    state.datagram = datagram;
    set(cc, state);
    slowstart_on_mtu(state.controller, datagram);
}

static void on_acked(quicly_cc_t *cc, const quicly_loss_t *loss, uint32_t bytes,
                     uint64_t largest_acked, uint32_t in_flight, int cc_limited, uint64_t next_pn,
                     int64_t now, uint32_t datagram) {
    struct slowstart_controller *controller = get(cc).controller;
    int64_t sent = now - loss->rtt.latest;

    (void)next_pn;
    note_datagram(cc, datagram);
    /* A sample, whose packet left before the reduction if its number says so, and not else. */
    if (largest_acked < cc->recovery_end && sent > get(cc).reduced_at)
        sent = get(cc).reduced_at;
    slowstart_on_acked(controller, nanoseconds(now), nanoseconds(sent), bytes, SLOWSTART_UNKNOWN);
    slowstart_on_batch_end(controller, nanoseconds(now), in_flight - bytes, !cc_limited);
    decide(cc, now);
}

static void on_lost(quicly_cc_t *cc, const quicly_loss_t *loss, uint32_t bytes, uint64_t lost_pn,
                    uint64_t next_pn, int64_t now, uint32_t datagram) {
    struct state state = get(cc);
    int is_new = lost_pn >= cc->recovery_end;

    (void)loss;
    note_datagram(cc, datagram);
    quicly_cc__update_ecn_episodes(cc, bytes, lost_pn);
    if (is_new) {
        state.reduced_at = now;
        set(cc, state);
        cc->recovery_end = next_pn;
        cc->num_loss_episodes++;
    }
    if (bytes != 0)
        slowstart_on_lost(state.controller, nanoseconds(now), bytes, lost_pn);
    /* A packet of before the reduction left by then at the latest. */
    slowstart_on_congestion(state.controller, nanoseconds(now),
                            nanoseconds(is_new ? now : state.reduced_at),
                            bytes == 0 ? SLOWSTART_ECN : SLOWSTART_LOSS, bytes);
    decide(cc, now);
    if (cc->cwnd < cc->cwnd_minimum)
        cc->cwnd_minimum = cc->cwnd;
}

static void on_persistent_congestion(quicly_cc_t *cc, const quicly_loss_t *loss, int64_t now) {
    (void)loss;
    slowstart_on_congestion(get(cc).controller, nanoseconds(now), nanoseconds(now),
                            SLOWSTART_PERSISTENT, 0);
    decide(cc, now);
}

static void on_sent(quicly_cc_t *cc, const quicly_loss_t *loss, uint32_t bytes, int64_t now) {
    (void)loss;
    slowstart_on_sent(get(cc).controller, nanoseconds(now), bytes, SLOWSTART_UNKNOWN);
    decide(cc, now);
}

static int on_switch(quicly_cc_t *cc) {
    return cc->type->cc_on_acked == on_acked;
}

static void start(quicly_init_cc_t *init, quicly_cc_t *cc, uint32_t window, int64_t now) {
    const struct slowstart_quicly *self = (const struct slowstart_quicly *)init;
    struct state state = {.datagram = self->datagram, .reduced_at = INT64_MIN / NANOSECONDS};

    /* A new path of the connection begins anew. */
    if (cc->type && cc->type->cc_on_acked == on_acked)
        slowstart_free(get(cc).controller);
    state.controller = begin(self, window, now, NULL, 0);
    memset(cc, 0, sizeof *cc);
    cc->type = &self->type;
    cc->cwnd = cc->cwnd_initial = cc->cwnd_maximum = window;
    cc->ssthresh = cc->cwnd_minimum = UINT32_MAX;
    cc->exit_slow_start_at = INT64_MAX;
    quicly_cc_jumpstart_reset(cc);
    set(cc, state);
}

int slowstart_quicly_use(struct slowstart_quicly *self, quicly_context_t *context,
                         const char *algorithm, char *error, size_t room) {
    uint8_t paced = context->enable_ratio.pacing;
    struct slowstart_quicly made = {
        .init = {start},
        .type = {.name = algorithm,
                 .cc_init = &self->init,
                 .cc_on_acked = on_acked,
                 .cc_on_lost = on_lost,
                 .cc_on_persistent_congestion = on_persistent_congestion,
                 .cc_on_sent = on_sent,
                 .cc_switch = on_switch},
        .algorithm = algorithm,
        .datagram = context->initial_egress_max_udp_payload_size,
        .is_paced = paced == ALL,
    };
    struct slowstart_controller *controller;

    if (paced != 0 && paced != ALL) {
        snprintf(error, room, "the context paces some connections and not others: choose one");
        return 0;
    }
    controller = begin(&made, 0, 0, error, room);
    if (!controller)
        return 0;
    slowstart_free(controller);
    *self = made;
    context->init_cc = &self->init;
    return 1;
}

const struct slowstart_controller *slowstart_quicly_controller(quicly_conn_t *conn) {
    quicly_stats_t stats;

    if (quicly_get_stats(conn, &stats) != 0 || stats.cc.type->cc_on_acked != on_acked)
        return NULL;
    return get(&stats.cc).controller;
}

void slowstart_quicly_end(quicly_conn_t *conn) {
    slowstart_free((struct slowstart_controller *)slowstart_quicly_controller(conn));
}
