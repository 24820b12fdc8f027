/* The start-ups and congestion controls of slowstart in quicly.
 *
 * Compile slowstart_quicly.c with quicly's and picotls's headers and link the static library of
 * slowstart:
 *
 *     cargo build --release -p slowstart-capi
 *     cc -c -I crates/capi/include -I QUICLY/include -I PICOTLS/include \
 *         crates/capi/c/slowstart_quicly.c
 *     cc mine.c slowstart_quicly.o target/release/libslowstart_capi.a ... -lpthread -ldl -lm
 *
 * Then choose an algorithm for the connections of a context, which is refused with one sentence if
 * quicly lacks what it needs:
 *
 *     static struct slowstart_quicly search;
 *     char error[256];
 *     if (!slowstart_quicly_use(&search, &context, "cubic+search", error, sizeof error))
 *         fprintf(stderr, "%s\n", error);
 *     ...
 *     slowstart_quicly_end(conn);
 *     quicly_free(conn);
 */

#ifndef SLOWSTART_QUICLY_H
#define SLOWSTART_QUICLY_H

#include "quicly.h"
#include "slowstart.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An algorithm as a congestion controller of quicly. It must live longer than each connection. */
struct slowstart_quicly {
    quicly_init_cc_t init; /* the first member: quicly passes it on */
    struct st_quicly_cc_type_t type;
    const char *algorithm;
    uint32_t datagram;
    int is_paced;
};

/* Makes the algorithm the controller of the context's new connections and returns 1; or returns 0 with
 * one sentence in `error`, which has `room` bytes, and changes nothing. It reads the context's size of
 * datagrams, and whether it paces; call it after these are set. The name must live as long as `self`. */
int slowstart_quicly_use(struct slowstart_quicly *self, quicly_context_t *context,
                         const char *algorithm, char *error, size_t room);

/* The controller of a connection, for slowstart_exited and the like, or NULL. */
const struct slowstart_controller *slowstart_quicly_controller(quicly_conn_t *conn);

/* Frees the controller, as quicly has no function for that: call it just before quicly_free. */
void slowstart_quicly_end(quicly_conn_t *conn);

#ifdef __cplusplus
}
#endif

#endif
