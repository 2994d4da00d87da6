/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The operands of one problem as the library takes them: copies on a device (padding and guards included, and
 * arrays that lie where a context computes), metadata, and attached formats. */
#ifndef LACUNA_TOOLS_LACUNA_OPERANDS_H
#define LACUNA_TOOLS_LACUNA_OPERANDS_H

#include "lacuna/lacuna.h"
#include "ref_matrix.h"
#include "ref_problem.h"
#include "ref_sparse.h"
#include "ref_generate.h"

#include <stdbool.h>

/* Empty: there is no copy, and the host's matrix is the operand. ctx must outlive the copy. */
typedef struct device_copy {
    lac_ctx_t *ctx;
    void *memory;
} device_copy_t;

/* True where the context computes on a device (on a stream of its own, as every context of this tool does).
 */
bool computes_on_device(const lac_ctx_t *ctx);

/* Copies the matrix and points obj at the copy. Errors: those of lac_device_alloc and lac_device_upload. */
lac_status_t device_copy_make(device_copy_t *copy, lac_ctx_t *ctx, const ref_matrix_t *x, lac_obj_t *obj);

/* The copy's contents to a matrix of the same geometry. Waits; does nothing without a copy. */
lac_status_t device_copy_fetch(const device_copy_t *copy, ref_matrix_t *x);

/* Accepts an empty copy; leaves an empty one. */
void device_copy_free(device_copy_t *copy);

/* Memory of the device with these contents. Free with lac_device_free. */
lac_status_t device_array(lac_ctx_t *ctx, const void *from, size_t bytes, void **array);

/* The metadata of an operand as a problem names it, and the arrays that are attached to it. */

#define ATTACHED_ARRAYS 3

/* What the caller of the library knows of one operand, and the arrays that it keeps alive. */
typedef struct attachment {
    lac_meta_t *meta;             /* or NULL: nothing is known                              */
    lac_ctx_t *ctx;               /* where the arrays lie                                   */
    void *array[ATTACHED_ARRAYS]; /* on a device: what is attached                          */
    int arrays;
    ref_compressed_t compressed;
    ref_bits_t bits;
    ref_active_t active;
    ref_matrix_t numbers; /* of a binary operand, where its formats hold doubles */
    void *narrow;         /* row pointers of 32 bits, or indices of 64: the API wants one type for both */
    void *events;         /* bits or lists of them                                       */
    int32_t *counts;      /* of lists                                                    */
} attachment_t;

/* Makes obj->meta what `said` names for x, the stored matrix of obj, whose buffer is taken away where it is
 * sparse only. dt: of the product; wide: indices of 64 bits, else of 32. ctx must outlive the attachment,
 * which is to be freed also where an error is returned. Errors: MEMORY, those of metadata. */
lac_status_t attachment_make(attachment_t *know, lac_ctx_t *ctx, lac_obj_t *obj, const ref_matrix_t *x,
                             const ref_operand_t *said, lac_dt_t dt, bool wide);

/* Accepts an empty one. */
void attachment_free(attachment_t *know);

/* The formats to scan for where the library is to find out for itself what `meta` would give it. */
unsigned attachment_scan_mask(ref_meta_t meta);

/* The operands of one problem as the library takes them: generated contents and the metadata attached as the
 * problem string says. */

typedef struct operand_set {
    ref_problem_t problem;
    char text[REF_PROBLEM_TEXT];
    ref_case_t data;               /* on the host; C as operand_set_fetch found it                        */
    ref_matrix_t c_before;         /* C as it is before a call, padding and guards included               */
    ref_matrix_t a_plain, b_plain; /* numbers of a binary operand for a caller without Lacuna; or empty    */
    device_copy_t copy_a, copy_b, copy_c, copy_a_plain, copy_b_plain; /* empty on the host                */
    attachment_t know_a, know_b;
    lac_obj_t a, b, c;          /* as the problem says                                                 */
    lac_obj_t plain_a, plain_b; /* dense numbers without metadata: what a caller without Lacuna would pass */
    double alpha, beta;         /* the problem's, for a product of doubles                             */
} operand_set_t;

/* The problem's scalars in the type of C. */
static inline const void *operand_set_alpha(const operand_set_t *set)
{
    return set->problem.c.dt == LAC_F64 ? (const void *)&set->alpha : &set->problem.alpha;
}
static inline const void *operand_set_beta(const operand_set_t *set)
{
    return set->problem.c.dt == LAC_F64 ? (const void *)&set->beta : &set->problem.beta;
}

#define OPERAND_SET_GUARD 64 /* poisoned elements around C */

/* Generates and attaches, where ctx computes; ctx must outlive the set. False, with one line in error:
 * memory, or the library did not take the metadata. *set is then empty. An attached CSR or CSC has indices of
 * 32 bits for odd seeds, of 64 bits for even ones, so that a list of problems meets both. */
bool operand_set_make(operand_set_t *set, const ref_problem_t *problem, lac_ctx_t *ctx, char *error,
                      size_t error_size);
void operand_set_free(operand_set_t *set);

/* C as it was before any call. Waits. Errors: those of lac_device_upload. */
lac_status_t operand_set_reset(operand_set_t *set);

/* Brings C, padding and guards included, into data.c. Waits. Errors: those of lac_device_download. */
lac_status_t operand_set_fetch(operand_set_t *set);

/* The same of A and B, to see whether a call wrote to them. */
lac_status_t operand_set_fetch_inputs(operand_set_t *set);

/* Other contents in the same buffers, and a new generation of what is known of them. An operand without a
 * buffer stays as it is. Waits. Errors: MEMORY, those of lac_device_upload. */
lac_status_t operand_set_renew(operand_set_t *set);

/* What the problem attaches, measured by the library from what the buffers hold now, and frozen where the
 * problem says so. Errors: those of lac_meta_scan. */
lac_status_t operand_set_scan(operand_set_t *set);

#endif
