/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A device that is none: the host's routes behind the face of a device, whose every answer a test can turn.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "unit_support.h"
#include "planner/context.h"

typedef struct fake_device {
    const void *elsewhere;     /* memory that does not lie on the device; NULL: all does          */
    int fails;                 /* the n-th of its own calls from here on fails; 0: none            */
    int calls;                 /* of its own, so far                                               */
    int inside;                /* public calls that have been entered and not left                 */
    int allocated;             /* pieces of device memory that were not released                   */
    uint64_t allocation;       /* that all memory belongs to                                       */
    bool owes_fingerprint;     /* of contents                                                      */
    int prints;                /* that it was asked for                                            */
    int prepared;              /* plans that were                                                  */
    bool capturing;            /* its stream is                                                    */
    lac_batch_outcome_t takes; /* what it answers to a batch; one that it serves is all 7.0f   */
    int batches;               /* that it was asked for                                        */
    lac_batch_t batch;         /* the last of them                                             */
} fake_device_t;

extern fake_device_t fake;

/* A context on it, all of `fake` reset; free it with lac_ctx_free. */
lac_ctx_t *fake_device_ctx(void);

/* For the end of a test: nobody is inside, everything was given back; frees the context. */
int fake_device_teardown(void **state);

/* Expects a status and a message that holds these words. */
void fake_device_refuses(lac_status_t got, lac_status_t want, const char *words);

/* Its backend, as it is made anew by each call: for a test that leaves something out of it. */
lac_backend_t *fake_device_backend(void);

/* A dense matrix by rows that lies on it. */
lac_obj_t fake_device_matrix(lac_dim_t m, lac_dim_t n, float *buf);

#endif
