/* A minimal reliable transport: packet numbers, one ACK for each packet, slow start and NewReno's
 * congestion avoidance. It shows slowstart_stack.h, and runs as a shared object and as a worker:
 *
 *     cc -std=c99 -shared -fPIC -I.. -o minimal.so minimal.c
 *     cc -std=c99 -DWORKER -I.. -o minimal minimal.c
 *
 * A packet begins with its kind, 12 bytes: kind, three bytes unused, number (8, little-endian in
 * this example's own format). Data follow with the offset in the stream (8) and the length (2; the
 * top bit ends the stream). The server acknowledges each packet by its number. A packet is lost if
 * one was acknowledged that left three packets later, or if no ACK came for a whole timeout. It has
 * no flow control: the receiver takes everything. */

#include <stdlib.h>
#include <string.h>

#include "slowstart_stack.h"

enum { HELLO = 1, WELCOME = 2, DATA = 3, ACK = 4 };
enum { HEADER = 12, DATA_HEADER = HEADER + 10, REORDERING = 3 };
#define FINAL 0x8000u
#define MILLISECOND UINT64_C(1000000)

/* A packet in flight, or bytes of the stream that were received. */
struct range {
    uint64_t number, sent, begin, end;
    int is_final;
};

struct ranges {
    struct range *items;
    size_t count, capacity;
};

struct endpoint {
    int is_client, is_established, is_finished;
    uint32_t datagram;
    struct slowstart_report report;
    /* The client's data. */
    uint64_t next_number, next_offset, written;
    int is_last, is_final_sent;
    struct ranges flight, lost;
    uint64_t largest_acked, recovery_ends; /* packet numbers */
    uint64_t srtt, deadline;
    uint32_t backoff;
    uint64_t carry; /* bytes acknowledged in congestion avoidance */
    int sends_hello;
    /* The server's data. */
    struct ranges received;
    uint64_t length; /* of the stream; SLOWSTART_NONE until the final packet */
    uint64_t *acks;
    size_t ack_count, ack_capacity, ack_next;
    int sends_welcome;
};

static void *grown(void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : 64;
    items = realloc(items, *capacity * size);
    if (!items)
        abort();
    return items;
}

static void add(struct ranges *to, size_t at, struct range item) {
    to->items = grown(to->items, to->count, &to->capacity, sizeof *to->items);
    memmove(to->items + at + 1, to->items + at, (to->count - at) * sizeof *to->items);
    to->items[at] = item;
    to->count++;
}

static void take_out(struct ranges *from, size_t at) {
    from->count--;
    memmove(from->items + at, from->items + at + 1, (from->count - at) * sizeof *from->items);
}

static void put(uint8_t *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static uint64_t timeout(const struct endpoint *self) {
    uint64_t base = self->srtt ? 2 * self->srtt + 10 * MILLISECOND : 1000 * MILLISECOND;
    return base << (self->backoff < 6 ? self->backoff : 6);
}

static void *minimal_open(uint64_t now, const struct slowstart_settings *settings) {
    struct endpoint *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->is_client = (int)settings->is_client;
    self->datagram = settings->datagram;
    self->report.cwnd = (uint64_t)settings->initial_window * settings->datagram;
    self->report.ssthresh = SLOWSTART_NONE;
    self->deadline = SLOWSTART_NONE;
    self->length = SLOWSTART_NONE;
    self->next_number = 1;
    if (self->is_client) {
        self->sends_hello = 1;
        self->deadline = now;
    }
    return self;
}

static void minimal_close(void *endpoint) {
    struct endpoint *self = endpoint;
    free(self->flight.items);
    free(self->lost.items);
    free(self->received.items);
    free(self->acks);
    free(self);
}

/* The packet at `at` in flight is lost: its data leave again. */
static void lose(struct endpoint *self, size_t at) {
    struct range packet = self->flight.items[at];
    take_out(&self->flight, at);
    self->report.in_flight -= packet.end - packet.begin + DATA_HEADER;
    self->report.packets_lost++;
    add(&self->lost, self->lost.count, packet);
    if (packet.number >= self->recovery_ends) {
        uint64_t half = self->report.cwnd / 2, least = 2u * self->datagram;
        self->report.cwnd = self->report.ssthresh = half > least ? half : least;
        self->recovery_ends = self->next_number;
        self->carry = 0;
    }
}

static void acknowledged(struct endpoint *self, uint64_t now, uint64_t number) {
    size_t at = 0;
    while (at < self->flight.count && self->flight.items[at].number != number)
        at++;
    if (at == self->flight.count)
        return;
    struct range packet = self->flight.items[at];
    take_out(&self->flight, at);
    uint64_t bytes = packet.end - packet.begin + DATA_HEADER;
    int was_full = self->report.in_flight + self->datagram > self->report.cwnd;
    self->report.in_flight -= bytes;
    self->report.acked += bytes;
    self->report.rtt = now - packet.sent;
    self->srtt = self->srtt ? self->srtt - self->srtt / 8 + self->report.rtt / 8 : self->report.rtt;
    self->backoff = 0;
    if (number > self->largest_acked)
        self->largest_acked = number;
    if (was_full && number >= self->recovery_ends) {
        if (self->report.cwnd < self->report.ssthresh) {
            self->report.cwnd += bytes;
        } else {
            self->carry += bytes;
            if (self->carry >= self->report.cwnd) {
                self->carry -= self->report.cwnd;
                self->report.cwnd += self->datagram;
            }
        }
    }
    while (self->flight.count && self->flight.items[0].number + REORDERING <= self->largest_acked)
        lose(self, 0);
    self->deadline = self->flight.count ? now + timeout(self) : SLOWSTART_NONE;
}

/* Data of the stream arrived; `report.received` counts what is in order. */
static void arrived(struct endpoint *self, struct range new) {
    if (new.is_final)
        self->length = new.end;
    size_t at = 0;
    while (at < self->received.count && self->received.items[at].begin < new.begin)
        at++;
    if (new.end > self->report.received)
        add(&self->received, at, new);
    while (self->received.count && self->received.items[0].begin <= self->report.received) {
        if (self->received.items[0].end > self->report.received)
            self->report.received = self->received.items[0].end;
        take_out(&self->received, 0);
    }
    if (self->report.received == self->length)
        self->is_finished = 1;
}

static void minimal_receive(void *endpoint, uint64_t now, enum slowstart_ecn ecn,
                            const uint8_t *datagram, size_t length) {
    struct endpoint *self = endpoint;
    (void)ecn; /* it does not use ECN */
    if (length < HEADER)
        return;
    uint64_t number = get(datagram + 4, 8);
    switch (datagram[0]) {
    case HELLO:
        if (!self->is_client)
            self->is_established = self->sends_welcome = 1;
        break;
    case WELCOME:
        if (self->is_client && !self->is_established) {
            self->is_established = 1;
            self->backoff = 0;
            self->sends_hello = 0;
            self->deadline = SLOWSTART_NONE;
        }
        break;
    case DATA:
        if (!self->is_client && self->is_established && length >= DATA_HEADER) {
            struct range new = {0};
            uint64_t count = get(datagram + HEADER + 8, 2);
            new.begin = get(datagram + HEADER, 8);
            new.end = new.begin + (count & (FINAL - 1));
            new.is_final = (count & FINAL) != 0;
            if (length != DATA_HEADER + (count & (FINAL - 1)) || new.end < new.begin)
                return;
            arrived(self, new);
            self->acks = grown(self->acks, self->ack_count, &self->ack_capacity, sizeof(uint64_t));
            self->acks[self->ack_count++] = number;
        }
        break;
    case ACK:
        if (self->is_client)
            acknowledged(self, now, number);
        break;
    }
}

static void minimal_expire(void *endpoint, uint64_t now) {
    struct endpoint *self = endpoint;
    if (self->deadline > now)
        return;
    self->deadline = SLOWSTART_NONE;
    if (!self->is_established) {
        self->sends_hello = 1;
    } else if (self->flight.count) {
        while (self->flight.count)
            lose(self, 0);
        self->report.cwnd = 2u * self->datagram;
        self->report.timeouts++;
        self->backoff++;
    }
}

static uint64_t minimal_deadline(void *endpoint) {
    return ((struct endpoint *)endpoint)->deadline;
}

static size_t minimal_transmit(void *endpoint, uint64_t now, uint8_t *out, size_t room,
                               enum slowstart_ecn *ecn) {
    struct endpoint *self = endpoint;
    *ecn = SLOWSTART_NOT_ECT;
    memset(out, 0, room < DATA_HEADER ? room : DATA_HEADER);
    if (self->sends_welcome) {
        self->sends_welcome = 0;
        out[0] = WELCOME;
        return HEADER;
    }
    if (self->ack_next < self->ack_count) {
        out[0] = ACK;
        put(out + 4, self->acks[self->ack_next++], 8);
        if (self->ack_next == self->ack_count)
            self->ack_next = self->ack_count = 0;
        return HEADER;
    }
    if (self->sends_hello) {
        self->sends_hello = 0;
        self->deadline = now + timeout(self);
        self->backoff++;
        out[0] = HELLO;
        return HEADER;
    }
    if (!self->is_client || !self->is_established ||
        self->report.in_flight + self->datagram > self->report.cwnd)
        return 0;
    struct range packet = {0};
    if (self->lost.count) {
        packet = self->lost.items[0];
        take_out(&self->lost, 0);
    } else {
        uint64_t left = self->written - self->next_offset, most = room - DATA_HEADER;
        packet.begin = self->next_offset;
        packet.end = packet.begin + (left < most ? left : most);
        packet.is_final = self->is_last && packet.end == self->written;
        if ((left == 0 && !packet.is_final) || self->is_final_sent)
            return 0;
        self->next_offset = packet.end;
        self->is_final_sent = packet.is_final;
    }
    size_t length = (size_t)(packet.end - packet.begin);
    packet.number = self->next_number++;
    packet.sent = now;
    out[0] = DATA;
    put(out + 4, packet.number, 8);
    put(out + HEADER, packet.begin, 8);
    put(out + HEADER + 8, length | (packet.is_final ? FINAL : 0u), 2);
    memset(out + DATA_HEADER, 0, length);
    add(&self->flight, self->flight.count, packet);
    self->report.in_flight += length + DATA_HEADER;
    self->report.packets_sent++;
    if (self->deadline == SLOWSTART_NONE)
        self->deadline = now + timeout(self);
    return length + DATA_HEADER;
}

static void minimal_application(void *endpoint, uint64_t now, enum slowstart_act act,
                                uint64_t bytes) {
    struct endpoint *self = endpoint;
    (void)now;
    if (act == SLOWSTART_FINISH)
        self->written = self->next_offset;
    else
        self->written += bytes < UINT64_MAX - self->written ? bytes : UINT64_MAX - self->written;
    if (act != SLOWSTART_WRITE)
        self->is_last = 1;
}

static void minimal_report(void *endpoint, struct slowstart_report *report) {
    struct endpoint *self = endpoint;
    *report = self->report;
    report->is_established = (uint32_t)self->is_established;
    report->is_finished = (uint32_t)self->is_finished;
    if (self->report.rtt == 0)
        report->rtt = SLOWSTART_NONE;
    self->report.rtt = 0;
}

const struct slowstart_stack *slowstart_stack(void) {
    static const struct slowstart_stack stack = {
        SLOWSTART_STACK_VERSION, "minimal",       "1.0",            "newreno",
        minimal_open,            minimal_close,   minimal_receive,  minimal_expire,
        minimal_deadline,        minimal_transmit, minimal_application, minimal_report,
    };
    return &stack;
}

#ifdef WORKER
#include "slowstart_worker.h"

int main(void) { return slowstart_worker(slowstart_stack()); }
#endif
