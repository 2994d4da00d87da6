/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a problem asks for at least. */
#include "work_model.h"

#include <stdlib.h>

/* Nonzeros at each k of op(X), k along its columns (along_columns) or rows. Returns their sum. */
static double count_by_k(int64_t *count, const ref_matrix_t *x, bool along_columns)
{
    double sum = 0.0;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++)
            if (ref_matrix_at(x, i, j) != 0.0) {
                count[along_columns ? j : i]++;
                sum += 1.0;
            }
    return sum;
}

static double element_bytes(const ref_operand_t *said)
{
    return (double)lac_dt_size(said->dt);
}

/* Bytes of an operand as the library gets it: the dense buffer, or an index and a value (a number, of so
 * many bytes) for each nonzero. */
static double stored_bytes(const ref_operand_t *said, double number, double elements, double nonzeros)
{
    bool format = said->meta != REF_META_NONE && said->meta != REF_META_DENSITY;
    return format ? (4.0 + number) * nonzeros : element_bytes(said) * elements;
}

#define SECTOR_BYTES 32 /* the least that a device's memory moves */

/* Of `span` elements along k, which lie next to each other in each line of op(X), those in one sector count
 * once. */
static double sectors_along_k(const int64_t *a_at, const int64_t *b_at, int64_t k, int64_t span)
{
    double count = 0.0;
    int64_t last = -1;
    for (int64_t i = 0; i < k; i++) {
        if (a_at[i] == 0 || b_at[i] == 0 || i / span == last) continue;
        last = i / span;
        count += 1.0;
    }
    return count;
}

/* Bytes of the active slices of the operand that is taken as dense: as long as op(X) is across k. */
static double slice_bytes(const ref_operand_t *said, const ref_matrix_t *op, bool along_columns,
                          const int64_t *a_at, const int64_t *b_at, double active)
{
    int64_t k = along_columns ? op->n : op->m, length = along_columns ? op->m : op->n;
    int64_t step = along_columns ? op->cs : op->rs, across = along_columns ? op->rs : op->cs;
    double bytes = active * (double)length * element_bytes(said);
    if (said->frozen || step != 1 || across == 1) return bytes;
    int64_t span = (int64_t)(SECTOR_BYTES / element_bytes(said));
    double sectors = sectors_along_k(a_at, b_at, k, span) * (double)length * SECTOR_BYTES;
    double whole = (double)k * (double)length * element_bytes(said);
    return sectors < whole ? sectors : whole;
}

bool work_model(work_model_t *work, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    int64_t *a_at = calloc((size_t)p->k + 1, sizeof *a_at), *b_at = calloc((size_t)p->k + 1, sizeof *b_at);
    if (!a_at || !b_at) {
        free(a_at);
        free(b_at);
        return false;
    }
    ref_matrix_t a = ref_matrix_op(&set->data.a, p->trans_a), b = ref_matrix_op(&set->data.b, p->trans_b);
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double nnz_a = count_by_k(a_at, &a, true), nnz_b = count_by_k(b_at, &b, false);
    double pairs = 0.0, active = 0.0;
    for (int64_t i = 0; i < p->k; i++) {
        pairs += (double)a_at[i] * (double)b_at[i];
        active += a_at[i] > 0 && b_at[i] > 0;
    }
    double slices_a = slice_bytes(&p->a, &a, true, a_at, b_at, active);
    double slices_b = slice_bytes(&p->b, &b, false, a_at, b_at, active);
    free(a_at);
    free(b_at);

    double number = (double)lac_dt_size(p->c.dt), c_bytes = number * m * n * (p->beta != 0.0f ? 2.0 : 1.0);
    work->density_a = m * k > 0 ? nnz_a / (m * k) : 0.0;
    work->density_b = k * n > 0 ? nnz_b / (k * n) : 0.0;
    work->active_k = k > 0 ? active / k : 0.0;
    work->dense_flops = 2.0 * m * n * k;
    work->useful_flops = 2.0 * pairs;
    work->dense_bytes = number * (m * k + k * n) + c_bytes;
    bool left = work->density_a <= work->density_b;
    double own = left ? stored_bytes(&p->a, number, m * k, nnz_a) : stored_bytes(&p->b, number, k * n, nnz_b);
    work->sparse_bytes =
        c_bytes + own + active * (left ? n * element_bytes(&p->b) : m * element_bytes(&p->a));
    work->floor_bytes = c_bytes + own + (left ? slices_b : slices_a);
    return true;
}
