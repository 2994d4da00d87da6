/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One public call beside the product, tried on the operands of a problem: what every trial is given, and how
 * it ends. */
#ifndef LACUNA_TESTS_APITEST_CALL_H
#define LACUNA_TESTS_APITEST_CALL_H

#include "lacuna/meta.h"
#include "operands.h"
#include "route_set.h"
#include "lacuna/lacuna.h"
#include "ref_matrix.h"
#include "problems.h"
#include "ref_gemm.h"

#include <stdbool.h>

static inline size_t index_width(lac_index_t it)
{
    return it == LAC_I64 ? sizeof(int64_t) : sizeof(int32_t);
}

static inline void index_store(void *list, lac_index_t it, int64_t i, int64_t value)
{
    if (it == LAC_I64)
        ((int64_t *)list)[i] = value;
    else
        ((int32_t *)list)[i] = (int32_t)value;
}

static inline int64_t index_load(const void *list, lac_index_t it, int64_t i)
{
    return it == LAC_I64 ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

/* Arrays and matrices that lie where a context computes, with guards that show a stray write. */

/* Bytes between two guards. All zero: there is none yet. */
typedef struct placed_array {
    lac_ctx_t *ctx;
    size_t bytes;
    unsigned char *base; /* on the host: guard, contents, guard                */
    void *device;        /* the same on a device; NULL: the host's is the array */
} guarded_buffer_t;

/* With these contents, or poison where from is NULL. ctx must outlive the array, which is to be freed also
 * where an error is returned. Errors: MEMORY, those of lac_device_alloc and lac_device_upload. */
lac_status_t guarded_buffer_make(guarded_buffer_t *array, lac_ctx_t *ctx, size_t bytes, const void *from);

/* What a call is given: its first byte in the context's space. Never NULL. */
void *guarded_buffer_at(const guarded_buffer_t *array);

/* The contents on the host, as they were last fetched. */
void *guarded_buffer_host(const guarded_buffer_t *array);

/* Whether the guards are as they were made; and the contents, of an array that was made of poison. */
bool guarded_buffer_overrun(const guarded_buffer_t *array);
bool guarded_buffer_untouched(const guarded_buffer_t *array);

/* Accepts an empty array; leaves an empty one. */
void guarded_buffer_free(guarded_buffer_t *array);

/* An f32 matrix. */
typedef struct guarded_matrix {
    ref_matrix_t host;
    device_copy_t copy;
    lac_obj_t obj; /* what a call is given, not transposed */
} guarded_matrix_t;

/* m x n elements of that pattern, or poison where pattern is NULL. As guarded_buffer_make otherwise. */
lac_status_t guarded_matrix_make(guarded_matrix_t *x, lac_ctx_t *ctx, lac_dt_t dt, int64_t m, int64_t n,
                                 const ref_layout_t *layout, const ref_pattern_t *pattern, uint64_t seed);
void guarded_matrix_free(guarded_matrix_t *x);

/* One public call beside the product, tried on the operands of a problem: what every trial is given, and how
 * it ends.
 *
 * What a problem string does not say (which rows are sliced, which tiles are looked for, what argument is
 * bad) is thrown by dice that are those of the problem's seed and of the call: the string repeats it. */

#define APITEST_WHY 512

/* REFUSED: the call has nothing to do here, or the context's backend does not have it. */
typedef enum apitest_end { APITEST_PASSED, APITEST_REFUSED, APITEST_FAILED } apitest_end_t;

typedef struct trial {
    lac_ctx_t *ctx;
    operand_set_t *set;        /* A and B stay as they are */
    int readings;              /* of 0 * Inf, the first so many, that a product may have               */
    bool may_force;            /* the contexts' backend is auto, and may be another for a while         */
    const route_set_t *routes; /* that may then be forced                                        */
    bool corrupt;              /* what is fetched is corrupted, and the trial must fail */
    rng_t rng;
    uint64_t bits; /* of what was written, where the bits are promised; otherwise 0 */
    double max_error, mean_error;
    char message[APITEST_WHY]; /* the library's, of the last call that apitest_call was given */
    char why[APITEST_WHY];     /* "" where it passed */
} apitest_t;

typedef apitest_end_t (*apitest_fn)(apitest_t *t);

/* Each tries one call, whose name is that of the trial. */
apitest_end_t apitest_slice_rows(apitest_t *t);
apitest_end_t apitest_slice_csr(apitest_t *t);
apitest_end_t apitest_slice_grad(apitest_t *t);
apitest_end_t apitest_sddmm(apitest_t *t);
apitest_end_t apitest_grad_a(apitest_t *t);
apitest_end_t apitest_grad_b(apitest_t *t);
apitest_end_t apitest_to_dense(apitest_t *t);
apitest_end_t apitest_count(apitest_t *t);
apitest_end_t apitest_occupancy(apitest_t *t);
apitest_end_t apitest_derive(apitest_t *t);
apitest_end_t apitest_layer(apitest_t *t);
apitest_end_t apitest_batch(apitest_t *t);
apitest_end_t apitest_vector(apitest_t *t);
apitest_end_t apitest_register(apitest_t *t);
apitest_end_t apitest_added(apitest_t *t);
apitest_end_t apitest_strided(apitest_t *t);
apitest_end_t apitest_spmm(apitest_t *t);
apitest_end_t apitest_attach(apitest_t *t);
apitest_end_t apitest_costs(apitest_t *t);
apitest_end_t apitest_bad_input(apitest_t *t);

/* An end with its reason. */
apitest_end_t apitest_fail(apitest_t *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
apitest_end_t apitest_refuse(apitest_t *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status of a call once its work is done (on a device, waits), whose message is kept. */
lac_status_t apitest_call(apitest_t *t, lac_status_t status);

/* The end of a trial whose call, or what was needed for it, did not return LAC_OK: what it said. */
apitest_end_t apitest_stop(apitest_t *t, lac_status_t status, const char *what);

/* That a call returned this status, with a message that begins with the argument's name. */
apitest_end_t apitest_expect(apitest_t *t, lac_status_t status, lac_status_t want, const char *argument);

/* The same where that is all that the call has to say of these operands: a right refusal ends as one. */
apitest_end_t apitest_expect_refusal(apitest_t *t, lac_status_t status, lac_status_t want,
                                     const char *argument);

/* Bring to the host what a call wrote: into a matrix, an array, C. Wait. Errors: those of
 * lac_device_download. */
lac_status_t apitest_fetch_matrix(const apitest_t *t, guarded_matrix_t *x);
lac_status_t apitest_fetch_array(const apitest_t *t, guarded_buffer_t *array);
lac_status_t apitest_fetch_c(const apitest_t *t);

/* A or B, by the dice: the view that a call is given and its contents on the host, as they are stored. */
typedef struct apitest_operand {
    lac_obj_t obj;
    const ref_matrix_t *stored;
    const ref_operand_t *said;
} apitest_operand_t;
apitest_operand_t apitest_operand(apitest_t *t);

/* The type of the problem's numbers; and of the values in the formats of one of its operands. */
lac_dt_t apitest_type(const apitest_t *t);
lac_dt_t apitest_values(const apitest_t *t, const lac_obj_t *x);

/* Whether that format of an operand stands for its contents. */
bool apitest_stands(const lac_obj_t *obj, unsigned wanted);

/* Compares with the oracle and keeps the errors. */
apitest_end_t apitest_compare(apitest_t *t, const ref_matrix_t *got, const ref_result_t *want, int64_t k);

/* Compares with beta before + alpha x y (views as the product reads them), under the first reading of 0 * Inf
 * that fits: a product by any route may have any. */
apitest_end_t apitest_product(apitest_t *t, const ref_matrix_t *got, const ref_matrix_t *x,
                              const ref_matrix_t *y, const ref_matrix_t *before);

/* The readings, REF_STRICT first. */
#define APITEST_READINGS 4
extern const unsigned apitest_reading[APITEST_READINGS];

/* Of a product that may be declined: how often it is called, since a site learns; C of a call that is done,
 * computed as the product or left as it was before. */
#define APITEST_CALLS 3

/* That padding and guards of a matrix hold. */
apitest_end_t apitest_padding(apitest_t *t, const ref_matrix_t *x, const char *name);

/* That the elements are these numbers (-0 is 0, every NaN is one). Keeps their bits. The extents are one. */
apitest_end_t apitest_same(apitest_t *t, const ref_matrix_t *got, const ref_matrix_t *want, const char *name);

/* That the format, as the metadata shows it, is that of the stored matrix. */
apitest_end_t apitest_format(apitest_t *t, const lac_meta_t *meta, unsigned wanted,
                             const ref_matrix_t *stored);

/* A problem's product as a column-major BLAS takes it. */

/* Where C is stored by rows this is its transpose: op(B)' op(A)', with b and a exchanged. */
typedef struct blas_view {
    lac_trans_t ta, tb;
    lac_dim_t m, n, k;
    const void *a, *b;
    void *c;
    lac_inc_t lda, ldb, ldc;
    bool transposed; /* it is */
} blas_view_t;

/* False where there is none: an operand is binary, sparse only or empty, or has no stride of 1 beside a
 * leading dimension that is long enough. */
bool blas_view(blas_view_t *view, const operand_set_t *set);

/* The same of one operand: f32 in a buffer, with elements. */
bool blas_takes(const lac_obj_t *x);

#endif
