/* The start-ups and congestion controls of slowstart, for a transport in C with packet numbers.
 *
 * Build the static library and link it:
 *
 *     cargo build --release -p slowstart-capi
 *     cc mine.c -I crates/capi/include target/release/libslowstart_capi.a -lpthread -ldl -lm
 *
 * A controller has no clock and makes no system calls. Times are nanoseconds since any moment, the
 * same for all calls of a controller; sizes are bytes of UDP payload. Call slowstart_on_acked once
 * for each packet of an ACK frame, then slowstart_on_batch_end, then report losses.
 *
 * A controller may be moved between threads, and is used by one at a time. No function keeps a
 * pointer that was passed to it. A NULL controller is an error of the caller. */

#ifndef SLOWSTART_H
#define SLOWSTART_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A change of a struct or of a meaning increases it. */
#define SLOWSTART_VERSION 2

/* No packet number, no threshold, no pace. */
#define SLOWSTART_UNKNOWN UINT64_MAX

struct slowstart_controller;

/* What a controller begins with. */
struct slowstart_options {
    uint32_t version;        /* SLOWSTART_VERSION */
    uint32_t sets_pace;      /* 1: the transport sends at slowstart_pace where that is set */
    uint32_t reports_lost;   /* 1: it calls slowstart_on_lost for each lost packet */
    uint32_t reports_handshake; /* 1: it calls slowstart_on_handshake before data leaves */
    uint32_t lacks_send_times; /* 1: `sent` of slowstart_on_acked is `now` less a sample of the RTT */
    uint32_t unpaced;        /* 1: where no pace is set, packets leave as the window allows; 0: the
                              * transport paces them */
    const char *algorithm;   /* such as "cubic+search" or "reno+hystart++" */
    uint64_t now;
    uint64_t datagram;       /* bytes of a full datagram */
    uint64_t initial_window; /* bytes; 0 for that of RFC 9002, section 7.2 */
    uint64_t seed;           /* of the algorithm's random numbers */
};

/* The end of the first slow start. */
struct slowstart_exit {
    uint64_t at;
    uint64_t cwnd;      /* bytes, before any reduction */
    const char *reason; /* "loss", "search", "ack-train", ...; it lives as long as the program */
};

enum slowstart_congestion { SLOWSTART_LOSS = 0, SLOWSTART_ECN = 1, SLOWSTART_PERSISTENT = 2 };

/* A controller, or NULL with one sentence in `error`: the name is unknown, or the algorithm needs
 * what the transport does not offer. `error` has `room` bytes, and may be NULL if `room` is 0. */
struct slowstart_controller *slowstart_new(const struct slowstart_options *options, char *error,
                                           size_t room);
/* A copy with the same state, for a path that goes on after a migration. */
struct slowstart_controller *slowstart_clone(const struct slowstart_controller *controller);
void slowstart_free(struct slowstart_controller *controller);

/* The handshake is complete; `rtt` is its round-trip time. */
void slowstart_on_handshake(struct slowstart_controller *controller, uint64_t now, uint64_t rtt);
/* A packet that is in flight left; SLOWSTART_UNKNOWN if its number is not known. */
void slowstart_on_sent(struct slowstart_controller *controller, uint64_t now, uint64_t size,
                       uint64_t number);
/* An ACK frame acknowledges a packet that left at `sent`. */
void slowstart_on_acked(struct slowstart_controller *controller, uint64_t now, uint64_t sent,
                        uint64_t size, uint64_t number);
/* The ACK frame ends: bytes in flight now, and 1 if the application and not the window limits. */
void slowstart_on_batch_end(struct slowstart_controller *controller, uint64_t now,
                            uint64_t in_flight, uint32_t app_limited);
/* A packet is lost; slowstart_on_congestion follows. */
void slowstart_on_lost(struct slowstart_controller *controller, uint64_t now, uint64_t size,
                       uint64_t number);
/* Congestion: `lost` bytes are no longer in flight, of which the newest left at `newest_sent`. With
 * SLOWSTART_ECN, 0 bytes, and the newest packet that was acknowledged. */
void slowstart_on_congestion(struct slowstart_controller *controller, uint64_t now,
                             uint64_t newest_sent, enum slowstart_congestion kind, uint64_t lost);
/* The packets whose loss began the last reduction arrived after all. */
void slowstart_on_spurious(struct slowstart_controller *controller);
/* A full datagram now has `datagram` bytes. */
void slowstart_on_mtu(struct slowstart_controller *controller, uint64_t datagram);

/* The congestion window in bytes. */
uint64_t slowstart_window(const struct slowstart_controller *controller);
/* The slow-start threshold in bytes, or SLOWSTART_UNKNOWN before it is set. */
uint64_t slowstart_threshold(const struct slowstart_controller *controller);
/* The pace in bytes per second, or SLOWSTART_UNKNOWN if the transport chooses it. */
uint64_t slowstart_pace(const struct slowstart_controller *controller);
/* Fills in the end of the first slow start and returns 1, or returns 0 before it. */
uint32_t slowstart_exited(const struct slowstart_controller *controller,
                          struct slowstart_exit *exit);

#ifdef __cplusplus
}
#endif

#endif
