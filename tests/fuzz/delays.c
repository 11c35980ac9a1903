/*
 * Delays for LD_PRELOAD: a thread loses its core just before or after it waits, wakes another, or passes the heavy fence.
 *
 * A race whose window is a few instructions wide at such a place is met once in thousands of runs on a quiet machine, and once
 * in a hundred with these. The system calls `futex` and `membarrier` of a program written in Rust go through `syscall` of the
 * C library, which this one stands in for. Each thread draws from a sequence of its own; DELAYS=n chooses them, 1 by default.
 * At its end a program says how often it was delayed.
 *
 *   cc -shared -fPIC -O2 delays.c -o delays.so -ldl
 *   DELAYS=7 LD_PRELOAD=./delays.so replay --seeds 0 2000
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define OF_100 35         /* how many of a hundred places are delayed */
#define LONGEST_NS 400000 /* longer than what others do meanwhile */

static _Thread_local uint64_t state;
static atomic_uint_fast64_t threads, delays;

__attribute__((destructor)) static void say(void) { fprintf(stderr, "delays: %llu\n", (unsigned long long)delays); }

static void perhaps_delay(void) {
    if (state == 0) {
        const char *seed = getenv("DELAYS");
        state = (strtoull(seed != NULL ? seed : "1", NULL, 10) << 20 | ++threads) * 0x9e3779b97f4a7c15u | 1;
    }
    state ^= state << 13; /* xorshift64 (Marsaglia, 2003) */
    state ^= state >> 7;
    state ^= state << 17;
    if ((state >> 20) % 100 >= OF_100) return;
    delays++;
    const int kept = errno;
    nanosleep(&(struct timespec){.tv_nsec = (long)((state >> 32) % LONGEST_NS)}, NULL);
    errno = kept;
}

long syscall(long number, ...) {
    static _Atomic(uintptr_t) found;
    long (*call)(long, ...);
    uintptr_t address = found;
    if (address == 0) {
        address = (uintptr_t)dlsym(RTLD_NEXT, "syscall");
        found = address;
    }
    memcpy(&call, &address, sizeof call);
    long argument[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++) argument[i] = va_arg(rest, long); /* what was not passed is not looked at */
    va_end(rest);
    const int is_place = number == SYS_futex || number == SYS_membarrier;
    if (is_place) perhaps_delay();
    const long result = call(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    if (is_place) perhaps_delay();
    return result;
}
