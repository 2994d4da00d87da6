/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Building the forms of metadata from a buffer, and finding the form that a route wants. */
#ifndef LACUNA_HOST_FORMS_H
#define LACUNA_HOST_FORMS_H

#include "host_exec.h"

/* A stored matrix with a buffer, as metadata describes it. */
typedef struct lac_stored {
    lac_dt_t dt;
    lac_dim_t m, n;
    lac_inc_t rs, cs;
    const void *buf;
} lac_stored_t;

/* Builds one form into memory of its own (data->owned), origin scanned. Errors: MEMORY, EXTENT. */
lac_status_t lac_form_build(lac_exec_t *exec, const lac_stored_t *x, int threads, lac_form_t form,
                            lac_form_data_t *data);

/* The number of nonzeros. */
int64_t lac_host_nonzeros(lac_exec_t *exec, const lac_stored_t *x, int threads);

/* The form of an operand that may stand for its contents: the one that is there, or, for a frozen operand
 * with a buffer, one built now and kept. *form is NULL where there is neither. Errors: MEMORY, EXTENT. */
lac_status_t lac_form_ensure(lac_exec_t *exec, const lac_operand_t *x, int threads, lac_form_t which,
                             const lac_form_data_t **form);

/* True where lac_form_ensure would find or build it. Pure. */
bool lac_form_at_hand(const lac_operand_t *x, lac_form_t which);

#endif
