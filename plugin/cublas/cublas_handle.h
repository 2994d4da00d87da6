/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a handle says of its calls. */
#ifndef LACUNA_CUBLAS_HANDLE_H
#define LACUNA_CUBLAS_HANDLE_H

#include "cublas_resolve.h"
#include "cublas_shapes.h"

typedef struct handle_state {
    void *stream;
    int math; /* CUBLAS_MATH_DEFAULT, _PEDANTIC or _TF32 */
} handle_state_t;

/* Reads a handle. False where it cannot be read, where scalars lie on the device, or where its arithmetic is
 * none of those that we stand for: the call is then the vendor's. Workspace, atomics mode and the rest do not
 * matter to what Lacuna queues. */
static inline bool handle_read(const getters_t *get, void *handle, handle_state_t *state)
{
    int scalars = -1, math = -1;
    if (!handle || !get->stream || !get->pointer_mode || !get->math_mode) return false;
    if (get->pointer_mode(handle, &scalars) || scalars != CUBLAS_SCALARS_ON_HOST) return false;
    if (get->math_mode(handle, &math) || get->stream(handle, &state->stream)) return false;
    state->math = math & ~CUBLAS_MATH_NO_REDUCTION;
    return state->math == CUBLAS_MATH_DEFAULT || state->math == CUBLAS_MATH_PEDANTIC ||
           state->math == CUBLAS_MATH_TF32;
}

#endif
