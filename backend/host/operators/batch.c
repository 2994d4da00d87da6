/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batches on the host: small event products, each by one thread from scan to sum; products that are large, or
 * better dense, are left to calls of their own. */
#include "operators.h"
#include "host/routes/event.h"
#include "base/status.h"

#define SMALL_US 200.0              /* of one product: beyond, its own threads are as good */
#define LIST_MAX ((int64_t)1 << 20) /* elements of S, each of which may be an event         */

typedef struct run {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    const lac_batch_t *batch;
    lac_sided_t s;
    bool left, by_rows;
    char *lists; /* of each thread */
    char *acc;
    int64_t list_bytes, acc_stride; /* bytes */
    lac_pieces_t pieces;
} run_t;

static int64_t list_bytes(int64_t capacity, size_t size)
{
    return (capacity + 1) * (int64_t)(sizeof(int64_t) + 2 * sizeof(int32_t) + size) + 3 * LAC_ALIGN;
}

/* An empty list in a thread's share of the workspace. */
static lac_events_t list_at(char *memory, int64_t capacity, size_t size)
{
    lac_events_t list = {.capacity = capacity};
    list.first = (int64_t *)(void *)memory;
    list.val = list.first + capacity + 1;
    list.k = (int32_t *)(void *)((char *)list.val + capacity * (int64_t)size);
    list.row = list.k + capacity;
    return list;
}

/* The matrix of product q that begins where the problem's operand does. */
static const void *matrix_of(const lac_operand_t *x, const void *const *each, lac_inc_t step, int64_t q)
{
    return each ? each[q] : (const char *)x->buf + q * step * (int64_t)lac_dt_size(x->dt);
}

static void multiply(const run_t *r, int64_t q, char *memory, void *acc)
{
    const lac_sided_t *s = &r->s;
    const lac_batch_t *b = r->batch;
    const void *left = matrix_of(&r->p->a, b->a_each, b->a_step, q),
               *right = matrix_of(&r->p->b, b->b_each, b->b_step, q);
    const void *events = r->left ? left : right;
    const void *w = r->left ? right : left;
    size_t size = r->kernels->size;
    void *out = b->c_each ? b->c_each[q] : (char *)r->p->c + q * b->c_step * (int64_t)size;
    lac_host_output_t to = lac_host_output(r->kernels, r->p->alpha, r->p->beta, out, s->ors, s->ocs);
    lac_events_t list = list_at(memory, s->m * s->k, size);
    lac_scans(r->kernels, s->s->dt)->events(events, s->m, 0, s->k, s->srs, s->scs, &list);
    (r->by_rows ? r->kernels->event_rows
                : r->kernels->event_cols)(&list, 1, s->m, w, r->by_rows ? s->wrs : s->wcs, 0, s->n, &to, acc);
}

static void products_part(void *arg, int part, int parts)
{
    run_t *r = arg;
    int64_t q, end;
    (void)parts;
    while (lac_pieces_take(&r->pieces, &q, &end))
        for (; q < end; q++) multiply(r, q, r->lists + part * r->list_bytes, r->acc + part * r->acc_stride);
}

/* That the kernels read the product's operands as they lie. */
static bool lies(const lac_problem_t *p, const lac_sided_t *s)
{
    lac_w_layout_t slices = lac_sided_w_layout(p, s);
    return (slices == LAC_W_ROWS || slices == LAC_W_COLS) && s->w->buf && s->w->dt == p->dt &&
           lac_event_source(s) == LAC_EVENTS_SCAN && s->m <= LIST_MAX / s->k && s->k <= INT32_MAX;
}

lac_status_t lac_host_batched(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              lac_batch_outcome_t *out)
{
    const lac_route_t *single = batch->single;
    if (single->role != LAC_ROLE_SPARSE || batch->single_us > SMALL_US) return LAC_OK;
    run_t r = {.kernels = lac_kernels(exec, p->dt), .p = p, .batch = batch, .s = lac_sided(p, single->side)};
    if (!lies(p, &r.s)) return LAC_OK;
    r.left = single->side == LAC_SIDE_LEFT;
    r.by_rows = lac_sided_w_layout(p, &r.s) == LAC_W_ROWS;
    int parts = lac_host_parts(p->settings.threads, batch->single_us * (double)batch->count,
                               exec->machine->fork_join_us);
    r.list_bytes = (list_bytes(r.s.m * r.s.k, r.kernels->size) + LAC_ALIGN - 1) / LAC_ALIGN * LAC_ALIGN;
    int64_t acc = lac_event_scratch(r.s.m, r.kernels->size) * (int64_t)r.kernels->size;
    r.acc_stride = (acc + LAC_ALIGN - 1) / LAC_ALIGN * LAC_ALIGN;
    r.lists = lac_work(exec, LAC_WORK_EVENTS, (size_t)parts * (size_t)r.list_bytes);
    r.acc = lac_work(exec, LAC_WORK_ACC, (size_t)parts * (size_t)r.acc_stride);
    if (!r.lists || !r.acc) { /* one by one they need less */
        lac_clear_error();
        return LAC_OK;
    }
    r.pieces.extent = batch->count;
    r.pieces.grain = 1;
    lac_parallel(parts, products_part, &r);
    *out = (lac_batch_outcome_t){true, LAC_ROLE_SPARSE, single->side};
    return LAC_OK;
}
