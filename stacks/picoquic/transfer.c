/* Two contexts of picoquic and a bottleneck between them, in simulated time.
 *
 *     transfer PICOQUIC ALGORITHM RATE RTT BUFFER SIZE
 *
 * sends SIZE bytes from the client with the congestion control ALGORITHM, a name of picoquic such as
 * own:cubic or one of slowstart such as cubic+search, over RATE Mbit/s with a round trip of RTT ms
 * and BUFFER packets of drop-tail queue. Packets towards the client have the delay only. It prints one
 * line: the end of the first slow start, what was lost, and when the last byte arrived. Equal
 * arguments give equal lines. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "picoquic_internal.h"
#include "slowstart_picoquic.h"

#include "../link.h"

static uint64_t left, received, finished;

static int on_client(picoquic_cnx_t *cnx, uint64_t stream, uint8_t *bytes, size_t length,
                     picoquic_call_back_event_t event, void *context, void *stream_context) {
    (void)cnx, (void)stream, (void)context, (void)stream_context;
    if (event != picoquic_callback_prepare_to_send)
        return 0;
    size_t size = left < length ? left : length;
    left -= size;
    uint8_t *room = picoquic_provide_stream_data_buffer(bytes, size, left == 0, left > 0);
    if (!room)
        return -1;
    memset(room, 'a', size);
    return 0;
}

static int on_server(picoquic_cnx_t *cnx, uint64_t stream, uint8_t *bytes, size_t length,
                     picoquic_call_back_event_t event, void *context, void *stream_context) {
    (void)cnx, (void)stream, (void)bytes, (void)context, (void)stream_context;
    if (event == picoquic_callback_stream_data || event == picoquic_callback_stream_fin)
        received += length;
    if (event == picoquic_callback_stream_fin)
        finished = now;
    return 0;
}

static void prepare(picoquic_quic_t *quic, struct link *link) {
    for (;;) {
        uint8_t bytes[PICOQUIC_MAX_PACKET_SIZE];
        size_t length = 0;
        struct sockaddr_storage to, from;
        int interface;
        picoquic_connection_id_t id;
        picoquic_cnx_t *last;
        if (picoquic_prepare_next_packet(quic, now, bytes, sizeof bytes, &length, &to, &from,
                                         &interface, &id, &last) ||
            length == 0)
            return;
        submit(link, bytes, length);
    }
}

static void deliver(struct link *link, picoquic_quic_t *quic, struct sockaddr_in *from,
                    struct sockaddr_in *to) {
    struct datagram *datagram;
    while ((datagram = arrived(link)))
        picoquic_incoming_packet(quic, datagram->bytes, datagram->length, (struct sockaddr *)from,
                                 (struct sockaddr *)to, 0, 0, now);
}

int main(int count, char **words) {
    if (count != 7) {
        fprintf(stderr, "usage: transfer PICOQUIC ALGORITHM RATE RTT BUFFER SIZE\n");
        return 2;
    }
    const char *name = words[2];
    char certificate[1024], key[1024], error[256];
    snprintf(certificate, sizeof certificate, "%s/certs/cert.pem", words[1]);
    snprintf(key, sizeof key, "%s/certs/key.pem", words[1]);
    struct link there = open_link(atof(words[3]), atof(words[4]), strtoull(words[5], 0, 10));
    struct link back = open_link(0, atof(words[4]), 0);
    left = strtoull(words[6], 0, 10);
    uint64_t size = left;

    uint8_t reset[PICOQUIC_RESET_SECRET_SIZE] = {1};
    picoquic_quic_t *client = picoquic_create(8, NULL, NULL, NULL, "transfer", on_client, NULL, NULL,
                                              NULL, NULL, now, &now, NULL, NULL, 0);
    picoquic_quic_t *server = picoquic_create(8, certificate, key, NULL, "transfer", on_server, NULL,
                                              NULL, NULL, reset, now, &now, NULL, NULL, 0);
    if (!client || !server) {
        fprintf(stderr, "picoquic finds no certificate in %s/certs\n", words[1]);
        return 1;
    }
    picoquic_register_all_congestion_control_algorithms();
    picoquic_set_null_verifier(client);
    int is_own = strncmp(name, "own:", 4) == 0;
    if (is_own) {
        picoquic_congestion_algorithm_t const *own = picoquic_get_congestion_algorithm(name + 4);
        if (!own) {
            fprintf(stderr, "picoquic has no %s\n", name + 4);
            return 2;
        }
        picoquic_set_default_congestion_algorithm(client, own);
    } else if (!slowstart_picoquic_use(client, name, error, sizeof error)) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    picoquic_set_default_tp_value(server, picoquic_tp_initial_max_data, 1u << 30);
    picoquic_set_default_tp_value(server, picoquic_tp_initial_max_stream_data_bidi_remote, 1u << 30);
    picoquic_set_default_pmtud_policy(client, picoquic_pmtud_required);
    picoquic_set_optimistic_ack_policy(client, 0); /* no random gaps in packet numbers */
    picoquic_set_mtu_max(client, 1500);
    picoquic_set_mtu_max(server, 1500);

    struct sockaddr_in near = {.sin_family = AF_INET, .sin_port = htons(1)};
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(2)};
    near.sin_addr.s_addr = far.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    picoquic_connection_id_t id = {{1, 2, 3, 4, 5, 6, 7, 8}, 8};
    picoquic_cnx_t *cnx = picoquic_create_cnx(client, id, picoquic_null_connection_id,
                                              (struct sockaddr *)&far, now, 0, "localhost", "transfer", 1);
    if (!cnx || picoquic_start_client_cnx(cnx) || picoquic_mark_active_stream(cnx, 0, 1, NULL))
        return 1;
    picoquic_path_t *path = cnx->path[0];

    uint64_t exited = UINT64_MAX, window = 0, largest = 0, most = 600000000;
    while (!finished && now < most && cnx->cnx_state != picoquic_state_disconnected) {
        deliver(&there, server, &near, &far);
        deliver(&back, client, &far, &near);
        prepare(client, &there);
        prepare(server, &back);
        if (exited == UINT64_MAX && path->is_ssthresh_initialized) {
            exited = now;
            window = largest;
        }
        if (path->cwin > largest)
            largest = path->cwin;
        uint64_t next = picoquic_get_next_wake_time(client, now);
        uint64_t other = picoquic_get_next_wake_time(server, now);
        if (other < next)
            next = other;
        next = earlier(next, &there);
        next = earlier(next, &back);
        now = next > now ? next : now + 1;
    }
    const char *reason = exited == UINT64_MAX ? "none" : "stack";
    const struct slowstart_controller *controller = slowstart_picoquic_controller(cnx);
    struct slowstart_exit exit;
    if (controller && slowstart_exited(controller, &exit)) {
        exited = exit.at / 1000;
        window = exit.cwnd;
        reason = exit.reason;
    }
    printf("%s reason %s exit_s %.6f window %" PRIu64 " packets %" PRIu64
           " complete_s %.6f sent %" PRIu64 " dropped %" PRIu64 " mtu %zu received %" PRIu64 "\n",
           name, reason, exited == UINT64_MAX ? 0 : (double)exited / 1e6, window,
           window / path->send_mtu, (double)finished / 1e6, there.carried + there.dropped, there.dropped,
           path->send_mtu, received);
    int is_whole = received == size;
    picoquic_free(client);
    picoquic_free(server);
    close_link(&there), close_link(&back);
    return is_whole ? 0 : 1;
}
