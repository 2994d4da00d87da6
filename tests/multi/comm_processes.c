/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Ranks as processes that live, die or lag, and a communicator that another thread aborts. */
#include "comm_checks.h"
#include "rank_board.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77 };

typedef enum fate { LIVES, DIES, LAGS } fate_t;

static lac_comm_t *open_comm(lac_ctx_t **ctx, rank_board_t *board, int rank, int device, const char *engine,
                             double timeout_s)
{
    lac_comm_t *comm = NULL;
    lac_comm_callbacks_t callbacks = rank_board_callbacks(board, rank);
    lac_comm_opts_t opts = {.size = sizeof opts, .timeout_s = timeout_s, .engine = engine};
    if (!expect(lac_ctx_create_cuda(ctx, device, LAC_STREAM_NEW), LAC_OK, "ctx")) return NULL;
    lac_status_t status = lac_comm_from_callbacks(*ctx, &comm, &callbacks, &opts);
    if (status == LAC_ERR_UNAVAILABLE)
        printf("%s: %s\n", running, lac_last_error());
    else
        expect(status, LAC_OK, "communicator");
    return comm;
}

/* Some exchanges; the columns of each rank are full in turns. */
static int steps_of(lac_ctx_t *ctx, lac_comm_t *comm, lac_events_t *events, int rank, int steps)
{
    enum { COLUMNS = 40 };
    float full[COLUMNS];
    unsigned char got[2 * COLUMNS];
    lac_obj_t mine = on_device(ctx, LAC_F32, 1, COLUMNS, NULL), s;
    int bad = 0;
    lac_events_operand(events, &s);
    for (int t = 0; t < steps && !bad; t++) {
        for (int j = 0; j < COLUMNS; j++) full[j] = (float)(t % 2 == rank);
        lac_device_upload(ctx, mine.buf, full, sizeof full);
        bad |= !expect(lac_events_allgather(events, &mine), LAC_OK, "exchange");
        bad |= !expect(lac_comm_wait(comm), LAC_OK, "wait");
        lac_device_download(ctx, got, s.buf, sizeof got);
        for (int j = 0; j < 2 * COLUMNS; j++) bad |= got[j] != (t % 2 == j / COLUMNS);
    }
    lac_device_free(ctx, mine.buf);
    return bad;
}

/* Runs before this process has touched CUDA, in a child of its own: so may fork again. */
static int pair(const char *engine, fate_t fate, int second_device)
{
    rank_board_t *board = rank_board_new(2);
    lac_ctx_t *ctx = NULL;
    lac_events_t *events = NULL;
    int how = 0;
    double limit = fate == LIVES ? 20.0 : 1.0;
    pid_t child = fork();
    int rank = child == 0;
    alarm(20);
    lac_comm_t *comm = open_comm(&ctx, board, rank, rank ? second_device : 0, engine, rank ? 20.0 : limit);
    if (!comm) _exit(failures ? 1 : SKIP);
    if (!expect(lac_events_create(comm, &events, 1, 40), LAC_OK, "events")) _exit(1);
    if (steps_of(ctx, comm, events, rank, 9)) failed("rank %d: other events", rank);
    if (rank && fate == DIES) raise(SIGKILL);
    if (rank && fate == LAGS) {
        usleep(4000000);
        _exit(failures != 0);
    }
    if (fate == LIVES) {
        lac_events_free(events);
        lac_comm_free(comm);
        lac_ctx_free(ctx);
        if (rank) _exit(failures != 0);
        waitpid(child, &how, 0);
        return failures || how;
    }
    lac_obj_t mine = on_device(ctx, LAC_F32, 1, 40, NULL);
    double begin = now_s();
    lac_status_t status = lac_events_allgather(events, &mine);
    if (!status) status = lac_comm_wait(comm);
    double took = now_s() - begin;
    if (status != LAC_ERR_TIMEOUT && status != LAC_ERR_VENDOR)
        failed("a rank that %s: status %d", fate == DIES ? "died" : "lags", status);
    printf("%s: by %s, a rank that %s: %s after %.2f s\n", running, lac_comm_engine(comm),
           fate == DIES ? "died" : "lags", lac_status_text(status), took);
    if (took > 5.0) failed("it took %.1f s", took);
    expect(lac_comm_status(comm), status, "it stays so");
    /* The device goes on: a new communicator, of this rank alone. */
    lac_ctx_t *other = NULL;
    lac_comm_t *alone = open_comm(&other, rank_board_new(1), 0, 0, NULL, 5.0);
    lac_events_t *rest = NULL;
    lac_obj_t x = on_device(other, LAC_F32, 1, 40, NULL);
    if (alone && expect(lac_events_create(alone, &rest, 1, 40), LAC_OK, "alone"))
        expect(lac_events_allgather(rest, &x), LAC_OK, "alone"),
            expect(lac_comm_wait(alone), LAC_OK, "alone");
    lac_events_free(rest);
    lac_comm_free(alone);
    lac_events_free(events);
    lac_comm_free(comm);
    waitpid(child, &how, 0);
    fflush(stdout);
    return failures != 0;
}

static void pairs(int second_device)
{
    static const char *const engines[] = {"peer", "nccl"};
    for (int e = 0; e < 2; e++)
        for (int fate = LIVES; fate <= LAGS; fate++) {
            if (e == 1 && second_device == 0) continue; /* NCCL wants a device for each */
            int how = 0;
            fflush(stdout);
            pid_t child = fork();
            if (!child) {
                int code = pair(engines[e], (fate_t)fate, second_device);
                fflush(stdout);
                _exit(code);
            }
            for (double end = now_s() + 20.0; waitpid(child, &how, WNOHANG) == 0; usleep(10000))
                if (now_s() > end) {
                    kill(child, SIGKILL);
                    failed("%s, fate %d: hangs", engines[e], fate);
                }
            if (!WIFEXITED(how) || (WEXITSTATUS(how) && WEXITSTATUS(how) != SKIP))
                failed("%s, fate %d: %#x", engines[e], fate, how);
        }
}

void test_processes_one_device(void)
{
    pairs(0);
}

void test_processes(void)
{
    pairs(1);
}

/* Aborted from another thread while it waits. */
static void *abort_soon(void *arg)
{
    usleep(200000);
    expect(lac_comm_abort(arg), LAC_OK, "abort");
    return NULL;
}

typedef struct half {
    rank_board_t *board;
    const char *engine;
    int device, rank;
    pthread_barrier_t *both;
} half_t;

static void *abort_rank(void *arg)
{
    const half_t *self = arg;
    lac_ctx_t *ctx = NULL;
    lac_events_t *events = NULL;
    pthread_t other;
    lac_comm_t *comm = open_comm(&ctx, self->board, self->rank, self->device, self->engine, 20.0);
    if (comm && expect(lac_events_create(comm, &events, 1, 40), LAC_OK, "events")) {
        lac_obj_t mine = on_device(ctx, LAC_F32, 1, 40, NULL);
        if (self->rank == 0) {
            double begin = now_s();
            pthread_create(&other, NULL, abort_soon, comm);
            /* To which nobody comes; NCCL connects in its first, and waits for the others in the call. */
            lac_status_t status = lac_events_allgather(events, &mine);
            if (!status) status = lac_comm_wait(comm);
            expect(status, LAC_ERR_ABORTED, "aborted");
            pthread_join(other, NULL);
            expect(lac_events_allgather(events, &mine), LAC_ERR_ABORTED, "it stays so");
            if (now_s() - begin > 5.0) failed("it took %.1f s", now_s() - begin);
        }
    }
    pthread_barrier_wait(self->both);
    if (self->rank == 1) lac_comm_abort(comm);
    lac_events_free(events);
    lac_comm_free(comm);
    lac_ctx_free(ctx);
    return NULL;
}

static void abort_by(const char *engine, int second_device)
{
    pthread_t thread[2];
    pthread_barrier_t both;
    rank_board_t *board = rank_board_new(2);
    half_t half[2] = {{board, engine, 0, 0, &both}, {board, engine, second_device, 1, &both}};
    pthread_barrier_init(&both, NULL, 2);
    for (int r = 0; r < 2; r++) pthread_create(&thread[r], NULL, abort_rank, &half[r]);
    for (int r = 0; r < 2; r++) pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&both);
}

void test_abort(void)
{
    abort_by("peer", devices > 1);
    printf("%s: peer ended\n", running);
    fflush(stdout);
    if (devices > 1) abort_by("nccl", 1);
}
