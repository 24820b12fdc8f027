/* The simulated clock, for a stack that asks the clock itself.
 *
 * It replaces clock_gettime, gettimeofday and time of the C library in the whole program, shared
 * libraries included. Include it in one file of a worker, before slowstart_worker.h, which sets the
 * time of each request:
 *
 *     #include "slowstart_clock.h"
 *     #include "slowstart_worker.h"
 *     int main(void) { return slowstart_worker(slowstart_stack()); }
 *
 * A worker with a loop of its own calls slowstart_clock_set with the `now` of each request. For a
 * program that cannot be linked again, make a library of it:
 *
 *     cc -shared -fPIC -include slowstart_clock.h -x c /dev/null -o clock.so
 *     --stack "worker: env LD_PRELOAD=./clock.so ./my-program"
 *
 * and find slowstart_clock_set with dlsym. Time stands still during a request. What sleeps or waits
 * is not replaced, and neither is a system call that passes by the C library. */

#ifndef SLOWSTART_CLOCK_H
#define SLOWSTART_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/* The monotonic clocks begin at an hour, because programs take 0 for "never". */
#define SLOWSTART_CLOCK_START UINT64_C(3600)
/* Real time begins at 2026-01-01 00:00:00 UTC. */
#define SLOWSTART_CLOCK_EPOCH UINT64_C(1767225600)

static uint64_t slowstart_clock_now;

void slowstart_clock_set(uint64_t now);
void slowstart_clock_set(uint64_t now) { slowstart_clock_now = now; }

int clock_gettime(clockid_t clock, struct timespec *at) {
    uint64_t start = clock == CLOCK_REALTIME ? SLOWSTART_CLOCK_EPOCH : SLOWSTART_CLOCK_START;
    at->tv_sec = (time_t)(start + slowstart_clock_now / 1000000000u);
    at->tv_nsec = (long)(slowstart_clock_now % 1000000000u);
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = (suseconds_t)(now.tv_nsec / 1000);
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}

#endif
