/* A bottleneck in simulated time, for transfer.c of the stacks in C: a drop-tail queue, a rate and a
 * delay. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of Ethernet, IPv4 and UDP that a packet has besides its payload. */
#define HEADERS (14 + 20 + 8)
#define LARGEST 1536
#define ROOM 65536

/* Microseconds. */
static uint64_t now;

struct datagram {
    uint64_t arrives;
    size_t length;
    uint8_t bytes[LARGEST];
};

struct link {
    double rate, free; /* bits per microsecond, 0 for no limit; when the last packet has left */
    uint64_t delay, buffer, dropped, carried;
    size_t first, count;
    struct datagram *in_transit;
    double *departures;
};

static struct link open_link(double rate, double rtt, uint64_t buffer) {
    struct link link = {.rate = rate, .delay = (uint64_t)(rtt * 500), .buffer = buffer};
    link.in_transit = calloc(ROOM, sizeof *link.in_transit);
    link.departures = calloc(ROOM, sizeof *link.departures);
    if (!link.in_transit || !link.departures)
        exit(1);
    return link;
}

static void close_link(struct link *link) {
    free(link->in_transit);
    free(link->departures);
}

static void submit(struct link *link, const void *bytes, size_t length) {
    double start = link->free > (double)now ? link->free : (double)now;
    uint64_t waiting = 0;

    for (size_t i = link->count; i > 0; i--) {
        if (link->departures[(link->first + i - 1) % ROOM] <= (double)now)
            break;
        waiting++;
    }
    if (length > LARGEST || link->count == ROOM || (link->rate > 0 && waiting > link->buffer)) {
        link->dropped++;
        return;
    }
    link->free = link->rate > 0 ? start + (double)(length + HEADERS) * 8 / link->rate : start;
    size_t at = (link->first + link->count++) % ROOM;
    struct datagram *datagram = &link->in_transit[at];
    link->departures[at] = link->free;
    datagram->arrives = (uint64_t)link->free + link->delay;
    datagram->length = length;
    memcpy(datagram->bytes, bytes, length);
    link->carried++;
}

/* The next datagram that has arrived, or NULL. It is valid until the next submit. */
static struct datagram *arrived(struct link *link) {
    struct datagram *datagram = &link->in_transit[link->first];
    if (link->count == 0 || datagram->arrives > now)
        return NULL;
    link->first = (link->first + 1) % ROOM;
    link->count--;
    return datagram;
}

static uint64_t earlier(uint64_t at, const struct link *link) {
    uint64_t arrives = link->count ? link->in_transit[link->first].arrives : UINT64_MAX;
    return arrives < at ? arrives : at;
}

/* In the place of OpenSSL's: equal arguments give equal connection identifiers, keys of tickets and
 * transport parameters, some of which have a random length. Not for a program that talks to others. */
int RAND_bytes(unsigned char *bytes, int count) {
    static uint64_t state = 1;
    for (int i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)(state >> 56);
    }
    return 1;
}
