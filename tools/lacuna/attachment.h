/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The metadata of an operand as a problem tells it, and the arrays that are attached to it. */
#ifndef TOOL_ATTACHMENT_H
#define TOOL_ATTACHMENT_H

#include <stdbool.h>

#include "lacuna/lacuna.h"
#include "ref_matrix.h"
#include "ref_problem.h"
#include "ref_sparse.h"

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
    void *narrow; /* row pointers of 32 bits, or indices of 64: the API wants one type for both */
} attachment_t;

/* Makes obj->meta what `said` tells of x, the stored matrix of obj, whose buffer is taken away where it is
 * sparse only. wide: indices of 64 bits, else of 32. ctx must outlive the attachment, which is to be freed
 * also where an error is returned. Errors: MEMORY, those of metadata. */
lac_status_t attachment_make(attachment_t *know, lac_ctx_t *ctx, lac_obj_t *obj, const ref_matrix_t *x,
                             const ref_operand_t *said, bool wide);

/* Accepts an empty one. */
void attachment_free(attachment_t *know);

/* The formats to scan for where the library is to find out for itself what `meta` would tell it. */
unsigned attachment_scan_mask(ref_meta_t meta);

#endif
