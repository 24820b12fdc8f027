/* picoquic's table of functions, filled with calls of slowstart.h.
 *
 * Written for the interface of picoquic 1.1.52 (picoquic.h, picoquic_internal.h). picoquic reports
 * an ACK as one number of bytes, and no packet that leaves. Both are read from its queue of packets
 * that are not acknowledged: what is new there has left, at the time that stands with it; what is
 * gone from there, and was not reported lost, is acknowledged.
 *
 * Deviations:
 * - Only 0-RTT and 1-RTT packets count; picoquic's window holds back those of the handshake, too.
 * - A probe of the path MTU does not count, and its loss is no congestion (RFC 9002, section 3).
 * - picoquic declares a packet lost when its timer expires. The first two of a row are losses, the
 *   third is persistent congestion (RFC 9002, section 7.6). picoquic's own controllers fall to the
 *   minimum window at the first.
 * - A reduction is undone when each packet whose loss belongs to it has arrived.
 * - Where the algorithm sets no pace, picoquic paces at 1.25 windows per round trip in slow start and
 *   at one afterwards, as it does for its own controllers.
 * - The window of an earlier connection, which picoquic passes on with a ticket, is not used. */

#include <stdlib.h>
#include <string.h>

#include "picoquic_internal.h"
#include "slowstart_picoquic.h"

#define NANOSECONDS 1000
/* Any number that picoquic does not use; its logs contain it. */
#define ALGORITHM_NUMBER 83

/* A packet whose fate is not known. */
struct packet {
    uint64_t number, sent, size;
    int is_open;
};

struct state {
    struct slowstart_controller *controller;
    uint64_t datagram;
    /* The queue that the packets are from, and the lowest number not yet seen there. */
    const picoquic_packet_context_t *queue;
    uint64_t next;
    /* In the order of their numbers; those before `first` are resolved. */
    struct packet *packets;
    size_t first, end, room;
    uint64_t in_flight;
    /* What picoquic counted as delivered when acknowledged packets were last looked for. */
    uint64_t delivered;
    /* The last reduction: losses of packets below `until` belong to it. `since` is the first of
     * these packets, of which `missing` have not arrived; `may_undo` says that losses began it. */
    uint64_t until, since, missing;
    int may_undo;
};

static uint64_t seed_of(picoquic_cnx_t *cnx) {
    return picoquic_val64_connection_id(cnx->initial_cnxid);
}

static struct slowstart_controller *begin(const char *algorithm, uint64_t now, uint64_t datagram,
                                          uint64_t seed, char *error, size_t room) {
    struct slowstart_options options = {
        .version = SLOWSTART_VERSION,
        .sets_pace = 1,
        .reports_lost = 1,
        .reports_handshake = 1,
        .algorithm = algorithm,
        .now = now * NANOSECONDS,
        .datagram = datagram,
        .seed = seed,
    };
    return slowstart_new(&options, error, room);
}

/* The window, and the pace where the algorithm sets one. */
static void decide(const struct state *state, picoquic_path_t *path) {
    uint64_t pace = slowstart_pace(state->controller);
    int in_slow_start = slowstart_threshold(state->controller) == SLOWSTART_UNKNOWN;

    path->cwin = slowstart_window(state->controller);
    path->is_cc_data_updated = 1;
    if (!in_slow_start)
        path->is_ssthresh_initialized = 1;
    if (pace == SLOWSTART_UNKNOWN) {
        picoquic_update_pacing_data(path, in_slow_start);
    } else {
        /* Bursts of one millisecond, and of two datagrams at least. */
        uint64_t burst = pace / 1000;
        if (burst < 2 * path->send_mtu)
            burst = 2 * path->send_mtu;
        picoquic_update_pacing_rate(path, (double)(pace ? pace : 1), burst);
    }
}

static void start(picoquic_path_t *path, const char *algorithm, uint64_t now) {
    struct state *state = calloc(1, sizeof *state);

    path->congestion_alg_state = NULL;
    if (!state)
        return;
    state->datagram = path->send_mtu;
    state->controller = begin(algorithm, now, state->datagram, seed_of(path->cnx), NULL, 0);
    if (!state->controller) {
        free(state);
        return;
    }
    path->congestion_alg_state = state;
    decide(state, path);
}

static void stop(picoquic_path_t *path) {
    struct state *state = path->congestion_alg_state;

    if (!state)
        return;
    slowstart_free(state->controller);
    free(state->packets);
    free(state);
    path->congestion_alg_state = NULL;
}

static int push(struct state *state, const picoquic_packet_t *packet) {
    if (state->end == state->room) {
        size_t count = state->end - state->first;
        if (state->first < count || state->first == 0) {
            size_t room = state->room ? 2 * state->room : 64;
            struct packet *packets = realloc(state->packets, room * sizeof *packets);
            if (!packets)
                return 0;
            state->packets = packets;
            state->room = room;
        }
        memmove(state->packets, state->packets + state->first, count * sizeof *state->packets);
        state->first = 0;
        state->end = count;
    }
    state->packets[state->end++] = (struct packet){
        .number = packet->sequence_number,
        .sent = packet->send_time,
        .size = packet->length + packet->checksum_overhead,
        .is_open = 1,
    };
    return 1;
}

/* Reports packets that have left since the last call. */
static void note_sent(struct state *state, picoquic_path_t *path) {
    picoquic_cnx_t *cnx = path->cnx;
    const picoquic_packet_context_t *queue = cnx->is_multipath_enabled
                                                 ? &path->pkt_ctx
                                                 : &cnx->pkt_ctx[picoquic_packet_context_application];
    const picoquic_packet_t *packet, *oldest = NULL;

    if (queue != state->queue) {
        state->queue = queue;
        state->next = state->until = state->missing = 0;
        state->first = state->end = 0;
        state->in_flight = 0;
    }
    for (packet = queue->pending_last; packet && packet->sequence_number >= state->next;
         packet = packet->packet_previous)
        oldest = packet;
    for (packet = oldest; packet; packet = packet->packet_next) {
        state->next = packet->sequence_number + 1;
        if (packet->send_path != path || packet->is_ack_trap || packet->is_mtu_probe ||
            !push(state, packet))
            continue;
        const struct packet *sent = &state->packets[state->end - 1];
        state->in_flight += sent->size;
        slowstart_on_sent(state->controller, sent->sent * NANOSECONDS, sent->size, sent->number);
    }
}

/* Reports packets that are acknowledged since the last call, as one ACK frame. */
static void note_acked(struct state *state, const picoquic_path_t *path, uint64_t now) {
    uint64_t highest = state->queue->highest_acknowledged;
    const picoquic_packet_t *pending = state->queue->pending_first;
    int is_any = 0;

    if (path->delivered == state->delivered || highest == UINT64_MAX)
        return;
    state->delivered = path->delivered;
    for (size_t i = state->first; i < state->end; i++) {
        struct packet *packet = &state->packets[i];
        if (packet->number > highest)
            break;
        while (pending && pending->sequence_number < packet->number)
            pending = pending->packet_next;
        if (!packet->is_open || (pending && pending->sequence_number == packet->number))
            continue;
        packet->is_open = 0;
        state->in_flight -= packet->size;
        slowstart_on_acked(state->controller, now * NANOSECONDS, packet->sent * NANOSECONDS,
                           packet->size, packet->number);
        is_any = 1;
    }
    while (state->first < state->end && !state->packets[state->first].is_open)
        state->first++;
    if (is_any) {
        /* As picoquic's controllers: what is acknowledged left after the application paused. */
        int is_limited = path->last_time_acked_data_frame_sent <= path->last_sender_limited_time;
        slowstart_on_batch_end(state->controller, now * NANOSECONDS, state->in_flight, is_limited);
    }
}

static struct packet *find(struct state *state, uint64_t number) {
    size_t low = state->first, high = state->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->packets[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < state->end && state->packets[low].number == number ? &state->packets[low] : NULL;
}

/* RFC 9002, section 2: a packet that holds ACK frames only elicits none, and its loss says nothing. */
static int elicits_ack(const struct state *state, uint64_t number) {
    const picoquic_packet_t *packet = state->queue->pending_first;

    while (packet && packet->sequence_number < number)
        packet = packet->packet_next;
    return !packet || packet->sequence_number != number || !packet->is_evaluated ||
           packet->is_ack_eliciting;
}

static void begin_reduction(struct state *state, uint64_t number, int may_undo) {
    state->since = number;
    state->until = state->queue->send_sequence;
    state->missing = 0;
    state->may_undo = may_undo;
}

static void note_lost(struct state *state, const picoquic_path_t *path, uint64_t number,
                      int by_timer, uint64_t now) {
    struct packet *packet = find(state, number);
    enum slowstart_congestion kind = SLOWSTART_LOSS;

    if (!packet || !packet->is_open)
        return;
    packet->is_open = 0;
    state->in_flight -= packet->size;
    if (!elicits_ack(state, number))
        return;
    /* `nb_retransmit`: timers that expired in a row before this one. */
    if (by_timer && path->nb_retransmit >= 2)
        kind = SLOWSTART_PERSISTENT;
    if (number >= state->until || kind == SLOWSTART_PERSISTENT)
        begin_reduction(state, number, kind == SLOWSTART_LOSS);
    state->missing++;
    slowstart_on_lost(state->controller, now * NANOSECONDS, packet->size, number);
    slowstart_on_congestion(state->controller, now * NANOSECONDS, packet->sent * NANOSECONDS, kind,
                            packet->size);
}

static void note_spurious(struct state *state, uint64_t number) {
    if (number < state->since || number >= state->until || state->missing == 0)
        return;
    if (--state->missing == 0 && state->may_undo)
        slowstart_on_spurious(state->controller);
}

static void notify(picoquic_cnx_t *cnx, picoquic_path_t *path,
                   picoquic_congestion_notification_t event, picoquic_per_ack_state_t *report,
                   uint64_t now) {
    struct state *state = path->congestion_alg_state;
    int is_application = report && report->pc == picoquic_packet_context_application;

    if (!state)
        return;
    note_sent(state, path);
    if (path->send_mtu != state->datagram) {
        state->datagram = path->send_mtu;
        slowstart_on_mtu(state->controller, state->datagram);
    }
    switch (event) {
    case picoquic_congestion_notification_rtt_measurement:
        /* Before any data: this is of the handshake. Later ones come with the packets. */
        if (state->next == 0)
            slowstart_on_handshake(state->controller, now * NANOSECONDS,
                                   report->rtt_measurement * NANOSECONDS);
        break;
    case picoquic_congestion_notification_acknowledgement:
        note_acked(state, path, now);
        break;
    case picoquic_congestion_notification_repeat:
    case picoquic_congestion_notification_timeout:
        note_acked(state, path, now);
        if (is_application)
            note_lost(state, path, report->lost_packet_number,
                      event == picoquic_congestion_notification_timeout, now);
        break;
    case picoquic_congestion_notification_ecn_ec:
        note_acked(state, path, now);
        if (is_application) {
            if (report->lost_packet_number >= state->until)
                begin_reduction(state, report->lost_packet_number, 0);
            slowstart_on_congestion(state->controller, now * NANOSECONDS,
                                    state->queue->latest_time_acknowledged * NANOSECONDS,
                                    SLOWSTART_ECN, 0);
        }
        break;
    case picoquic_congestion_notification_spurious_repeat:
        if (is_application)
            note_spurious(state, report->lost_packet_number);
        break;
    case picoquic_congestion_notification_reset:
        stop(path);
        cnx->congestion_alg->alg_init(path, cnx->congestion_alg_option_string, now);
        return;
    default:
        break;
    }
    decide(state, path);
}

/* picoquic's logs: 1 after slow start, and the threshold. */
static void observe(picoquic_path_t *path, uint64_t *phase, uint64_t *parameter) {
    const struct state *state = path->congestion_alg_state;
    uint64_t threshold = state ? slowstart_threshold(state->controller) : SLOWSTART_UNKNOWN;

    *phase = threshold != SLOWSTART_UNKNOWN;
    *parameter = *phase ? threshold : 0;
}

#define TABLE(name, id, algorithm)                                                                 \
    static void start_##name(picoquic_path_t *path, const char *option, uint64_t now) {            \
        (void)option;                                                                              \
        start(path, algorithm, now);                                                               \
    }                                                                                              \
    const picoquic_congestion_algorithm_t name = {                                                 \
        id, ALGORITHM_NUMBER, PICOQUIC_ECN_ECT_0, start_##name, notify, stop, observe}

TABLE(slowstart_picoquic_search, "slowstart-search", "cubic+search");
TABLE(slowstart_picoquic_hystart_pp, "slowstart-hystart++", "cubic+hystart++");
TABLE(slowstart_picoquic, "slowstart", option ? option : "cubic+search");

int slowstart_picoquic_check(const char *algorithm, char *error, size_t room) {
    struct slowstart_controller *controller =
        begin(algorithm, 0, PICOQUIC_INITIAL_MTU_IPV4, 0, error, room);

    slowstart_free(controller);
    return controller != NULL;
}

int slowstart_picoquic_use(picoquic_quic_t *quic, const char *algorithm, char *error, size_t room) {
    if (!slowstart_picoquic_check(algorithm, error, room))
        return 0;
    picoquic_set_default_congestion_algorithm_ex(quic, &slowstart_picoquic, algorithm);
    return 1;
}

const struct slowstart_controller *slowstart_picoquic_controller(picoquic_cnx_t *cnx) {
    const struct state *state = cnx->path[0]->congestion_alg_state;

    if (!state || !cnx->congestion_alg || cnx->congestion_alg->alg_notify != notify)
        return NULL;
    return state->controller;
}
