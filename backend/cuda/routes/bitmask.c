/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The bitmask route on a device: a frozen weight as one bit per element and packed values, times a short
 * other side: fewer bytes than dense where a weight is sparse but far from empty. */
#include "routes.h"
#include "cuda/formats/formats.h"
#include "base/status.h"

#define COLUMNS_MAX 64 /* of W: it is taken 8 at a time, and S read anew for each */
#define COLUMNS     8
#define PASS_US     3.0
#define ELEMENT_PS  0.50 /* of S, whatever it is                */
#define NONZERO_PS  0.40 /* more where it is one                */
#define DRAM_GBPS   2850.0
#define WALK_NS     1.6 /* each element of a row, if rows are few */

static lac_format_t format_of(const lac_sided_t *s)
{
    return s->s_transposed ? LAC_FORMAT_BITS_T : LAC_FORMAT_BITS;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, 0);
    bool by_rows = s.wcs == 1 || s.n == 1, strides = (by_rows || s.wrs == 1) && s.wrs >= 0 && s.wcs >= 0;
    bool indices = s.m < INT32_MAX && s.k < INT32_MAX && s.wrs < INT32_MAX && s.wcs < INT32_MAX;
    if (refusal != LAC_FITS) return refusal;
    if (p->dt == LAC_F64) return LAC_REFUSED_DOUBLES;
    if (!lac_cuda_format_at_hand(s.s, format_of(&s))) return LAC_REFUSED_NOT_FROZEN;
    if (s.n > COLUMNS_MAX) return LAC_REFUSED_NOT_SHORT;
    if (!indices) return LAC_REFUSED_INDEX_RANGE;
    if (!strides) return LAC_REFUSED_W_STRIDES;
    return LAC_FITS;
}

/* Each column of W that an element meets, beyond the first: picoseconds. */
static double columns_ps(int64_t columns)
{
    return columns == 1 ? 0.0 : columns == 2 ? 0.05 : columns <= 4 ? 0.3 : 1.1;
}

/* One reading of S with so many columns: instructions, memory, or one row after the other. 8192 x 8192 at 5
 * .. 70 % with 1, 2, 4, 8 columns: 39 .. 70, 41 .. 71, 49 .. 75, 92 .. 128 us; 1024 x 4096 at 50 %: 12 to 24
 * us (H200, 2026-11-21). */
static double pass_us(const lac_sided_t *s, int64_t columns)
{
    double elements = (double)s->m * (double)s->k, d = s->s->density;
    double worked = elements * (ELEMENT_PS + NONZERO_PS * d + columns_ps(columns)) * 1e-6;
    double moved = elements * (0.125 + 4.0 * d) / (DRAM_GBPS * 1e3), walked = (double)s->k * WALK_NS * 1e-3;
    double most = worked > moved ? worked : moved;
    return PASS_US + (most > walked ? most : walked);
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    int64_t whole = s.n / COLUMNS, rest = s.n % COLUMNS;
    return machine->cuda_launch_us + (double)whole * pass_us(&s, COLUMNS) + (rest ? pass_us(&s, rest) : 0.0);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    return lac_cuda_format_bytes(s.s, format_of(&s));
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    const lac_format_data_t *format;
    lac_status_t status = lac_cuda_format_ensure(exec, s.s, format_of(&s), &format);
    if (status || exec->preparing) return status;
    if (!format) return lac_fail(LAC_ERR_INTERNAL, "bitmask: the format went away");
    out->density = (double)format->count / ((double)s.m * (double)s.k);
    bool by_rows = s.wcs == 1 && (s.n > 1 || s.wrs != 1);
    lac_cuda_product_t product = {.m = s.m, .n = s.n, .k = s.k, .w = s.w->buf, .out = p->c};
    product.alpha = lac_cuda_alpha(p);
    product.beta = lac_cuda_beta(p);
    product.epilogue = lac_cuda_epilogue(p, route->side);
    product.order = by_rows || s.wrs != 1 ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product.ldw = product.order == LAC_CUDA_ROWS ? s.wrs : s.n == 1 ? s.k : s.wcs;
    product.rs = s.ors;
    product.cs = s.ocs;
    lac_cuda_bits_t bits = {(s.k + 63) / 64, format->bits, format->ptr, format->val};
    return lac_cuda_launched(lac_cuda_bitmask(&product, &bits, exec->stream), "bitmask");
}

const lac_route_t lac_cuda_route_bitmask[] =
    LAC_ROUTE_SIDES(bitmask, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue, 0);
