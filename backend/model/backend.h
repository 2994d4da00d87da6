/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A backend: where routes run. The host's is built in, a device's is loaded; the dispatcher knows this alone.
 */
#ifndef LACUNA_MODEL_BACKEND_H
#define LACUNA_MODEL_BACKEND_H

#include "route.h"
#include "lacuna/context.h"

/* What a context asks for when it opens a backend. */
typedef struct lac_place {
    int device;   /* ordinal; -1 on the host       */
    void *stream; /* the caller's stream, or NULL   */
    int threads;  /* of the host, for measuring     */
} lac_place_t;

typedef struct lac_backend {
    const char *name; /* "host", "cuda" */
    lac_space_t space;

    /* Opens what runs need, and closes it. `machine` outlives the exec. */
    lac_status_t (*open)(lac_exec_t **exec, const lac_place_t *place, const lac_machine_t *machine);
    void (*close)(lac_exec_t *exec);

    /* Nonzeros among about *samples elements of op(X), which is rows x cols; sets *samples to how many were
     * looked at, 0 where no answer is to be had without waiting. */
    int64_t (*sample)(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      int64_t *samples, uint64_t seed);

    /* Measures forms of a stored operand into its metadata; obj is checked, its metadata's build lock held.
     */
    lac_status_t (*scan)(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, int threads);

    /* Measures the backend's machine constants. */
    lac_status_t (*tune)(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_fact_fn progress,
                         void *arg);

    size_t (*bytes)(const lac_exec_t *exec); /* of workspace */
    void (*info)(const lac_exec_t *exec, lac_fact_fn fact, void *arg);
} lac_backend_t;

#endif
