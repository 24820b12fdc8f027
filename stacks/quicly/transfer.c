/* Two connections of quicly and a bottleneck between them, in simulated time.
 *
 *     transfer QUICLY ALGORITHM RATE RTT BUFFER SIZE [paced]
 *
 * is stacks/picoquic/transfer.c for quicly, whose own controllers are own:reno, own:cubic and own:pico.
 * quicly counts milliseconds, and so does its clock here; the link does not. */

#include <arpa/inet.h>
#include <inttypes.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picotls/openssl.h"
#include "quicly/defaults.h"
#include "quicly/streambuf.h"
#include "slowstart_quicly.h"

#include "../link.h"

#define DATAGRAM 1472
/* Of one call of quicly_send. */
#define DATAGRAMS 64

static uint64_t received;
static int finished_stream;

static int64_t read_now(quicly_now_t *self) {
    (void)self;
    return 1 + (int64_t)(now / 1000);
}

static uint64_t tls_time(ptls_get_time_t *self) {
    (void)self;
    return 1700000000000 + now / 1000;
}

static void on_stop(quicly_stream_t *stream, quicly_error_t error) {
    (void)stream, (void)error;
}

static void on_receive(quicly_stream_t *stream, size_t offset, const void *bytes, size_t length) {
    if (quicly_streambuf_ingress_receive(stream, offset, bytes, length) != 0)
        return;
    size_t ready = quicly_streambuf_ingress_get(stream).len;
    received += ready;
    quicly_streambuf_ingress_shift(stream, ready);
    if (quicly_recvstate_transfer_complete(&stream->recvstate))
        finished_stream = 1;
}

static quicly_error_t on_open(quicly_stream_open_t *self, quicly_stream_t *stream) {
    static const quicly_stream_callbacks_t callbacks = {
        quicly_streambuf_destroy, quicly_streambuf_egress_shift, quicly_streambuf_egress_emit,
        on_stop,                  on_receive,                    on_stop};
    (void)self;
    int error = quicly_streambuf_create(stream, sizeof(quicly_streambuf_t));
    if (error == 0)
        stream->callbacks = &callbacks;
    return error;
}

static void send_all(quicly_conn_t *conn, struct link *link) {
    for (;;) {
        static uint8_t bytes[DATAGRAMS * DATAGRAM];
        quicly_address_t to, from;
        struct iovec datagrams[DATAGRAMS];
        size_t count = DATAGRAMS;
        if (quicly_send(conn, &to, &from, datagrams, &count, bytes, sizeof bytes) != 0 || count == 0)
            return;
        for (size_t i = 0; i < count; i++)
            submit(link, datagrams[i].iov_base, datagrams[i].iov_len);
    }
}

static void receive(struct link *link, quicly_context_t *context, quicly_conn_t **conn,
                    struct sockaddr *from) {
    static quicly_cid_plaintext_t next;
    struct datagram *datagram;
    while ((datagram = arrived(link))) {
        size_t offset = 0;
        while (offset < datagram->length) {
            quicly_decoded_packet_t packet;
            if (quicly_decode_packet(context, &packet, datagram->bytes, datagram->length, &offset) ==
                SIZE_MAX)
                break;
            if (*conn)
                quicly_receive(*conn, NULL, from, &packet);
            else
                quicly_accept(conn, context, NULL, from, &packet, NULL, &next, NULL, NULL);
        }
    }
}

int main(int count, char **words) {
    int is_paced = count == 8 && strcmp(words[7], "paced") == 0;
    if (count != 7 && !is_paced) {
        fprintf(stderr, "usage: transfer QUICLY ALGORITHM RATE RTT BUFFER SIZE [paced]\n");
        return 2;
    }
    const char *name = words[2];
    char certificate[1024], key[1024], error[256];
    snprintf(certificate, sizeof certificate, "%s/t/assets/server.crt", words[1]);
    snprintf(key, sizeof key, "%s/t/assets/server.key", words[1]);
    struct link there = open_link(atof(words[3]), atof(words[4]), strtoull(words[5], 0, 10));
    struct link back = open_link(0, atof(words[4]), 0);
    size_t size = strtoull(words[6], 0, 10);

    ptls_get_time_t time = {tls_time};
    ptls_context_t tls[2];
    quicly_now_t clock = {read_now};
    quicly_stream_open_t opener = {on_open};
    quicly_context_t contexts[2];
    for (int i = 0; i < 2; i++) {
        tls[i] = (ptls_context_t){.random_bytes = ptls_openssl_random_bytes,
                                  .get_time = &time,
                                  .key_exchanges = ptls_openssl_key_exchanges,
                                  .cipher_suites = ptls_openssl_cipher_suites};
        quicly_amend_ptls_context(&tls[i]);
        contexts[i] = quicly_spec_context;
        contexts[i].tls = &tls[i];
        contexts[i].now = &clock;
        contexts[i].stream_open = &opener;
        contexts[i].initial_egress_max_udp_payload_size = DATAGRAM;
        contexts[i].transport_params.max_udp_payload_size = DATAGRAM;
        contexts[i].transport_params.max_stream_data.bidi_remote = 1u << 30;
        contexts[i].transport_params.max_data = 1u << 30;
        contexts[i].enable_ratio.pacing = is_paced ? 255 : 0;
        /* Start-ups of its own. */
        contexts[i].enable_ratio.jumpstart.non_resume = contexts[i].enable_ratio.jumpstart.resume = 0;
    }
    ptls_openssl_sign_certificate_t signer;
    FILE *file = fopen(key, "r");
    EVP_PKEY *private_key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    if (!private_key || ptls_load_certificates(&tls[1], certificate) != 0) {
        fprintf(stderr, "quicly has no certificate in %s/t/assets\n", words[1]);
        return 1;
    }
    fclose(file);
    ptls_openssl_init_sign_certificate(&signer, private_key);
    EVP_PKEY_free(private_key);
    tls[1].sign_certificate = &signer.super;

    static struct slowstart_quicly ours;
    if (strcmp(name, "own:reno") == 0)
        contexts[0].init_cc = &quicly_cc_reno_init;
    else if (strcmp(name, "own:cubic") == 0)
        contexts[0].init_cc = &quicly_cc_cubic_init;
    else if (strcmp(name, "own:pico") == 0)
        contexts[0].init_cc = &quicly_cc_pico_init;
    else if (!slowstart_quicly_use(&ours, &contexts[0], name, error, sizeof error)) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }

    struct sockaddr_in near = {.sin_family = AF_INET, .sin_port = htons(1)};
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(2)};
    near.sin_addr.s_addr = far.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    quicly_conn_t *client = NULL, *server = NULL;
    quicly_cid_plaintext_t id = {0};
    quicly_stream_t *stream;
    if (quicly_connect(&client, &contexts[0], "localhost", (struct sockaddr *)&far, NULL, &id,
                       ptls_iovec_init(NULL, 0), NULL, NULL, NULL) != 0 ||
        quicly_open_stream(client, &stream, 0) != 0)
        return 1;
    char *data = calloc(size, 1);
    quicly_streambuf_egress_write(stream, data, size);
    quicly_streambuf_egress_shutdown(stream);
    free(data);

    while (!finished_stream && now < 600000000) {
        receive(&there, &contexts[1], &server, (struct sockaddr *)&near);
        receive(&back, &contexts[0], &client, (struct sockaddr *)&far);
        send_all(client, &there);
        if (server)
            send_all(server, &back);
        int64_t timer = quicly_get_first_timeout(client);
        if (server && quicly_get_first_timeout(server) < timer)
            timer = quicly_get_first_timeout(server);
        uint64_t next = timer < 1 ? now + 1 : (uint64_t)(timer - 1) * 1000;
        next = earlier(next, &there);
        next = earlier(next, &back);
        now = next > now ? next : now + 1;
    }
    quicly_stats_t stats;
    quicly_get_stats(client, &stats);
    uint32_t window = stats.cc.cwnd_exiting_slow_start;
    double exited = window ? (double)stats.cc.exit_slow_start_at / 1e3 : 0;
    const char *reason = window ? "stack" : "none";
    const struct slowstart_controller *controller = slowstart_quicly_controller(client);
    struct slowstart_exit exit;
    if (controller && slowstart_exited(controller, &exit))
        reason = exit.reason;
    printf("%s reason %s exit_s %.3f window %" PRIu32 " packets %" PRIu32
           " complete_s %.6f sent %" PRIu64 " dropped %" PRIu64 " received %" PRIu64 "\n",
           name, reason, exited, window, window / DATAGRAM, (double)now / 1e6,
           there.carried + there.dropped, there.dropped, received);
    slowstart_quicly_end(client);
    quicly_free(client);
    if (server)
        quicly_free(server);
    close_link(&there), close_link(&back);
    return received == size ? 0 : 1;
}
