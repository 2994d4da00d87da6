/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The memory that each row of the host's table announces is what a run takes, formats that are kept among it;
 * and the limit of a caller holds through the public call. */
#include "unit_support.h"
#include "host/routes/routes.h"
#include "host/runtime/backend.h"
#include "host/runtime/exec.h"
#include "operand/problem.h"

#include <stdlib.h>
#include <string.h>

enum { M = 40, N = 36, K = 2048, EVERY = 16, ROOM = 2 * M * K };

static float dense[ROOM], sparse[ROOM], out[M * 2 * N];

/* How an operand of a case is given: formats that stand, frozen, by columns, without its buffer. */
typedef struct given {
    unsigned formats;
    bool frozen, by_columns, only;
} given_t;

static lac_obj_t given(lac_ctx_t *ctx, float *buf, lac_dim_t m, lac_dim_t n, const given_t *as)
{
    lac_obj_t x =
        as->by_columns ? lac_obj_colmajor(LAC_F32, m, n, buf, m) : lac_obj_rowmajor(LAC_F32, m, n, buf, n);
    unit_expect(lac_meta_create(&x.meta, m, n), LAC_OK, "metadata");
    if (as->formats) unit_expect(lac_meta_scan(ctx, &x, as->formats), LAC_OK, "scan");
    if (as->frozen) unit_expect(lac_meta_freeze(x.meta), LAC_OK, "freeze");
    if (as->only) x.buf = NULL;
    return x;
}

static size_t kept_bytes(const lac_obj_t *x)
{
    size_t bytes = 0;
    for (int i = 0; i < LAC_FORMAT_COUNT; i++) bytes += x->meta->format[i].owned_bytes;
    return bytes;
}

/* Workspace grows by a quarter more than is asked for. */
static void expect_bytes(const lac_route_t *route, const lac_problem_t *p, lac_obj_t *a, lac_obj_t *b,
                         int which)
{
    lac_device_request_t request = {.device = -1};
    lac_machine_t machine;
    lac_exec_t *exec;
    lac_outcome_t seen = {false, -1.0, -1.0, NULL};
    lac_machine_default(&machine);
    unit_expect(lac_backend_host.open(&exec, &request, &machine), LAC_OK, "open");
    size_t before = kept_bytes(a) + kept_bytes(b), said = route->bytes(route, p);
    unit_expect(route->run(route, exec, p, &seen), LAC_OK, route->name);
    double took =
        (double)lac_backend_host.bytes(exec) / 1.25 + (double)(kept_bytes(a) + kept_bytes(b) - before);
    lac_backend_host.close(exec);
    if ((double)said < took - 256.0 || (double)said > 1.1 * took + 4096.0)
        fail_msg("case %d: %s %s: %zu bytes are announced, and %.0f are taken", which, route->name,
                 lac_side_name(route->side), said, took);
}

static void test_memory(void **state)
{
    lac_ctx_t *ctx = *state;
    static const given_t how[] = {
        {LAC_META_DENSITY, false, false, false}, {LAC_META_DENSITY, false, true, false},
        {LAC_META_CSR, true, false, false},      {LAC_META_CSC, true, false, false},
        {LAC_META_BITMASK, true, false, false},  {LAC_META_DENSITY, true, true, false},
        {LAC_META_CSR, true, false, true},       {LAC_META_CSC, true, false, true}};
    enum { HOW = sizeof how / sizeof *how };
    int rows, ran[LAC_ROUTES_MAX] = {0};
    const lac_route_t *const *table = lac_host_routes(&rows);
    for (int which = 0; which < HOW * HOW * 2; which++) {
        bool right = which % 2;
        lac_obj_t s = given(ctx, sparse, right ? K : M, right ? M : K, &how[which / 2 % HOW]);
        lac_obj_t w = given(ctx, dense, right ? N : K, right ? K : N, &how[which / 2 / HOW]);
        lac_obj_t c =
            right ? lac_obj_rowmajor(LAC_F32, N, M, out, 2 * M) : lac_obj_rowmajor(LAC_F32, M, N, out, N);
        lac_problem_t p;
        lac_problem_describe(&p, 1.0f, right ? &w : &s, right ? &s : &w, 0.0f, &c);
        for (int row = 0; row < rows; row++) {
            lac_problem_t again = p;
            if (table[row]->role == LAC_ROLE_SPARSE &&
                table[row]->side != (right ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT))
                continue;
            if (table[row]->applicable(table[row], &again) != LAC_FITS) continue;
            expect_bytes(table[row], &again, &s, &w, which);
            ran[row]++;
            lac_problem_describe(&p, 1.0f, right ? &w : &s, right ? &s : &w, 0.0f,
                                 &c); /* formats that are new */
        }
        lac_meta_free(s.meta);
        lac_meta_free(w.meta);
    }
    for (int row = 0; row < rows; row++)
        if (table[row]->role == LAC_ROLE_SPARSE && ran[row] < 2)
            fail_msg("%s ran %d times", table[row]->name, ran[row]);
}

/* A caller's limit: a route that counts more is left, for the dense route or for the caller's. */
static void test_limit(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, K, sparse, K), b = lac_obj_rowmajor(LAC_F32, K, N, dense, N),
              c = lac_obj_rowmajor(LAC_F32, M, N, out, N);
    lac_decision_t decision;
    static const char *const routes[] = {"event", "csr"};
    for (int i = 0; i < 2; i++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes[i], .decision = &decision};
        call.density_limit = 1.01 / EVERY;
        unit_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, routes[i]);
        assert_string_equal(decision.route, routes[i]);
        assert_true(call.density == 1.0 / EVERY);
        float want = out[0];
        call.density_limit = 0.99 / EVERY;
        out[0] = -77.0f;
        unit_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, routes[i]);
        assert_string_not_equal(decision.route, routes[i]);
        assert_float_equal(out[0], want, 1e-3);
        assert_true(call.density < 0.0 && !call.declined);
        call.may_decline = 1;
        out[0] = -77.0f;
        unit_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, routes[i]);
        assert_true(call.declined && out[0] == -77.0f);
        call.density_limit = i ? -0.1 : 1.5;
        unit_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_ERR_VALUE, "limit");
        unit_expect_text(lac_last_error(), "call.density_limit");
    }
}

int main(void)
{
    unit_begin();
    for (int i = 0; i < ROOM; i++) dense[i] = (float)(i % 7 - 3), sparse[i] = i % EVERY ? 0.0f : 1.0f;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_limit)};
    return cmocka_run_group_tests_name("host: workspace", tests, unit_setup, unit_teardown);
}
