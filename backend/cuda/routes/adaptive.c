/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The adaptive route: a product with a short side of which nobody knows how many zeros it has. The device
 * counts, and gathers as the event route or streams as the stream route, in every run anew.
 *
 * It applies where both of these do. Where W lies by columns it gathers by lists of active k, which are what
 * is counted there. */
#include "gather.h"
#include "routes.h"

#include <math.h>

#define ROWS_MAX  1024 /* of S: beyond, stream takes another side for the short one           */
#define COLUMNS   4    /* of W, that a list of active k is read for at once                    */
#define LIST_ROWS 11.0 /* of S, where W lies by columns, that share a list of active k         */

/* Fitted on an H200, 2026-11-23. */
#define EXITS_US  2.5     /* behind a gather: two launches that find nothing to do             */
#define COUNTS_US 6.0     /* before a W that streams: the packing that is counted              */
#define RECORD_US 1.26e-6 /* a column of an active k, spread over so many                      */
#define WORKERS   132.0   /* ... multiprocessors                                               */
#define ROW_US    0.15e-6 /* each row of such a column                                         */
#define TAIL      0.25    /* of the shorter of two things that overlap                         */

/* The same problem with so many of S's elements nonzero. */
static lac_problem_t with_density(const lac_problem_t *p, double density)
{
    lac_problem_t known = *p;
    lac_operand_t *s = lac_cuda_stream_side(p) == LAC_SIDE_RIGHT ? &known.b : &known.a;
    s->density = density;
    s->k_active = s->blocks_active = -1.0;
    return known;
}

static lac_cuda_order_t order_of(const lac_sided_t *s)
{
    return s->wcs == 1 && s->wrs >= s->n ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    lac_problem_t known = with_density(p, LAC_SPARSE_DENSITY);
    lac_sided_t s = lac_sided(&known, lac_cuda_stream_side(p));
    lac_refusal_t refusal = lac_cuda_stream_refusal(p);
    if (refusal == LAC_FITS) refusal = lac_sparse_refusal(&known, &s, 0);
    if (refusal != LAC_FITS) return refusal;
    if (p->dt == LAC_F64) return LAC_REFUSED_DOUBLES;
    if (s.m > ROWS_MAX || s.n < COLUMNS) return LAC_REFUSED_NOT_SHORT;
    s = lac_sided(p, lac_cuda_stream_side(p));
    if (s.s->formats || s.s->known > LAC_KNOWN_PROBED) return LAC_REFUSED_DENSITY_KNOWN;
    if (p->settings.fixed_sums) return LAC_REFUSED_SUMS_FIXED;
    return s.m * s.k <= LAC_CUDA_ADAPTIVE_MOST ? LAC_FITS : LAC_REFUSED_INDEX_RANGE;
}

/* Beside what lac_cuda_columns_us has, which is fitted up to a tenth of S: what is multiplied, the zeros of
 * active k among it. */
static double listed_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double lists = ceil((double)s->m / LIST_ROWS), rows = (double)s->m / lists;
    double active = lists * lac_active_fraction(s->s->density, rows) * (double)s->k * (double)s->n;
    double worked = active * (RECORD_US + ROW_US * rows) * WORKERS / machine->cuda_processors,
           moved = lac_cuda_columns_us(s, LAC_CUDA_COLUMNS_ACTIVE, machine);
    return worked > moved ? worked + TAIL * moved : moved + TAIL * worked;
}

static double gathered_us(const lac_problem_t *p, double density, const lac_machine_t *machine)
{
    lac_problem_t known = with_density(p, density);
    lac_sided_t s = lac_sided(&known, lac_cuda_stream_side(p));
    double gather = order_of(&s) == LAC_CUDA_ROWS ? lac_cuda_gather_us(&s, machine) : listed_us(&s, machine);
    return machine->cuda_launch_us + machine->cuda_pdl_us + gather + EXITS_US;
}

static double streamed_us(const lac_problem_t *p, const lac_machine_t *machine)
{
    return lac_cuda_stream_us(p, true, machine) + COUNTS_US;
}

/* Where nothing is known, the mean of a sparse operand's time and a dense one's. */
static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    lac_sided_t s = lac_sided(p, lac_cuda_stream_side(p));
    double streamed = streamed_us(p, machine),
           gathered = gathered_us(p, s.s->density < 0 ? LAC_SPARSE_DENSITY : s.s->density, machine);
    if (gathered > streamed) gathered = streamed;
    return s.s->density < 0 ? 0.5 * (gathered + streamed) : gathered;
}

typedef struct ways {
    const lac_problem_t *p;
    const lac_machine_t *machine;
    double streamed_us;
} ways_t;

static bool gathers_sooner(const void *arg, double density)
{
    const ways_t *ways = arg;
    return gathered_us(ways->p, density, ways->machine) < ways->streamed_us;
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    lac_cuda_product_t product = lac_cuda_stream_product(p);
    return lac_cuda_piece((size_t)lac_cuda_adaptive_bytes(&product));
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)out;
    lac_sided_t s = lac_sided(p, lac_cuda_stream_side(p));
    void *memory;
    lac_status_t status = lac_cuda_work(exec, bytes(route, p), &memory);
    if (status || exec->preparing) return status;
    lac_cuda_product_t product = lac_cuda_stream_product(p);
    lac_cuda_dense_t dense = {s.s->dt, s.s->buf, s.srs, s.scs, 0.0};
    ways_t ways = {p, exec->machine, streamed_us(p, exec->machine)};
    double break_even = lac_density_below(gathers_sooner, &ways);
    return lac_cuda_launched(lac_cuda_adaptive(&product, &dense, break_even, memory, exec->stream),
                             route->name);
}

const lac_route_t lac_cuda_route_adaptive[] =
    LAC_ROUTE_ONE(adaptive, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue, LAC_ROUTE_ANY_DENSITY);
