/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cases of the bench of host kernels: which there are, and what each owns while it runs. */
#ifndef HOST_KERNELS_CASES_H
#define HOST_KERNELS_CASES_H

#include <stdbool.h>

#include "host_kernels.h"

enum kernel_kind {
    EVENT_ROWS,
    EVENT_COLS,
    CSR_ROWS,
    CSR_COLS,
    BITMASK,
    DENSE,
    TRANSPOSE,
    SCAN,
    COUNT,
    FILL,
    PROBE
};

typedef struct kernel_case {
    const char *name;
    enum kernel_kind kind;
    int64_t m, kk, n;
    double density;
    bool s_by_k;   /* S k-major (rs == 1), else row-major */
    bool out_by_j; /* out column-major (rs == 1), else row-major */
} kernel_case_t;

enum { KERNEL_THREADS = 64 };

/* Everything that one case owns, shared by its threads. */
typedef struct kernel_work {
    const kernel_case_t *c;
    const lac_host_kernels_t *k;
    int threads;
    void *s, *w, *out;
    int64_t s_rs, s_cs, o_rs, o_cs;
    lac_events_t ev[KERNEL_THREADS];
    lac_rows_t rows;
    lac_bits_t bits;
    void *scratch[KERNEL_THREADS];
} kernel_work_t;

extern const kernel_case_t kernel_cases[];
extern const int kernel_case_count;

/* Allocates and fills what the case c, set in x with k and threads, works on; ends the program where there is
 * no memory. */
void kernel_case_build(kernel_work_t *x);
void kernel_case_free(kernel_work_t *x);

/* Bytes of the large operand that must be touched by a run. */
double kernel_case_touched(const kernel_work_t *x);

#endif
