/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The names of the host's routes, from the library's own table: for tests that go through all of them. */
#ifndef TESTS_ROUTE_NAMES_H
#define TESTS_ROUTE_NAMES_H

#include <stdlib.h>
#include <string.h>

#include "host/routes/routes.h"
#include "lacuna/gemm.h"

typedef struct route_names {
    const char *name[LAC_CANDIDATES_MAX + 1];
    int count;
} route_names_t;

/* For `without`: routes of a role that a test cannot use. */
#define WITHOUT_BLAS   (1u << LAC_ROLE_DENSE)
#define WITHOUT_ORACLE (1u << LAC_ROLE_ORACLE)

/* "auto" and every route that can be forced, once each. Calls nothing but the table: the library is as it was
 * before. */
static inline route_names_t host_route_names(unsigned without)
{
    route_names_t names = {.name = {"auto"}, .count = 1};
    int rows;
    const lac_route_t *const *table = lac_host_routes(&rows);
    for (int row = 0; row < rows; row++) {
        bool known = table[row]->role == LAC_ROLE_TRIVIAL || without >> table[row]->role & 1;
        for (int i = 0; i < names.count; i++) known |= strcmp(names.name[i], table[row]->name) == 0;
        if (!known) names.name[names.count++] = table[row]->name;
    }
    if (names.count < 4) abort(); /* a test that loops over nothing would pass */
    return names;
}

#endif
