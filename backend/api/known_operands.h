/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Registered operands, for the entries of drop-in libraries. */
#ifndef LACUNA_API_KNOWN_OPERANDS_H
#define LACUNA_API_KNOWN_OPERANDS_H

#include "../data/registry.h"
#include "../dispatch/ctx_state.h"

/* The registered operands of a call in progress; NULL: none. */
typedef struct lac_known {
    lac_registered_t *a, *b;
} lac_known_t;

/* Gives the operands of a call what was registered of them, or what the option "frozen" says of their
 * extents. To be given back when the call is done. */
lac_known_t lac_known_take(lac_ctx_t *ctx, lac_obj_t *a, lac_obj_t *b);
void lac_known_give_back(const lac_known_t *known);

#endif
