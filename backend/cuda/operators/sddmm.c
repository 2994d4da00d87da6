/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products on a device: A by rows and B by columns, transposed where they lie otherwise, then one sum
 per entry. */
#include "operators.h"
#include "cuda/formats/dense_view.h"
#include "cuda_kernels.h"
#include "base/status.h"

#define LINE 4 /* elements: lines of a copy begin at multiples of 16 bytes */

/* op(X), `lines` x k, with each line contiguous. */
typedef struct lines {
    const lac_operand_t *x;
    lac_dim_t lines, k;
    const float *buf;
    int64_t ld;
} lines_t;

static bool lie_as_wanted(const lines_t *l)
{
    return l->x->buf && l->x->dt == LAC_F32 && (l->x->cs == 1 || l->k <= 1);
}

static size_t copy_bytes(const lines_t *l)
{
    int64_t ld = (l->k + LINE - 1) / LINE * LINE;
    return lie_as_wanted(l) ? 0 : lac_cuda_piece((size_t)l->lines * (size_t)ld * sizeof(float));
}

static lac_status_t lay(lac_exec_t *exec, lines_t *l, char *memory)
{
    const lac_operand_t *x = l->x;
    lac_cuda_dense_view_t contents;
    l->buf = x->buf;
    l->ld = x->rs;
    if (lie_as_wanted(l)) return LAC_OK;
    if (!x->buf) {
        lac_status_t status = lac_cuda_dense_view(exec, x, l->lines, l->k, true, &memory, &contents);
        if (!status) l->buf = contents.buf, l->ld = contents.rs;
        return status;
    }
    float *copy = (float *)(void *)memory;
    lac_cuda_matrix_t from = {x->dt, x->buf, l->lines, l->k, x->rs, x->cs};
    l->buf = copy;
    l->ld = (l->k + LINE - 1) / LINE * LINE;
    return lac_cuda_launched(lac_cuda_copy(&from, 0.0f, LAC_F32, copy, l->ld, 1, exec->stream),
                             "sampled product");
}

lac_status_t lac_cuda_sample_product(lac_exec_t *exec, const lac_problem_t *p,
                                     const lac_format_data_t *pattern, void *values)
{
    lac_cuda_csr_t csr = {pattern->ptr, pattern->idx, NULL, pattern->count, false};
    lac_cuda_sampled_t s = {
        .m = p->m, .n = p->n, .beta = (float)p->beta, .values = values, .longest = pattern->longest};
    lac_operand_t columns = p->b; /* B's columns are the rows of its transpose */
    columns.transposed = !p->b.transposed;
    columns.rs = p->b.cs;
    columns.cs = p->b.rs;
    if (!pattern->count) return LAC_OK;
    if (p->k && p->alpha != 0.0) {
        lines_t a = {.x = &p->a, .lines = p->m, .k = p->k}, b = {.x = &columns, .lines = p->n, .k = p->k};
        char *memory;
        lac_status_t status = lac_cuda_work(exec, copy_bytes(&a) + copy_bytes(&b), (void **)&memory);
        if (!status) status = lay(exec, &a, memory);
        if (!status) status = lay(exec, &b, memory + copy_bytes(&a));
        if (status) return status;
        s.k = p->k, s.alpha = (float)p->alpha;
        s.a = a.buf, s.lda = a.ld, s.b = b.buf, s.ldb = b.ld;
    }
    return lac_cuda_launched(lac_cuda_sddmm(&s, &csr, exec->stream), "sampled product");
}
