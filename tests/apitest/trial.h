/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One public call beside the product, tried on the operands of a problem: what every trial is given, and how
 * it ends.
 *
 * What a problem string does not say (which rows are sliced, which tiles are looked for, what argument is
 * bad) is thrown by dice that are those of the problem's seed and of the call: the string repeats it. */
#ifndef TOOL_TRIAL_H
#define TOOL_TRIAL_H

#include "dice.h"
#include "operand_set.h"
#include "placed_array.h"
#include "ref_gemm.h"

#define TRIAL_WHY 512

/* REFUSED: the call has nothing to do here, or the context's backend does not have it. */
typedef enum trial_end { TRIAL_PASSED, TRIAL_REFUSED, TRIAL_FAILED } trial_end_t;

typedef struct trial {
    lac_ctx_t *ctx;
    operand_set_t *set; /* A and B stay as they are */
    int readings;       /* of 0 * Inf, the first so many, that a product may have               */
    bool may_force;     /* the contexts' backend is auto, and may be another for a while         */
    bool corrupt;       /* what is fetched is corrupted, and the trial must fail */
    dice_t dice;
    uint64_t bits; /* of what was written, where the bits are promised; otherwise 0 */
    double max_error, mean_error;
    char message[TRIAL_WHY]; /* the library's, of the last call that trial_call was told of */
    char why[TRIAL_WHY];     /* "" where it passed */
} trial_t;

typedef trial_end_t (*trial_fn)(trial_t *t);

/* Each tries one call, whose name is that of the trial. */
trial_end_t trial_slice_rows(trial_t *t);
trial_end_t trial_slice_csr(trial_t *t);
trial_end_t trial_slice_grad(trial_t *t);
trial_end_t trial_sddmm(trial_t *t);
trial_end_t trial_grad_a(trial_t *t);
trial_end_t trial_grad_b(trial_t *t);
trial_end_t trial_to_dense(trial_t *t);
trial_end_t trial_count(trial_t *t);
trial_end_t trial_occupancy(trial_t *t);
trial_end_t trial_derive(trial_t *t);
trial_end_t trial_layer(trial_t *t);
trial_end_t trial_batch(trial_t *t);
trial_end_t trial_vector(trial_t *t);
trial_end_t trial_register(trial_t *t);
trial_end_t trial_added(trial_t *t);
trial_end_t trial_strided(trial_t *t);
trial_end_t trial_spmm(trial_t *t);
trial_end_t trial_attach(trial_t *t);
trial_end_t trial_bad_input(trial_t *t);

/* An end with its reason. */
trial_end_t trial_fail(trial_t *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
trial_end_t trial_refuse(trial_t *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status of a call once its work is done (on a device, waits), whose message is kept. */
lac_status_t trial_call(trial_t *t, lac_status_t status);

/* The end of a trial whose call, or what was needed for it, did not return LAC_OK: what it said. */
trial_end_t trial_stop(trial_t *t, lac_status_t status, const char *what);

/* That a call returned this status, with a message that begins with the argument's name. */
trial_end_t trial_expect(trial_t *t, lac_status_t status, lac_status_t want, const char *argument);

/* The same where that is all that the call has to say of these operands: a right refusal ends as one. */
trial_end_t trial_expect_refusal(trial_t *t, lac_status_t status, lac_status_t want, const char *argument);

/* Bring to the host what a call wrote: into a matrix, an array, C. Wait. Errors: those of
 * lac_device_download. */
lac_status_t trial_fetch_matrix(const trial_t *t, placed_matrix_t *x);
lac_status_t trial_fetch_array(const trial_t *t, placed_array_t *array);
lac_status_t trial_fetch_c(const trial_t *t);

/* A or B, by the dice: the view that a call is given and its contents on the host, as they are stored. */
typedef struct trial_operand {
    lac_obj_t obj;
    const ref_matrix_t *stored;
    const ref_operand_t *said;
} trial_operand_t;
trial_operand_t trial_operand(trial_t *t);

/* Whether that format of an operand stands for its contents. */
bool trial_stands(const lac_obj_t *obj, unsigned wanted);

/* Compares with the oracle and keeps the errors. */
trial_end_t trial_compare(trial_t *t, const ref_matrix_t *got, const ref_result_t *want, int64_t k);

/* Compares with beta before + alpha x y (views as the product reads them), under the first reading of 0 * Inf
 * that fits: a product by any route may have any. */
trial_end_t trial_product(trial_t *t, const ref_matrix_t *got, const ref_matrix_t *x, const ref_matrix_t *y,
                          const ref_matrix_t *before);

/* The readings, REF_STRICT first. */
#define TRIAL_READINGS 4
extern const unsigned trial_reading[TRIAL_READINGS];

/* Of a product that may be declined: how often it is called, since a site learns; C of a call that is done,
 * computed as the product or left as it was before. */
#define TRIAL_CALLS 3
trial_end_t trial_judge_product(trial_t *t, lac_status_t status, int computed);

/* Small ones are declined unless a backend is forced: mostly one is, until unforced. */
void trial_force(trial_t *t);
void trial_unforce(const trial_t *t);

/* That padding and guards of a matrix hold. */
trial_end_t trial_padding(trial_t *t, const ref_matrix_t *x, const char *name);

/* That the elements are these numbers (-0 is 0, every NaN is one). Keeps their bits. The extents are one. */
trial_end_t trial_same(trial_t *t, const ref_matrix_t *got, const ref_matrix_t *want, const char *name);

/* That the format, as the metadata shows it, is that of the stored matrix. */
trial_end_t trial_format(trial_t *t, const lac_meta_t *meta, unsigned wanted, const ref_matrix_t *stored);

#endif
