/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Compressed rows as a caller brings them, unchecked, in any order, with repetitions: products, slices,
 * samples.
 *
 * Each kernel checks what it reads of pointers, indices and permutations, and returns LAC_LOOSE_FINE, or the
 * place of the first wrong one: 4 e + which, with which as in lac_loose_array_t. Sums are in double and
 * rounded once, but those of one scattered column with few events. */

/* Rows [i0, i1) of C := A X for columns [j0, j1): C[i, j] = sum over the entries e of row i, in their order,
 * of value(e) X[idx[e], j], where that is not zero. The factor is 1 where `binary`.
 *
 * Bytes     per entry its index and value, and (j1 - j0) elements of X from wherever they lie. Limit: those
 * gathers. */
LAC_KERNEL(loose_gather, int64_t,
           (const lac_loose_rows_t *a, int64_t i0, int64_t i1, const lac_loose_dense_t *x, bool binary,
            int64_t j0, int64_t j1, void *c, int64_t rs, int64_t cs))

/* C[0..n) x [j0, j1) := A' X: each row i of A with an X[i, j] that is not zero is added, i ascending. acc is
 * [n * (j1 - j0) + n + 1] doubles of scratch.
 *
 * Bytes     X once; per entry of such a row its index and value, and a line of acc. Limit: those scattered
 * lines. */
LAC_KERNEL(loose_scatter, int64_t,
           (const lac_loose_rows_t *a, const lac_loose_dense_t *x, bool binary, int64_t j0, int64_t j1,
            double *acc, void *c, int64_t rs, int64_t cs))

/* Rows [i0, i1) of out: each the dense contents of a row of A. line is [n] doubles, zero before and after. */
LAC_KERNEL(loose_slice, int64_t,
           (const lac_loose_rows_t *a, const lac_row_indices_t *indices, int64_t i0, int64_t i1, double *line,
            void *out, int64_t rs, int64_t cs))

/* grad[e] := sum over the slices of row r, ascending, of g[slice, idx[e]], for the entries e of rows [r0,
 * r1); the slices of row r are slice[first[r]] .. slice[first[r + 1] - 1]. */
LAC_KERNEL(loose_grad, int64_t,
           (const lac_loose_rows_t *a, int64_t r0, int64_t r1, const int64_t *first, const int64_t *slice,
            const void *g, int64_t rs, int64_t cs, void *grad))

/* values[e] := sum over k of X[i, k] Y[k, j] for the entries e = (i, j) of rows [i0, i1). */
LAC_KERNEL(loose_sddmm, int64_t,
           (const lac_loose_rows_t *a, int64_t i0, int64_t i1, const lac_host_matrix_t *x,
            const lac_host_matrix_t *y, int64_t kk, void *values))

#ifdef LAC_KERNEL_BODIES

enum { LOOSE_COLUMNS = 64 };
#    define LOOSE_STRAIGHT                                                                                   \
        512                /* events whose rows are added up in the type of the values: a run of panels.h */
#    define LOOSE_FEW 0.03 /* entries for each column below which sums are listed */

LAC_INLINE int64_t loose_at(const void *list, bool wide, int64_t i)
{
    return wide ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

/* The entries [*begin, *end) of row i; false where its pointers are wrong. */
LAC_INLINE bool loose_row(const lac_loose_rows_t *a, int64_t i, int64_t *begin, int64_t *end)
{
    if (!a->ptr) {
        *begin = i * a->fan_out;
        *end = *begin + a->fan_out;
        return true;
    }
    *begin = loose_at(a->ptr, a->wide, i);
    *end = loose_at(a->ptr, a->wide, i + 1);
    return *begin >= 0 && *end >= *begin && *end <= a->nnz;
}

static int64_t loose_wrong(int64_t place, lac_loose_array_t which)
{
    return 4 * place + (int64_t)which;
}

/* The value of entry e; false where its place is wrong. */
LAC_INLINE bool loose_value(const lac_loose_rows_t *a, int64_t e, double *value)
{
    int64_t place = e;
    if (a->perm) {
        place = loose_at(a->perm, a->wide, e);
        if (place < 0 || place >= a->nnz) return false;
    }
    *value = a->val ? (double)((const real_t *)a->val)[a->homogeneous ? 0 : place] : 1.0;
    return true;
}

/* What an element of X counts as: 0 where it is zero. */
LAC_INLINE double loose_factor(const lac_loose_dense_t *x, bool bytes, bool binary, int64_t at)
{
    if (bytes) return ((const uint8_t *)x->data)[at] ? 1.0 : 0.0;
    double v = (double)((const real_t *)x->data)[at];
    return binary && v != 0.0 ? 1.0 : v;
}

/* Where values come from: one for all, in the order of the entries, or through a permutation. */
typedef enum loose_values { LOOSE_ONE, LOOSE_EACH, LOOSE_PERMUTED } loose_values_t;

LAC_INLINE loose_values_t loose_values_of(const lac_loose_rows_t *a)
{
    return !a->val || a->homogeneous ? LOOSE_ONE : a->perm ? LOOSE_PERMUTED : LOOSE_EACH;
}

/* One column: the loop that simulators spend their time in. Everything about the operands is a constant of
 * the caller's; unit: X is contiguous. */
LAC_INLINE int64_t loose_gather_one(const lac_loose_rows_t *a, int64_t i0, int64_t i1,
                                    const lac_loose_dense_t *x, bool bytes, bool wide, bool binary, bool unit,
                                    loose_values_t values, int64_t j, real_t *c, int64_t rs)
{
    const uint64_t cols = (uint64_t)a->cols;
    const int64_t step = unit ? 1 : x->rs;
    const double one = values == LOOSE_ONE && a->val ? (double)((const real_t *)a->val)[0] : 1.0;
    for (int64_t i = i0; i < i1; i++) {
        int64_t e, end;
        double sum = 0.0, value = one;
        if (!loose_row(a, i, &e, &end)) return loose_wrong(i, LAC_LOOSE_PTR);
        for (; e < end; e++) {
            uint64_t k = (uint64_t)loose_at(a->idx, wide, e);
            if (k >= cols) return loose_wrong(e, LAC_LOOSE_IDX);
            double factor = loose_factor(x, bytes, binary, (int64_t)k * step + j);
            if (factor == 0.0) continue;
            if (values == LOOSE_EACH) value = (double)((const real_t *)a->val)[e];
            if (values == LOOSE_PERMUTED && !loose_value(a, e, &value)) return loose_wrong(e, LAC_LOOSE_PERM);
            sum += value * factor;
        }
        c[i * rs] = (real_t)sum;
    }
    return LAC_LOOSE_FINE;
}

/* The same with what is known of the values and of X as constants. */
LAC_INLINE int64_t loose_gather_typed(const lac_loose_rows_t *a, int64_t i0, int64_t i1,
                                      const lac_loose_dense_t *x, bool bytes, bool wide, bool binary,
                                      int64_t j, real_t *c, int64_t rs)
{
    loose_values_t values = loose_values_of(a);
    if (x->rs != 1 || values == LOOSE_PERMUTED)
        return loose_gather_one(a, i0, i1, x, bytes, wide, binary, false, LOOSE_PERMUTED, j, c, rs);
    return values == LOOSE_ONE
               ? loose_gather_one(a, i0, i1, x, bytes, wide, binary, true, LOOSE_ONE, j, c, rs)
               : loose_gather_one(a, i0, i1, x, bytes, wide, binary, true, LOOSE_EACH, j, c, rs);
}

enum { LOOSE_LANES = 8 };
typedef double loose_doubles_t __attribute__((vector_size(LOOSE_LANES * sizeof(double))));
typedef int64_t loose_mask_t __attribute__((vector_size(LOOSE_LANES * sizeof(int64_t))));
typedef real_t loose_reals_t __attribute__((vector_size(LOOSE_LANES * sizeof(real_t))));

/* sum[j] += value times what X counts as there, where that is not zero; the elements lie one behind the
 * other. */
LAC_INLINE void loose_add_line(const real_t *line, bool binary, double value, int64_t width, double *sum)
{
    int64_t j = 0;
    for (; j + LOOSE_LANES <= width; j += LOOSE_LANES) {
        loose_doubles_t total, term = (loose_doubles_t){0} + value;
        loose_reals_t x;
        memcpy(&x, line + j, sizeof x);
        loose_doubles_t factor = __builtin_convertvector(x, loose_doubles_t);
        if (!binary) term *= factor;
        memcpy(&total, sum + j, sizeof total);
        total += (loose_doubles_t)((loose_mask_t)term & (loose_mask_t)(factor != 0.0));
        memcpy(sum + j, &total, sizeof total);
    }
    for (; j < width; j++)
        if (line[j] != 0) sum[j] += binary ? value : value * (double)line[j];
}

LAC_INLINE int64_t loose_gather_some(const lac_loose_rows_t *a, int64_t i0, int64_t i1,
                                     const lac_loose_dense_t *x, bool bytes, bool binary, bool unit,
                                     int64_t j0, int64_t width, real_t *c, int64_t rs, int64_t cs)
{
    for (int64_t i = i0; i < i1; i++) {
        double sum[LOOSE_COLUMNS] = {0}, value;
        int64_t e, end;
        if (!loose_row(a, i, &e, &end)) return loose_wrong(i, LAC_LOOSE_PTR);
        for (; e < end; e++) {
            int64_t k = loose_at(a->idx, a->wide, e);
            if (k < 0 || k >= a->cols) return loose_wrong(e, LAC_LOOSE_IDX);
            if (!loose_value(a, e, &value)) return loose_wrong(e, LAC_LOOSE_PERM);
            if (unit && !bytes) {
                const real_t *line = (const real_t *)x->data + k * x->rs + j0;
                loose_add_line(line, binary, value, width, sum);
                continue;
            }
            for (int64_t j = 0; j < width; j++) {
                double factor = loose_factor(x, bytes, binary, k * x->rs + (j0 + j) * x->cs);
                sum[j] += factor != 0.0 ? value * factor : 0.0;
            }
        }
        for (int64_t j = 0; j < width; j++) c[i * rs + (j0 + j) * cs] = (real_t)sum[j];
    }
    return LAC_LOOSE_FINE;
}

/* The same with what is known of X as constants. */
LAC_INLINE int64_t loose_gather_block(const lac_loose_rows_t *a, int64_t i0, int64_t i1,
                                      const lac_loose_dense_t *x, bool bytes, bool binary, int64_t j0,
                                      int64_t width, real_t *c, int64_t rs, int64_t cs)
{
    if (bytes) return loose_gather_some(a, i0, i1, x, true, true, false, j0, width, c, rs, cs);
    if (x->cs != 1) return loose_gather_some(a, i0, i1, x, false, binary, false, j0, width, c, rs, cs);
    return binary ? loose_gather_some(a, i0, i1, x, false, true, true, j0, width, c, rs, cs)
                  : loose_gather_some(a, i0, i1, x, false, false, true, j0, width, c, rs, cs);
}

static int64_t loose_gather(const lac_loose_rows_t *a, int64_t i0, int64_t i1, const lac_loose_dense_t *x,
                            bool binary, int64_t j0, int64_t j1, void *c_at, int64_t rs, int64_t cs)
{
    real_t *c = c_at;
    int64_t wrong = LAC_LOOSE_FINE;
    if (j1 - j0 == 1) {
        int64_t j = j0 * x->cs;
        real_t *out = c + j0 * cs;
        if (x->bytes)
            return a->wide ? loose_gather_typed(a, i0, i1, x, true, true, true, j, out, rs)
                           : loose_gather_typed(a, i0, i1, x, true, false, true, j, out, rs);
        return a->wide ? loose_gather_typed(a, i0, i1, x, false, true, binary, j, out, rs)
                       : loose_gather_typed(a, i0, i1, x, false, false, binary, j, out, rs);
    }
    for (int64_t j = j0; j < j1 && wrong == LAC_LOOSE_FINE; j += LOOSE_COLUMNS) {
        int64_t width = min_i64(j1 - j, LOOSE_COLUMNS);
        wrong = x->bytes ? loose_gather_block(a, i0, i1, x, true, true, j, width, c, rs, cs)
                         : loose_gather_block(a, i0, i1, x, false, binary, j, width, c, rs, cs);
    }
    return wrong;
}

/* Adds one row of A to the columns of acc whose factors are there: column[f] of factor[f], f < count. */
LAC_INLINE int64_t loose_scatter_row(const lac_loose_rows_t *a, int64_t i, bool wide, const int32_t *column,
                                     const double *factor, int64_t count, int64_t width, double *acc)
{
    int64_t e, end;
    double value;
    if (!loose_row(a, i, &e, &end)) return loose_wrong(i, LAC_LOOSE_PTR);
    for (; e < end; e++) {
        int64_t j = loose_at(a->idx, wide, e);
        if (j < 0 || j >= a->cols) return loose_wrong(e, LAC_LOOSE_IDX);
        if (!loose_value(a, e, &value)) return loose_wrong(e, LAC_LOOSE_PERM);
        for (int64_t f = 0; f < count; f++) acc[j * width + column[f]] += value * factor[f];
    }
    return LAC_LOOSE_FINE;
}

/* The column, below cols, and the value of entry e; *value stays where all entries have one. */
LAC_INLINE int64_t loose_entry(const lac_loose_rows_t *a, uint64_t cols, int64_t e, bool wide,
                               loose_values_t values, uint64_t *j, double *value)
{
    *j = (uint64_t)loose_at(a->idx, wide, e);
    if (*j >= cols) return loose_wrong(e, LAC_LOOSE_IDX);
    if (values == LOOSE_EACH) *value = (double)((const real_t *)a->val)[e];
    if (values == LOOSE_PERMUTED && !loose_value(a, e, value)) return loose_wrong(e, LAC_LOOSE_PERM);
    return LAC_LOOSE_FINE;
}

/* Adds the row of one event to c itself. */
LAC_INLINE int64_t loose_add_event(const lac_loose_rows_t *a, int64_t i, double factor, bool wide,
                                   loose_values_t values, real_t *c, int64_t rs)
{
    const uint64_t cols = (uint64_t)a->cols;
    int64_t e, end;
    double value = values == LOOSE_ONE && a->val ? (double)((const real_t *)a->val)[0] : 1.0;
    if (!loose_row(a, i, &e, &end)) return loose_wrong(i, LAC_LOOSE_PTR);
    for (; e < end; e++) {
        uint64_t j;
        int64_t wrong = loose_entry(a, cols, e, wide, values, &j, &value);
        if (wrong != LAC_LOOSE_FINE) return wrong;
        c[(int64_t)j * rs] += (real_t)(value * factor);
    }
    return LAC_LOOSE_FINE;
}

/* Adds the row of one event to acc. few: sums begin where `seen` has no bit yet, and touched lists them. */
LAC_INLINE int64_t loose_scatter_event(const lac_loose_rows_t *a, int64_t i, double factor, bool wide,
                                       loose_values_t values, bool few, double *acc, uint64_t *seen,
                                       int32_t *touched, int64_t *count)
{
    const uint64_t cols = (uint64_t)a->cols;
    int64_t e, end, n = *count;
    double value = values == LOOSE_ONE && a->val ? (double)((const real_t *)a->val)[0] : 1.0;
    if (!loose_row(a, i, &e, &end)) return loose_wrong(i, LAC_LOOSE_PTR);
    for (; e < end; e++) {
        uint64_t j;
        int64_t wrong = loose_entry(a, cols, e, wide, values, &j, &value);
        if (wrong != LAC_LOOSE_FINE) return wrong;
        if (few) {
            uint64_t bit = UINT64_C(1) << (j & 63), before = seen[j >> 6];
            if (!(before & bit)) {
                seen[j >> 6] = before | bit;
                acc[j] = 0.0;
                touched[n++] = (int32_t)j;
            }
        }
        acc[j] += value * factor;
    }
    *count = n;
    return LAC_LOOSE_FINE;
}

/* The first event of X[i .. rows); rows where there is none. Contiguous elements are compared 32 at a time.
 */
LAC_INLINE int64_t loose_next_event(const lac_loose_dense_t *x, int64_t i, int64_t rows)
{
    if (x->rs == 1)
        for (; i + 32 <= rows; i += 32) {
            int any = 0;
            if (x->bytes)
                for (int l = 0; l < 32; l++) any |= ((const uint8_t *)x->data)[i + l];
            else
                for (int l = 0; l < 32; l++) any |= ((const real_t *)x->data)[i + l] != 0;
            if (any) break;
        }
    while (i < rows && loose_factor(x, x->bytes, false, i * x->rs) == 0.0) i++;
    return i;
}

/* One column of A' X, whose time follows the events: where they are few, only sums that are touched are read
 * or written, apart from clearing the output. */
static int64_t loose_scatter_one(const lac_loose_rows_t *a, const lac_loose_dense_t *x, bool binary,
                                 double *acc, real_t *c, int64_t rs)
{
    loose_values_t values = loose_values_of(a);
    int64_t words = (a->cols + 63) / 64, count = 0, events = 0, wrong = LAC_LOOSE_FINE;
    uint64_t *seen = (uint64_t *)(void *)(acc + a->cols);
    int32_t *touched = (int32_t *)(void *)(seen + words);
    for (int64_t i = 0; (i = loose_next_event(x, i, a->rows)) < a->rows; i++) events++;
    if (events <= LOOSE_STRAIGHT) {
        for (int64_t j = 0; j < a->cols; j++) c[j * rs] = 0;
        for (int64_t i = 0; (i = loose_next_event(x, i, a->rows)) < a->rows && wrong == LAC_LOOSE_FINE; i++) {
            double factor = loose_factor(x, x->bytes, binary, i * x->rs);
            wrong = a->wide || values == LOOSE_PERMUTED
                        ? loose_add_event(a, i, factor, a->wide, values, c, rs)
                    : values == LOOSE_ONE ? loose_add_event(a, i, factor, false, LOOSE_ONE, c, rs)
                                          : loose_add_event(a, i, factor, false, LOOSE_EACH, c, rs);
        }
        return wrong;
    }
    bool few = (double)events * (double)a->nnz < LOOSE_FEW * (double)a->cols * (double)a->rows;
    for (int64_t w = 0; few && w < words; w++) seen[w] = 0;
    for (int64_t j = 0; !few && j < a->cols; j++) acc[j] = 0.0;
    for (int64_t i = 0; (i = loose_next_event(x, i, a->rows)) < a->rows && wrong == LAC_LOOSE_FINE; i++) {
        double factor = loose_factor(x, x->bytes, binary, i * x->rs);
        if (a->wide || values == LOOSE_PERMUTED)
            wrong = loose_scatter_event(a, i, factor, a->wide, values, few, acc, seen, touched, &count);
        else if (values == LOOSE_ONE)
            wrong =
                few ? loose_scatter_event(a, i, factor, false, LOOSE_ONE, true, acc, seen, touched, &count)
                    : loose_scatter_event(a, i, factor, false, LOOSE_ONE, false, acc, seen, touched, &count);
        else
            wrong =
                few ? loose_scatter_event(a, i, factor, false, LOOSE_EACH, true, acc, seen, touched, &count)
                    : loose_scatter_event(a, i, factor, false, LOOSE_EACH, false, acc, seen, touched, &count);
    }
    if (wrong != LAC_LOOSE_FINE) return wrong;
    if (!few) {
        for (int64_t j = 0; j < a->cols; j++) c[j * rs] = (real_t)acc[j];
        return LAC_LOOSE_FINE;
    }
    for (int64_t j = 0; j < a->cols; j++) c[j * rs] = 0;
    for (int64_t t = 0; t < count; t++) c[touched[t] * rs] = (real_t)acc[touched[t]];
    return LAC_LOOSE_FINE;
}

static int64_t loose_scatter(const lac_loose_rows_t *a, const lac_loose_dense_t *x, bool binary, int64_t j0,
                             int64_t j1, double *acc, void *c_at, int64_t rs, int64_t cs)
{
    real_t *c = c_at;
    int64_t width = j1 - j0;
    int32_t column[LOOSE_COLUMNS];
    double factor[LOOSE_COLUMNS];
    if (width == 1 && a->cols <= INT32_MAX) {
        lac_loose_dense_t one = *x;
        one.data = x->bytes ? (const void *)((const uint8_t *)x->data + j0 * x->cs)
                            : (const void *)((const real_t *)x->data + j0 * x->cs);
        return loose_scatter_one(a, &one, binary, acc, c + j0 * cs, rs);
    }
    for (int64_t p = 0; p < a->cols * width; p++) acc[p] = 0.0;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t count = 0, wrong = LAC_LOOSE_FINE;
        for (int64_t j = 0; j < width; j++) {
            factor[count] = loose_factor(x, x->bytes, binary, i * x->rs + (j0 + j) * x->cs);
            column[count] = (int32_t)j;
            count += factor[count] != 0.0;
        }
        if (count)
            wrong = a->wide ? loose_scatter_row(a, i, true, column, factor, count, width, acc)
                            : loose_scatter_row(a, i, false, column, factor, count, width, acc);
        if (wrong != LAC_LOOSE_FINE) return wrong;
    }
    for (int64_t i = 0; i < a->cols; i++)
        for (int64_t j = 0; j < width; j++) c[i * rs + (j0 + j) * cs] = (real_t)acc[i * width + j];
    return LAC_LOOSE_FINE;
}

static int64_t loose_slice(const lac_loose_rows_t *a, const lac_row_indices_t *indices, int64_t i0,
                           int64_t i1, double *line, void *out_at, int64_t rs, int64_t cs)
{
    real_t *out = out_at;
    for (int64_t i = i0; i < i1; i++) {
        int64_t r = lac_row_index(indices, i), begin = 0, end = 0;
        double value;
        if (r >= 0 && r < a->rows && !loose_row(a, r, &begin, &end)) return loose_wrong(r, LAC_LOOSE_PTR);
        for (int64_t e = begin; e < end; e++) {
            int64_t j = loose_at(a->idx, a->wide, e);
            if (j < 0 || j >= a->cols) return loose_wrong(e, LAC_LOOSE_IDX);
            if (!loose_value(a, e, &value)) return loose_wrong(e, LAC_LOOSE_PERM);
            line[j] += value;
        }
        for (int64_t j = 0; j < a->cols; j++) out[i * rs + j * cs] = (real_t)line[j];
        for (int64_t e = begin; e < end; e++) line[loose_at(a->idx, a->wide, e)] = 0.0;
    }
    return LAC_LOOSE_FINE;
}

static int64_t loose_grad(const lac_loose_rows_t *a, int64_t r0, int64_t r1, const int64_t *first,
                          const int64_t *slice, const void *g_at, int64_t rs, int64_t cs, void *grad_at)
{
    real_t *grad = grad_at;
    const real_t *g = g_at;
    for (int64_t r = r0; r < r1; r++) {
        int64_t e, end;
        if (!loose_row(a, r, &e, &end)) return loose_wrong(r, LAC_LOOSE_PTR);
        for (; e < end; e++) {
            double sum = 0.0;
            int64_t j = loose_at(a->idx, a->wide, e);
            if (j < 0 || j >= a->cols) return loose_wrong(e, LAC_LOOSE_IDX);
            for (int64_t p = first[r]; p < first[r + 1]; p++) sum += (double)g[slice[p] * rs + j * cs];
            grad[e] = (real_t)sum;
        }
    }
    return LAC_LOOSE_FINE;
}

static int64_t loose_sddmm(const lac_loose_rows_t *a, int64_t i0, int64_t i1, const lac_host_matrix_t *x,
                           const lac_host_matrix_t *y, int64_t kk, void *values_at)
{
    real_t *values = values_at;
    for (int64_t i = i0; i < i1; i++) {
        int64_t e, end;
        if (!loose_row(a, i, &e, &end)) return loose_wrong(i, LAC_LOOSE_PTR);
        for (; e < end; e++) {
            double sum = 0.0;
            int64_t j = loose_at(a->idx, a->wide, e);
            if (j < 0 || j >= a->cols) return loose_wrong(e, LAC_LOOSE_IDX);
            for (int64_t k = 0; k < kk; k++)
                sum += (double)((const real_t *)x->data)[i * x->rs + k * x->cs] *
                       (double)((const real_t *)y->data)[k * y->rs + j * y->cs];
            values[e] = (real_t)sum;
        }
    }
    return LAC_LOOSE_FINE;
}

#endif
