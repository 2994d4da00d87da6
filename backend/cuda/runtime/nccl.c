/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Opens libnccl and takes what a communicator needs. */
#include "nccl.h"
#include "base/library.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t searched = PTHREAD_ONCE_INIT;
static lac_nccl_t nccl;

static bool take(void *library, const char *symbol, void *function)
{
    char why[200];
    void *found = lac_library_symbol(library, symbol, why, sizeof why);
    memcpy(function, &found, sizeof found);
    if (!found) snprintf(nccl.missing, sizeof nccl.missing, "NCCL %s", why);
    return found;
}

static void search(void)
{
    static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
    void *library = lac_library_open(names, nccl.missing, sizeof nccl.missing);
    nccl.found =
        library && take(library, "ncclGetUniqueId", &nccl.unique_id) &&
        take(library, "ncclCommInitRankConfig", &nccl.init) &&
        take(library, "ncclCommGetAsyncError", &nccl.async_error) &&
        take(library, "ncclCommAbort", &nccl.abort) && take(library, "ncclCommDestroy", &nccl.destroy) &&
        take(library, "ncclCommFinalize", &nccl.finalize) && take(library, "ncclCommCount", &nccl.count) &&
        take(library, "ncclCommUserRank", &nccl.rank) && take(library, "ncclCommCuDevice", &nccl.device) &&
        take(library, "ncclAllGather", &nccl.all_gather) && take(library, "ncclGetErrorString", &nccl.text);
}

const lac_nccl_t *lac_nccl(void)
{
    pthread_once(&searched, search);
    return &nccl;
}
