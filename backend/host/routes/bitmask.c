/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The bitmask route: a frozen weight as one bit per element and packed values, times a short other side.

 It moves 1/32 of the dense bytes plus the nonzeros, so that it pays where a weight is sparse but far from
 empty, and the dense product would be bound by reading the weight. */
#include "host/formats/formats.h"
#include "routes.h"
#include "base/status.h"

#include <math.h>

#define COLUMNS_MAX 64 /* beyond, W leaves the first-level cache and csr serves better */

typedef struct product {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    const lac_sided_t *s;
    lac_bits_t bits;
    const void *w;
    lac_inc_t ldw;
} product_t;

static lac_format_t format_of(const lac_sided_t *s)
{
    return s->s_transposed ? LAC_FORMAT_BITS_T : LAC_FORMAT_BITS;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, 0);
    if (refusal != LAC_FITS) return refusal;
    if (!lac_format_at_hand(s.s, format_of(&s))) return LAC_REFUSED_NOT_FROZEN;
    if (s.n > COLUMNS_MAX) return LAC_REFUSED_NOT_SHORT;
    return LAC_FITS;
}

static double serial_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    return (double)s->m * ceil((double)s->k / s->line) * (double)s->n * machine->bits_ns * 1e-3;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    double read = (double)s.m * (double)s.k * (0.125 + s.size * s.s->density),
           serial = serial_us(&s, machine);
    double transpose_us =
        s.wrs == 1 ? 0.0 : 2.0 * s.size * (double)s.k * (double)s.n / (machine->row_gbps * 1e3);
    int parts = lac_host_parts(p->settings.threads, serial, machine->fork_join_us);
    double bound = read / (machine->row_gbps_all * 1e3), shared = serial / parts;
    return machine->route_us + transpose_us + (shared > bound ? shared : bound) +
           (parts > 1 ? machine->fork_join_us : 0);
}

/* Of W by columns, where it lies otherwise. */
static size_t transposed_bytes(const lac_sided_t *s)
{
    return s->wrs == 1 ? 0 : (size_t)s->k * (size_t)s->n * (size_t)s->size;
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    return lac_format_bytes(s.s, format_of(&s)) + transposed_bytes(&s);
}

static void product_part(void *arg, int part, int parts)
{
    const product_t *g = arg;
    const lac_sided_t *s = g->s;
    long long i0, i1;
    lac_share(s->m, 1, part, parts, &i0, &i1);
    lac_host_output_t out = lac_host_output(g->kernels, g->p->alpha, g->p->beta, g->p->c, s->ors, s->ocs);
    if (i0 < i1) g->kernels->bitmask_cols(&g->bits, i0, i1, g->w, g->ldw, s->n, &out);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    product_t g = {.kernels = lac_kernels(exec, p->dt), .p = p, .s = &s, .w = s.w->buf, .ldw = s.wcs};
    const lac_format_data_t *format;
    lac_status_t status = lac_format_ensure(exec, s.s, p->settings.threads, format_of(&s), &format);
    if (status) return status;
    if (!format) return lac_fail(LAC_ERR_INTERNAL, "bitmask: the format went away");
    if (lac_exceeds(lac_sided_limit(p, &s), format->count)) return (out->declined = true), LAC_OK;
    g.bits = (lac_bits_t){s.m, s.k, (s.k + 63) / 64, format->bits, format->ptr, format->val};
    out->density = (double)format->count / ((double)s.m * (double)s.k);
    if (s.wrs != 1) {
        void *transposed = lac_work(exec, LAC_WORK_B, transposed_bytes(&s));
        if (!transposed) return LAC_ERR_MEMORY;
        g.kernels->transpose_values(s.w->buf, s.k, 0, s.n, s.wrs, s.wcs, transposed, s.k);
        g.w = transposed;
        g.ldw = s.k;
    }
    lac_parallel(
        lac_host_parts(p->settings.threads, serial_us(&s, exec->machine), exec->machine->fork_join_us),
        product_part, &g);
    return LAC_OK;
}

const lac_route_t lac_host_route_bitmask[] =
    LAC_ROUTE_SIDES(bitmask, applicable, cost_us, bytes, run, NULL, 0);
