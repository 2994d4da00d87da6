/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Opens libnccl and takes what a communicator needs. */
#include "nccl.h"
#include "base/library.h"

#include <pthread.h>

static pthread_once_t searched = PTHREAD_ONCE_INIT;
static lac_nccl_t nccl;

static void search(void)
{
    static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
    static const lac_library_call_t calls[] = {{"ncclGetUniqueId", &nccl.unique_id, false},
                                               {"ncclCommInitRankConfig", &nccl.init, false},
                                               {"ncclCommGetAsyncError", &nccl.async_error, false},
                                               {"ncclCommAbort", &nccl.abort, false},
                                               {"ncclCommDestroy", &nccl.destroy, false},
                                               {"ncclCommFinalize", &nccl.finalize, false},
                                               {"ncclCommCount", &nccl.count, false},
                                               {"ncclCommUserRank", &nccl.rank, false},
                                               {"ncclCommCuDevice", &nccl.device, false},
                                               {"ncclAllGather", &nccl.all_gather, false},
                                               {"ncclGetErrorString", &nccl.text, false},
                                               {NULL, NULL, false}};
    void *library = lac_library_open(names, nccl.missing, sizeof nccl.missing);
    nccl.found = library && lac_library_take(library, "NCCL", calls, nccl.missing, sizeof nccl.missing);
}

const lac_nccl_t *lac_nccl(void)
{
    pthread_once(&searched, search);
    return &nccl;
}
