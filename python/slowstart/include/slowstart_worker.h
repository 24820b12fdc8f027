/* Makes a worker of a stack: a program that speaks slowstart's pipe protocol.
 *
 *     #include "slowstart_worker.h"
 *     int main(void) { return slowstart_worker(slowstart_stack()); }
 *
 * Include it in one file of the program. It needs a C99 compiler and the C library, and works with
 * the byte order of any machine. docs/reference/stack-interface.md describes the protocol. */

#ifndef SLOWSTART_WORKER_H
#define SLOWSTART_WORKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowstart_stack.h"

#define SLOWSTART_MOST_DATAGRAMS 65536u

struct slowstart_buffer {
    uint8_t *bytes;
    size_t length, capacity;
};

static void slowstart_put(struct slowstart_buffer *out, const void *bytes, size_t length) {
    if (length > out->capacity - out->length) {
        out->capacity = 2 * (out->length + length);
        out->bytes = realloc(out->bytes, out->capacity);
        if (!out->bytes)
            abort();
    }
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static void slowstart_put_number(struct slowstart_buffer *out, uint64_t value, int bytes) {
    uint8_t little[8];
    for (int i = 0; i < bytes; i++)
        little[i] = (uint8_t)(value >> (8 * i));
    slowstart_put(out, little, (size_t)bytes);
}

static void slowstart_put_text(struct slowstart_buffer *out, const char *text) {
    size_t length = text ? strlen(text) : 0;
    if (length > UINT16_MAX)
        length = UINT16_MAX;
    slowstart_put_number(out, length, 2);
    if (length)
        slowstart_put(out, text, length);
}

/* What is left of a request; `is_short` if it ended too early. */
struct slowstart_reader {
    const uint8_t *bytes;
    size_t left;
    int is_short;
};

static const uint8_t *slowstart_take(struct slowstart_reader *in, size_t length) {
    static const uint8_t zeros[64];
    if (length > in->left) {
        in->is_short = 1;
        in->left = 0;
        return zeros;
    }
    const uint8_t *bytes = in->bytes;
    in->bytes += length;
    in->left -= length;
    return bytes;
}

static uint64_t slowstart_take_number(struct slowstart_reader *in, int bytes) {
    const uint8_t *little = slowstart_take(in, (size_t)bytes);
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)little[i] << (8 * i);
    return value;
}

static void slowstart_error(struct slowstart_buffer *out, const char *sentence) {
    out->length = 4;
    slowstart_put_number(out, 255, 1);
    slowstart_put_text(out, sentence);
}

struct slowstart_ends {
    void **endpoints;
    uint32_t *most; /* bytes of a datagram */
    uint32_t count;
};

/* The simulated time, for a stack that asks the clock (slowstart_clock.h). */
static void slowstart_set_time(uint64_t now) {
#ifdef SLOWSTART_CLOCK_H
    slowstart_clock_set(now);
#else
    (void)now;
#endif
}

/* Answers a turn of an endpoint. */
static void slowstart_turn(const struct slowstart_stack *stack, void *endpoint, uint32_t most,
                           uint64_t now, struct slowstart_buffer *out) {
    static uint8_t datagram[65536];
    struct slowstart_buffer sent = {0};
    uint32_t count = 0;
    size_t room = most < sizeof datagram ? most : sizeof datagram;
    for (;;) {
        enum slowstart_ecn ecn = SLOWSTART_NOT_ECT;
        size_t length = stack->transmit(endpoint, now, datagram, room, &ecn);
        if (length == 0)
            break;
        if (count++ == SLOWSTART_MOST_DATAGRAMS || length > sizeof datagram) {
            free(sent.bytes);
            const char *longer = "transmit returned more bytes than there was room for";
            const char *endless = "transmit returned more than 65536 datagrams at one instant";
            slowstart_error(out, length > sizeof datagram ? longer : endless);
            return;
        }
        slowstart_put_number(&sent, (uint64_t)ecn, 1);
        slowstart_put_number(&sent, length, 4);
        slowstart_put(&sent, datagram, length);
    }
    struct slowstart_report report;
    memset(&report, 0, sizeof report);
    report.ssthresh = report.rtt = SLOWSTART_NONE;
    uint64_t deadline = stack->deadline(endpoint);
    stack->report(endpoint, &report);
    slowstart_put_number(out, 3, 1);
    slowstart_put_number(out, deadline, 8);
    slowstart_put_number(out,
                         (report.is_established ? 1u : 0u) | (report.is_finished ? 2u : 0u) |
                             (report.closed ? 4u : 0u),
                         1);
    const uint64_t values[] = {report.received, report.packets_sent, report.packets_lost,
                               report.timeouts, report.acked,        report.cwnd,
                               report.ssthresh, report.in_flight,    report.rtt};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        slowstart_put_number(out, values[i], 8);
    slowstart_put_text(out, report.closed);
    slowstart_put_number(out, count, 4);
    if (sent.length)
        slowstart_put(out, sent.bytes, sent.length);
    free(sent.bytes);
}

static void slowstart_open(const struct slowstart_stack *stack, struct slowstart_ends *ends,
                           struct slowstart_reader *in, struct slowstart_buffer *out) {
    struct slowstart_settings settings;
    memset(&settings, 0, sizeof settings);
    uint32_t number = (uint32_t)slowstart_take_number(in, 4);
    uint64_t now = slowstart_take_number(in, 8);
    settings.is_client = (uint32_t)slowstart_take_number(in, 1);
    settings.flow = (uint32_t)slowstart_take_number(in, 4);
    settings.initial_window = (uint32_t)slowstart_take_number(in, 4);
    settings.datagram = (uint32_t)slowstart_take_number(in, 4);
    settings.receive_window = slowstart_take_number(in, 8);
    settings.seed = slowstart_take(in, 32);
    size_t length = (size_t)slowstart_take_number(in, 2);
    const uint8_t *text = slowstart_take(in, length);
    char controller[256] = {0};
    if (in->is_short || length >= sizeof controller || number > 1000000) {
        slowstart_error(out, "the request is not complete");
        return;
    }
    slowstart_set_time(now);
    memcpy(controller, text, length);
    settings.controller = controller;
    if (number >= ends->count) {
        uint32_t count = number + 1;
        ends->endpoints = realloc(ends->endpoints, count * sizeof *ends->endpoints);
        ends->most = realloc(ends->most, count * sizeof *ends->most);
        if (!ends->endpoints || !ends->most)
            abort();
        for (uint32_t i = ends->count; i < count; i++)
            ends->endpoints[i] = NULL;
        ends->count = count;
    }
    void *endpoint = stack->open(now, &settings);
    if (!endpoint) {
        slowstart_error(out, "open returned NULL");
        return;
    }
    ends->endpoints[number] = endpoint;
    ends->most[number] = settings.datagram;
    slowstart_turn(stack, endpoint, settings.datagram, now, out);
}

static void slowstart_events(const struct slowstart_stack *stack, struct slowstart_ends *ends,
                             struct slowstart_reader *in, struct slowstart_buffer *out) {
    uint32_t number = (uint32_t)slowstart_take_number(in, 4);
    uint64_t now = slowstart_take_number(in, 8);
    uint32_t count = (uint32_t)slowstart_take_number(in, 4);
    if (in->is_short || number >= ends->count || !ends->endpoints[number]) {
        slowstart_error(out, "the request names an endpoint that was not opened");
        return;
    }
    void *endpoint = ends->endpoints[number];
    slowstart_set_time(now);
    for (uint32_t i = 0; i < count && !in->is_short; i++) {
        uint64_t event = slowstart_take_number(in, 1);
        if (event == 1) {
            uint64_t ecn = slowstart_take_number(in, 1);
            size_t length = (size_t)slowstart_take_number(in, 4);
            const uint8_t *datagram = slowstart_take(in, length);
            if (!in->is_short)
                stack->receive(endpoint, now, (enum slowstart_ecn)ecn, datagram, length);
        } else if (event == 2) {
            stack->expire(endpoint, now);
        } else {
            uint64_t bytes = slowstart_take_number(in, 8);
            if (!in->is_short)
                stack->application(endpoint, now, (enum slowstart_act)event, bytes);
        }
    }
    slowstart_turn(stack, endpoint, ends->most[number], now, out);
}

/* Answers requests on standard input until it ends; returns the exit status. */
static int slowstart_worker(const struct slowstart_stack *stack) {
    struct slowstart_ends ends = {0};
    struct slowstart_buffer out = {0};
    uint8_t *message = NULL;
    uint8_t prefix[4];
    int status = 0;
    while (fread(prefix, 1, 4, stdin) == 4) {
        struct slowstart_reader in = {prefix, 4, 0};
        size_t length = (size_t)slowstart_take_number(&in, 4);
        uint8_t *larger = realloc(message, length ? length : 1);
        if (!larger)
            abort();
        message = larger;
        if (fread(message, 1, length, stdin) != length) {
            status = 1;
            break;
        }
        in.bytes = message;
        in.left = length;
        out.length = 0;
        slowstart_put_number(&out, 0, 4);
        uint64_t kind = slowstart_take_number(&in, 1);
        if (kind == 1) {
            slowstart_put_number(&out, 1, 1);
            slowstart_put_number(&out, SLOWSTART_STACK_VERSION, 4);
            slowstart_put_text(&out, stack->name);
            slowstart_put_text(&out, stack->release);
            slowstart_put_text(&out, stack->controllers);
        } else if (kind == 2) {
            slowstart_open(stack, &ends, &in, &out);
        } else if (kind == 3) {
            slowstart_events(stack, &ends, &in, &out);
        } else {
            slowstart_error(&out, "the request has no known kind");
        }
        size_t answer = out.length - 4;
        for (int i = 0; i < 4; i++)
            out.bytes[i] = (uint8_t)(answer >> (8 * i));
        if (fwrite(out.bytes, 1, out.length, stdout) != out.length || fflush(stdout) != 0) {
            status = 1;
            break;
        }
    }
    for (uint32_t i = 0; i < ends.count; i++)
        if (ends.endpoints[i])
            stack->close(ends.endpoints[i]);
    free(ends.endpoints);
    free(ends.most);
    free(out.bytes);
    free(message);
    return status;
}

#endif
