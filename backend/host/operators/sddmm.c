/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products: A by rows and B by columns, transposed where they lie otherwise, then one sum per entry.

 The entries are cut into equal shares, whatever rows they fall into: each is its own sum, so that the result
 is the same however many threads there are. */
#include "operators.h"
#include "host/formats/dense_view.h"

/* Entries at which a share may be cut: a cache line of values. */
#define ENTRY_GRAIN 16

/* op(X) as lines along k: element k of line i lies at buf[i * ld + k]. */
typedef struct lines {
    const void *buf;
    int64_t ld;
} lines_t;

typedef struct turn {
    const lac_host_kernels_t *kernels;
    const lac_operand_t *x; /* a line is a row */
    int64_t lines, length;
    void *to;
} transpose_t;

static void transpose_part(void *arg, int part, int parts)
{
    const transpose_t *t = arg;
    const lac_operand_t *x = t->x;
    long long i0, i1;
    lac_share(t->lines, 1, part, parts, &i0, &i1);
    if (x->dt != LAC_U8)
        t->kernels->transpose_values(x->buf, t->length, i0, i1, x->cs, x->rs, t->to, t->length);
    else
        t->kernels->transpose_events(x->buf, t->length, i0, i1, x->cs, x->rs, t->to, t->length);
}

/* The rows of x as lines: where they are, or a copy in the workspace. */
static lac_status_t find_lines(lac_exec_t *exec, const lac_operand_t *x, lac_dt_t dt, int64_t lines,
                               int64_t length, int threads, lac_work_t purpose, lines_t *found)
{
    transpose_t t = {.kernels = lac_kernels(exec, dt), .x = x, .lines = lines, .length = length};
    lac_dense_view_t contents;
    *found = (lines_t){x->buf, x->rs};
    if (x->buf && x->dt == dt && (x->cs == 1 || length <= 1)) return LAC_OK;
    if (!x->buf) { /* expanded by rows */
        lac_status_t status = lac_dense_view(exec, x, dt, lines, length, true, purpose, &contents);
        if (!status) *found = (lines_t){contents.buf, contents.rs};
        return status;
    }
    size_t bytes;
    if (__builtin_mul_overflow((size_t)lines * lac_dt_size(dt), (size_t)length, &bytes)) bytes = SIZE_MAX;
    t.to = lac_work(exec, purpose, bytes);
    if (!t.to) return LAC_ERR_MEMORY;
    double serial = (double)bytes / (exec->machine->pack_gbps * 1e3);
    lac_parallel(lac_host_parts(threads, serial, exec->machine->fork_join_us), transpose_part, &t);
    *found = (lines_t){t.to, length};
    return LAC_OK;
}

typedef struct sampled {
    const lac_host_kernels_t *kernels;
    lac_rows_t pattern;
    lines_t a, b;
    int64_t kk;
    double alpha, beta;
    void *values;
} sampled_t;

static void entries_part(void *arg, int part, int parts)
{
    const sampled_t *s = arg;
    long long e0, e1;
    lac_share(s->pattern.ptr[s->pattern.rows], ENTRY_GRAIN, part, parts, &e0, &e1);
    s->kernels->sddmm(&s->pattern, e0, e1, s->a.buf, s->a.ld, s->b.buf, s->b.ld, s->kk, s->alpha, s->beta,
                      s->values);
}

lac_status_t lac_host_sddmm(lac_exec_t *exec, const lac_problem_t *p, const lac_format_data_t *pattern,
                            void *values)
{
    const lac_machine_t *machine = exec->machine;
    sampled_t s = {.kernels = lac_kernels(exec, p->dt),
                   .pattern = {p->m, p->n, pattern->ptr, pattern->idx, NULL},
                   .a = {values, 0}, /* no operand is read where kk stays 0 */
                   .b = {values, 0},
                   .beta = p->beta,
                   .values = values};
    if (!pattern->count) return LAC_OK;
    if (p->k && p->alpha != 0.0) {
        lac_operand_t columns = p->b; /* B's columns are the rows of its transpose */
        columns.transposed = !p->b.transposed;
        columns.rs = p->b.cs;
        columns.cs = p->b.rs;
        lac_status_t status =
            find_lines(exec, &p->a, p->dt, p->m, p->k, p->settings.threads, LAC_WORK_A, &s.a);
        if (!status)
            status = find_lines(exec, &columns, p->dt, p->n, p->k, p->settings.threads, LAC_WORK_B, &s.b);
        if (status) return status;
        s.kk = p->k;
        s.alpha = p->alpha;
    }
    double serial =
        (double)lac_dt_size(p->dt) * (double)pattern->count * (double)(s.kk + 1) / (machine->row_gbps * 1e3);
    lac_parallel(lac_host_parts(p->settings.threads, serial, machine->fork_join_us), entries_part, &s);
    return LAC_OK;
}
