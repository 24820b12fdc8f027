/* The start-ups and congestion controls of slowstart in picoquic.
 *
 * Compile slowstart_picoquic.c with picoquic's headers and link the static library of slowstart:
 *
 *     cargo build --release -p slowstart-capi
 *     cc -c -I crates/capi/include -I PICOQUIC/picoquic crates/capi/c/slowstart_picoquic.c
 *     cc mine.c slowstart_picoquic.o target/release/libslowstart_capi.a ... -lpthread -ldl -lm
 *
 * Then choose one before the first connection, as picoquic's own are chosen:
 *
 *     picoquic_set_default_congestion_algorithm(quic, &slowstart_picoquic_search);
 *
 * or any other by its name, which is refused with one sentence if picoquic lacks what it needs:
 *
 *     char error[256];
 *     if (!slowstart_picoquic_use(quic, "reno+search:version=2.0", error, sizeof error))
 *         fprintf(stderr, "%s\n", error);
 */

#ifndef SLOWSTART_PICOQUIC_H
#define SLOWSTART_PICOQUIC_H

#include "picoquic.h"
#include "slowstart.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cubic+search and cubic+hystart++. */
extern const picoquic_congestion_algorithm_t slowstart_picoquic_search;
extern const picoquic_congestion_algorithm_t slowstart_picoquic_hystart_pp;

/* The algorithm that picoquic's option string names; cubic+search without one. A name that
 * slowstart_picoquic_check refuses leaves a connection at picoquic's initial window. */
extern const picoquic_congestion_algorithm_t slowstart_picoquic;

/* Returns 1 if picoquic can run the algorithm, or 0 with one sentence in `error`, which has `room`
 * bytes. */
int slowstart_picoquic_check(const char *algorithm, char *error, size_t room);

/* Makes it the default of new connections, if slowstart_picoquic_check allows it. picoquic keeps the
 * pointer: the name must live as long as `quic`. */
int slowstart_picoquic_use(picoquic_quic_t *quic, const char *algorithm, char *error, size_t room);

/* The controller of the connection's first path, for slowstart_exited and the like, or NULL. It ends
 * with the connection. */
const struct slowstart_controller *slowstart_picoquic_controller(picoquic_cnx_t *cnx);

#ifdef __cplusplus
}
#endif

#endif
