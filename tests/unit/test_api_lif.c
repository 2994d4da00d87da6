/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lac_lif_step on the host: the bits of the plain loops step after step, whatever the threads and the formats
 * of the weights; exponential Euler against the equation's solution; bad input, named, with nothing written.
 */
#include "unit_support.h"
#include "ref_lif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M_MAX = 3, N_MAX = 700, K_MAX = 300, KINDS = 3 };

/* A network's arrays, of which the same are made twice. */
typedef struct network {
    float v[M_MAX * N_MAX], current[N_MAX], g[KINDS][M_MAX * N_MAX], received[KINDS][M_MAX * N_MAX];
    int32_t wait[M_MAX * N_MAX], list[M_MAX * N_MAX], count[M_MAX];
    uint8_t spikes[M_MAX * N_MAX];
    uint64_t bits[M_MAX * (N_MAX / 64 + 1)];
    float dense[KINDS][K_MAX * N_MAX];
    int32_t idx[KINDS][K_MAX * N_MAX];
    float val[KINDS][K_MAX * N_MAX];
    lac_lif_input_t input[KINDS];
    lac_lif_t lif;
} network_t;

static float number(uint64_t *random, float low, float high)
{
    return low + (high - low) * (float)(unit_random(random) >> 40) / 16777216.0f;
}

/* `each` whole numbers in each row of w: sums of which are exact. */
static void connect(network_t *x, int q, int64_t k, int64_t n, int64_t each, uint64_t *random)
{
    for (int64_t i = 0; i < k; i++)
        for (int64_t e = 0; e < each; e++) {
            int64_t begin = e * n / each, end = (e + 1) * n / each, at = i * each + e;
            x->idx[q][at] = (int32_t)unit_between(random, begin, end - 1);
            x->val[q][at] = (float)unit_between(random, 1, 9);
            x->dense[q][i * n + x->idx[q][at]] = x->val[q][at];
        }
}

/* Spikes of neurons 0 .. k - 1 excite, those of the others inhibit, and a third input is current from
 * outside. */
static void make(network_t *x, int64_t m, int64_t n, int kinds, int32_t refractory, uint64_t seed)
{
    uint64_t random = seed;
    int64_t k = n / 3;
    memset(x, 0, sizeof *x);
    x->lif = (lac_lif_t){.size = sizeof x->lif,
                         .m = m,
                         .n = n,
                         .dt = 0.1f,
                         .tau = 20.0f,
                         .v_rest = -60.0f,
                         .v_threshold = -50.0f,
                         .v_reset = -60.0f,
                         .refractory = refractory,
                         .current = seed % 2 ? x->current : NULL,
                         .v = x->v,
                         .wait = refractory ? x->wait : NULL,
                         .spikes = x->spikes,
                         .bits = seed % 3 ? x->bits : NULL,
                         .inputs = kinds,
                         .input = x->input};
    for (int64_t j = 0; j < n; j++) x->current[j] = number(&random, 0.0f, 9.0f);
    for (int64_t i = 0; i < m * n; i++) {
        x->v[i] = number(&random, -65.0f, -49.0f);
        x->spikes[i] = unit_between(&random, 0, 9) == 0;
        for (int q = 0; q < kinds; q++) x->g[q][i] = number(&random, 0.0f, q == 2 ? 5.0f : 2.0f);
    }
    for (int q = 0; q < kinds; q++) {
        int64_t first = q == 1 ? k : 0, many = k;
        connect(x, q, many, n, n < 20 ? 1 : 12, &random);
        x->input[q] = (lac_lif_input_t){.events = lac_obj_rowmajor(LAC_U8, m, many, x->spikes + first, n),
                                        .w = lac_obj_rowmajor(LAC_F32, many, n, x->dense[q], n),
                                        .weight = q == 1 ? 3.0f : 0.3f,
                                        .decay = q == 2 ? 0.0f : 0.98f - 0.01f * (float)q,
                                        .conductance = q < 2,
                                        .reversal = q == 1 ? -80.0f : 0.0f,
                                        .g = x->g[q],
                                        .received = x->received[q]};
    }
}

static void same(const void *got, const void *want, size_t bytes, const char *what, int step)
{
    if (memcmp(got, want, bytes)) fail_msg("step %d: %s differs from the plain loops", step, what);
}

static void compare(const network_t *got, const network_t *want, int step)
{
    size_t count = (size_t)(got->lif.m * got->lif.n);
    for (int q = 0; q < got->lif.inputs; q++) {
        same(got->received[q], want->received[q], count * sizeof(float), "received", step);
        same(got->g[q], want->g[q], count * sizeof(float), "g", step);
    }
    same(got->v, want->v, count * sizeof(float), "v", step);
    same(got->wait, want->wait, count * sizeof(int32_t), "wait", step);
    same(got->spikes, want->spikes, count, "spikes", step);
    same(got->bits, want->bits, sizeof got->bits, "bits", step);
}

/* Dense weights, CSR, or a fixed fan-out without the buffer. */
static void give_weights(network_t *x, int form, int64_t each)
{
    static int64_t ptr[K_MAX + 1];
    for (int64_t i = 0; i <= K_MAX; i++) ptr[i] = i * each;
    for (int q = 0; form && q < x->lif.inputs; q++) {
        lac_obj_t *w = &x->input[q].w;
        unit_expect(lac_meta_create(&w->meta, w->m, w->n), LAC_OK, "meta");
        static int64_t wide[KINDS][K_MAX * N_MAX];
        for (int64_t e = 0; e < w->m * each; e++) wide[q][e] = x->idx[q][e];
        unit_expect(form == 1 ? lac_meta_attach_csr(w->meta, LAC_I64, ptr, wide[q], x->val[q])
                              : lac_meta_attach_ell(w->meta, LAC_I32, each, x->idx[q], x->val[q]),
                    LAC_OK, "weights");
        w->buf = NULL;
    }
}

/* Lists or bits of the spikes there are, which the products of each step read from then on. */
static void give_lists(network_t *x, bool bits)
{
    int64_t words = (x->lif.n + 63) / 64;
    for (int64_t i = 0; bits && i < x->lif.m * x->lif.n; i++)
        x->bits[i / x->lif.n * words + i % x->lif.n / 64] |= (uint64_t)x->spikes[i] << i % x->lif.n % 64;
    if (bits) x->lif.bits = x->bits;
    x->lif.list = x->list, x->lif.count = x->count;
    for (int64_t i = 0; i < x->lif.m; i++)
        for (int64_t j = 0; j < x->lif.n; j++)
            if (x->spikes[i * x->lif.n + j]) x->list[i * x->lif.n + x->count[i]++] = (int32_t)j;
    for (int q = 0; q < x->lif.inputs; q++) {
        lac_obj_t *events = &x->input[q].events;
        unit_expect(lac_meta_create(&events->meta, events->m, events->n), LAC_OK, "meta");
        lac_dim_t first = (uint8_t *)events->buf - x->spikes;
        unit_expect(bits ? lac_meta_attach_event_bits(events->meta, words, x->bits, first)
                         : lac_meta_attach_event_lists(events->meta, x->lif.n, x->list, x->count, first),
                    LAC_OK, "events");
    }
}

static void same_lists(const network_t *got, const network_t *want, int step)
{
    same(got->count, want->count, sizeof got->count, "count", step);
    for (int64_t i = 0; i < got->lif.m; i++)
        same(got->list + i * got->lif.n, want->list + i * got->lif.n,
             (size_t)got->count[i] * sizeof *got->list, "list", step);
}

static void test_bits(void **state)
{
    static network_t got, want;
    static const int64_t shapes[][2] = {{1, 1}, {1, 63}, {2, 64}, {1, 65}, {3, 257}, {1, 700}, {2, 300}};
    int fired = 0, waiting = 0;
    (void)state;
    for (int shape = 0; shape < 7; shape++)
        for (int way = 0; way < (unit_quick() ? 2 : 12); way++) {
            int64_t m = shapes[shape][0], n = shapes[shape][1];
            int kinds = n < 3 ? 0 : way % 4;
            uint64_t seed = 100 * (uint64_t)shape + (uint64_t)way;
            lac_ctx_t *ctx = unit_ctx();
            unit_expect(lac_ctx_set(ctx, "threads", way % 2 ? "3" : "1"), LAC_OK, "threads");
            make(&got, m, n, kinds, way % 3 ? 5 : 0, seed);
            make(&want, m, n, kinds, way % 3 ? 5 : 0, seed);
            give_weights(&got, way % 3, n < 20 ? 1 : 12);
            bool lists = way % 4 > 1 || way % 3 == 0;
            if (lists) give_lists(&got, way % 2), want.lif.list = want.list, want.lif.count = want.count;
            if (lists) want.lif.bits = got.lif.bits ? want.bits : NULL;
            for (int step = 0; step < 60; step++) {
                for (int q = 0; q < kinds; q++) ref_lif_receive(&want.lif, q);
                ref_lif_neurons(&want.lif);
                unit_expect(lac_lif_step(ctx, &got.lif), LAC_OK, "step");
                compare(&got, &want, step);
                if (lists) same_lists(&got, &want, step);
                for (int64_t i = 0; i < m * n; i++) fired += got.spikes[i], waiting += got.wait[i] > 0;
            }
            for (int q = 0; q < kinds; q++)
                lac_meta_free(got.input[q].w.meta), lac_meta_free(got.input[q].events.meta);
            lac_ctx_free(ctx);
        }
    assert_true(fired > 100 && waiting > 100);
}

/* Spikes that arrive DELAY steps later, by a ring of so many arrays: a step's events are what its spikes and
 * bits replace. The network is that of the plain loops, whose events are copied from a record. */
static void test_axonal_delay(void **state)
{
    enum { DELAY = 4, STEPS = 80, N = 300, WORDS = (N + 63) / 64 };
    static network_t got, want;
    static uint8_t ring[DELAY][N], record[STEPS + DELAY][N];
    static uint64_t bits[DELAY][WORDS];
    lac_meta_t *meta[DELAY][KINDS];
    int fired = 0;
    make(&got, 1, N, 2, 5, 8);
    make(&want, 1, N, 2, 5, 8);
    memset(ring, 0, sizeof ring), memset(bits, 0, sizeof bits), memset(record, 0, sizeof record);
    give_weights(&got, 2, 12);
    lac_dim_t first[2];
    for (int q = 0; q < 2; q++) {
        first[q] = (uint8_t *)got.input[q].events.buf - got.spikes;
        for (int slot = 0; slot < DELAY; slot++) {
            unit_expect(lac_meta_create(&meta[slot][q], 1, got.input[q].events.n), LAC_OK, "meta");
            unit_expect(lac_meta_attach_event_bits(meta[slot][q], WORDS, bits[slot], first[q]), LAC_OK,
                        "bits");
        }
    }
    for (int step = 0; step < STEPS; step++) {
        int slot = step % DELAY;
        for (int q = 0; q < 2; q++) {
            got.input[q].events.buf = ring[slot] + first[q], got.input[q].events.meta = meta[slot][q];
            want.input[q].events.buf = record[step] + first[q]; /* of DELAY steps before */
        }
        got.lif.spikes = ring[slot], got.lif.bits = bits[slot];
        for (int q = 0; q < 2; q++) ref_lif_receive(&want.lif, q);
        ref_lif_neurons(&want.lif);
        memcpy(record[step + DELAY], want.spikes, N);
        unit_expect(lac_lif_step(*state, &got.lif), LAC_OK, "step");
        same(ring[slot], want.spikes, N, "spikes", step);
        same(got.v, want.v, N * sizeof(float), "v", step);
        for (int q = 0; q < 2; q++) same(got.g[q], want.g[q], N * sizeof(float), "g", step);
        for (int j = 0; j < N; j++) fired += ring[slot][j];
    }
    assert_true(fired > 50);
    for (int q = 0; q < 2; q++) {
        lac_meta_free(got.input[q].w.meta);
        for (int slot = 0; slot < DELAY; slot++) lac_meta_free(meta[slot][q]);
    }
}

/* Delays of single connections, 1 to DELAYS steps: a ring of twice as many arrays of spikes, of which the
 * last DELAYS are a row of events by age, times the weights parted by delay. Weights with values read the
 * spikes, those of ones their bits. The plain network adds what a record of all spikes delivers, connection
 * by connection. */
static void test_connection_delays(void **state)
{
    enum { DELAYS = 7, N = 210, WORDS = (N + 63) / 64, PITCH = 64 * WORDS, STEPS = 90, EACH = 12 };
    enum { ROWS = (DELAYS - 1) * PITCH + N / 3, ENTRIES = N / 3 * EACH };
    static network_t got, want;
    static uint8_t ring[2 * DELAYS * PITCH], record[STEPS + DELAYS][N];
    static uint64_t bits[2 * DELAYS * WORDS];
    static int32_t delay[2][ENTRIES], ptr[2][ROWS + 1], idx[2][ENTRIES], order[2][ENTRIES];
    static float val[2][ENTRIES];
    int fired = 0, arrived = 0;
    uint64_t random = 99;
    make(&got, 1, N, 2, 5, 8);
    make(&want, 1, N, 2, 5, 8);
    memset(ring, 0, sizeof ring), memset(bits, 0, sizeof bits), memset(record, 0, sizeof record);
    lac_dim_t first[2];
    for (int q = 0; q < 2; q++) {
        lac_lif_input_t *x = &got.input[q];
        first[q] = (uint8_t *)x->events.buf - got.spikes;
        for (int e = 0; e < ENTRIES; e++) {
            delay[q][e] = (int32_t)unit_between(&random, 1, DELAYS);
            if (q) got.val[q][e] = want.val[q][e] = 1.0f;
        }
        lac_csr_t a = {
            .size = sizeof a, .m = N / 3, .n = N, .nnz = ENTRIES, .idx = got.idx[q], .val = got.val[q]};
        unit_expect(lac_csr_by_delay(*state, &a, delay[q], DELAYS, PITCH, ptr[q], idx[q], val[q], order[q]),
                    LAC_OK, "split");
        x->w = lac_obj_rowmajor(LAC_F32, ROWS, N, NULL, N);
        unit_expect(lac_meta_create(&x->w.meta, ROWS, N), LAC_OK, "meta");
        unit_expect(lac_meta_attach_csr(x->w.meta, LAC_I32, ptr[q], idx[q], q ? NULL : val[q]), LAC_OK,
                    "csr");
        x->events = lac_obj_rowmajor(LAC_U8, 1, ROWS, NULL, 2 * DELAYS * PITCH);
    }
    for (int step = 0; step < STEPS; step++) {
        int slot = DELAYS - 1 - step % DELAYS;
        lac_meta_t *meta;
        got.lif.spikes = ring + slot * PITCH, got.lif.spikes_twin = got.lif.spikes + DELAYS * PITCH;
        got.lif.bits = bits + slot * WORDS, got.lif.bits_twin = got.lif.bits + DELAYS * WORDS;
        for (int q = 0; q < 2; q++) got.input[q].events.buf = ring + (slot + 1) * PITCH + first[q];
        unit_expect(lac_meta_create(&meta, 1, ROWS), LAC_OK, "meta");
        unit_expect(lac_meta_attach_event_bits(meta, 2 * DELAYS * WORDS, bits, (slot + 1) * PITCH + first[1]),
                    LAC_OK, "bits");
        got.input[1].events.meta = meta;
        for (int q = 0; q < 2; q++) {
            memset(want.received[q], 0, N * sizeof(float));
            for (int e = 0; e < ENTRIES; e++)
                if (record[step + DELAYS - delay[q][e]][first[q] + e / EACH])
                    want.received[q][want.idx[q][e]] += want.val[q][e], arrived++;
        }
        ref_lif_neurons(&want.lif);
        memcpy(record[step + DELAYS], want.spikes, N);
        unit_expect(lac_lif_step(*state, &got.lif), LAC_OK, "step");
        same(got.lif.spikes, want.spikes, N, "spikes", step);
        same(got.lif.spikes_twin, want.spikes, N, "spikes_twin", step);
        same(got.lif.bits_twin, got.lif.bits, WORDS * sizeof(uint64_t), "bits_twin", step);
        same(got.v, want.v, N * sizeof(float), "v", step);
        for (int q = 0; q < 2; q++) {
            same(got.received[q], want.received[q], N * sizeof(float), "received", step);
            same(got.g[q], want.g[q], N * sizeof(float), "g", step);
        }
        for (int j = 0; j < N; j++) fired += want.spikes[j];
        lac_meta_free(meta);
    }
    assert_true(fired > 50 && arrived > 500);
    for (int q = 0; q < 2; q++) lac_meta_free(got.input[q].w.meta);
}

/* Every instruction set and the cuts of threads are in test_bits of larger networks; here many neurons. */
static void test_threads(void **state)
{
    enum { MANY = 100003 };
    float *v[2] = {calloc(MANY, sizeof(float)), calloc(MANY, sizeof(float))},
          *in = calloc(MANY, sizeof(float));
    uint8_t *spikes = calloc(MANY, 1);
    (void)state;
    assert_true(v[0] && v[1] && in && spikes);
    for (int i = 0; i < MANY; i++) in[i] = (float)(i % 1000) * 0.02f;
    for (int t = 0; t < 2; t++) {
        lac_ctx_t *ctx = unit_ctx();
        unit_expect(lac_ctx_set(ctx, "threads", t ? "4" : "1"), LAC_OK, "threads");
        lac_lif_t lif = {.size = sizeof lif,
                         .m = 1,
                         .n = MANY,
                         .dt = 1.0f,
                         .tau = 10.0f,
                         .v_threshold = 15.0f,
                         .current = in,
                         .v = v[t],
                         .spikes = spikes};
        for (int step = 0; step < 20; step++) unit_expect(lac_lif_step(ctx, &lif), LAC_OK, "step");
        lac_ctx_free(ctx);
    }
    assert_memory_equal(v[0], v[1], MANY * sizeof(float));
    free(v[0]), free(v[1]), free(in), free(spikes);
}

/* A neuron that nothing but a constant current and conductance drives follows the solution of its equation,
 * whatever the step: exponential Euler is exact there. */
static void test_solution(void **state)
{
    static const float steps[] = {0.01f, 0.1f, 1.0f, 7.0f, 200.0f};
    for (int s = 0; s < 5; s++) {
        float v = -65.0f, g = 0.75f, none = 0.0f, current = 3.0f;
        uint8_t spike = 0, event = 0;
        lac_lif_input_t input = {.events = lac_obj_rowmajor(LAC_U8, 1, 1, &event, 1),
                                 .w = lac_obj_rowmajor(LAC_F32, 1, 1, &none, 1),
                                 .weight = 1.0f,
                                 .decay = 1.0f,
                                 .conductance = 1,
                                 .reversal = -20.0f,
                                 .g = &g};
        float received = 9.0f;
        input.received = &received;
        lac_lif_t lif = {.size = sizeof lif,
                         .m = 1,
                         .n = 1,
                         .dt = steps[s],
                         .tau = 20.0f,
                         .v_rest = -60.0f,
                         .v_threshold = 100.0f,
                         .current = &current,
                         .v = &v,
                         .spikes = &spike,
                         .inputs = 1,
                         .input = &input};
        double goal = (-60.0 + 3.0 + 0.75 * -20.0) / 1.75;
        for (int i = 1; i <= 30; i++) {
            unit_expect(lac_lif_step(*state, &lif), LAC_OK, "step");
            double want = goal + (-65.0 - goal) * exp(-1.75 * (double)steps[s] * i / 20.0);
            if (!(fabs((double)v - want) < 2e-5 * 65.0))
                fail_msg("dt %g: %g, not %g", (double)steps[s], (double)v, want);
        }
        assert_true(received == 0.0f && g == 0.75f && !spike);
    }
}

/* NaN in weights of neurons that are silent does not show. */
static void test_silent(void **state)
{
    static network_t x;
    make(&x, 1, 300, 1, 0, 4);
    memset(x.spikes, 0, sizeof x.spikes);
    x.spikes[7] = 1;
    for (int64_t i = 0; i < 100; i++)
        for (int64_t j = 0; i != 7 && j < 300; j++) x.dense[0][i * 300 + j] = NAN;
    unit_expect(lac_lif_step(*state, &x.lif), LAC_OK, "step");
    for (int64_t j = 0; j < 300; j++) assert_true(isfinite(x.v[j]) && isfinite(x.g[0][j]));
}

/* Each of these is refused by its name, and nothing is written. */
static void refused(lac_ctx_t *ctx, const network_t *x, lac_status_t want, const char *name)
{
    static network_t before;
    memcpy(&before, x, sizeof before);
    unit_expect(lac_lif_step(ctx, &x->lif), want, name);
    unit_expect_text(lac_last_error(), name);
    assert_memory_equal(&before, x, sizeof before);
}

#define BAD(change, status, name)                                                                            \
    do {                                                                                                     \
        make(&x, 2, 90, 2, 3, 5);                                                                            \
        change;                                                                                              \
        refused(*state, &x, status, name);                                                                   \
    } while (0)

static void test_bad_input(void **state)
{
    static network_t x;
    unit_expect(lac_lif_step(NULL, &x.lif), LAC_ERR_NULL, "ctx");
    unit_expect(lac_lif_step(*state, NULL), LAC_ERR_NULL, "lif");
    BAD(x.lif.size = 8, LAC_ERR_VALUE, "lif.size");
    BAD(x.lif.m = -1, LAC_ERR_EXTENT, "lif.m");
    BAD(x.lif.n = INT64_MAX, LAC_ERR_EXTENT, "lif.m");
    BAD(x.lif.dt = 0.0f, LAC_ERR_VALUE, "lif.dt");
    BAD(x.lif.dt = NAN, LAC_ERR_VALUE, "lif.dt");
    BAD(x.lif.tau = -1.0f, LAC_ERR_VALUE, "lif.tau");
    BAD(x.lif.refractory = -1, LAC_ERR_VALUE, "lif.refractory");
    BAD(x.lif.inputs = 9, LAC_ERR_VALUE, "lif.inputs");
    BAD(x.lif.inputs = -1, LAC_ERR_VALUE, "lif.inputs");
    BAD(x.lif.input = NULL, LAC_ERR_NULL, "lif.input");
    BAD(x.lif.v = NULL, LAC_ERR_NULL, "lif.v");
    BAD(x.lif.wait = NULL, LAC_ERR_NULL, "lif.wait");
    BAD(x.lif.spikes = NULL, LAC_ERR_NULL, "lif.spikes");
    BAD(x.lif.list = x.list, LAC_ERR_NULL, "lif.count");
    BAD((x.lif.list = x.list, x.lif.count = x.list), LAC_ERR_ALIAS, "lif.count: overlaps lif.list");
    BAD((x.lif.list = x.wait, x.lif.count = x.count), LAC_ERR_ALIAS, "lif.list: overlaps lif.wait");
    BAD((x.lif.list = x.list, x.lif.m = 1, x.lif.n = INT64_C(1) << 31), LAC_ERR_EXTENT, "lif.n");
    BAD(x.lif.spikes_twin = x.spikes + 9, LAC_ERR_ALIAS, "lif.spikes_twin: overlaps lif.spikes");
    BAD((x.lif.bits = NULL, x.lif.bits_twin = x.bits), LAC_ERR_NULL, "lif.bits");
    BAD((x.lif.bits = x.bits, x.lif.bits_twin = x.bits), LAC_ERR_ALIAS, "lif.bits_twin: overlaps lif.bits");
    BAD(x.input[1].g = NULL, LAC_ERR_NULL, "lif.input[1].g");
    BAD(x.input[0].received = NULL, LAC_ERR_NULL, "lif.input[0].received");
    BAD(x.input[1].received = x.input[0].received + 5, LAC_ERR_ALIAS,
        "lif.input[1].received: overlaps lif.input[0].received");
    BAD(x.input[0].g = x.v, LAC_ERR_ALIAS, "lif.input[0].g: overlaps lif.v");
    BAD(x.lif.current = x.v, LAC_ERR_ALIAS, "lif.current: overlaps lif.v");
    BAD(x.input[1].w.buf = NULL, LAC_ERR_EMPTY, "lif.input[1].w");
    BAD(x.input[0].events.buf = x.v, LAC_ERR_ALIAS, "lif.input[0].events: overlaps lif.v");
    BAD(x.input[1].w.buf = x.v, LAC_ERR_ALIAS, "lif.input[1].w: overlaps lif.v");
    BAD(x.input[0].events.m = 3, LAC_ERR_EXTENT, "lif.input[0].events");
    BAD(x.input[0].events.n = 31, LAC_ERR_EXTENT, "lif.input[0].w");
    BAD(x.input[0].w.n = 89, LAC_ERR_EXTENT, "lif.input[0].w");
    BAD(x.input[0].events.dt = (lac_dt_t)9, LAC_ERR_TYPE, "lif.input[0].events");
    BAD(x.input[0].events.space = LAC_DEVICE, LAC_ERR_SPACE, "lif.input[0].events");
    BAD(x.input[0].w.rs = 1, LAC_ERR_STRIDE, "lif.input[0].w");
    unit_expect(lac_ctx_set(*state, "nan", "strict"), LAC_OK, "strict");
    BAD((void)0, LAC_ERR_VALUE, "nan");
    unit_expect(lac_ctx_set(*state, "nan", "fast"), LAC_OK, "fast");
    make(&x, 0, 90, 2, 3, 5); /* nobody there: nothing to do */
    unit_expect(lac_lif_step(*state, &x.lif), LAC_OK, "no copies");
}

int main(void)
{
    unit_begin();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_axonal_delay),
                                       cmocka_unit_test(test_connection_delays),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_solution),
                                       cmocka_unit_test(test_silent),
                                       cmocka_unit_test(test_bad_input)};
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
