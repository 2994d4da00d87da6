/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The routes that a command was asked for, and which of them apply to a problem. */
#ifndef TOOL_ROUTE_SET_H
#define TOOL_ROUTE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "lacuna/lacuna.h"
#include "operands.h"

#define ROUTE_NAME 24
#define ROUTE_AUTO "auto" /* the dispatcher decides */

typedef struct route_set {
    char name[LAC_CANDIDATES_MAX + 2][ROUTE_NAME];
    int count;
} route_set_t;

/* Reads a comma list of route names; "all" is auto and every route of the library's table. ctx is used to
 * ask the library for the names that it accepts. False, with one line in error, for an unknown name. */
bool route_set_parse(route_set_t *set, const char *text, lac_ctx_t *ctx, char *error, size_t error_size);

/* Appends a name unless it is there. */
void route_set_add(route_set_t *set, const char *name);
void route_set_drop(route_set_t *set, const char *name);
bool route_set_has(const route_set_t *set, const char *name);

/* True when a decision made with `route` forced is for that route; a backend name may stand for another name
 * ("blas" for "dense"). */
bool route_obeyed(const lac_decision_t *decision, const char *route);

/* How a problem would run with one route forced ("auto": none is). */
typedef struct route_verdict {
    lac_status_t status;     /* of lac_explain                                          */
    bool applies;            /* the forced route would indeed run                       */
    char why[256];           /* refusal, or what the library said; "" where it applies  */
    lac_decision_t decision; /* complete where status is LAC_OK                         */
} route_verdict_t;

void route_ask(route_verdict_t *verdict, lac_ctx_t *ctx, const operand_set_t *set, const char *route);

#endif
