/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The operands that a problem string describes, on the device, and the verdict on a product of them. */
#ifndef GPU_CASE_H
#define GPU_CASE_H

#include "gpu_support.h"
#include "ref_generate.h"
#include "ref_gemm.h"
#include "ref_problem.h"

/* What lies on the device for one operand. */
typedef struct gpu_operand {
    void *memory;   /* the allocation; data lies `shift` elements into it          */
    void *array[3]; /* attached arrays                                             */
    lac_meta_t *meta;
} gpu_operand_t;

typedef struct gpu_case {
    lac_ctx_t *ctx;
    ref_problem_t problem;
    char text[REF_PROBLEM_TEXT];
    ref_case_t host;     /* the contents; host.c is what was fetched last                  */
    ref_matrix_t before; /* C before the call that is checked                              */
    int64_t shift;       /* elements by which operands are off the allocation's alignment  */
    gpu_operand_t know_a, know_b, know_c;
    lac_obj_t a, b, c;
} gpu_case_t;

/* Generates, uploads, attaches or scans metadata, freezes: all that the string says. Attached CSR and CSC
 * have indices of 32 bits for odd seeds, of 64 bits for even ones; seeds that leave 2 or 3 modulo 4 place
 * operands one element off alignment. False, and a failure, where the library did not take it. Free in any
 * case. */
bool gpu_case_make(gpu_case_t *x, lac_ctx_t *ctx, const char *text);
void gpu_case_free(gpu_case_t *x);

/* New contents, of another problem of the same shapes, layouts and types, in the same buffers. Metadata is
 * left alone. Waits. */
bool gpu_case_change(gpu_case_t *x, const char *text);

/* C as it was before any call. Waits. */
void gpu_case_reset(gpu_case_t *x);

/* C := beta C + alpha A B by a route (NULL: the context's). decision may be NULL. Queues only. */
lac_status_t gpu_case_run(gpu_case_t *x, const char *route, lac_decision_t *decision);

/* True where the route would serve when forced. */
bool gpu_case_takes(gpu_case_t *x, const char *route);

/* Waits, fetches C, compares it with the oracle for a call that `decision` describes (NULL: the dense one).
 * False, and a failure that prints the problem, where it is wrong, or padding was written. strict: no term
 * may have been dropped. */
bool gpu_case_check(gpu_case_t *x, const lac_decision_t *decision, bool strict);

/* Waits, fetches C; its checksum. */
uint64_t gpu_case_checksum(gpu_case_t *x);

/* What was fetched last becomes the C before the next call. */
void gpu_case_continue(gpu_case_t *x);

/* Names of the routes that a context has, as lac_call_opts_t takes them; "auto" first. Returns their number.
 */
enum { GPU_ROUTES_MAX = 24 };
int gpu_routes(lac_ctx_t *ctx, const char *names[GPU_ROUTES_MAX]);

#endif
