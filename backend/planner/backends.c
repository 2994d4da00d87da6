/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Loads liblacuna_cuda.so: the one beside this library first, then wherever the linker finds one. */
#include "backends.h"
#include "base/library.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

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
    lac_backend_entry_t backend_entry;
    memcpy(&backend_entry, &symbol, sizeof backend_entry);
    const lac_backend_t *found = symbol ? backend_entry(&callbacks) : NULL;
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
