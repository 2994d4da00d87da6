/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the contract of a kernel asks of its arguments, held against the books; and what the host reads back.
 */
#include "standin.h"
#include "cuda_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const standin_arg_t *argument(const standin_launch_t *launch, const char *key)
{
    for (int i = 0; launch && i < launch->count; i++)
        if (!strcmp(launch->arg[i].key, key)) return &launch->arg[i];
    return NULL;
}

static const standin_arg_t *of_kind(const standin_launch_t *launch, const char *key, standin_kind_t kind)
{
    const standin_arg_t *arg = argument(launch, key);
    if (arg && arg->kind == kind) return arg;
    fprintf(stderr, "%s has no argument %s of that kind\n", launch ? launch->name : "(no launch)", key);
    abort();
}

int64_t standin_integer(const standin_launch_t *launch, const char *key)
{
    return of_kind(launch, key, STANDIN_INTEGER)->integer;
}

double standin_real(const standin_launch_t *launch, const char *key)
{
    return of_kind(launch, key, STANDIN_REAL)->real;
}

const void *standin_pointer(const standin_launch_t *launch, const char *key)
{
    return of_kind(launch, key, STANDIN_POINTER)->pointer;
}

int64_t standin_size(const char *name, int count, const int64_t *args)
{
    int64_t bytes = (int64_t)strlen(name);
    for (int i = 0; i < count; i++) bytes += args[i] * (8 + 5 * i);
    return bytes;
}

static bool has(const standin_launch_t *launch, const char *key)
{
    return argument(launch, key) != NULL;
}

static int64_t at(const standin_launch_t *l, const char *structure, const char *member)
{
    char key[64];
    snprintf(key, sizeof key, "%s%s", structure, member);
    return standin_integer(l, key);
}

/* So many bytes from `key` on lie in one allocation. */
static void expect_room(const standin_launch_t *l, const char *key, int64_t bytes)
{
    const void *memory = standin_pointer(l, key);
    int64_t offset = standin_offset(memory);
    if (offset >= 0 && standin_device(memory) >= 0 && standin_device(memory) != standin.current)
        standin_breach("%s: %s lies on device %d, and device %d is current", l->name, key,
                       standin_device(memory), standin.current);
    if (bytes > 0 && (offset < 0 || (size_t)(offset + bytes) > standin_extent(memory)))
        standin_breach("%s: %lld bytes at %s leave its allocation (%lld of %zu)", l->name, (long long)bytes,
                       key, (long long)offset, standin_extent(memory));
}

/* A matrix of elements of so many bytes; strides that are not positive are left to the tests. */
static void expect_matrix(const standin_launch_t *l, const char *key, int64_t rows, int64_t cols, int64_t rs,
                          int64_t cs, int64_t element)
{
    if (rows > 0 && cols > 0 && rs >= 0 && cs >= 0)
        expect_room(l, key, ((rows - 1) * rs + (cols - 1) * cs + 1) * element);
}

static void expect_workspace(const standin_launch_t *l, const char *key, int64_t bytes)
{
    if ((uintptr_t)standin_pointer(l, key) % 256)
        standin_breach("%s: %s is not aligned to 256 bytes", l->name, key);
    expect_room(l, key, bytes);
}

static int64_t element(int64_t type)
{
    return (int64_t)lac_dt_size((lac_dt_t)type);
}

/* out, and W where it is read. */
static void check_product(const standin_launch_t *l)
{
    int64_t m = standin_integer(l, "p.m"), n = standin_integer(l, "p.n"), k = standin_integer(l, "p.k");
    int64_t ldw = standin_integer(l, "p.ldw");
    expect_matrix(l, "p.out", m, n, standin_integer(l, "p.rs"), standin_integer(l, "p.cs"),
                  element(standin_integer(l, "p.out_dt")));
    if (strcmp(l->name, "lac_cuda_event_counts") && strcmp(l->name, "lac_cuda_event_pair") &&
        strcmp(l->name, "lac_cuda_event_listed") &&
        strncmp(l->name, "lac_cuda_event_segments", strlen("lac_cuda_event_segments"))) {
        bool by_rows = standin_integer(l, "p.order") == LAC_CUDA_ROWS;
        expect_matrix(l, "p.w", k, n, by_rows ? ldw : 1, by_rows ? 1 : ldw,
                      element(standin_integer(l, "p.w_dt")));
        if (ldw < (by_rows ? (k > 1 ? n : 0) : (n > 1 ? k : 0)))
            standin_breach("%s: lines of W overlap", l->name);
    }
    if (standin_pointer(l, "p.epilogue.bias"))
        expect_room(l, "p.epilogue.bias",
                    element(standin_integer(l, "p.out_dt")) *
                        (standin_integer(l, "p.epilogue.of_rows") ? m : n));
    if (has(l, "s.data") && standin_pointer(l, "s.data"))
        expect_matrix(l, "s.data", m, k, standin_integer(l, "s.rs"), standin_integer(l, "s.cs"),
                      element(standin_integer(l, "s.dt")));
    if (has(l, "s.dense.data") && standin_pointer(l, "s.dense.data"))
        expect_matrix(l, "s.dense.data", m, k, standin_integer(l, "s.dense.rs"),
                      standin_integer(l, "s.dense.cs"), element(standin_integer(l, "s.dense.dt")));
}

static void check_csr(const standin_launch_t *l, const char *name, int64_t rows)
{
    char key[64];
    int64_t nnz = at(l, name, ".nnz");
    snprintf(key, sizeof key, "%s.ptr", name);
    expect_room(l, key, (rows + 1) * (int64_t)sizeof(int64_t));
    snprintf(key, sizeof key, "%s.idx", name);
    expect_room(l, key, nnz * (int64_t)sizeof(int32_t));
    snprintf(key, sizeof key, "%s.val", name);
    if (standin_pointer(l, key)) expect_room(l, key, nnz * (int64_t)sizeof(float));
}

static void check_matrix(const standin_launch_t *l, const char *x)
{
    char key[64];
    snprintf(key, sizeof key, "%s.data", x);
    expect_matrix(l, key, at(l, x, ".rows"), at(l, x, ".cols"), at(l, x, ".rs"), at(l, x, ".cs"),
                  element(at(l, x, ".dt")));
}

static int64_t whole(const standin_launch_t *l, const char *key)
{
    return standin_integer(l, key);
}

static void check_event_bits(const standin_launch_t *l, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "%s.words", name);
    expect_room(l, key, 4 * whole(l, "p.m") * at(l, name, ".ld"));
    if (at(l, name, ".first") + whole(l, "p.k") > 32 * at(l, name, ".ld"))
        standin_breach("%s: bits beyond a row", l->name);
}

/* The workspace that a launcher's contract names. */
static int64_t tiles_bytes(const standin_launch_t *l, int64_t m, int64_t n, int64_t k)
{
    return lac_cuda_tiles_bytes((lac_dt_t)whole(l, "p.dt"), m, n, k, standin_pointer(l, "p.packed"));
}

static void check_workspace(const standin_launch_t *l)
{
    const char *name = l->name + strlen("lac_cuda_");
    int64_t m = has(l, "p.m") ? whole(l, "p.m")
                : has(l, "m") ? whole(l, "m")
                              : 0,
            n = has(l, "p.n") ? whole(l, "p.n") : 0,
            k = has(l, "p.k") ? whole(l, "p.k")
                : has(l, "k") ? whole(l, "k")
                              : 0;
    lac_cuda_product_t p = {.m = m, .n = n, .k = k};
    if (has(l, "p.order"))
        p.w = standin_pointer(l, "p.w"), p.ldw = whole(l, "p.ldw"),
        p.order = (lac_cuda_order_t)whole(l, "p.order");
    int64_t bytes =
        !strcmp(name, "event_slots") || !strcmp(name, "event_listed")
            ? lac_cuda_event_slots_bytes(m, k, LAC_F32)
        : !strcmp(name, "event_active") ? lac_cuda_event_active_bytes(m, k)
        : !strcmp(name, "event_stream") ? lac_cuda_event_stream_bytes(m, k)
        : !strcmp(name, "event_pair")   ? lac_cuda_event_pair_bytes(m, n, k)
        : !strcmp(name, "schedule")     ? lac_cuda_schedule_scratch(m)
        : !strcmp(name, "csr_long")     ? lac_cuda_csr_long_bytes(m, n, k)
        : !strcmp(name, "spmm_staged")  ? lac_cuda_spmm_staged_bytes(m, k)
        : !strncmp(name, "csr_ptr", 7)  ? lac_cuda_csr_bytes(m)
        : !strcmp(name, "active_list")  ? lac_cuda_active_bytes(k)
        : !strcmp(name, "slice_grad")   ? lac_cuda_slice_grad_bytes(whole(l, "s.m"), whole(l, "s.count"))
        : !strcmp(name, "slice_sum")    ? lac_cuda_slice_sum_bytes(whole(l, "s.count"))
        : !strcmp(name, "slice_ptr")    ? lac_cuda_slice_ptr_bytes(whole(l, "s.count"))
        : !strcmp(name, "csr_to_csc")   ? lac_cuda_csr_to_csc_bytes(whole(l, "minors"), whole(l, "from.nnz"))
        : !strcmp(name, "tiles_run")    ? tiles_bytes(l, m, n, k)
        : !strcmp(name, "stream")       ? lac_cuda_stream_bytes(&p)
        : !strcmp(name, "adaptive")     ? lac_cuda_adaptive_bytes(&p)
                                        : 0;
    if (bytes > 0) expect_workspace(l, "workspace", bytes);
}

void standin_check(const standin_launch_t *l)
{
    const char *name = l->name + strlen("lac_cuda_");
    if (has(l, "p.out") && has(l, "p.order")) check_product(l);
    if (has(l, "workspace")) check_workspace(l);
    if (has(l, "x.rows")) check_matrix(l, "x");
    if (!strcmp(name, "csr_long")) expect_workspace(l, "steps", 1);
    if (!strcmp(name, "event_csr") || !strcmp(name, "spmm_narrow") || !strcmp(name, "spmm_wide"))
        check_csr(l, "s", whole(l, "p.m"));
    if (!strcmp(name, "event_pair")) check_csr(l, "w", whole(l, "p.k"));
    if (!strcmp(name, "lif_step") && standin_pointer(l, "lif.list")) {
        expect_room(l, "lif.list", 4 * whole(l, "lif.m") * whole(l, "lif.n"));
        expect_room(l, "lif.count", 4 * whole(l, "lif.m"));
        expect_workspace(l, "lif.state", LAC_CUDA_LIF_STATE);
    }
    if (has(l, "s.lists.idx")) {
        expect_room(l, "s.lists.idx", 4 * whole(l, "p.m") * whole(l, "s.lists.ld"));
        expect_room(l, "s.lists.count", 4 * whole(l, "p.m"));
    }
    if (has(l, "bits.words")) check_event_bits(l, "bits");
    if (has(l, "s.bits.words")) check_event_bits(l, "s.bits");
    if (!strcmp(name, "event_counts")) check_csr(l, "w", whole(l, "p.k"));
    if (!strcmp(name, "event_segments")) {
        int sources = 0;
        static const char *const source[] = {"s.dense", "s.rows", "s.lists", "s.bits"};
        for (int i = 0; i < 4; i++) sources += standin_pointer(l, source[i]) != NULL;
        if (sources != 1) standin_breach("%s: %d sources of events", l->name, sources);
        if (!standin_pointer(l, "s.list"))
            expect_workspace(l, "workspace", lac_cuda_event_segments_bytes(whole(l, "p.m"), whole(l, "p.k")));
        int64_t k = whole(l, "segments.k"), width = whole(l, "segments.width");
        check_csr(l, "w", k);
        expect_room(l, "segments.first", lac_cuda_segments_bytes(k, whole(l, "p.n"), width));
        if (standin_pointer(l, "s.list")) expect_room(l, "s.list", 4 * whole(l, "p.k"));
    }
    if (!strcmp(name, "segment_pointers")) {
        check_csr(l, "w", whole(l, "k"));
        expect_room(l, "first", lac_cuda_segments_bytes(whole(l, "k"), whole(l, "n"), whole(l, "width")));
    }
    if (!strcmp(name, "schedule"))
        expect_workspace(l, "steps", lac_cuda_schedule_bytes(whole(l, "m"), whole(l, "k"), 0)),
            check_csr(l, "s", whole(l, "m"));
    if (!strcmp(name, "copy"))
        expect_matrix(l, "out", at(l, "x", ".rows"), at(l, "x", ".cols"), whole(l, "rs"), whole(l, "cs"),
                      element(whole(l, "dt")));
    if (!strcmp(name, "scale"))
        expect_matrix(l, "out", whole(l, "rows"), whole(l, "cols"), whole(l, "rs"), whole(l, "cs"),
                      element(whole(l, "dt")));
    if (!strcmp(name, "tiles_run")) {
        int64_t m = whole(l, "p.m"), n = whole(l, "p.n"), k = whole(l, "p.k");
        lac_dt_t dt = (lac_dt_t)whole(l, "p.dt");
        expect_matrix(l, "p.a", m, k, whole(l, "p.ars"), whole(l, "p.acs"), element(dt));
        expect_matrix(l, "p.b", k, n, whole(l, "p.ldb"), 1, element(dt));
        expect_matrix(l, "p.c", m, n, whole(l, "p.crs"), whole(l, "p.ccs"), element(whole(l, "p.out_dt")));
        if (!lac_cuda_tiles_aligned(dt, standin_pointer(l, "p.b"), n, whole(l, "p.ldb")))
            standin_breach("%s: b is not aligned", l->name);
        if (standin_pointer(l, "p.b_columns"))
            expect_matrix(l, "p.b_columns", k, n, 1, whole(l, "p.ld_columns"), element(dt));
        if (standin_pointer(l, "p.bits"))
            expect_room(l, "p.bits", 8 * whole(l, "p.bits_words") * (whole(l, "p.bits_transposed") ? n : m));
    }
    if (!strcmp(name, "gemm_f64")) {
        check_matrix(l, "a"), check_matrix(l, "b");
        expect_matrix(l, "c", whole(l, "m"), whole(l, "n"), whole(l, "rs"), whole(l, "cs"),
                      element(whole(l, "dt")));
    }
}

/* Writes one number where a kernel leaves it for the host. */
static void leave(const standin_launch_t *l, const char *key, int64_t index, const void *value, size_t bytes)
{
    char *to = (char *)(uintptr_t)standin_pointer(l, key) + index * (int64_t)bytes;
    if (standin_offset(to) < 0 || standin_offset(to) + (int64_t)bytes > (int64_t)standin_extent(to))
        standin_breach("%s: %s has no room for its result", l->name, key);
    else
        memcpy(to, value, bytes);
}

void standin_compute(const standin_launch_t *l)
{
    const char *name = l->name + strlen("lac_cuda_");
    if (l->captured) return;
    if (!strncmp(name, "csr_ptr", 7)) leave(l, "ptr", whole(l, "m"), &standin.nnz, sizeof standin.nnz);
    if (!strcmp(name, "active_list")) leave(l, "count", 0, &standin.active, sizeof standin.active);
    if (!strcmp(name, "tiles_max_room")) leave(l, "most", 0, &standin.room, sizeof standin.room);
    bool sample = !strcmp(name, "probe_marked") || !strcmp(name, "fingerprint");
    for (int i = 0; sample && standin.sampled >= 0 && i < LAC_CUDA_PROBE_WORDS; i++) {
        uint64_t word = (uint64_t)whole(l, "mark") << 32 | (uint32_t)standin.sampled_pieces << 24 |
                        (uint32_t)standin.sampled_lines << 16 | (uint32_t)standin.sampled;
        leave(l, "words", i, &word, sizeof word);
    }
}
