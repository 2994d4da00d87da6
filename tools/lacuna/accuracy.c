/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Routes held to the accuracy contract. */
#include "accuracy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_case.h"
#include "bench_report.h"
#include "output.h"
#include "ref_gemm.h"
#include "vendor_call.h"

#define ORACLE_MAX                                                                                           \
    5e8           /* multiply-adds in double: beyond, rows of C are judged at a distance from each other */
#define BLOCK 384 /* k that a BLAS adds up at a time: 256 to 512                                         */
#define SHOWN 24  /* rows                                                                                */

static const ref_values_t kinds[] = {REF_UNIFORM, REF_SPREAD_8, REF_SPREAD_30, REF_POSITIVE, REF_OUTLIERS};

typedef struct accuracy_row {
    char problem[REF_PROBLEM_TEXT], kind[8], ran[32];
    double mean, max, vendor_mean, vendor_max;
} accuracy_row_t;

typedef struct accuracy {
    const accuracy_options_t *options;
    const char *command;
    lac_ctx_t *ctx;
    accuracy_row_t *row;
    size_t rows, capacity;
    operand_set_t set;   /* of the problem at hand */
    int64_t step;        /* from a row that is judged to the next one */
    ref_result_t oracle; /* of those rows */
    double vendor_mean, vendor_max;
} accuracy_t;

void accuracy_drop_others(route_set_t *routes, const char *asked)
{
    static const char *const others[] = {ROUTE_AUTO, "reference", ROUTE_VENDOR, ROUTE_CUBLAS, "cusparse"};
    for (size_t i = 0; strcmp(asked, "all") == 0 && i < sizeof others / sizeof *others; i++)
        route_set_drop(routes, others[i]);
}

static double ratio(double error, double vendor)
{
    return error <= vendor ? (vendor > 0.0 ? error / vendor : 1.0) : vendor > 0.0 ? error / vendor : INFINITY;
}

static double worst_ratio(const accuracy_row_t *row)
{
    double mean = ratio(row->mean, row->vendor_mean), max = ratio(row->max, row->vendor_max);
    return mean > max ? mean : max;
}

/* Every step-th row. */
static ref_matrix_t judged_rows(const ref_matrix_t *x, int64_t step)
{
    ref_matrix_t view = *x;
    view.m = (x->m + step - 1) / step;
    view.rs = x->rs * step;
    return view;
}

static int make_oracle(accuracy_t *a)
{
    const ref_problem_t *p = &a->set.problem;
    ref_matrix_t left = ref_matrix_op(&a->set.data.a, p->trans_a);
    ref_matrix_t right = ref_matrix_op(&a->set.data.b, p->trans_b);
    double terms = p->a.pattern.density * (double)p->m * (double)p->k * (double)p->n;
    a->step = 1 + (int64_t)(terms / ORACLE_MAX);
    ref_matrix_t rows = judged_rows(&left, a->step), before = judged_rows(&a->set.c_before, a->step);
    if (ref_gemm(&rows, &right, &before, p->alpha, p->beta, REF_STRICT, &a->oracle)) return EXIT_OK;
    complain(a->command, "%s: out of memory", a->set.text);
    return EXIT_UNAVAILABLE;
}

/* x y + z, rounded once to the type. */
static double multiply_add(lac_dt_t dt, double x, double y, double z)
{
    return dt == LAC_F64 ? fma(x, y, z) : (double)(float)(x * y + z);
}

static double rounded(lac_dt_t dt, double x)
{
    return dt == LAC_F64 ? x : (double)(float)x;
}

/* C := alpha A B in its own type by plain loops, `block` k added up at a time. */
static bool blocked_product(accuracy_t *a, int64_t block)
{
    const ref_problem_t *p = &a->set.problem;
    ref_matrix_t left = ref_matrix_op(&a->set.data.a, p->trans_a), *c = &a->set.data.c;
    ref_matrix_t right = ref_matrix_op(&a->set.data.b, p->trans_b);
    lac_dt_t dt = c->dt;
    double *sum = malloc(2 * ((size_t)p->n + 1) * sizeof *sum), *total = sum ? sum + p->n : NULL;
    for (int64_t i = 0; sum && i < p->m; i += a->step) {
        memset(sum, 0, 2 * (size_t)p->n * sizeof *sum);
        for (int64_t k = 0; k < p->k; k++) {
            double x = ref_matrix_at(&left, i, k);
            if (k % block == 0)
                for (int64_t j = 0; j < p->n; j++) total[j] = rounded(dt, total[j] + sum[j]), sum[j] = 0.0;
            if (x == 0.0) continue;
            for (int64_t j = 0; j < p->n; j++)
                sum[j] = multiply_add(dt, x, ref_matrix_at(&right, k, j), sum[j]);
        }
        for (int64_t j = 0; j < p->n; j++) {
            double value = (double)p->alpha * rounded(dt, total[j] + sum[j]);
            if (dt == LAC_F64)
                ((double *)c->data)[i * c->rs + j * c->cs] = value;
            else
                ((float *)c->data)[i * c->rs + j * c->cs] = (float)value;
        }
    }
    free(sum);
    return sum != NULL;
}

/* C, as it lies on the host, against the oracle. */
static ref_report_t judge(const accuracy_t *a)
{
    ref_report_t report;
    ref_matrix_t rows = judged_rows(&a->set.data.c, a->step);
    ref_compare(&rows, &a->oracle, ref_bound(a->set.problem.k), &report);
    return report;
}

/* One call with a forced route; operands with the metadata that the problem names, or plain ones. */
static lac_status_t call_route(accuracy_t *a, const char *route, bool plain, lac_decision_t *decision)
{
    operand_set_t *set = &a->set;
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = decision};
    lac_status_t status = operand_set_reset(set);
    if (status == LAC_OK)
        status = lac_gemm_ex(a->ctx, operand_set_alpha(set), plain ? &set->plain_a : &set->a,
                             plain ? &set->plain_b : &set->b, operand_set_beta(set), &set->c, &call);
    if (status == LAC_OK && computes_on_device(a->ctx)) status = lac_device_wait(a->ctx);
    return status == LAC_OK ? operand_set_fetch(set) : status;
}

static int judge_vendor(accuracy_t *a)
{
    vendor_call_t vendor;
    lac_decision_t decision;
    bool ran = true;
    if (computes_on_device(a->ctx)) {
        ran = call_route(a, ROUTE_CUBLAS, true, &decision) == LAC_OK;
    } else if (!vendor_call_make(&vendor, &a->set)) {
        operand_set_reset(&a->set);
        vendor_call_run(&vendor);
    } else {
        ran = blocked_product(a, BLOCK);
    }
    ref_report_t report = judge(a);
    if (!ran || !report.ok) {
        complain(a->command, "%s: the vendor's product: %s", a->set.text,
                 ran ? report.reason : lac_last_error());
        return EXIT_UNAVAILABLE;
    }
    a->vendor_mean = report.mean_error;
    a->vendor_max = report.max_error;
    return EXIT_OK;
}

static accuracy_row_t *new_row(accuracy_t *a)
{
    if (a->rows == a->capacity) {
        size_t capacity = 2 * a->capacity + 64;
        accuracy_row_t *grown = realloc(a->row, capacity * sizeof *grown);
        if (!grown) return NULL;
        a->row = grown;
        a->capacity = capacity;
    }
    return &a->row[a->rows++];
}

static int judge_route(accuracy_t *a, const char *route, const ref_problem_t *asked)
{
    route_verdict_t verdict;
    lac_decision_t decision;
    bool dense = strcmp(route, "dense") == 0;
    if (dense && (asked->m == 1 || asked->n == 1)) return EXIT_OK; /* the vendor's sgemv: its own measure */
    route_ask(&verdict, a->ctx, &a->set, route);
    if (verdict.status == LAC_OK && !verdict.applies) return EXIT_OK;
    lac_status_t status = call_route(a, route, dense, &decision);
    if (status == LAC_OK && !route_obeyed(&decision, route)) return EXIT_OK;
    bool ran = status == LAC_OK;
    ref_report_t report = judge(a);
    if (!ran || !report.ok) {
        complain(a->command, "%s: route %s: %s", a->set.text, route, ran ? report.reason : lac_last_error());
        return EXIT_WRONG;
    }
    accuracy_row_t *row = new_row(a);
    if (!row) {
        complain(a->command, "out of memory");
        return EXIT_UNAVAILABLE;
    }
    *row = (accuracy_row_t){.mean = report.mean_error,
                            .max = report.max_error,
                            .vendor_mean = a->vendor_mean,
                            .vendor_max = a->vendor_max};
    ref_problem_print(asked, row->problem, sizeof row->problem);
    snprintf(row->kind, sizeof row->kind, "%s", ref_values_name(a->set.problem.a.pattern.values));
    snprintf(row->ran, sizeof row->ran, "%s%s%s", decision.route, *decision.side ? " " : "", decision.side);
    return EXIT_OK;
}

/* All routes on one kind of data. */
static int judge_kind(accuracy_t *a, const ref_problem_t *asked, ref_values_t kind)
{
    char error[REF_PROBLEM_TEXT + 256];
    ref_problem_t problem = *asked;
    problem.a.pattern.values = problem.b.pattern.values = kind;
    if (ref_is_half(problem.c.dt)) problem.c.dt = LAC_F32; /* its sums, whose errors rounding would hide */
    if (!operand_set_make(&a->set, &problem, a->ctx, error, sizeof error)) {
        complain(a->command, "%s", error);
        return EXIT_UNAVAILABLE;
    }
    int code = make_oracle(a), wrong = EXIT_OK;
    if (code == EXIT_OK) code = judge_vendor(a);
    for (int i = 0; code == EXIT_OK && i < a->options->routes.count; i++) {
        code = judge_route(a, a->options->routes.name[i], asked);
        if (code == EXIT_WRONG) wrong = code, code = EXIT_OK;
    }
    ref_result_free(&a->oracle);
    operand_set_free(&a->set);
    return code == EXIT_OK ? wrong : code;
}

static int by_ratio(const void *x, const void *y)
{
    double a = worst_ratio(x), b = worst_ratio(y);
    return (a > b) - (a < b);
}

static int write_rows(const accuracy_t *a)
{
    json_writer_t json;
    if (!a->options->json) return EXIT_OK;
    bool ok = json_open(&json, a->options->json) != NULL;
    if (ok) {
        report_json_head(&json, "lacuna-accuracy-1", a->ctx);
        json_begin(&json, "results", '[');
        for (size_t i = 0; i < a->rows; i++) {
            const accuracy_row_t *row = &a->row[i];
            json_begin(&json, NULL, '{');
            json_text(&json, "problem", row->problem);
            json_text(&json, "kind", row->kind);
            json_text(&json, "route", row->ran);
            json_number(&json, "mean_error", row->mean);
            json_number(&json, "max_error", row->max);
            json_number(&json, "vendor_mean_error", row->vendor_mean);
            json_number(&json, "vendor_max_error", row->vendor_max);
            json_number(&json, "mean_ratio", ratio(row->mean, row->vendor_mean));
            json_number(&json, "max_ratio", ratio(row->max, row->vendor_max));
            json_end(&json, '}');
        }
        json_end(&json, ']');
        json_end(&json, '}');
        ok = json_close(&json);
    }
    if (!ok) complain(a->command, "%s: %s", a->options->json, strerror(errno));
    return ok ? EXIT_OK : EXIT_UNAVAILABLE;
}

/* The worst rows, and how many break the contract. */
static size_t print_rows(accuracy_t *a)
{
    static const char *const heads[] = {"problem", "data", "route",   ">mean", ">vendor",
                                        ">ratio",  ">max", ">vendor", ">ratio"};
    size_t broken = 0;
    text_table_t *table = text_table_new(9, heads);
    qsort(a->row, a->rows, sizeof *a->row, by_ratio);
    for (size_t i = 0; i < a->rows; i++) {
        const accuracy_row_t *row = &a->row[i];
        bool breaks = !(worst_ratio(row) <= ACCURACY_CONTRACT);
        broken += breaks;
        if (!table || (!breaks && i + SHOWN < a->rows)) continue;
        text_table_cell(table, "%s", row->problem);
        text_table_cell(table, "%s", row->kind);
        text_table_cell(table, "%s", row->ran);
        text_table_cell(table, "%.3g", row->mean);
        text_table_cell(table, "%.3g", row->vendor_mean);
        text_table_cell(table, "%.2f", ratio(row->mean, row->vendor_mean));
        text_table_cell(table, "%.3g", row->max);
        text_table_cell(table, "%.3g", row->vendor_max);
        text_table_cell(table, "%.2f", ratio(row->max, row->vendor_max));
    }
    if (table) text_table_print(table, stdout, 0);
    text_table_free(table);
    printf("%zu results, in units of 2^-24 |A||B| (of doubles 2^-53): %zu err more than %g times as much as "
           "the vendor's sgemm\n",
           a->rows, broken, ACCURACY_CONTRACT);
    return broken;
}

int accuracy_run(const problem_list_t *problems, const accuracy_options_t *options, const char *command)
{
    enum { KINDS = sizeof kinds / sizeof *kinds };
    accuracy_t a = {.options = options, .command = command};
    int code = common_context(&options->common, command, &a.ctx), wrong = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < problems->count * KINDS; i++) {
        progress("accuracy: %zu of %zu", i + 1, problems->count * KINDS);
        if (i > 0) { /* a context of its own: which side a route takes is then not what it learned before */
            lac_ctx_free(a.ctx);
            code = common_context(&options->common, command, &a.ctx);
            if (code != EXIT_OK) break;
        }
        code = judge_kind(&a, &problems->problem[i / KINDS], kinds[i % KINDS]);
        if (code == EXIT_WRONG) wrong = code, code = EXIT_OK;
    }
    progress_clear();
    if (code == EXIT_OK) code = write_rows(&a);
    if (code == EXIT_OK && a.rows == 0) complain(command, "nothing was judged: every route refused");
    if (code == EXIT_OK && (print_rows(&a) > 0 || a.rows == 0)) code = EXIT_WRONG;
    free(a.row);
    lac_ctx_free(a.ctx);
    return code == EXIT_OK ? wrong : code;
}
