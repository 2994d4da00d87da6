/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The route table: every route that a context can take, in the order of a tie; the fallback last. */
#include "backends.h"
#include "host/routes/routes.h"
#include "base/library.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const lac_route_t *const host_routes[] = {
    &lac_route_trivial,       /* nothing to sum                                             */
    &lac_route_event_left,    /* A sparse, few rows: gather the active rows of B            */
    &lac_route_event_right,   /* B sparse, few columns: gather the active columns of A      */
    &lac_route_bitmask_left,  /* A frozen and half empty, B short                           */
    &lac_route_bitmask_right, /* B frozen and half empty, A short                           */
    &lac_route_csr_left,      /* A sparse, any shape                                        */
    &lac_route_csr_right,     /* B sparse, any shape                                        */
    &lac_route_reference,     /* summed in double; only when forced                         */
    &lac_route_dense,         /* the system's BLAS                                          */
    &lac_route_native,         /* our own dense kernel, where there is no BLAS: always legal */
};
/* clang-format on */
_Static_assert(sizeof host_routes / sizeof *host_routes <= LAC_ROUTES_MAX, "a site has room for every row");

const lac_route_t *const *lac_route_table(const lac_backend_t *backend, int *count)
{
    if (backend->routes) return backend->routes(count);
    *count = (int)(sizeof host_routes / sizeof *host_routes);
    return host_routes;
}

/* Loads liblacuna_cuda.so: the one beside this library first, then wherever the linker finds one. */

#define STRING(x)  #x
#define TEXT_OF(x) STRING(x)
#define NAME       "liblacuna_cuda.so"

static pthread_once_t searched = PTHREAD_ONCE_INIT;
static const lac_backend_t *cuda;
static char missing[512];

static void search(void)
{
    static const lac_host_callbacks_t callbacks = {lac_fail, lac_log, lac_defer_forks, lac_allow_forks};
    static const char here;
    char beside[1024], why[512];
    lac_library_beside(&here, NAME, beside, sizeof beside);
    const char *const names[] = {beside, NAME, NULL};
    void *library = lac_library_open(names, why, sizeof why);
    if (!library) {
        snprintf(missing, sizeof missing, "%.480s", why);
        return;
    }
    void *symbol = lac_library_symbol(library, "lac_cuda_backend", why, sizeof why);
    lac_backend_entry_t entry;
    memcpy(&entry, &symbol, sizeof entry);
    const lac_backend_t *found = symbol ? entry(&callbacks) : NULL;
    if (!found)
        snprintf(missing, sizeof missing, "%s: %.400s", NAME, symbol ? lac_last_error() : why);
    else if (strcmp(found->version, TEXT_OF(LACUNA_VERSION)) != 0)
        snprintf(missing, sizeof missing, "%s is of version %.32s, this library of %s", NAME, found->version,
                 TEXT_OF(LACUNA_VERSION));
    else
        cuda = found;
}

const lac_backend_t *lac_backend_cuda(const char **why)
{
    pthread_once(&searched, search);
    *why = missing;
    return cuda;
}
