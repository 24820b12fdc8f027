/* A transport stack under slowstart's simulated clock: the interface of a shared object.
 *
 * A stack is a table of functions, which slowstart_stack() returns. Build it as a shared object:
 *
 *     cc -shared -fPIC -I"$(slowstart check-stack --include)" -o mine.so mine.c
 *     slowstart check-stack ./mine.so
 *     slowstart compare wired -a own -a cubic --stack ./mine.so --stack simulated
 *
 * or, with slowstart_worker.h, as a program that speaks the pipe protocol.
 *
 * The contract:
 *   - An endpoint has no sockets and no clock. Every time is an argument: nanoseconds of the run,
 *     which never decrease.
 *   - After receive, expire or application, or several of them at one instant, transmit is called
 *     until it returns 0, then deadline and report.
 *   - A deadline is not earlier than the last time. At a deadline of that time, expire is called at
 *     once.
 *   - The same settings and the same calls give the same answers: draw random numbers from the seed
 *     only.
 *   - All calls come from one thread. Each connection has a process of its own.
 *   - Standard output carries the protocol: write messages to standard error.
 *
 * docs/reference/stack-interface.md has the whole page. */

#ifndef SLOWSTART_STACK_H
#define SLOWSTART_STACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A change of a struct or of a meaning increases it. */
#define SLOWSTART_STACK_VERSION 1

/* No deadline, no threshold, no RTT sample. */
#define SLOWSTART_NONE UINT64_MAX

/* The ECN field of a datagram. */
enum slowstart_ecn { SLOWSTART_NOT_ECT = 0, SLOWSTART_ECT = 1, SLOWSTART_CE = 2 };

/* What the application does. */
enum slowstart_act {
    SLOWSTART_WRITE = 3,      /* it has so many more bytes to send */
    SLOWSTART_WRITE_LAST = 4, /* it has so many more bytes to send, and then nothing */
    SLOWSTART_FINISH = 5      /* it stops now: what was not sent yet is not sent; bytes is 0 */
};

/* What an endpoint begins with. It is valid during the call of open. */
struct slowstart_settings {
    const char *controller;  /* one of those that the stack names */
    const uint8_t *seed;     /* 32 bytes for this endpoint's random numbers */
    uint64_t receive_window; /* bytes */
    uint32_t flow;           /* the number of the connection */
    uint32_t initial_window; /* datagrams */
    uint32_t datagram;       /* bytes of the largest datagram */
    uint32_t is_client;      /* 1: it opens the connection and sends the data */
};

/* The state of an endpoint. Counters begin at zero and never decrease. */
struct slowstart_report {
    uint64_t received;     /* bytes in order at the application of this endpoint */
    uint64_t packets_sent; /* packets with stream data that it sent */
    uint64_t packets_lost; /* packets that it declared lost */
    uint64_t timeouts;     /* timeouts after which its window is minimal */
    uint64_t acked;        /* bytes of its packets that the peer acknowledged */
    uint64_t cwnd;         /* bytes; 0 if it has none */
    uint64_t ssthresh;     /* bytes; SLOWSTART_NONE before it is set */
    uint64_t in_flight;    /* bytes */
    uint64_t rtt;          /* the newest RTT sample, ns; SLOWSTART_NONE: none in this turn */
    uint32_t is_established; /* 1: the handshake is complete */
    uint32_t is_finished;    /* 1: the application has all that the peer sends */
    const char *closed;      /* why the connection was closed before that; NULL while it was not */
};

/* A stack. Strings are in UTF-8 and live as long as the stack. */
struct slowstart_stack {
    uint32_t version;        /* SLOWSTART_STACK_VERSION */
    const char *name;        /* of the stack, in results */
    const char *release;     /* of the stack, in results */
    const char *controllers; /* its congestion controllers, with commas; the first is its default */

    /* A new endpoint; a client begins to connect at `now`. NULL: it cannot be opened. */
    void *(*open)(uint64_t now, const struct slowstart_settings *settings);
    /* The endpoint is not used any more. */
    void (*close)(void *endpoint);
    /* A datagram arrived. */
    void (*receive)(void *endpoint, uint64_t now, enum slowstart_ecn ecn, const uint8_t *datagram,
                    size_t length);
    /* The deadline has come. */
    void (*expire)(void *endpoint, uint64_t now);
    /* When to call expire next; SLOWSTART_NONE for never. */
    uint64_t (*deadline)(void *endpoint);
    /* Writes the next datagram that leaves at `now`, of at most `room` bytes, and its ECN field;
     * returns its length, or 0 if none leaves now. */
    size_t (*transmit)(void *endpoint, uint64_t now, uint8_t *datagram, size_t room,
                       enum slowstart_ecn *ecn);
    /* The application acts. */
    void (*application)(void *endpoint, uint64_t now, enum slowstart_act act, uint64_t bytes);
    /* Fills in the state. */
    void (*report)(void *endpoint, struct slowstart_report *report);
};

/* The stack of this shared object or program. */
const struct slowstart_stack *slowstart_stack(void);

#ifdef __cplusplus
}
#endif

#endif
