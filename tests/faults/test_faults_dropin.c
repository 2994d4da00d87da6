/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The drop-in library out of memory, at every point of a program's first calls: BLAS calls have no status, so
 * that every result has to be right.
 *
 * This program's malloc is everybody's: the loader's and libc's requests fail as well. There is no BLAS
 * behind, whose own despair would end the program. */
#include "fault_points.h"
#include "../unit/unit_support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { M = 48, K = 64, N = 40 };

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

#define EVERYBODYS __attribute__((visibility("default")))

static long count, failing;
static bool lasting;

static bool refused(void)
{
    if (!failing) return false;
    count++;
    bool refuses = count == failing || (count > failing && lasting);
    if (refuses) errno = ENOMEM;
    return refuses;
}

EVERYBODYS void *malloc(size_t size)
{
    return refused() ? NULL : __libc_malloc(size);
}

EVERYBODYS void *calloc(size_t n, size_t size)
{
    return refused() ? NULL : __libc_calloc(n, size);
}

EVERYBODYS void *realloc(void *memory, size_t size)
{
    return refused() ? NULL : __libc_realloc(memory, size);
}

EVERYBODYS void *aligned_alloc(size_t alignment, size_t size)
{
    return refused() ? NULL : __libc_memalign(alignment, size);
}

void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *, size_t, size_t);
void sgemv_(const char *, const int *, const int *, const float *, const float *, const int *, const float *,
            const int *, const float *, float *, const int *, size_t);
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                 int);

static float a[M * K], b[K * N], expected[M * N];
static float at[M * K], bt[K * N]; /* the transposes */

static void make_operands(void)
{
    for (int i = 0; i < M * K; i++) a[i] = i % 17 ? 0.0f : 2.0f;
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3);
    for (int i = 0; i < M * K; i++) at[i / M + i % M * K] = a[i];
    for (int i = 0; i < K * N; i++) bt[i / K + i % K * N] = b[i];
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++)
            for (int k = 0; k < K; k++) expected[i + j * M] += a[i + k * M] * b[k + j * K];
}

static bool right(const float *result)
{
    return !memcmp(result, expected, sizeof expected);
}

static float c[M * N];

static void corrupt(void)
{
    memset(c, 0x7f, sizeof c);
}

static const int m = M, n = N, k = K, one = 1, back = -1;
static const float alpha = 1.0f, beta = 0.0f;

static bool plain_calls_are_right(void)
{
    corrupt();
    sgemm_("N", "N", &m, &n, &k, &alpha, a, &m, b, &k, &beta, c, &m, 1, 1);
    if (!right(c)) return false;
    corrupt();
    for (int j = 0; j < N; j++)
        sgemv_("N", &m, &k, &alpha, a, &m, b + j * K, &one, &beta, c + j * M, &one, 1);
    if (!right(c)) return false;
    corrupt();
    cblas_sgemm(102, 111, 111, M, N, K, 1.0f, a, M, b, K, 0.0f, c, M);
    return right(c);
}

/* Transposes, vectors from their far end, and scalars of which one leaves C as it was. */
static bool other_calls_are_right(void)
{
    float reversed[K];
    corrupt();
    sgemm_("T", "T", &m, &n, &k, &alpha, at, &k, bt, &n, &beta, c, &m, 1, 1);
    if (!right(c)) return false;
    sgemm_("N", "N", &m, &n, &k, &beta, a, &m, b, &k, &alpha, c, &m, 1, 1);
    if (!right(c)) return false;
    for (int j = 0; j < 2; j++) {
        float *column = c + j * M;
        memset(column, 0x7f, M * sizeof *column);
        for (int l = 0; l < K; l++) reversed[l] = b[j * K + K - 1 - l];
        sgemv_("T", &k, &m, &alpha, at, &k, reversed, &back, &beta, column, &one, 1);
        sgemv_("T", &k, &m, &beta, at, &k, reversed, &back, &alpha, column, &one, 1);
    }
    return right(c);
}

static bool calls_are_right(void)
{
    return plain_calls_are_right() && other_calls_are_right();
}

static fault_end_t child(long nth, bool for_good)
{
    count = 0, failing = nth, lasting = for_good;
    bool good = calls_are_right() && calls_are_right();
    failing = 0;
    return !good || !calls_are_right() ? FAULT_WRONG : count < nth ? FAULT_DONE : FAULT_MET;
}

static void every_point(bool for_good)
{
    assert_true(fault_every_point(child, for_good, 1) > 10);
}

static void test_one_failure_at_every_point(void **state)
{
    (void)state;
    every_point(false);
}

static void test_no_memory_from_every_point_on(void **state)
{
    (void)state;
    every_point(true);
}

static void test_with_settings(void **state)
{
    (void)state;
    unit_write(unit_path("config"), "verbose = exec\nstats = 1\ncompare = reference\n");
    unit_write(unit_path("tune"), "# lacuna tuning 2\nfork_join_us = 0.001\n");
    setenv("LACUNA_CONFIG", unit_path("config"), 1);
    setenv("LACUNA_TUNE_CACHE", unit_path("tune"), 1);
    setenv("LACUNA_THREADS", "3", 1);
    every_point(false);
    every_point(true);
}

int main(void)
{
    unit_begin();
    setenv("LACUNA_BLAS", "none", 1);
    make_operands();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_failure_at_every_point),
        cmocka_unit_test(test_no_memory_from_every_point_on),
        cmocka_unit_test(test_with_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
