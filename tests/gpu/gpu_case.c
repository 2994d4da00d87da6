/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Problems on the device: contents and metadata there, the oracle here, or there where it would take too
 * long. */
#include "gpu_case.h"
#include "ref_gemm.h"
#include "ref_sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64 };                       /* poisoned elements around C                        */
#define HOST_ORACLE_MAX (INT64_C(1) << 25) /* multiply-adds, some hundredths of a second */

static size_t width(lac_dt_t dt)
{
    return dt == LAC_U8 ? 1 : sizeof(float);
}

static size_t stored_bytes(const ref_matrix_t *x)
{
    return (size_t)(x->slots + 2 * x->guard) * width(x->dt);
}

/* Element (0, 0) of a matrix of which a copy begins `shift` elements into `memory`. */
static void *first_of(const gpu_case_t *x, const ref_matrix_t *matrix, void *memory)
{
    return (char *)memory + (size_t)(x->shift + matrix->guard) * width(matrix->dt);
}

static void upload(gpu_case_t *x, const ref_matrix_t *matrix, const gpu_operand_t *to)
{
    char *at = (char *)to->memory + (size_t)x->shift * width(matrix->dt);
    gpu_expect(lac_device_upload(x->ctx, at, matrix->base, stored_bytes(matrix)), LAC_OK, x->text);
}

static bool place(gpu_case_t *x, const ref_matrix_t *matrix, gpu_operand_t *to, lac_trans_t trans,
                  lac_obj_t *obj)
{
    size_t bytes = stored_bytes(matrix) + (size_t)x->shift * width(matrix->dt);
    if (!gpu_expect(lac_device_alloc(x->ctx, bytes, &to->memory), LAC_OK, x->text)) return false;
    upload(x, matrix, to);
    *obj = ref_matrix_obj(matrix, trans);
    obj->space = LAC_DEVICE;
    obj->buf = first_of(x, matrix, to->memory);
    return true;
}

/* Metadata -------------------------------------------------------------------------------------------- */

static void *wide_copy(const int32_t *from, int64_t count)
{
    int64_t *to = malloc((size_t)(count + 1) * sizeof *to);
    for (int64_t i = 0; to && i < count; i++) to[i] = from[i];
    return to;
}

static void *narrow_copy(const int64_t *from, int64_t count)
{
    int32_t *to = malloc((size_t)(count + 1) * sizeof *to);
    for (int64_t i = 0; to && i < count; i++) to[i] = (int32_t)from[i];
    return to;
}

static lac_status_t attach_compressed(gpu_case_t *x, gpu_operand_t *know, const ref_matrix_t *matrix,
                                      ref_meta_t meta)
{
    ref_compressed_t format;
    bool by_rows = meta != REF_META_CSC;
    bool wide = x->problem.seed % 2 == 0;
    if (!(by_rows ? ref_csr_make(&format, matrix) : ref_csc_make(&format, matrix))) return LAC_ERR_MEMORY;
    void *other = wide ? wide_copy(format.idx, format.nnz) : narrow_copy(format.ptr, format.lines + 1);
    size_t index = wide ? sizeof(int64_t) : sizeof(int32_t);
    know->array[0] =
        gpu_upload(x->ctx, wide ? (void *)format.ptr : other, (size_t)(format.lines + 1) * index);
    know->array[1] = gpu_upload(x->ctx, wide ? other : (void *)format.idx, (size_t)format.nnz * index);
    if (matrix->dt != LAC_U8)
        know->array[2] = gpu_upload(x->ctx, format.val, (size_t)format.nnz * sizeof(float));
    int64_t width = matrix->m ? format.nnz / matrix->m : 0;
    free(other);
    ref_compressed_free(&format);
    if (meta == REF_META_ELL)
        return lac_meta_attach_ell(know->meta, wide ? LAC_I64 : LAC_I32, width, know->array[1],
                                   know->array[2]);
    return (by_rows ? lac_meta_attach_csr : lac_meta_attach_csc)(
        know->meta, wide ? LAC_I64 : LAC_I32, know->array[0], know->array[1], know->array[2]);
}

static lac_status_t attach_bits(gpu_case_t *x, gpu_operand_t *know, const ref_matrix_t *matrix)
{
    ref_bits_t format;
    if (!ref_bits_make(&format, matrix)) return LAC_ERR_MEMORY;
    know->array[0] = gpu_upload(x->ctx, format.bits, (size_t)(format.rows * format.words) * sizeof(uint64_t));
    know->array[1] = gpu_upload(x->ctx, format.val, (size_t)format.nnz * sizeof(float));
    ref_bits_free(&format);
    return lac_meta_attach_bitmask(know->meta, know->array[0], know->array[1]);
}

static lac_status_t attach_active(gpu_case_t *x, gpu_operand_t *know, const ref_matrix_t *matrix)
{
    ref_active_t format;
    if (!ref_active_make(&format, matrix)) return LAC_ERR_MEMORY;
    int64_t count = format.active;
    know->array[0] = gpu_upload(x->ctx, format.k, (size_t)count * sizeof(int32_t));
    know->array[1] = gpu_upload(x->ctx, format.slots, (size_t)(count * format.rows) * sizeof(float));
    ref_active_free(&format);
    return lac_meta_attach_active(know->meta, count, know->array[0], know->array[1]);
}

static lac_status_t learn(gpu_case_t *x, gpu_operand_t *know, const ref_matrix_t *matrix, ref_meta_t meta,
                          const lac_obj_t *obj)
{
    switch (meta) {
    case REF_META_NONE:
        return LAC_OK;
    case REF_META_DENSITY:
        return lac_meta_scan(x->ctx, obj, LAC_META_DENSITY);
    case REF_META_CSR:
    case REF_META_CSC:
    case REF_META_ELL:
        return attach_compressed(x, know, matrix, meta);
    case REF_META_BITS:
        return attach_bits(x, know, matrix);
    case REF_META_ACTIVE:
        return attach_active(x, know, matrix);
    case REF_META_EVENT_BITS: /* of tests of their own */
    case REF_META_EVENT_LISTS:
        break;
    }
    return LAC_ERR_VALUE;
}

/* Where nothing is attached, metadata that was not made for the device must do as well. */
static bool describe(gpu_case_t *x, gpu_operand_t *know, const ref_matrix_t *matrix,
                     const ref_operand_t *said, lac_obj_t *obj)
{
    bool attaches = said->meta != REF_META_NONE && said->meta != REF_META_DENSITY;
    if (said->meta == REF_META_NONE && !said->frozen) return true;
    lac_status_t status = attaches || x->problem.seed % 3
                              ? lac_meta_create_for(x->ctx, &know->meta, matrix->m, matrix->n)
                              : lac_meta_create(&know->meta, matrix->m, matrix->n);
    obj->meta = know->meta;
    if (!status) status = learn(x, know, matrix, said->meta, obj);
    if (!status && said->frozen) status = lac_meta_freeze(know->meta);
    if (said->only) obj->buf = NULL;
    return gpu_expect(status, LAC_OK, x->text);
}

/* Life ------------------------------------------------------------------------------------------------- */

/* Under the sanitizer, long extents become a hundred and some; which of them are multiples of 4 stays. */
static lac_dim_t affordable(lac_dim_t extent)
{
    return gpu_quick() && extent > 128 ? 100 + extent % 28 : extent;
}

static bool parse(const char *text, ref_problem_t *problem)
{
    char error[REF_ERROR_TEXT];
    if (!ref_problem_parse(text, problem, error, sizeof error)) {
        gpu_fail("%s: %s", text, error);
        return false;
    }
    problem->m = affordable(problem->m);
    problem->k = affordable(problem->k);
    problem->n = affordable(problem->n);
    return true;
}

bool gpu_case_make(gpu_case_t *x, lac_ctx_t *ctx, const char *text)
{
    *x = (gpu_case_t){.ctx = ctx};
    if (!parse(text, &x->problem)) return false;
    const ref_problem_t *p = &x->problem;
    ref_problem_print(p, x->text, sizeof x->text);
    x->shift = p->seed % 4 < 2 ? 0 : 1;
    if (!ref_case_make(&x->host, p, GUARD) || !ref_matrix_copy(&x->before, &x->host.c)) {
        gpu_fail("%s: out of memory", text);
        return false;
    }
    return place(x, &x->host.a, &x->know_a, p->trans_a, &x->a) &&
           place(x, &x->host.b, &x->know_b, p->trans_b, &x->b) &&
           place(x, &x->host.c, &x->know_c, LAC_NO_TRANS, &x->c) &&
           describe(x, &x->know_a, &x->host.a, &p->a, &x->a) &&
           describe(x, &x->know_b, &x->host.b, &p->b, &x->b);
}

static void forget(gpu_case_t *x, gpu_operand_t *know)
{
    lac_meta_free(know->meta);
    for (int i = 0; i < 3; i++) lac_device_free(x->ctx, know->array[i]);
    gpu_expect(lac_device_free(x->ctx, know->memory), LAC_OK, x->text);
}

void gpu_case_free(gpu_case_t *x)
{
    forget(x, &x->know_a);
    forget(x, &x->know_b);
    forget(x, &x->know_c);
    ref_matrix_free(&x->before);
    ref_case_free(&x->host);
}

static bool same_geometry(const ref_matrix_t *x, const ref_matrix_t *y)
{
    return x->dt == y->dt && x->m == y->m && x->n == y->n && x->rs == y->rs && x->cs == y->cs &&
           x->slots == y->slots;
}

bool gpu_case_change(gpu_case_t *x, const char *text)
{
    ref_case_t made;
    if (!parse(text, &x->problem)) return false;
    ref_problem_print(&x->problem, x->text, sizeof x->text);
    if (!ref_case_make(&made, &x->problem, GUARD) || !same_geometry(&made.a, &x->host.a) ||
        !same_geometry(&made.b, &x->host.b) || !same_geometry(&made.c, &x->host.c)) {
        gpu_fail("%s: is no other contents of the same operands", text);
        return false;
    }
    ref_case_free(&x->host);
    x->host = made;
    ref_matrix_restore(&x->before, &made.c);
    upload(x, &made.a, &x->know_a);
    upload(x, &made.b, &x->know_b);
    upload(x, &made.c, &x->know_c);
    return true;
}

void gpu_case_reset(gpu_case_t *x)
{
    upload(x, &x->before, &x->know_c);
}

void gpu_case_continue(gpu_case_t *x)
{
    ref_matrix_restore(&x->before, &x->host.c);
}

static void fetch(gpu_case_t *x)
{
    const char *at = (char *)x->know_c.memory + (size_t)x->shift * sizeof(float);
    gpu_expect(lac_device_download(x->ctx, x->host.c.base, at, stored_bytes(&x->host.c)), LAC_OK, x->text);
}

uint64_t gpu_case_checksum(gpu_case_t *x)
{
    fetch(x);
    return ref_matrix_checksum(&x->host.c);
}

lac_status_t gpu_case_run(gpu_case_t *x, const char *route, lac_decision_t *decision)
{
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = decision};
    return lac_gemm_ex(x->ctx, &x->problem.alpha, &x->a, &x->b, &x->problem.beta, &x->c, &call);
}

bool gpu_case_takes(gpu_case_t *x, const char *route)
{
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    lac_status_t status =
        lac_explain(x->ctx, &x->problem.alpha, &x->a, &x->b, &x->problem.beta, &x->c, &call, &decision);
    return gpu_expect(status, LAC_OK, x->text) && !strcmp(decision.route, route);
}

/* The verdict ------------------------------------------------------------------------------------------ */

/* What a route may make of 0 * Inf: the zeros of its side are dropped, and those that a W without a
 * buffer does not have. */
static unsigned reading(const gpu_case_t *x, const lac_decision_t *decision, bool strict)
{
    if (strict || !decision || !decision->side[0]) return REF_STRICT;
    unsigned left = decision->side[0] == 'l' || !x->a.buf ? REF_SKIP_A : 0,
             right = decision->side[0] == 'r' || !x->b.buf ? REF_SKIP_B : 0;
    return left | right;
}

/* The device's own product in double, itself compared with the host's wherever that is quick. It stands for
 * its magnitude too, so everything must be positive. */
static bool device_oracle(gpu_case_t *x, ref_result_t *want)
{
    const ref_problem_t *p = &x->problem;
    size_t count = (size_t)(p->m * p->n);
    float *sums = malloc(count * sizeof *sums), beta = p->beta;
    void *memory = NULL;
    if (p->a.pattern.values != REF_POSITIVE || p->b.pattern.values != REF_POSITIVE || p->alpha < 0 ||
        (beta != 0.0f && (beta < 0 || p->c.pattern.values != REF_POSITIVE))) {
        gpu_fail("%s: too large for the oracle unless everything is positive", x->text);
        free(sums);
        return false;
    }
    *want = (ref_result_t){p->m, p->n, p->k, malloc(count * sizeof(double)), malloc(count * sizeof(double))};
    lac_obj_t c = lac_obj_rowmajor(LAC_F32, p->m, p->n, NULL, p->n);
    lac_call_opts_t call = {.size = sizeof call, .route = "reference"};
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) sums[i * p->n + j] = (float)ref_matrix_at(&x->before, i, j);
    c.space = LAC_DEVICE;
    c.buf = memory = gpu_upload(x->ctx, sums, count * sizeof *sums);
    lac_status_t status = lac_gemm_ex(x->ctx, &p->alpha, &x->a, &x->b, &beta, &c, &call);
    if (!status) status = lac_device_download(x->ctx, sums, memory, count * sizeof *sums);
    for (size_t i = 0; i < count; i++) want->value[i] = want->magnitude[i] = sums[i];
    lac_device_free(x->ctx, memory);
    free(sums);
    return gpu_expect(status, LAC_OK, x->text);
}

static bool oracle(gpu_case_t *x, unsigned nan, ref_result_t *want)
{
    const ref_problem_t *p = &x->problem;
    ref_case_t operands = x->host;
    if (p->m * p->k * p->n > HOST_ORACLE_MAX) return device_oracle(x, want);
    operands.c = x->before;
    if (ref_gemm_case(p, &operands, nan, want)) return true;
    gpu_fail("%s: no memory for the oracle", x->text);
    return false;
}

/* Sums of k roundings of either sign: their spread grows with the square root of k. Twice that, and some for
 * the scaling; far below what a missing event makes, which the proven bound of k + 2 would let pass. One more
 * for the rounding of the device's oracle. */
static double bound(int64_t k)
{
    double likely = 16.0 + 2.0 * sqrt((double)k), proven = ref_bound(k);
    return 1.0 + (likely < proven ? likely : proven);
}

/* cuSPARSE multiplies more than it was given: where W holds Inf, 0 * Inf appears that is of no zero of S
 * (12.6, H200, 2026-11-21). Then only its padding can be judged. */
static bool makes_nan(const gpu_case_t *x, const char *route)
{
    bool special = x->problem.a.pattern.values == REF_SPECIAL || x->problem.b.pattern.values == REF_SPECIAL;
    return special && !strcmp(route, "cusparse");
}

/* C against the oracle under one reading of 0 * Inf; `why` is what was found. */
static bool agrees(gpu_case_t *x, unsigned reading, char *why, size_t size)
{
    ref_result_t want = {0};
    ref_report_t report;
    if (!oracle(x, reading, &want)) return false;
    bool good = ref_compare(&x->host.c, &want, bound(x->problem.k), &report);
    ref_result_free(&want);
    ref_report_print(&report, why, size);
    return good;
}

bool gpu_case_check(gpu_case_t *x, const lac_decision_t *decision, bool strict)
{
    char why[512];
    int64_t where;
    const char *route = decision ? decision->route : "dense", *side = decision ? decision->side : "";
    fetch(x);
    bool good = agrees(x, reading(x, decision, strict), why, sizeof why) || makes_nan(x, route);
    /* The device chose whether it drops the zeros of the shorter side. */
    if (!good && !strict && !strcmp(route, "adaptive"))
        good = agrees(x, x->problem.m <= x->problem.n ? REF_SKIP_A : REF_SKIP_B, why, sizeof why);
    if (!good) gpu_fail("%s by %s %s: %s", x->text, route, side, why);
    if (ref_matrix_padding_intact(&x->host.c, &where)) return good;
    gpu_fail("%s by %s %s: wrote outside c at %lld", x->text, route, side, (long long)where);
    return false;
}

int gpu_routes(lac_ctx_t *ctx, const char *names[GPU_ROUTES_MAX])
{
    lac_decision_t decision = {0};
    gpu_case_t x;
    int count = 0;
    names[count++] = "auto";
    if (gpu_case_make(&x, ctx, "sgemm:NN:2x2x2"))
        gpu_expect(lac_explain(ctx, NULL, &x.a, &x.b, NULL, &x.c, NULL, &decision), LAC_OK, "routes");
    for (int i = 0; i < decision.count && count < GPU_ROUTES_MAX; i++) {
        const char *name = decision.candidate[i].route;
        bool known = !strcmp(name, "trivial"); /* serves by itself, and cannot be asked for */
        for (int j = 0; j < count; j++) known |= !strcmp(names[j], name);
        if (!known) names[count++] = name;
    }
    gpu_case_free(&x);
    return count;
}
