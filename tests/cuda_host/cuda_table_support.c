/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Opens the CUDA backend as the core does. */
#include "cuda_table_support.h"
#include "unit_support.h"
#include "base/library.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"

#include <string.h>

const lac_route_t *const *cuda_table(int *count)
{
    static const lac_host_callbacks_t callbacks = {lac_fail, lac_log, lac_defer_forks, lac_allow_forks};
    static const char *const names[] = {LACUNA_CUDA_BACKEND, NULL};
    char why[512] = "";
    void *library = lac_library_open(names, why, sizeof why);
    void *symbol = library ? lac_library_symbol(library, "lac_cuda_backend", why, sizeof why) : NULL;
    lac_backend_entry_t entry;
    memcpy(&entry, &symbol, sizeof entry);
    if (!symbol) fail_msg("%s", why);
    return entry(&callbacks)->routes(count);
}
