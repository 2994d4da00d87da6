/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Ranks on devices, on the stand-in: which engine is taken, what an exchange launches, what is mapped and
 * given back, and each way to fail. The other ranks say what this one says, and come at once. */
#include "cuda_host_support.h"
#include "cuda_support.h"
#include "lacuna/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 3, ROWS = 2, COLUMNS = 70, WORDS = 2 * 3 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Callbacks of ranks that say what this one says. They are other processes where `apart` says so: of a rank's
 * card, which is larger than anything else that is gathered but an identity, the second word names the
 * process. */
typedef struct echo {
    int ranks, rank, fails; /* the n-th gather; 0: none */
    bool apart, silent;     /* silent: nobody answers   */
} echo_t;

static int echo_gather(void *arg, const void *mine, void *all, size_t bytes, void **request)
{
    echo_t *echo = arg;
    *request = echo;
    if (echo->fails && --echo->fails == 0) return 1;
    for (int r = 0; r < echo->ranks; r++) {
        unsigned char *to = (unsigned char *)all + (size_t)r * bytes;
        memcpy(to, mine, bytes);
        if (echo->apart && bytes > 64 && bytes < 132 && r != echo->rank) to[8] ^= (unsigned char)(r + 1);
    }
    return 0;
}

static int echo_test(void *arg, void *request)
{
    (void)request;
    return !((echo_t *)arg)->silent;
}

static lac_comm_callbacks_t callbacks_of(echo_t *echo)
{
    return (lac_comm_callbacks_t){.size = sizeof(lac_comm_callbacks_t),
                                  .rank = echo->rank,
                                  .ranks = echo->ranks,
                                  .arg = echo,
                                  .gather = echo_gather,
                                  .test = echo_test};
}

static lac_status_t by_nccl(lac_ctx_t *ctx, lac_comm_t **comm, const char *engine, double timeout_s)
{
    lac_comm_id_t id;
    lac_comm_opts_t opts = {.size = sizeof opts, .engine = engine, .timeout_s = timeout_s};
    unit_expect(lac_comm_make_id(&id), LAC_OK, "lac_comm_make_id");
    return lac_comm_create(ctx, comm, &id, RANKS, 1, &opts);
}

static lac_status_t by_echo(lac_ctx_t *ctx, lac_comm_t **comm, echo_t *echo, const char *engine,
                            double timeout_s)
{
    lac_comm_callbacks_t callbacks = callbacks_of(echo);
    lac_comm_opts_t opts = {.size = sizeof opts, .engine = engine, .timeout_s = timeout_s};
    return lac_comm_from_callbacks(ctx, comm, &callbacks, &opts);
}

/* An operand that cuda_host_close does not know of: it goes with the device. */
static lac_obj_t loose_rows(lac_ctx_t *ctx)
{
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, ROWS, COLUMNS, NULL, COLUMNS);
    x.space = LAC_DEVICE;
    unit_expect(lac_device_alloc(ctx, ROWS * COLUMNS * sizeof(float), &x.buf), LAC_OK, "memory");
    return x;
}

/* One launch, whose arguments say all ranks' shares and places; captured as it is eager, and nothing is
 * allocated. */
static void test_peers(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        lac_ctx_t *ctx = cuda_host_ctx();
        lac_comm_t *comm;
        lac_events_t *events;
        lac_obj_t mine = cuda_host_columns(ctx, ROWS, COLUMNS), s;
        echo_t echo = {RANKS, 1, 0, false, false};
        unit_expect(way ? by_echo(ctx, &comm, &echo, NULL, 2.0) : by_nccl(ctx, &comm, "peer", 2.0), LAC_OK,
                    "comm");
        assert_string_equal(lac_comm_engine(comm), "peer");
        unit_expect(lac_events_create(comm, &events, ROWS, COLUMNS), LAC_OK, "events");
        unit_expect(lac_events_operand(events, &s), LAC_OK, "operand");
        assert_int_equal(s.n, RANKS * COLUMNS);
        assert_true(s.dt == LAC_U8 && s.space == LAC_DEVICE);
        for (int captured = 0; captured < 2; captured++) {
            standin_forget();
            standin_capture(lac_device_stream(ctx), captured);
            unit_expect(lac_events_allgather(events, &mine), LAC_OK, "exchange");
            if (captured) standin_capture(lac_device_stream(ctx), false);
            assert_int_equal(standin.launches, 1);
            assert_int_equal(standin.mallocs, 0);
            const standin_launch_t *l = standin_find("lac_cuda_events_exchange", 0);
            assert_true(l->captured == (bool)captured && l->stream == lac_device_stream(ctx));
            assert_int_equal(standin_integer(l, "x.ranks"), RANKS);
            assert_int_equal(standin_integer(l, "x.rank"), 1);
            assert_int_equal(standin_integer(l, "x.words"), RANKS * WORDS);
            assert_int_equal(standin_integer(l, "x.mine.rows"), ROWS);
            assert_int_equal(standin_integer(l, "x.mine.cols"), COLUMNS);
            assert_int_equal(standin_integer(l, "x.mine.cs"), ROWS);
            assert_int_equal(standin_integer(l, "x.ld"), RANKS * COLUMNS);
            assert_int_equal(standin_integer(l, "x.limit"), 2000000000);
            assert_ptr_equal(standin_pointer(l, "x.out"), s.buf);
            assert_ptr_equal(standin_pointer(l, "x.mine.data"), mine.buf);
            assert_true(standin_extent(standin_pointer(l, "x.state")) >= 4 * LAC_CUDA_EXCHANGE_STATE);
            /* What was laid down for the kernel: shares one behind the other, each rank's places twice its
             * words. */
            const lac_cuda_shard_t *shard = standin_pointer(l, "x.shard");
            uint64_t *const *place = standin_pointer(l, "x.place");
            for (int r = 0; r < RANKS; r++) {
                assert_int_equal(shard[r].first, r * COLUMNS);
                assert_int_equal(shard[r].count, COLUMNS);
                assert_int_equal(shard[r].word, r * WORDS);
                assert_true(standin_extent(place[r]) >= 2 * 8 * RANKS * WORDS);
            }
        }
        unit_expect(lac_comm_wait(comm), LAC_OK, "wait");
        lac_events_free(events);
        lac_comm_free(comm);
        cuda_host_close(ctx);
    }
}

/* Ranks of other processes: their places are mapped, and given back. */
static void test_other_processes(void **state)
{
    lac_ctx_t *ctx = cuda_host_ctx();
    lac_comm_t *comm;
    lac_events_t *events;
    echo_t echo = {RANKS, 1, 0, true, false};
    (void)state;
    unit_expect(by_echo(ctx, &comm, &echo, NULL, 2.0), LAC_OK, "comm");
    assert_string_equal(lac_comm_engine(comm), "peer");
    assert_int_equal(standin.mapped, 0); /* what was tried is given back */
    unit_expect(lac_events_create(comm, &events, ROWS, COLUMNS), LAC_OK, "events");
    assert_int_equal(standin.mapped, RANKS - 1);
    lac_events_free(events);
    assert_int_equal(standin.mapped, 0);
    lac_comm_free(comm);
    cuda_host_close(ctx);
}

/* Where memory cannot be mapped, NCCL is taken, unless only peers will do. */
static void test_apart(void **state)
{
    (void)state;
    for (int nccl = 0; nccl < 2; nccl++) {
        lac_ctx_t *ctx = cuda_host_ctx();
        lac_comm_t *comm;
        echo_t echo = {RANKS, 0, 0, true, false};
        standin.unshared = true;
        unit_expect(by_echo(ctx, &comm, &echo, "peer", 2.0), LAC_ERR_UNAVAILABLE, "peer");
        assert_non_null(strstr(lac_last_error(), "opts.engine"));
        assert_null(comm);
        unit_expect(by_echo(ctx, &comm, &echo, nccl ? "nccl" : "auto", 2.0), LAC_OK, "auto");
        assert_string_equal(lac_comm_engine(comm), "nccl");
        lac_comm_free(comm);
        assert_int_equal(standin_count("ncclCommFinalize"), 1);
        assert_int_equal(standin_count("ncclCommDestroy"), 1);
        assert_int_equal(standin_count("ncclCommAbort"), 0);
        cuda_host_close(ctx);
    }
}

/* Pack, all-gather, unpack, in this order on the stream. */
static void test_nccl(void **state)
{
    lac_ctx_t *ctx = cuda_host_ctx();
    lac_comm_t *comm;
    lac_events_t *events;
    lac_obj_t mine = cuda_host_rows(ctx, ROWS, COLUMNS), s;
    (void)state;
    standin.nccl_busy = 5; /* answers that NCCL is not done yet */
    unit_expect(by_nccl(ctx, &comm, "nccl", 2.0), LAC_OK, "comm");
    assert_string_equal(lac_comm_engine(comm), "nccl");
    assert_int_equal(lac_comm_ranks(comm), RANKS);
    unit_expect(lac_events_create(comm, &events, ROWS, COLUMNS), LAC_OK, "events");
    unit_expect(lac_events_operand(events, &s), LAC_OK, "operand");
    for (int captured = 0; captured < 2; captured++) {
        standin_forget();
        standin_capture(lac_device_stream(ctx), captured);
        standin.nccl_busy = 3;
        unit_expect(lac_events_allgather(events, &mine), LAC_OK, "exchange");
        if (captured) standin_capture(lac_device_stream(ctx), false);
        assert_int_equal(standin.launches, 3);
        assert_int_equal(standin.mallocs, 0);
        assert_string_equal(standin.launch[0].name, "lac_cuda_events_pack");
        assert_string_equal(standin.launch[1].name, "ncclAllGather");
        assert_string_equal(standin.launch[2].name, "lac_cuda_events_unpack");
        const standin_launch_t *pack = &standin.launch[0], *gather = &standin.launch[1],
                               *unpack = &standin.launch[2];
        assert_int_equal(standin_integer(gather, "count"), 4 * WORDS);
        assert_int_equal(standin_integer(gather, "type"), 1);
        assert_ptr_equal(standin_pointer(pack, "words"), standin_pointer(gather, "mine"));
        assert_ptr_equal(standin_pointer(unpack, "u.words"), standin_pointer(gather, "all"));
        assert_ptr_equal(standin_pointer(unpack, "u.out"), s.buf);
        assert_int_equal(standin_integer(unpack, "u.ranks"), RANKS);
        assert_int_equal(standin_integer(unpack, "u.rows"), ROWS);
        assert_int_equal(standin_integer(unpack, "u.stride"), WORDS);
        assert_int_equal(standin_integer(unpack, "u.ld"), RANKS * COLUMNS);
        assert_int_equal(standin_integer(unpack, "u.most"), WORDS);
        for (int i = 0; i < 3; i++) assert_ptr_equal(standin.launch[i].stream, lac_device_stream(ctx));
    }
    lac_events_free(events);
    lac_comm_free(comm);
    cuda_host_close(ctx);
}

/* The program's communicator stays its own, whatever happens; it must be of the context's device. */
static void test_wrapped(void **state)
{
    struct {
        int ranks, rank, device;
    } theirs = {RANKS, 2, 0};
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        lac_ctx_t *ctx = cuda_host_ctx();
        lac_comm_t *comm;
        lac_comm_opts_t opts = {.size = sizeof opts, .engine = "nccl"};
        theirs.device = 0;
        unit_expect(lac_comm_wrap(ctx, &comm, &theirs, &opts), LAC_OK, "wrap");
        assert_int_equal(lac_comm_rank(comm), 2);
        assert_int_equal(lac_comm_ranks(comm), RANKS);
        if (fails) unit_expect(lac_comm_abort(comm), LAC_OK, "abort");
        lac_comm_free(comm);
        assert_int_equal(standin_count("ncclCommAbort"), 0);
        assert_int_equal(standin_count("ncclCommDestroy"), 0);
        theirs.device = 1;
        unit_expect(lac_comm_wrap(ctx, &comm, &theirs, &opts), LAC_ERR_SPACE, "another device");
        assert_non_null(strstr(lac_last_error(), "nccl_comm"));
        if (fails) {
            lac_ctx_free(ctx); /* a kernel may still see the words of one that failed: they stay */
            assert_int_equal(standin.breaches, 0);
        } else
            lac_ctx_free(ctx);
    }
}

/* NCCL never ends what it began; the device never ends what is queued; a kernel waited in vain; NCCL finds
 * an error. */
static void test_failures(void **state)
{
    enum { INIT, QUEUED, KERNEL, ERROR, ABORTED, ALL };
    static const lac_status_t want[ALL] = {LAC_ERR_TIMEOUT, LAC_ERR_TIMEOUT, LAC_ERR_TIMEOUT, LAC_ERR_VENDOR,
                                           LAC_ERR_ABORTED};
    (void)state;
    for (int engine = 0; engine < 2; engine++)
        for (int how = 0; how < ALL; how++) {
            const char *name = engine ? "nccl" : "peer";
            lac_ctx_t *ctx = cuda_host_ctx();
            lac_comm_t *comm;
            lac_events_t *events;
            lac_obj_t mine = loose_rows(ctx);
            double begin = now_s();
            if (how == INIT) {
                standin.nccl_busy = -1; /* for ever */
                unit_expect(by_nccl(ctx, &comm, name, 0.1), want[how], "init");
                assert_null(comm);
                assert_true(now_s() - begin >= 0.1 && now_s() - begin < 5.0);
                assert_int_equal(standin_count("ncclCommAbort"), 1);
                lac_ctx_free(ctx);
                continue;
            }
            unit_expect(by_nccl(ctx, &comm, name, 0.1), LAC_OK, "comm");
            unit_expect(lac_events_create(comm, &events, ROWS, COLUMNS), LAC_OK, "events");
            unit_expect(lac_events_allgather(events, &mine), LAC_OK, "exchange");
            begin = now_s();
            if (how == QUEUED) {
                standin.busy = true;
                unit_expect(lac_comm_wait(comm), want[how], "wait");
                assert_true(now_s() - begin >= 0.1 && now_s() - begin < 5.0);
                if (!engine) /* the kernel is asked to end */
                    assert_int_equal(*(const uint32_t *)standin_pointer(
                                         standin_find("lac_cuda_events_exchange", 0), "x.stop"),
                                     1);
                assert_int_equal(standin_count("ncclCommAbort"), 1);
                standin.busy = false;
            } else if (how == KERNEL) {
                if (engine) {
                    lac_events_free(events);
                    lac_comm_free(comm);
                    lac_ctx_free(ctx);
                    continue;
                }
                *(uint32_t *)(uintptr_t)standin_pointer(standin_find("lac_cuda_events_exchange", 0),
                                                        "x.failed") = 3;
                unit_expect(lac_comm_status(comm), want[how], "status");
                assert_non_null(strstr(lac_last_error(), "rank 2"));
            } else if (how == ERROR) {
                standin.nccl_state = 6;
                unit_expect(lac_comm_wait(comm), want[how], "wait");
                assert_non_null(strstr(lac_last_error(), "remote process"));
                standin.nccl_state = 0;
            } else
                unit_expect(lac_comm_abort(comm), LAC_OK, "abort");
            unit_expect(lac_events_allgather(events, &mine), want[how], "afterwards");
            unit_expect(lac_comm_status(comm), want[how], "afterwards");
            lac_events_free(events); /* at once */
            lac_comm_free(comm);
            assert_true(now_s() - begin < 5.0);
            lac_ctx_free(ctx);
            assert_int_equal(standin_count("ncclCommDestroy"), 0);
            assert_int_equal(standin.breaches, 0);
        }
    standin_reset_device();
    standin_reset();
}

/* Waiting, and making room, while the stream is captured: refused, and the capture is not harmed. */
static void test_captured(void **state)
{
    lac_ctx_t *ctx = cuda_host_ctx();
    lac_comm_t *comm, *other;
    lac_events_t *events;
    (void)state;
    unit_expect(by_nccl(ctx, &comm, NULL, 2.0), LAC_OK, "comm");
    standin_capture(lac_device_stream(ctx), true);
    unit_expect(lac_comm_wait(comm), LAC_ERR_MEMORY, "wait");
    unit_expect(by_nccl(ctx, &other, NULL, 2.0), LAC_ERR_MEMORY, "another");
    assert_int_equal(standin.breaches, 0);
    standin_capture(lac_device_stream(ctx), false);
    unit_expect(lac_comm_wait(comm), LAC_OK, "wait");
    unit_expect(lac_events_create(comm, &events, 1, 1), LAC_OK, "events");
    lac_events_free(events);
    lac_comm_free(comm);
    cuda_host_close(ctx);
}

/* A rank that had no room for events is behind the others from then on: its communicator is of no use. */
static void test_no_room(void **state)
{
    lac_ctx_t *ctx = cuda_host_ctx();
    lac_comm_t *comm;
    lac_events_t *events;
    echo_t echo = {RANKS, 1, 0, false, false};
    (void)state;
    unit_expect(by_echo(ctx, &comm, &echo, NULL, 1.0), LAC_OK, "comm");
    standin.largest = 1;
    unit_expect(lac_events_create(comm, &events, ROWS, COLUMNS), LAC_ERR_MEMORY, "events");
    assert_null(events);
    standin.largest = 0;
    unit_expect(lac_comm_status(comm), LAC_ERR_MEMORY, "status");
    unit_expect(lac_events_create(comm, &events, ROWS, COLUMNS), LAC_ERR_MEMORY, "and again");
    lac_comm_free(comm);
    lac_ctx_free(ctx);
    assert_int_equal(standin.breaches, 0);
    standin_reset_device();
    standin_reset();
}

typedef struct life {
    lac_ctx_t *ctx;
    lac_obj_t mine;
    int way;
} life_t;

/* All of it once; the first status that is none. */
static lac_status_t live(const life_t *life)
{
    lac_comm_t *comm = NULL;
    lac_events_t *events = NULL;
    lac_comm_id_t id;
    echo_t echo = {RANKS, 0, 0, life->way == 1, false};
    lac_comm_opts_t opts = {.size = sizeof opts, .timeout_s = 1.0, .engine = life->way == 2 ? "nccl" : NULL};
    lac_comm_callbacks_t callbacks = callbacks_of(&echo);
    lac_status_t status = life->way == 1 ? LAC_OK : lac_comm_make_id(&id);
    if (!status)
        status = life->way == 1 ? lac_comm_from_callbacks(life->ctx, &comm, &callbacks, &opts)
                                : lac_comm_create(life->ctx, &comm, &id, RANKS, 1, &opts);
    if (!status) status = lac_events_create(comm, &events, ROWS, COLUMNS);
    if (!status) status = lac_events_allgather(events, &life->mine);
    if (!status) status = lac_comm_wait(comm);
    lac_events_free(events);
    lac_comm_free(comm);
    return status;
}

/* Each call of the runtime, each launch, and each call of NCCL fails once: a status or success, nothing used
 * that is gone. */
static void test_each_call_fails(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++)
        for (int what = 0; what < 3; what++) {
            int failed = 0, n = 1;
            for (;; n++) {
                lac_ctx_t *ctx = cuda_host_ctx();
                life_t life = {ctx, loose_rows(ctx), way};
                int *count = what == 0   ? &standin.fails
                             : what == 1 ? &standin.launch_fails
                                         : &standin.vendor_fails;
                *count = n;
                lac_status_t status = live(&life);
                bool reached = *count == 0;
                *count = 0;
                if (status && !*lac_last_error())
                    fail_msg("way %d: status %d without a message", way, (int)status);
                assert_int_equal(standin.breaches, 0);
                failed += status != LAC_OK;
                standin_reset_device(); /* what another rank may still use stays by design */
                lac_ctx_free(ctx);
                if (!reached) break;
            }
            if (way < 2 && what == 2) continue; /* by the callbacks, without NCCL */
            if (n < 2 || failed < 1) fail_msg("way %d, %d: %d calls, %d failed", way, what, n, failed);
        }
    standin_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers),           cmocka_unit_test(test_other_processes),
        cmocka_unit_test(test_apart),           cmocka_unit_test(test_nccl),
        cmocka_unit_test(test_wrapped),         cmocka_unit_test(test_failures),
        cmocka_unit_test(test_captured),        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_each_call_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
