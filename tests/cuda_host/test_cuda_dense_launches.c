/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What cuBLAS and the reference launch on a device, with which arguments; and what goes with any route:
 * scalars, epilogues, recordings, cuSPARSE's products, guarantees and a network's step. */
#include "api/interpose.h"
#include "lacuna/layer.h"
#include "launch_checks.h"
#include "cuda_support.h"
#include "operand/registry.h"
#include "route/route.h"

#include <string.h>

/* Of doubles cublasDgemm with the problem's own scalars; a C without a unit stride receives doubles. */
static void test_dense_doubles(void **state)
{
    (void)state;
    lac_dim_t m = 30, n = 40, k = 50;
    lac_obj_t a = cuda_host_matrix(ctx, LAC_F64, m, k, k, 1, 0),
              b = cuda_host_matrix(ctx, LAC_F64, k, n, 1, k, 0),
              c = cuda_host_matrix(ctx, LAC_F64, m, n, 1, m, 0),
              s = cuda_host_matrix(ctx, LAC_F64, m, n, 2 * n, 2, 0),
              u = cuda_host_matrix(ctx, LAC_U8, m, k, k, 1, 0);
    const standin_launch_t *l = cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasDgemm");
    EXPECT(l, "ta tb m n k lda ldb ldc", 1, 0, m, n, k, k, k, m);
    assert_true(standin_real(l, "alpha") == 1.5 && standin_real(l, "beta") == 0.25);
    expect_bytes("dense", "", &a, &b, &s, (64 << 20) + cuda_host_piece(8 * m * n));
    l = cuda_host_launch(ctx, "dense", &a, &b, &s, "cublasDgemm");
    assert_true(standin_real(l, "beta") == 0.0);
    EXPECT(standin_find("lac_cuda_copy", 0), "x.dt dt rs cs", LAC_F64, LAC_F64, 2 * n, 2);
    cuda_host_launch(ctx, "dense", &u, &b, &c, "cublasDgemm");
    EXPECT(standin_find("lac_cuda_copy", 0), "x.dt dt rs", LAC_U8, LAC_F64, k);
    l = cuda_host_launch(ctx, "reference", &a, &b, &c, "lac_cuda_gemm_f64");
    EXPECT(l, "dt a.dt b.dt", LAC_F64, LAC_F64, LAC_F64);
}

/* cuBLAS: by rows the transposed product, by columns as it is; else into the workspace, then added. */
static void test_dense(void **state)
{
    (void)state;
    lac_dim_t m = 30, n = 40, k = 50;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_columns(ctx, k, n),
              c = cuda_host_columns(ctx, m, n), r = cuda_host_rows(ctx, m, n),
              s = cuda_host_matrix(ctx, LAC_F32, m, n, 2 * n, 2, 0);
    int64_t workspace = 64 << 20;
    expect_bytes("dense", "", &a, &b, &c, workspace);
    const standin_launch_t *l = cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasSgemm_64");
    EXPECT(l, "ta tb m n k lda ldb ldc", 1, 0, m, n, k, k, k, m);
    expect_pointer(l, "a", a.buf), expect_pointer(l, "b", b.buf), expect_pointer(l, "c", c.buf);
    assert_true(standin_real(l, "alpha") == 1.5 && standin_real(l, "beta") == 0.25);
    assert_int_equal(standin_count("cublasCreate"), 1);
    const standin_launch_t *set = standin_find("cublasSetWorkspace", 0),
                           *stream = standin_find("cublasSetStream", 0);
    assert_true(set && stream && stream < set); /* setting the stream resets the workspace */
    EXPECT(set, "bytes", workspace);
    assert_ptr_equal(stream->stream, lac_device_stream(ctx));
    l = cuda_host_launch(ctx, "dense", &a, &b, &r, "cublasSgemm_64");
    EXPECT(l, "ta tb m n k lda ldb ldc", 1, 0, n, m, k, k, k, n);
    expect_pointer(l, "a", b.buf), expect_pointer(l, "b", a.buf);
    assert_int_equal(standin_count("cublasCreate"), 0);
    expect_bytes("dense", "", &a, &b, &s, workspace + cuda_host_piece(4 * m * n));
    l = cuda_host_launch(ctx, "dense", &a, &b, &s, "cublasSgemm_64");
    EXPECT(l, "ldc", n);
    assert_true(standin_real(l, "beta") == 0.0);
    const standin_launch_t *added = standin_find("lac_cuda_copy", 0);
    assert_non_null(added);
    expect_pointer(added, "x.data", standin_pointer(l, "c"));
    EXPECT(added, "x.rows x.cols x.rs x.cs rs cs", m, n, n, 1, 2 * n, 2);
    assert_true(standin_real(added, "beta") == 0.25);
    /* an operand without a unit stride, and one of bytes, are copied first */
    lac_obj_t wide = cuda_host_matrix(ctx, LAC_F32, m, k, 2 * k, 2, 0),
              u = cuda_host_matrix(ctx, LAC_U8, m, k, k, 1, 0);
    expect_bytes("dense", "", &wide, &b, &c, workspace + cuda_host_piece(4 * m * k));
    l = cuda_host_launch(ctx, "dense", &wide, &b, &c, "cublasSgemm_64");
    expect_pointer(l, "a", standin_pointer(standin_find("lac_cuda_copy", 0), "out"));
    EXPECT(l, "lda ta", k, 1);
    cuda_host_launch(ctx, "dense", &u, &b, &c, "cublasSgemm_64");
    EXPECT(standin_find("lac_cuda_copy", 0), "x.dt rs", LAC_U8, k);
    /* a mode that is asked for is set once, and taken back */
    unit_expect(lac_ctx_set(ctx, "math", "pedantic"), LAC_OK, "math");
    cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasSetMathMode");
    EXPECT(standin_find("cublasSetMathMode", 0), "mode", 2);
    cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasSgemm_64");
    assert_int_equal(standin_count("cublasSetMathMode"), 0);
    unit_expect(lac_ctx_set(ctx, "math", "tf32"), LAC_OK, "math");
    EXPECT(cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasSetMathMode"), "mode", 3);
}

/* Beyond 2^29, k goes in pieces that add up: beta counts once. */
static void test_dense_long(void **state)
{
    (void)state;
    lac_dim_t k = ((lac_dim_t)1 << 29) + 100;
    lac_obj_t a = cuda_host_rows(ctx, 1, k), b = cuda_host_columns(ctx, k, 1), c = cuda_host_rows(ctx, 1, 1);
    const standin_launch_t *l = cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasSgemm_64");
    assert_int_equal(standin_count("cublasSgemm_64"), 2);
    EXPECT(l, "k lda ldb", (lac_dim_t)1 << 29, 1, (lac_dim_t)1 << 29);
    assert_true(standin_real(l, "beta") == 0.25);
    l = standin_find("cublasSgemm_64", 1);
    EXPECT(l, "k lda ldb", 100, 1, 100);
    assert_true(standin_real(l, "beta") == 1.0 && standin_real(l, "alpha") == 1.5);
    assert_int_equal(standin_offset(standin_pointer(l, "a")), (int64_t)4 << 29);
}

/* Scalars on the device are read there; by cuBLAS in that mode, which is taken back. */
static void test_scalars(void **state)
{
    (void)state;
    lac_dim_t m = 10, n = 300, k = 5000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    float *scalar = cuda_host_memory(ctx, 2 * sizeof *scalar);
    cuda_host_count(ctx, &a, 500);
    lac_call_opts_t call = {.size = sizeof call, .route = "event", .scalars = LAC_DEVICE};
    standin_forget();
    unit_expect(lac_gemm_ex(ctx, scalar, &a, &b, scalar + 1, &c, &call), LAC_OK, "event");
    const standin_launch_t *l = standin_find("lac_cuda_event_fused", 0);
    expect_pointer(l, "p.alpha.device", scalar);
    expect_pointer(l, "p.beta.device", scalar + 1);
    call.route = "dense";
    unit_expect(lac_gemm_ex(ctx, scalar, &a, &b, scalar + 1, &c, &call), LAC_OK, "dense");
    EXPECT(standin_find("cublasSetPointerMode", 0), "mode", 1);
    EXPECT(standin_find("cublasSetPointerMode", 1), "mode", 0);
    /* nothing to sum: C is scaled by what lies there, for all that the host knows */
    lac_obj_t none = cuda_host_rows(ctx, m, 0), empty = cuda_host_rows(ctx, 0, n);
    call.route = NULL;
    standin_forget();
    unit_expect(lac_gemm_ex(ctx, scalar, &none, &empty, scalar + 1, &c, &call), LAC_OK, "k = 0");
    expect_pointer(standin_find("lac_cuda_scale", 0), "beta.device", scalar + 1);
}

/* alpha = 0, k = 0: C is scaled, and left alone where beta is 1. */
static void test_trivial(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 10, 50), b = cuda_host_rows(ctx, 50, 30),
              c = cuda_host_rows(ctx, 10, 30);
    unit_expect(cuda_host_gemm(ctx, NULL, 0.0f, &a, &b, 0.5f, &c), LAC_OK, "alpha = 0");
    const standin_launch_t *l = standin_find("lac_cuda_scale", 0);
    EXPECT(l, "rows cols rs cs", 10, 30, 30, 1);
    assert_true(standin_real(l, "beta.value") == 0.5);
    unit_expect(cuda_host_gemm(ctx, NULL, 0.0f, &a, &b, 1.0f, &c), LAC_OK, "beta = 1");
    assert_int_equal(standin_count("lac_cuda_scale"), 0);
}

/* The reference reads either type and any strides; what has no buffer is expanded first. */
static void test_reference(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 10, 50), b = cuda_host_matrix(ctx, LAC_F32, 50, 30, 60, 2, 0),
              c = cuda_host_rows(ctx, 10, 30);
    expect_bytes("reference", "", &a, &b, &c, 0);
    const standin_launch_t *l = cuda_host_launch(ctx, "reference", &a, &b, &c, "lac_cuda_gemm_f64");
    EXPECT(l, "m n k a.rows a.cols a.rs b.rs b.cs rs cs", 10, 30, 50, 10, 50, 50, 60, 2, 30, 1);
    cuda_host_csr(ctx, &a, 5);
    expect_bytes("reference", "", &a, &b, &c, cuda_host_piece(4 * 10 * 50));
    l = cuda_host_launch(ctx, "reference", &a, &b, &c, "lac_cuda_gemm_f64");
    const standin_launch_t *expanded = standin_find("lac_cuda_densify_compressed", 0);
    assert_non_null(expanded);
    EXPECT(expanded, "majors major_stride minor_stride", 10, 50, 1);
    expect_pointer(l, "a.data", standin_pointer(expanded, "out"));
    assert_int_equal(standin.memsets > 0, 1);
}

/* The same with lists of the spikes, which the next step's products read: what they are a part of, and
 * nothing is made of them before. */
static void test_lif_lists(lac_lif_t *lif, lac_lif_input_t *input)
{
    size_t room = (size_t)(lif->m * lif->n) * sizeof(int32_t);
    lac_dim_t first = input[0].w.m;
    lif->list = cuda_host_memory(ctx, room), lif->count = cuda_host_memory(ctx, (size_t)lif->m * 4);
    for (int q = 0; q < 2; q++) {
        lac_obj_t *events = &input[q].events;
        unit_expect(lac_meta_create_for(ctx, &events->meta, events->m, events->n), LAC_OK, "meta");
        unit_expect(lac_meta_attach_event_lists(events->meta, lif->n, lif->list, lif->count, q ? first : 0),
                    LAC_OK, "lists");
    }
    const void *state = NULL;
    for (int captured = 0; captured < 2; captured++) {
        standin_forget();
        if (captured) standin_capture(lac_device_stream(ctx), true);
        unit_expect(lac_lif_step(ctx, lif), LAC_OK, "step");
        const standin_launch_t *l = standin_find("lac_cuda_lif_step", 0);
        assert_non_null(l);
        expect_pointer(l, "lif.list", lif->list), expect_pointer(l, "lif.count", lif->count);
        if (captured) expect_pointer(l, "lif.state", state);
        state = standin_pointer(l, "lif.state");
        assert_int_equal(standin_count("lac_cuda_event_segments"), 2);
        for (int q = 0; q < 2; q++) {
            l = standin_find("lac_cuda_event_segments", q);
            EXPECT(l, "s.lists.ld s.lists.first p.k cut.late", lif->n, q ? first : 0, input[q].w.m, q);
            expect_pointer(l, "s.lists.idx", lif->list), expect_pointer(l, "s.lists.count", lif->count);
            expect_pointer(l, "s.dense", NULL), expect_pointer(l, "s.bits", NULL);
        }
        if (captured) standin_capture(lac_device_stream(ctx), false);
    }
    /* where sums are fixed they are in the order of the buffer */
    unit_expect(lac_ctx_set(ctx, "sums", "fixed"), LAC_OK, "fixed");
    standin_forget();
    unit_expect(lac_lif_step(ctx, lif), LAC_OK, "step");
    assert_int_equal(standin_count("lac_cuda_event_segments"), 2);
    for (int q = 0; q < 2; q++) expect_pointer(standin_find("lac_cuda_event_segments", q), "s.lists", NULL);
    unit_expect(lac_ctx_set(ctx, "sums", "fast"), LAC_OK, "fast");
    /* bits are read before lists, whatever the order of sums */
    lac_dim_t words = (lif->n + 63) / 64;
    uint64_t *bits = cuda_host_memory(ctx, (size_t)(lif->m * words) * 8);
    for (int q = 0; q < 2; q++)
        unit_expect(lac_meta_attach_event_bits(input[q].events.meta, words, bits, q ? first : 0), LAC_OK,
                    "bits");
    for (int fixed = 0; fixed < 2; fixed++) {
        unit_expect(lac_ctx_set(ctx, "sums", fixed ? "fixed" : "fast"), LAC_OK, "sums");
        standin_forget();
        unit_expect(lac_lif_step(ctx, lif), LAC_OK, "step");
        assert_int_equal(standin_count("lac_cuda_event_segments"), 2);
        const standin_launch_t *l = standin_find("lac_cuda_event_segments", 1);
        EXPECT(l, "s.bits.ld s.bits.first p.k cut.late cut.lanes", 2 * words, first, input[1].w.m, 1,
               fixed ? 32 : 0);
        expect_pointer(l, "s.bits.words", bits);
    }
    /* written once more, for a ring */
    lif->bits = bits, lif->bits_twin = cuda_host_memory(ctx, (size_t)(lif->m * words) * 8);
    lif->spikes_twin = cuda_host_memory(ctx, (size_t)(lif->m * lif->n));
    standin_forget();
    unit_expect(lac_lif_step(ctx, lif), LAC_OK, "step");
    const standin_launch_t *step = standin_find("lac_cuda_lif_step", 0);
    expect_pointer(step, "lif.bits_twin", lif->bits_twin);
    expect_pointer(step, "lif.spikes_twin", lif->spikes_twin);
    lif->bits = lif->bits_twin = NULL, lif->spikes_twin = NULL;
    unit_expect(lac_ctx_set(ctx, "sums", "fast"), LAC_OK, "fast");
    for (int q = 0; q < 2; q++) lac_meta_free(input[q].events.meta), input[q].events.meta = NULL;
    lif->list = NULL;
}

/* A step of a network: a product for each input, then the neurons with every array as it was given; captured
 * as well, and nothing is launched where an argument is refused. */
static void test_lif(void **state)
{
    (void)state;
    enum { COPIES = 2, NEURONS = 4000, FIRST = 3200, EACH = 20 };
    size_t floats = COPIES * NEURONS * sizeof(float);
    uint8_t *spikes = cuda_host_memory(ctx, COPIES * NEURONS);
    lac_lif_input_t input[2];
    for (int q = 0; q < 2; q++) {
        lac_dim_t k = q ? NEURONS - FIRST : FIRST;
        lac_obj_t w = cuda_host_rows(ctx, k, NEURONS),
                  events = lac_obj_rowmajor(LAC_U8, COPIES, k, NULL, NEURONS);
        cuda_host_csr(ctx, &w, EACH);
        events.space = LAC_DEVICE;
        events.buf = spikes + (q ? FIRST : 0);
        input[q] = (lac_lif_input_t){.events = events,
                                     .w = w,
                                     .weight = 0.5f + (float)q,
                                     .decay = 0.75f,
                                     .conductance = q == 0,
                                     .reversal = -80.0f,
                                     .g = cuda_host_memory(ctx, floats),
                                     .received = cuda_host_memory(ctx, floats)};
    }
    lac_lif_t lif = {.size = sizeof lif,
                     .m = COPIES,
                     .n = NEURONS,
                     .dt = 0.5f,
                     .tau = 16.0f,
                     .v_rest = -60.0f,
                     .v_threshold = -50.0f,
                     .v_reset = -61.0f,
                     .refractory = 5,
                     .v = cuda_host_memory(ctx, floats),
                     .wait = cuda_host_memory(ctx, floats),
                     .spikes = spikes,
                     .inputs = 2,
                     .input = input};
    for (int captured = 0; captured < 2; captured++) {
        standin_forget();
        if (captured) standin_capture(lac_device_stream(ctx), true);
        unit_expect(lac_lif_step(ctx, &lif), LAC_OK, "step");
        const standin_launch_t *l = standin_find("lac_cuda_lif_step", 0);
        assert_non_null(l);
        assert_int_equal(l->captured, captured);
        EXPECT(l, "lif.m lif.n lif.refractory lif.inputs lif.input.0.conductance lif.input.1.conductance",
               COPIES, NEURONS, 5, 2, 1, 0);
        assert_true(standin_real(l, "lif.rate") == 0.03125 && standin_real(l, "lif.v_reset") == -61.0);
        assert_true(standin_real(l, "lif.input.1.weight") == 1.5 &&
                    standin_real(l, "lif.input.0.decay") == 0.75);
        expect_pointer(l, "lif.v", lif.v), expect_pointer(l, "lif.wait", lif.wait);
        expect_pointer(l, "lif.spikes", spikes), expect_pointer(l, "lif.bits", NULL);
        expect_pointer(l, "lif.input.1.g", input[1].g);
        expect_pointer(l, "lif.input.0.received", input[0].received);
        assert_int_equal(standin_count("lac_cuda_event_segments"), 2);
        EXPECT(standin_find("lac_cuda_event_segments", 0), "cut.late", 0);
        EXPECT(standin_find("lac_cuda_event_segments", 1), "cut.late", 1);
        if (captured) standin_capture(lac_device_stream(ctx), false);
    }
    test_lif_lists(&lif, input);
    lif.tau = 0.0f;
    standin_forget();
    unit_expect(lac_lif_step(ctx, &lif), LAC_ERR_VALUE, "tau");
    assert_int_equal(standin_count("lac_cuda_lif_step") + standin_count("lac_cuda_event_segments"), 0);
}

/* What multiplies zeros is refused where those of an operand are guaranteed to be skipped, and so is every
 * route that skips those of the other operand; the native kernel receives which. */
static void test_guaranteed(void **state)
{
    (void)state;
    lac_dim_t m = 20, k = 500, n = 3000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    cuda_host_freeze(ctx, &a, 100);
    cuda_host_freeze(ctx, &b, 100);
    for (int right = 0; right < 2; right++) {
        lac_decision_t before, now;
        const char *side = right ? "right" : "left";
        int served = 0;
        unit_expect(lac_explain(ctx, NULL, &a, &b, NULL, &c, NULL, &before), LAC_OK, "before");
        unit_expect(lac_ctx_set(ctx, "skip", right ? "b" : "a"), LAC_OK, "skip");
        unit_expect(lac_explain(ctx, NULL, &a, &b, NULL, &c, NULL, &now), LAC_OK, "now");
        for (int i = 0; i < now.count; i++) {
            const lac_candidate_t *x = &now.candidate[i];
            const lac_route_entry_t *entry = lac_route_named(x->route);
            bool skips = entry->role == LAC_ROLE_SPARSE && !strcmp(x->side, side),
                 takes_both = entry->role == LAC_ROLE_NATIVE || entry->role == LAC_ROLE_ORACLE;
            if (before.candidate[i].refusal) continue;
            served += skips;
            if (skips || takes_both)
                assert_null(x->refusal);
            else
                unit_expect_text(x->refusal, "guaranteed");
        }
        assert_true(served >= 3);
        unit_expect(cuda_host_gemm(ctx, "dense", 1.5f, &a, &b, 0.25f, &c), LAC_OK, "dense");
        assert_int_equal(standin_count("cublasSgemm_v2") + standin_count("lac_cuda_stream"), 0);
        int whose = right ? LAC_CUDA_SKIP_B : LAC_CUDA_SKIP_A;
        EXPECT(cuda_host_launch(ctx, "native", &a, &b, &c, "lac_cuda_gemm_f64"), "skip", whose);
        EXPECT(cuda_host_launch(ctx, "reference", &a, &b, &c, "lac_cuda_gemm_f64"), "skip", whose);
        assert_int_equal(cuda_host_bytes(ctx, "cusparse", side, &a, &b, &c), -1);
        unit_expect(lac_ctx_set(ctx, "skip", "fast"), LAC_OK, "skip");
        assert_true(cuda_host_bytes(ctx, "cusparse", side, &a, &b, &c) >= 0);
    }
    EXPECT(cuda_host_launch(ctx, "native", &a, &b, &c, "lac_cuda_gemm_f64"), "skip", LAC_CUDA_SKIP_NONE);
    /* of operands of which nothing is known, too: adaptive may read W whole */
    lac_obj_t s = cuda_host_rows(ctx, 10, k), d = cuda_host_rows(ctx, 10, n), w = cuda_host_rows(ctx, k, n);
    assert_true(cuda_host_bytes(ctx, "adaptive", "", &s, &w, &d) >= 0);
    unit_expect(lac_ctx_set(ctx, "skip", "a"), LAC_OK, "skip");
    assert_int_equal(cuda_host_bytes(ctx, "adaptive", "", &s, &w, &d), -1);
    unit_expect(cuda_host_gemm(ctx, "adaptive", 1.0f, &s, &w, 0.0f, &d), LAC_OK, "adaptive");
    assert_int_equal(standin_count("lac_cuda_adaptive"), 0);
    unit_expect(lac_ctx_set(ctx, "skip", "fast"), LAC_OK, "skip");
}

/* A drop-in call that is captured: one path that skips, whatever is known of the operands. */
typedef struct recorded {
    lac_ctx_t *ours;
    void *stream;
    lac_gemm_args_t call;
    const lac_estimate_t *estimate;
    int done, gone;
} recorded_t;

static void count_released(void *owner)
{
    ++*(int *)owner;
}

static lac_status_t record(void *arg)
{
    recorded_t *r = arg;
    r->done = lac_capture_gemm(r->ours, r->stream, &r->call, r->estimate, count_released, &r->gone);
    return LAC_OK;
}

/* By rows, for a context of its own, which the caller frees. */
static recorded_t recording_of(const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c)
{
    recorded_t r = {.stream = lac_device_stream(ctx),
                    .call = {.m = c->m, .n = c->n, .k = a->n, .c = c->buf, .crs = c->n, .ccs = 1}};
    r.call.a = (lac_matrix_args_t){.buf = a->buf, .rs = a->n, .cs = 1};
    r.call.b = (lac_matrix_args_t){.buf = b->buf, .rs = b->n, .cs = 1};
    unit_expect(lac_ctx_create_cuda(&r.ours, -1, LAC_STREAM_NEW), LAC_OK, "context");
    return r;
}

static void test_guaranteed_capture(void **state)
{
    (void)state;
    lac_dim_t m = 20, k = 500, n = 3000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    recorded_t r = recording_of(&a, &b, &c);
    lac_graph_t *graph;
    unit_expect(lac_ctx_set(r.ours, "skip", "guaranteed"), LAC_OK, "skip");
    assert_int_equal(lac_records_any_density(r.ours, &r.call), 1);
    standin_forget();
    unit_expect(lac_graph_capture(ctx, record, &r, 1, &graph), LAC_OK, "capture");
    if (r.done != 1) fail_msg("not recorded: %s", lac_last_error());
    assert_int_equal(standin_count("lac_cuda_event_fused"), 1);
    assert_true(standin_find("lac_cuda_event_fused", 0)->captured);
    assert_int_equal(standin_count("lac_cuda_stream") + standin_count("cublasSgemm_v2"), 0);
    lac_graph_free(graph);
    lac_ctx_free(r.ours);
}

/* A recording of which nothing is known, or the density of the shorter side: one launcher that counts on the
 * device. Where the other side is the sparse one, it has nothing to count. */
static void test_adaptive_capture(void **state)
{
    (void)state;
    lac_dim_t m = 16, k = 5000, n = 5000;
    static const struct {
        lac_estimate_t known;
        bool any, adaptive;
    } cases[] = {{{0}, true, true},
                 {{false, 0.001, 0.1, 5.0, 60.0}, false, true},
                 {{true, 0.001, 0.1, 5.0, 60.0}, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
        recorded_t r = recording_of(&a, &b, &c);
        lac_graph_t *graph;
        r.estimate = cases[i].any ? NULL : &cases[i].known;
        assert_int_equal(lac_records_any_density(r.ours, &r.call), 1);
        standin_forget();
        unit_expect(lac_graph_capture(ctx, record, &r, 1, &graph), LAC_OK, "capture");
        if (r.done != 1) fail_msg("not recorded: %s", lac_last_error());
        assert_int_equal(standin_count("lac_cuda_adaptive"), cases[i].adaptive);
        assert_int_equal(standin_count("lac_cuda_stream"), !cases[i].adaptive);
        assert_int_equal(standin_count("lac_cuda_probe_condition"), 0);
        if (cases[i].adaptive) {
            const standin_launch_t *l = standin_find("lac_cuda_adaptive", 0);
            double even = standin_real(l, "break_even");
            assert_true(l->captured && even > 0.05 && even < 0.5);
            EXPECT(l, "p.m p.n p.k p.order s.rs", m, n, k, LAC_CUDA_ROWS, k);
        }
        lac_graph_free(graph);
        lac_ctx_free(r.ours);
    }
}

/* Few rows of which nothing is known, or something: one launch that lists what each of them has, where full
 * ones take no longer than promised. */
static void test_few_rows_capture(void **state)
{
    (void)state;
    const lac_estimate_t seen = {false, 0.001, 0.1, 5.0, 60.0};
    for (lac_dim_t m = 1; m <= 12; m++) {
        bool few = m <= 10;
        lac_dim_t k = 5000, n = 5000;
        lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
        recorded_t r = recording_of(&a, &b, &c);
        lac_graph_t *graph;
        r.estimate = m % 2 ? &seen : NULL;
        assert_int_equal(lac_records_any_density(r.ours, &r.call), 1);
        standin_forget();
        unit_expect(lac_graph_capture(ctx, record, &r, 1, &graph), LAC_OK, "capture");
        if (r.done != 1) fail_msg("not recorded: %s", lac_last_error());
        if ((int)standin_count("lac_cuda_event_fused") != few ||
            (int)standin_count("lac_cuda_adaptive") == few)
            fail_msg("%d rows are%s listed", (int)m, few ? " not" : "");
        if (few) {
            const standin_launch_t *l = standin_find("lac_cuda_event_fused", 0);
            assert_true(l->captured && standin_real(l, "s.density") == 1.0);
            EXPECT(l, "p.m p.n p.k p.order s.rs", m, n, k, LAC_CUDA_ROWS, k);
        }
        lac_graph_free(graph);
        lac_ctx_free(r.ours);
    }
}

/* W by columns and more rows than share a list of active k: zeros are looked for where they were seen, since
 * they have to be more than elsewhere. */
static void test_adaptive_lists(void **state)
{
    (void)state;
    lac_dim_t m = 64, k = 4096, n = 4096;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_columns(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    const lac_estimate_t seen[] = {{false, 0.0005, 0.006, 20.0, 34.0}, {false, 0.005, 0.006, 33.0, 34.0}};
    for (int i = 0; i < 3; i++) {
        recorded_t r = recording_of(&a, &b, &c);
        lac_graph_t *graph;
        r.call.b.rs = 1, r.call.b.cs = b.cs;
        r.estimate = i < 2 ? &seen[i] : NULL;
        standin_forget();
        unit_expect(lac_graph_capture(ctx, record, &r, 1, &graph), LAC_OK, "capture");
        if (r.done != 1) fail_msg("not recorded: %s", lac_last_error());
        assert_int_equal(standin_count("lac_cuda_adaptive"), i == 0);
        assert_int_equal(standin_count("lac_cuda_stream"), i != 0);
        lac_graph_free(graph);
        lac_ctx_free(r.ours);
    }
}

/* A row times a weight along k that stays: its copy is made before anything is recorded, and the recording
 * gathers rows of it whatever the row holds. Two rows, fixed sums, and columns that are no whole pieces of 16
 * bytes, of which a full row was not measured, leave it to the caller, and so does a weight that may change.
 */
static void test_frozen_capture(void **state)
{
    (void)state;
    enum { FROZEN_ROW, FROZEN_ROWS, FIXED_SUMS, ODD_COLUMNS, ANY_ROW, CASES };
    lac_dim_t k = 4096;
    for (int i = 0; i < CASES; i++) {
        lac_dim_t m = i == FROZEN_ROWS ? 2 : 1, n = i == ODD_COLUMNS ? 4092 : 11008;
        bool ours = i == FROZEN_ROW;
        lac_obj_t a = cuda_host_matrix(ctx, LAC_BF16, m, k, k, 1, 0),
                  b = cuda_host_matrix(ctx, LAC_BF16, k, n, 1, k, 0),
                  c = cuda_host_matrix(ctx, LAC_BF16, m, n, n, 1, 0);
        recorded_t r = recording_of(&a, &b, &c);
        lac_graph_t *graph;
        r.call.dt = r.call.a.dt = r.call.b.dt = LAC_BF16;
        r.call.b.rs = 1, r.call.b.cs = k;
        r.call.registered = i != ANY_ROW;
        if (i != ANY_ROW)
            unit_expect(lac_ctx_set(r.ours, "frozen", "4096x11008,4096x4092"), LAC_OK, "frozen");
        if (i == FIXED_SUMS) unit_expect(lac_ctx_set(r.ours, "sums", "fixed"), LAC_OK, "sums");
        assert_int_equal(lac_records_any_density(r.ours, &r.call), ours);
        standin_forget();
        unit_expect(lac_graph_capture(ctx, record, &r, 1, &graph), LAC_OK, "capture");
        assert_int_equal(r.done, ours);
        assert_int_equal(standin_count("lac_cuda_event_fused"), ours);
        if (ours) {
            const standin_launch_t *l = standin_find("lac_cuda_event_fused", 0);
            assert_true(l->captured && standin_real(l, "s.density") == 1.0);
            assert_false(standin_find("lac_cuda_copy", 0)->captured);
            EXPECT(l, "p.m p.n p.k p.ldw p.order p.w_dt", 1, n, k, n, LAC_CUDA_ROWS, LAC_BF16);
            assert_int_equal(standin_extent(standin_pointer(l, "p.w")), 2 * k * n);
        }
        lac_graph_free(graph);
        assert_int_equal(r.gone, 1);
        assert_int_equal(lac_registry_remove(b.buf), i != ANY_ROW);
        lac_ctx_free(r.ours);
    }
}

typedef struct product {
    lac_obj_t a, b, c;
} product_t;

static lac_status_t multiply(void *arg)
{
    const product_t *x = arg;
    return lac_gemm(ctx, NULL, &x->a, &x->b, NULL, &x->c);
}

/* The same of a call through the library, whose copy was made by a call before: as long as the weight stays.
 */
static void test_frozen_gemm_capture(void **state)
{
    (void)state;
    lac_dim_t k = 4096, n = 11008;
    for (int frozen = 0; frozen < 2; frozen++) {
        lac_graph_t *graph;
        product_t x = {cuda_host_matrix(ctx, LAC_BF16, 1, k, k, 1, 0),
                       cuda_host_matrix(ctx, LAC_BF16, k, n, 1, k, 0),
                       cuda_host_matrix(ctx, LAC_BF16, 1, n, n, 1, 0)};
        unit_expect(multiply(&x), LAC_OK, "before");
        if (frozen) {
            cuda_host_freeze(ctx, &x.b, k * n);
            unit_expect(cuda_host_gemm(ctx, "event", 1.0f, &x.a, &x.b, 0.0f, &x.c), LAC_OK, "event");
        }
        standin_forget();
        unit_expect(lac_graph_capture(ctx, multiply, &x, 1, &graph), LAC_OK, "capture");
        assert_int_equal(standin_count("lac_cuda_event_fused"), frozen);
        assert_int_equal(standin_count("cublasGemmEx_64"), !frozen);
        if (frozen) assert_true(standin_real(standin_find("lac_cuda_event_fused", 0), "s.density") == 1.0);
        lac_graph_free(graph);
    }
}

/* Bias and threshold: on the side of the output that they belong to, also where the product is transposed. */
static void test_epilogue(void **state)
{
    (void)state;
    lac_dim_t m = 40, n = 30, k = 5000;
    float *bias = cuda_host_memory(ctx, 40 * sizeof *bias);
    lac_obj_t left = cuda_host_rows(ctx, m, k), w = cuda_host_rows(ctx, k, n),
              right = cuda_host_columns(ctx, k, n), v = cuda_host_columns(ctx, m, k),
              c = cuda_host_rows(ctx, m, n);
    cuda_host_count(ctx, &left, m * k / 100);
    cuda_host_count(ctx, &right, k * n / 100);
    for (int per_row = 0; per_row < 2; per_row++)
        for (int side = 0; side < 2; side++) {
            lac_epilogue_t epilogue = {
                .size = sizeof epilogue, .bias = bias, .bias_per_row = per_row, .act = LAC_ACT_RELU};
            lac_call_opts_t call = {.size = sizeof call, .route = "event"};
            float alpha = 1.0f, beta = 0.0f;
            standin_forget();
            unit_expect(lac_gemm_epilogue(ctx, &alpha, side ? &v : &left, side ? &right : &w, &beta, &c,
                                          &epilogue, &call),
                        LAC_OK, "lac_gemm_epilogue");
            const standin_launch_t *l = standin_find("lac_cuda_event_slots", 0);
            assert_non_null(l);
            EXPECT(l, "p.epilogue.any p.epilogue.of_rows p.epilogue.magnitude", 1, per_row != side, 0);
            expect_pointer(l, "p.epilogue.bias", bias);
            assert_true(standin_real(l, "p.epilogue.limit") == 0.0);
            assert_int_equal(standin_count("lac_cuda_epilogue_pass"), 0);
            call.route = "dense"; /* which does not: a pass follows */
            standin_forget();
            unit_expect(lac_gemm_epilogue(ctx, &alpha, &left, &w, &beta, &c, &epilogue, &call), LAC_OK,
                        "dense");
            l = standin_find("lac_cuda_epilogue_pass", 0);
            assert_non_null(l);
            EXPECT(l, "f.m f.n f.rs f.cs f.epilogue.of_rows", m, n, n, 1, per_row);
        }
}

/* cuSPARSE: rows with their number, B and C by aligned rows; kept for a frozen operand. */
static void test_cusparse(void **state)
{
    (void)state;
    lac_dim_t m = 3000, k = 2000, n = 64;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n),
              bc = cuda_host_columns(ctx, k, n), cc = cuda_host_columns(ctx, m, n);
    cuda_host_freeze(ctx, &a, 60000);
    int64_t rows = 8 * 60000 + 8 * (m + 1), buffer = (64 << 10) + 4 * (m + 1);
    expect_bytes("cusparse", "left", &a, &b, &c, rows + buffer);
    expect_bytes("cusparse", "left", &a, &bc, &cc,
                 rows + buffer + cuda_host_piece(4 * k * n) + cuda_host_piece(4 * m * n));
    const standin_launch_t *l = cuda_host_launch(ctx, "cusparse", &a, &b, &c, "cusparseSpMM");
    assert_true(standin_real(l, "alpha") == 1.5 && standin_real(l, "beta") == 0.25);
    EXPECT(standin_find("cusparseCreateCsr", 0), "rows cols nnz types", m, k, 60000, 2 * 1000 + 2 * 100);
    EXPECT(standin_find("cusparseCreateDnMat", 0), "rows cols ld types", k, n, n, 2);
    EXPECT(standin_find("cusparseCreateDnMat", 1), "rows cols ld types", m, n, n, 2);
    expect_pointer(standin_find("cusparseDnMatSetValues", 0), "values", b.buf);
    expect_pointer(standin_find("cusparseDnMatSetValues", 1), "values", c.buf);
    cuda_host_launch(ctx, "cusparse", &a, &b, &c, "cusparseSpMM");
    assert_int_equal(standin_count("cusparseSpMM_preprocess"), 0); /* kept */
    l = cuda_host_launch(ctx, "cusparse", &a, &bc, &cc, "cusparseSpMM");
    assert_true(standin_real(l, "beta") == 0.0);
    const standin_launch_t *in = standin_find("lac_cuda_copy", 0), *out = standin_find("lac_cuda_copy", 1);
    assert_true(in && out);
    expect_pointer(in, "x.data", bc.buf);
    expect_pointer(out, "out", cc.buf);
    assert_true(standin_real(out, "beta") == 0.25);
    /* an operand that may change: counted first, nothing kept */
    lac_obj_t changing = cuda_host_rows(ctx, m, k);
    cuda_host_count(ctx, &changing, 60000);
    standin.nnz = 70000;
    cuda_host_launch(ctx, "cusparse", &changing, &b, &c, "cusparseSpMM");
    EXPECT(standin_find("cusparseCreateCsr", 0), "nnz", 70000);
    assert_int_equal(standin_count("cusparseDestroySpMat"), 1);
    assert_int_equal(standin_count("cusparseDestroyDnMat"), 2);
    standin.nnz = INT64_C(3) << 30; /* more than was believed, and than row pointers of 32 bits count */
    unit_expect(cuda_host_gemm(ctx, "cusparse", 1.5f, &changing, &b, 0.25f, &c), LAC_OK, "declined");
    assert_int_equal(standin_count("cusparseCreateCsr"), 0);
    assert_int_equal(standin_count("lac_cuda_stream"), 1); /* the cheapest that skips nothing */
    /* rows of B that do not begin on 16 bytes are copied, though its pointer does */
    lac_obj_t b66 = cuda_host_rows(ctx, k, 66), c66 = cuda_host_rows(ctx, m, 66);
    cuda_host_launch(ctx, "cusparse", &a, &b66, &c66, "cusparseSpMM");
    EXPECT(standin_find("lac_cuda_copy", 0), "x.rows x.cols rs cs", k, 66, 68, 1);
    EXPECT(standin_find("cusparseCreateDnMat", 0), "cols ld", 66, 68);
}

/* cuSPARSE's products are kept up to a number; those that a recording uses stay beyond it. */
static void test_cusparse_kept(void **state)
{
    (void)state;
    enum { KEPT = 256, M = 64, K = 64 };
    lac_obj_t a = cuda_host_rows(ctx, M, K), b = cuda_host_rows(ctx, K, 4 * KEPT + 8),
              c = cuda_host_rows(ctx, M, 4 * KEPT + 8);
    cuda_host_freeze(ctx, &a, 400);
    b.n = c.n = 4;
    cuda_host_launch(ctx, "cusparse", &a, &b, &c, "cusparseSpMM");
    standin_capture(lac_device_stream(ctx), true);
    unit_expect(cuda_host_gemm(ctx, "cusparse", 1.5f, &a, &b, 0.25f, &c), LAC_OK, "captured");
    assert_true(standin_find("cusparseSpMM", 0)->captured);
    standin_capture(lac_device_stream(ctx), false);
    for (int i = 1; i <= KEPT; i++) {
        b.n = c.n = 4 + 4 * i;
        cuda_host_launch(ctx, "cusparse", &a, &b, &c, "cusparseSpMM");
        assert_int_equal(standin_count("cusparseDestroySpMat"), i == KEPT);
    }
    b.n = c.n = 4;
    cuda_host_launch(ctx, "cusparse", &a, &b, &c, "cusparseSpMM");
    assert_int_equal(standin_count("cusparseCreateCsr"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(dense),           TEST(dense_doubles),       TEST(dense_long),     TEST(scalars),
        TEST(trivial),         TEST(reference),           TEST(epilogue),       TEST(cusparse),
        TEST(cusparse_kept),   TEST(adaptive_capture),    TEST(adaptive_lists), TEST(lif),
        TEST(frozen_capture),  TEST(frozen_gemm_capture), TEST(guaranteed),     TEST(guaranteed_capture),
        TEST(few_rows_capture)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
