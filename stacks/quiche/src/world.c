/* What quiche and BoringSSL ask the system: the time, which is that of the request, and random
 * numbers, which come from the seeds of the run.
 *
 * BoringSSL draws from the system call getrandom and from the instruction RDRAND; quiche draws from
 * BoringSSL; the hash tables of Rust draw from getrandom of the C library. build.rs passes --wrap to
 * the linker for each function whose name begins with __wrap_. */

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "slowstart_clock.h"

static uint64_t random_state;

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t random_next(void) {
    uint64_t value = random_state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

void slowstart_random_mix(uint64_t word);
void slowstart_random_mix(uint64_t word) {
    random_state ^= word;
    random_state = random_next();
}

ssize_t getrandom(void *out, size_t length, unsigned flags) {
    uint8_t *bytes = out;
    (void)flags;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)random_next();
    return (ssize_t)length;
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_getrandom)
        return getrandom((void *)a, (size_t)b, (unsigned)c);
    return __real_syscall(number, a, b, c, d, e, f);
}

/* The processor has no random numbers: BoringSSL then uses the system call alone. */
int __wrap_CRYPTO_rdrand(uint8_t *out);
int __wrap_CRYPTO_rdrand(uint8_t *out) {
    (void)out;
    return 0;
}

int __wrap_CRYPTO_rdrand_multiple8_buf(uint8_t *out, size_t length);
int __wrap_CRYPTO_rdrand_multiple8_buf(uint8_t *out, size_t length) {
    (void)out;
    (void)length;
    return 0;
}
