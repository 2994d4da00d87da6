/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event route on a device: compact the events of S, then gather only the slices of W that they name.

 Left and right side are one route on two views of the problem. Events come from CSR where metadata has it,
 from the dense buffer otherwise; W is gathered by rows, by columns, or, where it is frozen, by the rows of a
 k-major copy made once. */
#include "cuda_contents.h"
#include "cuda_forms.h"
#include "cuda_routes.h"

#define ROWS_MAX     4096 /* of S: beyond, W's slices are read anew too often      */
#define STREAM_LEAST 0.3  /* share of W's sectors above which W by columns is streamed */
#define SECTOR       8.0  /* floats                                                */

/* Where the events of S come from. */
typedef enum event_source { FROM_CSR, FROM_BUFFER, FROM_EXPANSION, FROM_NOWHERE } event_source_t;

static event_source_t source_of(const lac_sided_t *s)
{
    if (lac_cuda_form_at_hand(s->s, lac_sided_by_rows(s))) return FROM_CSR;
    if (s->s->buf) return FROM_BUFFER;
    return s->s->forms & LAC_FORMS_SPARSE ? FROM_EXPANSION : FROM_NOWHERE;
}

/* How W is read. */
typedef enum gather { BY_ROWS, BY_COPY, BY_COLUMNS, BY_STREAM } gather_t;

typedef struct how {
    event_source_t source;
    gather_t gather;
} how_t;

static double sector_share(const lac_sided_t *s)
{
    return lac_active_fraction(s->s->density, SECTOR * (double)s->m);
}

static gather_t by_columns(const lac_sided_t *s, event_source_t source)
{
    return source != FROM_CSR && sector_share(s) > STREAM_LEAST ? BY_STREAM : BY_COLUMNS;
}

static how_t how_of(const lac_problem_t *p, const lac_sided_t *s)
{
    lac_slices_t slices = lac_sided_slices(p, s);
    how_t how = {source_of(s), BY_ROWS};
    if (slices == LAC_SLICES_COPY) how.gather = BY_COPY;
    if (slices == LAC_SLICES_COLS) how.gather = by_columns(s, how.source);
    return how;
}

static bool short_enough(int64_t x)
{
    return x < INT32_MAX;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    bool indices = short_enough(s.k) && short_enough(s.n) && short_enough(s.wrs) && short_enough(s.wcs);
    return p->k == 0 || p->alpha == 0.0f || !p->m || !p->n ? LAC_REFUSED_TRIVIAL
           : p->strict_nan                                 ? LAC_REFUSED_STRICT_NAN
           : !s.w->buf                                     ? LAC_REFUSED_PARTNER_SPARSE
           : s.w->dt != LAC_F32                            ? LAC_REFUSED_PARTNER_TYPE
           : source_of(&s) == FROM_NOWHERE                 ? LAC_REFUSED_NO_FORM
           : s.s->density < 0                              ? LAC_REFUSED_DENSITY_UNKNOWN
           : s.m > ROWS_MAX                                ? LAC_REFUSED_NOT_SHORT
           : !indices                                      ? LAC_REFUSED_INDEX_RANGE
           : lac_sided_slices(p, &s) == LAC_SLICES_NEITHER || s.wrs < 0 || s.wcs < 0
               ? LAC_REFUSED_PARTNER_STRIDES
               : LAC_FITS;
}

/* Row gather: each slice that any row of S needs comes from memory once, and from the cache for every group
 * of rows that shares it; the two overlap for the most part. */
static double rows_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double m = (double)s->m, w = 4.0 * (double)s->k * (double)s->n, d = s->s->density;
    double group = m * d > 0.8 ? 32.0 : 10.0, groups = m > group ? m / group : 1.0;
    double active = s->s->k_active >= 0 ? s->s->k_active : lac_active_fraction(d, m);
    double dram = active * w / (machine->cuda_dram_gbps * 1e3);
    double cache = groups * lac_active_fraction(d, m < group ? m : group) * w / (machine->cuda_l2_gbps * 1e3);
    return dram > cache ? dram + 0.35 * cache : cache + 0.35 * dram;
}

static double columns_us(const lac_sided_t *s, const lac_machine_t *machine, bool streamed)
{
    double moved = 4.0 * sector_share(s) * (double)s->k * (double)s->n;
    double events = s->s->density * (double)s->m * (double)s->k * (double)s->n;
    if (!streamed) return moved / (machine->cuda_sector_gbps * 1e3);
    return machine->cuda_stream_us + moved / (machine->cuda_stream_gbps * 1e3) +
           events / (machine->cuda_stream_events * 1e3);
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s);
    double elements = (double)s.m * (double)s.k, element = s.s->dt == LAC_F32 ? 4.0 : 1.0;
    bool given = how.source == FROM_CSR;
    double launches = machine->cuda_launch_us + (given || s.m == 1 ? 0.0 : machine->cuda_chain_us);
    double scan = given ? 0.0 : element * elements / (machine->cuda_l2_gbps * 1e3);
    if (how.source == FROM_EXPANSION)
        scan += 2.0 * machine->cuda_launch_us + 8.0 * elements / (machine->cuda_dram_gbps * 1e3);
    double out = 4.0 * (double)s.m * (double)s.n / (machine->cuda_dram_gbps * 1e3);
    bool rows = how.gather == BY_ROWS || how.gather == BY_COPY;
    return launches + scan + out +
           (rows ? rows_us(&s, machine) : columns_us(&s, machine, how.gather == BY_STREAM));
}

static size_t expansion_bytes(const lac_sided_t *s, how_t how)
{
    return how.source == FROM_EXPANSION ? lac_cuda_piece((size_t)s->m * (size_t)s->k * sizeof(float)) : 0;
}

static size_t packed_bytes(const lac_sided_t *s, how_t how)
{
    if (how.source == FROM_CSR) return 0;
    int64_t packed = how.gather == BY_STREAM ? lac_cuda_event_stream_bytes(s->m, s->k)
                                             : lac_cuda_event_slots_bytes(s->m, s->k);
    return lac_cuda_piece((size_t)packed);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s);
    size_t copy = how.gather == BY_COPY ? (size_t)s.k * (size_t)s.n * sizeof(float) : 0;
    return packed_bytes(&s, how) + expansion_bytes(&s, how) + copy;
}

/* Finds the forms that the call wants. What is not there yet cannot be made while the stream is captured:
 * then the buffers serve. */
static lac_status_t find_forms(lac_exec_t *exec, const lac_sided_t *s, how_t *how,
                               const lac_form_data_t **rows, const lac_form_data_t **copy)
{
    lac_status_t status = LAC_OK;
    bool fixed = (how->source == FROM_CSR || how->gather == BY_COPY) && lac_cuda_capturing(exec);
    *rows = *copy = NULL;
    if (how->source == FROM_CSR && fixed && s->s->buf && !lac_meta_form(s->s->meta, lac_sided_by_rows(s)))
        how->source = FROM_BUFFER;
    if (how->source == FROM_CSR) status = lac_cuda_form_ensure(exec, s->s, lac_sided_by_rows(s), rows);
    if (how->gather == BY_COPY && fixed && !lac_meta_form(s->w->meta, lac_sided_k_major(s)))
        how->gather = by_columns(s, how->source);
    if (!status && how->gather == BY_COPY)
        status = lac_cuda_form_ensure(exec, s->w, lac_sided_k_major(s), copy);
    return status;
}

static lac_cuda_product_t describe(const lac_problem_t *p, const lac_sided_t *s, how_t how,
                                   const lac_form_data_t *copy)
{
    lac_cuda_product_t product = {.m = s->m, .n = s->n, .k = s->k, .out = p->c, .rs = s->ors, .cs = s->ocs};
    product.alpha.value = p->alpha;
    product.beta.value = p->beta;
    product.w = copy ? copy->val : s->w->buf;
    product.order = copy || how.gather == BY_ROWS ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product.ldw = copy ? s->n : how.gather == BY_ROWS ? s->wrs : s->wcs;
    if (s->n == 1 && product.order == LAC_CUDA_COLS) product.ldw = s->k; /* a single column has no next one */
    return product;
}

static lac_status_t multiply(lac_exec_t *exec, const lac_sided_t *s, how_t how,
                             const lac_cuda_product_t *product, const lac_form_data_t *rows, char *memory)
{
    if (rows) {
        lac_cuda_csr_t csr = {rows->ptr, rows->idx, rows->val, rows->count};
        return lac_cuda_event_csr(product, &csr, NULL, exec->stream);
    }
    lac_cuda_dense_t dense = {s->s->dt, s->s->buf, s->srs, s->scs, s->s->density};
    if (how.source == FROM_EXPANSION) {
        lac_operand_t turned = *s->s; /* as the sided view has it */
        lac_cuda_contents_t contents;
        turned.flipped = s->s_flipped;
        lac_status_t status = lac_cuda_contents(exec, &turned, s->m, s->k, false, &memory, &contents);
        if (status) return status;
        dense = (lac_cuda_dense_t){LAC_F32, contents.buf, contents.rs, contents.cs, s->s->density};
    }
    if (how.gather == BY_STREAM) return lac_cuda_event_stream(product, &dense, memory, exec->stream);
    if (s->m == 1) return lac_cuda_event_fused(product, &dense, NULL, exec->stream);
    return lac_cuda_event_slots(product, &dense, NULL, memory, exec->stream);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s);
    const lac_form_data_t *rows, *copy;
    char *memory;
    lac_status_t status = find_forms(exec, &s, &how, &rows, &copy);
    if (!status)
        status = lac_cuda_work(exec, packed_bytes(&s, how) + expansion_bytes(&s, how), (void **)&memory);
    if (status || exec->preparing) return status;
    out->density = s.s->density; /* what is believed: the device counts nothing on the way */
    lac_cuda_product_t product = describe(p, &s, how, copy);
    return lac_cuda_launched(multiply(exec, &s, how, &product, rows, memory), "event");
}

const lac_route_t lac_cuda_route_event_left = {
    "event", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, applicable, cost_us, bytes, run};
const lac_route_t lac_cuda_route_event_right = {
    "event", LAC_ROLE_SPARSE, LAC_SIDE_RIGHT, applicable, cost_us, bytes, run};
