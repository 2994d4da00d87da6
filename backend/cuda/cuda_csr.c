/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The csr route on a device: S by rows times W, for rows too many for the event route and for sparse weights.

 Four kernels: a warp or more per row where W is short; where it is long, gathered slices of W, wide ones for
 many rows of few nonzeros, or steps that share what is read of W between rows. These want W's rows, so a long
 W by columns is transposed first. The rows of an operand that may change are built in the workspace, in every
 call. */
#include "cuda_dense_view.h"
#include "cuda_epilogue.h"
#include "cuda_gather.h"
#include "cuda_routes.h"
#include "cuda_rows.h"
#include "cuda_schedule.h"
#include "../base/status.h"

#define NEAR_BYTES 262144.0 /* that a multiprocessor's first-level cache holds */

/* How W comes to the kernel. */
typedef enum w_source {
    AS_IT_LIES,
    COPIED,    /* frozen: a k-major copy is kept        */
    TRANSPOSED /* in the workspace, in every call       */
} w_source_t;

typedef enum kernel {
    SHARED_ROWS, /* W is so short that a row's nonzeros are shared out */
    GATHERED,
    STEPPED
} kernel_t;

typedef struct how {
    lac_cuda_rows_source_t source;
    w_source_t w_source;
    kernel_t kernel;
    bool wide; /* gathered, where there are no steps, in wide slices */
} how_t;

/* The leading dimension of a W that is transposed. */
static int64_t padded(int64_t n)
{
    return (n + 3) / 4 * 4;
}

/* Whether rows of W begin on 16 bytes, as the copy engine wants them, and loads of 16 bytes. */
static bool w_aligned(const lac_sided_t *s, how_t how)
{
    return how.w_source == TRANSPOSED ? true
           : how.w_source == COPIED   ? s->n % 4 == 0
                                      : s->wrs >= s->n && s->wrs % 4 == 0 && (uintptr_t)s->w->buf % 16 == 0;
}

static double gathered_us(const lac_sided_t *s, bool wide, const lac_machine_t *machine)
{
    return wide ? lac_cuda_wide_us(s, machine) : lac_cuda_gather_us(s, machine);
}

/* machine == NULL: the way that takes the most memory. */
static how_t how_of(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine)
{
    lac_w_layout_t slices = lac_sided_w_layout(p, s);
    bool narrow = s->n <= LAC_CUDA_NARROW_MAX, lies = slices != LAC_W_STRIDED && s->wrs >= 0 && s->wcs >= 0;
    w_source_t w_source = slices == LAC_W_PACKED                       ? COPIED
                          : !lies || (slices == LAC_W_COLS && !narrow) ? TRANSPOSED
                                                                       : AS_IT_LIES;
    how_t how = {lac_cuda_rows_source(s), w_source, narrow ? SHARED_ROWS : GATHERED, false};
    if (narrow || !w_aligned(s, how)) return how;
    bool once = how.source == LAC_CUDA_ROWS_BUILT, stepped = lac_cuda_schedule_serves(s, once);
    double m = (double)s->m, k = (double)s->k;
    how.wide =
        machine && s->n % 4 == 0 && lac_cuda_wide_wins(m, (double)s->n, k, s->s->density * m * k, machine);
    if (stepped && (!machine || lac_cuda_schedule_us(s, once, machine) < gathered_us(s, how.wide, machine)))
        how.kernel = STEPPED;
    return how;
}

static size_t transposed_bytes(const lac_sided_t *s, how_t how)
{
    return how.w_source == TRANSPOSED ? lac_cuda_piece((size_t)s->k * (size_t)padded(s->n) * sizeof(float))
                                      : 0;
}

static size_t schedule_bytes(const lac_sided_t *s, how_t how)
{
    return how.kernel == STEPPED && how.source == LAC_CUDA_ROWS_BUILT ? lac_cuda_schedule_work(s) : 0;
}

/* Sums of parts of k. */
static size_t partial_bytes(const lac_sided_t *s, how_t how)
{
    return how.kernel == STEPPED ? lac_cuda_piece((size_t)lac_cuda_csr_long_bytes(s->m, s->n, s->k)) : 0;
}

static bool short_enough(int64_t x)
{
    return x >= 0 && x < INT32_MAX;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    bool indices =
        short_enough(s.m) && short_enough(s.k) && short_enough(s.n) && s.wrs < INT32_MAX && s.wcs < INT32_MAX;
    return p->k == 0 || p->alpha == 0.0f || !p->m || !p->n     ? LAC_REFUSED_TRIVIAL
           : p->strict_nan                                     ? LAC_REFUSED_STRICT_NAN
           : !s.w->buf                                         ? LAC_REFUSED_W_SPARSE
           : s.w->dt != LAC_F32                                ? LAC_REFUSED_W_TYPE
           : lac_cuda_rows_source(&s) == LAC_CUDA_ROWS_NOWHERE ? LAC_REFUSED_NO_FORMAT
           : s.s->density < 0                                  ? LAC_REFUSED_DENSITY_UNKNOWN
           : !indices                                          ? LAC_REFUSED_INDEX_RANGE
                                                               : LAC_FITS;
}

/* A warp per row reads its nonzeros once, and for each the columns of W, at least half a sector of them. By
 * columns each is somewhere else: near while W fits the first-level cache, a sector beyond. */
static double narrow_us(const lac_sided_t *s, bool by_columns, const lac_machine_t *machine)
{
    double events = s->s->density * (double)s->m * (double)s->k, n = (double)s->n;
    double apart = 4.0 * (double)s->k * n <= NEAR_BYTES ? 10.0 : 32.0,
           listed = s->s->dt == LAC_F32 ? 8.0 : 4.0;
    double row = by_columns ? apart * n : 4.0 * (n < 4.0 ? 4.0 : n);
    return events * (listed + row) / (machine->cuda_narrow_gbps * 1e3);
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, machine);
    double transposed = 2.0 * (double)transposed_bytes(&s, how) / (machine->cuda_dram_gbps * 1e3);
    double product =
        how.kernel == SHARED_ROWS ? narrow_us(&s, lac_sided_w_layout(p, &s) == LAC_W_COLS, machine)
        : how.kernel == STEPPED   ? lac_cuda_schedule_us(&s, how.source == LAC_CUDA_ROWS_BUILT, machine)
                                  : gathered_us(&s, how.wide, machine);
    return machine->cuda_launch_us + lac_cuda_rows_us(&s, machine) + transposed + product;
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, NULL);
    size_t copy = how.w_source == COPIED ? lac_cuda_format_bytes(s.w, lac_sided_k_major(&s)) : 0;
    size_t kept =
        how.kernel == STEPPED && how.source == LAC_CUDA_ROWS_FORMAT ? lac_cuda_schedule_kept(&s) : 0;
    return copy + kept + transposed_bytes(&s, how) + schedule_bytes(&s, how) + partial_bytes(&s, how) +
           lac_cuda_rows_bytes(&s) + lac_cuda_format_bytes(s.s, lac_sided_by_rows(&s));
}

/* What the call wants of metadata; *declined where it is not there and cannot be made now. */
static lac_status_t find_formats(lac_exec_t *exec, const lac_sided_t *s, how_t how,
                                 const lac_format_data_t **rows, const lac_format_data_t **copy,
                                 bool *declined)
{
    lac_status_t status = LAC_OK;
    *rows = *copy = NULL;
    if (how.source == LAC_CUDA_ROWS_FORMAT)
        status = lac_cuda_format_now(exec, s->s, lac_sided_by_rows(s), rows);
    if (!status && how.w_source == COPIED)
        status = lac_cuda_format_now(exec, s->w, lac_sided_k_major(s), copy);
    *declined = (how.source == LAC_CUDA_ROWS_FORMAT && !*rows) || (how.w_source == COPIED && !*copy);
    return status;
}

/* W as the kernel reads it; transposed at `memory` where it has to be. */
static lac_status_t lay_out_w(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s, how_t how,
                              const lac_format_data_t *copy, char *memory, lac_cuda_product_t *product)
{
    bool by_rows = lac_sided_w_layout(p, s) == LAC_W_ROWS;
    product->w = copy ? copy->val : s->w->buf;
    product->order = by_rows || copy ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product->ldw = copy ? s->n : by_rows ? s->wrs : s->n == 1 ? s->k : s->wcs;
    if (how.w_source != TRANSPOSED) return LAC_OK;
    lac_cuda_matrix_t w = {LAC_F32, s->w->buf, s->k, s->n, s->wrs, s->wcs};
    float *transposed = (float *)(void *)memory;
    product->w = transposed;
    product->order = LAC_CUDA_ROWS;
    product->ldw = padded(s->n);
    return lac_cuda_launched(lac_cuda_copy(&w, 0.0f, transposed, padded(s->n), 1, exec->stream), "csr");
}

static lac_status_t multiply(lac_exec_t *exec, how_t how, const lac_cuda_product_t *product,
                             const lac_cuda_csr_t *csr, const void *steps, void *partial)
{
    if (how.kernel == SHARED_ROWS) return lac_cuda_spmm_narrow(product, csr, exec->stream);
    if (steps) return lac_cuda_csr_long(product, steps, partial, exec->stream);
    if (how.wide) return lac_cuda_spmm_wide(product, csr, exec->stream);
    return lac_cuda_event_csr(product, csr, NULL, exec->stream);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, exec->machine);
    lac_cuda_product_t product = {.m = s.m, .n = s.n, .k = s.k, .out = p->c, .rs = s.ors, .cs = s.ocs};
    const lac_format_data_t *rows, *copy;
    const void *steps = NULL;
    lac_cuda_csr_t csr;
    char *memory;
    if (how.kernel == STEPPED && !exec->takes_schedule) how.kernel = GATHERED;
    product.alpha = lac_cuda_alpha(p);
    product.beta = lac_cuda_beta(p);
    product.epilogue = lac_cuda_epilogue(p, route->side);
    lac_status_t status = find_formats(exec, &s, how, &rows, &copy, &out->declined);
    if (status || out->declined) return status;
    if (rows && how.kernel == STEPPED) status = lac_cuda_schedule_now(exec, &s, rows, &steps);
    size_t transposed = transposed_bytes(&s, how), stepped = schedule_bytes(&s, how),
           partial = partial_bytes(&s, how);
    size_t rows_at = transposed + stepped + partial;
    if (!status) status = lac_cuda_work(exec, rows_at + lac_cuda_rows_bytes(&s), (void **)&memory);
    if (status || exec->preparing) return status;
    if (rows)
        csr = (lac_cuda_csr_t){rows->ptr, rows->idx, rows->val, rows->count};
    else
        status = lac_cuda_rows_build(exec, &s, memory + rows_at, &csr);
    if (!status && stepped) status = lac_cuda_schedule_once(exec, &s, &csr, memory + transposed, &steps);
    if (!status) status = lay_out_w(exec, p, &s, how, copy, memory, &product);
    if (status) return status;
    out->density = s.s->density; /* what is believed: the device counts nothing on the way */
    return lac_cuda_launched(multiply(exec, how, &product, &csr, steps, memory + transposed + stepped),
                             "csr");
}

const lac_route_t lac_cuda_route_csr_left = {
    "csr", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue};
const lac_route_t lac_cuda_route_csr_right = {
    "csr", LAC_ROLE_SPARSE, LAC_SIDE_RIGHT, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue};
