/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The calls of NCCL that the backend makes, recorded as launches are. Built as libnccl.so.2. The other ranks
 * hold what this one holds, and come at once. */
#include "standin.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { IN_PROGRESS = 7 };

typedef struct id {
    char bytes[128];
} unique_t;

typedef struct comm {
    int ranks, rank, device;
} comm_t;

/* The state of a communicator, as a call or a question finds it. */
static int state(void)
{
    if (standin.nccl_busy) {
        standin.nccl_busy -= standin.nccl_busy > 0; /* negative: for ever */
        return IN_PROGRESS;
    }
    return standin.nccl_state;
}

static int done(void)
{
    int status = standin_end_vendor();
    return status ? status : state();
}

EXPORT int ncclGetUniqueId(unique_t *id);
EXPORT int ncclGetUniqueId(unique_t *id)
{
    standin_begin("ncclGetUniqueId", NULL);
    memset(id->bytes, 7, sizeof id->bytes);
    return standin_end_vendor();
}

/* The head of ncclConfig_t. */
typedef struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
} config_t;

EXPORT int ncclCommInitRankConfig(comm_t **comm, int ranks, unique_t id, int rank, const config_t *config);
EXPORT int ncclCommInitRankConfig(comm_t **comm, int ranks, unique_t id, int rank, const config_t *config)
{
    standin_begin("ncclCommInitRankConfig", NULL);
    standin_note_integer("ranks", ranks);
    standin_note_integer("rank", rank);
    if (id.bytes[0] != 7 || id.bytes[127] != 7) standin_breach("an identity that NCCL did not make");
    if (config->magic != 0xcafebeefu || config->blocking != 0 || config->size < 24)
        standin_breach("a configuration that NCCL would refuse, or one that waits");
    int status = standin_end_vendor();
    *comm = NULL;
    if (status) return status;
    *comm = calloc(1, sizeof **comm);
    **comm = (comm_t){ranks, rank, standin.current};
    standin_vendor_holds(1);
    return state();
}

EXPORT int ncclCommGetAsyncError(comm_t *comm, int *error);
EXPORT int ncclCommGetAsyncError(comm_t *comm, int *error)
{
    (void)comm;
    *error = state();
    return 0;
}

static int gone(comm_t *comm, const char *name)
{
    standin_begin(name, NULL);
    standin_vendor_holds(-1);
    free(comm);
    return standin_end_vendor();
}

EXPORT int ncclCommAbort(comm_t *comm);
EXPORT int ncclCommAbort(comm_t *comm)
{
    return gone(comm, "ncclCommAbort");
}

EXPORT int ncclCommDestroy(comm_t *comm);
EXPORT int ncclCommDestroy(comm_t *comm)
{
    return gone(comm, "ncclCommDestroy");
}

EXPORT int ncclCommFinalize(comm_t *comm);
EXPORT int ncclCommFinalize(comm_t *comm)
{
    (void)comm;
    standin_begin("ncclCommFinalize", NULL);
    return done();
}

EXPORT int ncclCommCount(const comm_t *comm, int *count);
EXPORT int ncclCommCount(const comm_t *comm, int *count)
{
    *count = comm->ranks;
    return 0;
}

EXPORT int ncclCommUserRank(const comm_t *comm, int *rank);
EXPORT int ncclCommUserRank(const comm_t *comm, int *rank)
{
    *rank = comm->rank;
    return 0;
}

EXPORT int ncclCommCuDevice(const comm_t *comm, int *device);
EXPORT int ncclCommCuDevice(const comm_t *comm, int *device)
{
    *device = comm->device;
    return 0;
}

EXPORT int ncclAllGather(const void *mine, void *all, size_t count, int type, comm_t *comm, void *stream);
EXPORT int ncclAllGather(const void *mine, void *all, size_t count, int type, comm_t *comm, void *stream)
{
    size_t ranks = (size_t)comm->ranks;
    standin_begin("ncclAllGather", stream);
    standin_note_pointer("mine", mine);
    standin_note_pointer("all", all);
    standin_note_integer("count", (int64_t)count);
    standin_note_integer("type", type);
    bool captured = standin.launch[standin.launches - 1].captured;
    if (standin_offset(mine) < 0 || standin_offset(mine) + (int64_t)count > (int64_t)standin_extent(mine) ||
        standin_offset(all) < 0 ||
        standin_offset(all) + (int64_t)(ranks * count) > (int64_t)standin_extent(all))
        standin_breach("ncclAllGather: %zu bytes of %zu ranks leave their allocations", count, ranks);
    else if (!captured)
        for (size_t r = 0; r < ranks; r++) memmove((char *)all + r * count, mine, count);
    return done();
}

EXPORT const char *ncclGetErrorString(int error);
EXPORT const char *ncclGetErrorString(int error)
{
    return error == 6 ? "remote process exited or there was a network error" : "an error of the stand-in";
}
