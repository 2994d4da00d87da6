/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A sharded network under MPI, on the host: the callbacks that a program brings, the bits of one process, and
 * a rank that lags. usage: mpirun -n RANKS mpi_ranks */
#include "lacuna/lacuna.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NEURONS = 1500, BATCH = 3, STEPS = 30 };

static int rank, ranks, failures;

static bool expect(lac_status_t got, lac_status_t want, const char *what)
{
    if (got == want) return true;
    printf("FAILED rank %d: %s: status %d (%s), not %d\n", rank, what, (int)got, lac_last_error(), (int)want);
    failures++;
    return false;
}

/* The twenty lines: one request at a time, which MPI makes progress on when it is asked. */
static MPI_Request pending = MPI_REQUEST_NULL;

static int gather(void *arg, const void *mine, void *all, size_t bytes, void **request)
{
    MPI_Comm *comm = arg;
    *request = &pending;
    return MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *comm, &pending);
}

static int test(void *arg, void *request)
{
    int done = 0;
    (void)arg;
    return MPI_Test(request, &done, MPI_STATUS_IGNORE) ? -1 : done;
}

static float weight(int k, int j)
{
    unsigned x = (unsigned)k * 40503u + (unsigned)j * 2654435761u;
    x ^= x >> 15, x *= 0x2c1b3c6du, x ^= x >> 12;
    /* sums are exact, in whatever order */
    return x % 3 ? 0.0f : (float)((int)(x >> 8 & 1023) - 540) / 8192.0f;
}

/* Leaky integrate and fire: what spikes at v >= 1 begins anew. */
static void fire(float *v, const float *current, float *spikes, int first, int count)
{
    for (int j = 0; j < BATCH * count; j++) {
        v[j] = 0.9f * v[j] + current[j] + 0.11f + 0.01f * (float)((first + j % count) % 7);
        spikes[j] = v[j] >= 1.0f ? 1.0f : 0.0f;
        if (spikes[j] != 0.0f) v[j] = 0.0f;
    }
}

/* Columns [first, first + count) of W by rows; NULL: no memory. */
static float *columns_of_w(int first, int count)
{
    float *w = malloc((size_t)(NEURONS * count + 1) * sizeof *w);
    for (int k = 0; w && k < NEURONS; k++)
        for (int j = 0; j < count; j++) w[k * count + j] = weight(k, first + j);
    return w;
}

/* Runs the network on this communicator's ranks; the spikes of each step of all, BATCH x NEURONS bytes. */
static void simulate(lac_comm_t *comm, lac_ctx_t *ctx, int first, int count, unsigned char *seen)
{
    lac_events_t *events;
    lac_obj_t s, mine, w, c;
    float *v = calloc(BATCH * (size_t)count + 1, sizeof *v),
          *current = calloc(BATCH * (size_t)count + 1, sizeof *current),
          *spikes = calloc(BATCH * (size_t)count + 1, sizeof *spikes), *weights = columns_of_w(first, count);
    mine = lac_obj_rowmajor(LAC_F32, BATCH, count, spikes, count);
    w = lac_obj_rowmajor(LAC_F32, NEURONS, count, weights, count);
    c = lac_obj_rowmajor(LAC_F32, BATCH, count, current, count);
    for (int j = 0; j < BATCH * count; j++) v[j] = 0.1f * (float)((first + j % count) % 13);
    if (expect(lac_events_create(comm, &events, BATCH, count), LAC_OK, "events")) {
        expect(lac_events_operand(events, &s), LAC_OK, "operand");
        for (int t = 0; t < STEPS; t++) {
            fire(v, current, spikes, first, count);
            expect(lac_events_allgather(events, &mine), LAC_OK, "exchange");
            memcpy(seen + t * BATCH * NEURONS, s.buf, (size_t)BATCH * NEURONS);
            expect(lac_gemm(ctx, NULL, &s, &w, NULL, &c), LAC_OK, "product");
        }
        lac_events_free(events);
    }
    free(v), free(current), free(spikes), free(weights);
}

static lac_comm_t *connect(lac_ctx_t *ctx, MPI_Comm *of, double timeout_s)
{
    lac_comm_t *comm = NULL;
    lac_comm_callbacks_t callbacks = {.size = sizeof callbacks, .arg = of, .gather = gather, .test = test};
    lac_comm_opts_t opts = {.size = sizeof opts, .timeout_s = timeout_s};
    MPI_Comm_rank(*of, &callbacks.rank);
    MPI_Comm_size(*of, &callbacks.ranks);
    expect(lac_comm_from_callbacks(ctx, &comm, &callbacks, &opts), LAC_OK, "communicator");
    return comm;
}

/* The last rank comes four seconds late; the others know after one and a half. Then all end what MPI still
 * has to do. */
static void lag(lac_ctx_t *ctx, MPI_Comm *world)
{
    lac_events_t *events = NULL;
    lac_comm_t *comm = connect(ctx, world, rank == ranks - 1 ? 30.0 : 1.5);
    float x[8] = {1};
    lac_obj_t mine = lac_obj_rowmajor(LAC_F32, 1, 8, x, 8);
    MPI_Barrier(*world);
    if (!expect(lac_events_create(comm, &events, 1, 8), LAC_OK, "events")) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(*world);
    if (rank == ranks - 1) {
        usleep(4000000);
        expect(lac_events_allgather(events, &mine), LAC_OK, "late, and all others have come");
    } else {
        double begin = MPI_Wtime();
        expect(lac_events_allgather(events, &mine), LAC_ERR_TIMEOUT, "a rank that lags");
        if (MPI_Wtime() - begin > 3.5)
            printf("FAILED rank %d: waited %.2f s\n", rank, MPI_Wtime() - begin), failures++;
        while (test(world, &pending) == 0) usleep(1000);
        expect(lac_comm_status(comm), LAC_ERR_TIMEOUT, "it stays so");
    }
    lac_events_free(events);
    lac_comm_free(comm);
}

int main(int argc, char **argv)
{
    lac_ctx_t *ctx;
    MPI_Comm world, self;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    /* Uneven: each rank brings twice the columns of the one before. */
    int parts = (1 << ranks) - 1, first = NEURONS * ((1 << rank) - 1) / parts,
        last = NEURONS * ((2 << rank) - 1) / parts;
    static unsigned char seen[STEPS * BATCH * NEURONS], alone[sizeof seen];
    size_t bytes = sizeof seen;
    if (!expect(lac_ctx_create(&ctx), LAC_OK, "context")) MPI_Abort(MPI_COMM_WORLD, 1);
    lac_ctx_set(ctx, "threads", "1");
    lac_comm_t *together = connect(ctx, &world, 60.0), *single = connect(ctx, &self, 60.0);
    if (!together || !single) MPI_Abort(MPI_COMM_WORLD, 1);
    simulate(together, ctx, first, last - first, seen);
    simulate(single, ctx, 0, NEURONS, alone);
    long spikes = 0;
    for (size_t e = 0; e < bytes; e++) spikes += alone[e];
    if (memcmp(seen, alone, bytes))
        printf("FAILED rank %d: other spikes than one process\n", rank), failures++;
    if (spikes < STEPS * BATCH || spikes > (long)bytes / 4)
        printf("FAILED: %ld spikes\n", spikes), failures++;
    lac_comm_free(together);
    lac_comm_free(single);
    if (ranks > 1) lag(ctx, &world);
    lac_ctx_free(ctx);
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, world);
    if (rank == 0)
        printf("mpi_ranks: %d ranks, %ld spikes in %d steps, %d failures\n", ranks, spikes, STEPS, all);
    MPI_Finalize();
    return all != 0;
}
