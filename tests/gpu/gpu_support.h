/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the tests of the CUDA backend share: a clean environment, a device or a skip, expectations that are
 * counted. They need nothing but the library itself, so that they build on any machine with a device. */
#ifndef GPU_SUPPORT_H
#define GPU_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lacuna/lacuna.h"

/* One test of a program; it gets a context on a stream of its own. */
typedef struct gpu_test {
    const char *name;
    void (*run)(lac_ctx_t *ctx);
} gpu_test_t;

#define GPU_TEST(function)                                                                                   \
    {                                                                                                        \
#        function, function                                                                                  \
    }

/* Runs the tests named on the command line, or all; prints what each took. Returns the program's exit status:
 * 0, 1 where an expectation failed, 77 (skipped) where there is no device. */
int gpu_run(const gpu_test_t *tests, size_t count, int argc, char **argv);

/* Counts a failure and prints it with the name of the test. Any thread may call it. */
__attribute__((format(printf, 1, 2))) void gpu_fail(const char *format, ...);

/* False, and a failure, unless the status is the expected one; `what` says of what. */
bool gpu_expect(lac_status_t got, lac_status_t want, const char *what);

/* The same for an error whose message must hold a word. */
bool gpu_expect_error(lac_status_t got, lac_status_t want, const char *word, const char *what);

/* A context on device 0 and a stream of its own, which does not learn from the clock; or the program ends. */
lac_ctx_t *gpu_ctx(void);

/* Device memory that holds `bytes` from the host; or the program ends. Free with lac_device_free. */
void *gpu_upload(lac_ctx_t *ctx, const void *from, size_t bytes);

/* "auto" and the routes of the context whose roles ("sparse", "dense", "native", "oracle") stand in `roles`,
 * in the order of the library's table; or the program ends. */
typedef struct gpu_routes {
    char name[LAC_CANDIDATES_MAX][24];
    size_t count;
    const char *roles;
} gpu_routes_t;

gpu_routes_t gpu_routes_of(lac_ctx_t *ctx, const char *roles);

/* True under compute-sanitizer: loop over less. */
bool gpu_quick(void);

/* A generator for tests: the same numbers each time. */
static inline uint64_t gpu_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = *state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#define GPU_PICK(list, state) ((list)[gpu_random(state) % (sizeof(list) / sizeof *(list))])
#define GPU_COUNT(list)       (sizeof(list) / sizeof *(list))

#endif
