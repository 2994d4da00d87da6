/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Row slices of a CSR matrix, as a dense matrix, and the gradient to its values. */

/* out[i, j] := S[indices[i], j] for i in [i0, i1), j in [j0, j1); where s->val is NULL every entry is
 * `weight`. Each element is written, zeros too; past the caches where `past` says that out does not fit
 * into them, and its rows are contiguous. */
LAC_KERNEL(slice_rows, void,
           (const lac_rows_t *s, double weight, const lac_row_indices_t *indices, int64_t i0, int64_t i1,
            int64_t j0, int64_t j1, void *out, int64_t rs, int64_t cs, bool past))
/* Its adjoint, for entries [e0, e1) of S: grad[e] := sum over p in [first[r], first[r + 1]), ascending,
 * LANE_RUN of them straight up, of g[slice[p], idx[e]], r being the row of e; 0 where the range is empty.
 * first is [s->rows + 1]. */
LAC_KERNEL(slice_grad, void,
           (const lac_rows_t *s, const int64_t *first, const int64_t *slice, int64_t e0, int64_t e1,
            const void *g, int64_t rs, int64_t cs, void *grad))
/* Sum over e < nnz of g[idx[e] * cs], in eight double lanes that are added in one fixed order. */
LAC_KERNEL(slice_sum, double, (const int32_t *idx, int64_t nnz, const void *g, int64_t cs))

#ifdef LAC_KERNEL_BODIES

/* slice_rows: out[i, j] := S[indices[i], j], dense, in one pass.
 *
 * Layout    S in CSR, columns ascending within a row: a row is written from left to right, a tile of
 *           SLICE_TILE values at a time, which is cleared and filled while it is in the L1 cache. Any strides
 *           of out: where rs is the shorter one, a tile has SLICE_LINES rows, each with a cursor of its own.
 * Bytes     an index and a value per entry, and a value per element of out, once. No flops, exact.
 * Limit     memory. Putting tiles together aside and writing them with non-temporal stores (whole lines,
 *           none read first) was no faster, nor was fetching the entries of the next row ahead.
 * Measured  AVX2, AMD EPYC (family 25 model 17, 2.6 GHz), one thread on a loaded machine, 2026-11-21:
 *           5000 rows x 1000 entries of 10000 columns take 1.4 to 1.7 times as long as a copy that moves as
 *           many bytes at the same time (18 ms when less was going on); memset and then scatter take 1.3 to
 *           1.7 times as long as this. */

enum { SLICE_TILE = 4096, SLICE_LINES = 64 };

/* The entries of one selected row that are still to be written. */
typedef struct slice_cursor {
    int64_t at, end;
} slice_cursor_t;

static slice_cursor_t slice_open(const lac_rows_t *s, int64_t row, int64_t j0)
{
    if (row < 0 || row >= s->rows) return (slice_cursor_t){0, 0};
    slice_cursor_t c = {s->ptr[row], s->ptr[row + 1]};
    for (int64_t end = c.end; j0 > 0 && c.at < end;) { /* the first entry from j0 on */
        int64_t middle = c.at + (end - c.at) / 2;
        if (s->idx[middle] < j0)
            c.at = middle + 1;
        else
            end = middle;
    }
    return c;
}

/* Entries of columns below `limit`: that of column j to to[(j - base) * cs]. */
static void slice_scatter(const lac_rows_t *s, real_t weight, slice_cursor_t *c, int64_t base, int64_t limit,
                          real_t *to, int64_t cs)
{
    const real_t *val = s->val;
    int64_t e = c->at;
    if (val)
        for (; e < c->end && s->idx[e] < limit; e++) to[(s->idx[e] - base) * cs] = val[e];
    else
        for (; e < c->end && s->idx[e] < limit; e++) to[(s->idx[e] - base) * cs] = weight;
    c->at = e;
}

static void slice_clear(real_t *out, int64_t m, int64_t n, int64_t rs, int64_t cs, bool by_rows)
{
    int64_t lines = by_rows ? m : n;
    int64_t length = by_rows ? n : m;
    int64_t step = by_rows ? cs : rs;
    for (int64_t l = 0; l < lines; l++) {
        real_t *line = out + l * (by_rows ? rs : cs);
        if (step == 1)
            memset(line, 0, (size_t)length * sizeof *line);
        else
            for (int64_t p = 0; p < length; p++) line[p * step] = 0;
    }
}

/* A tile to contiguous memory past the caches: nothing is read first, and nothing there makes way. */
static void slice_stream(const real_t *tile, int64_t n, real_t *out)
{
    int64_t head = min_i64(n, (int64_t)(-(uintptr_t)out / sizeof *out % LANES));
    int64_t j = head;
    memcpy(out, tile, (size_t)head * sizeof *out);
    for (; j + LANES <= n; j += LANES) v_stream(out + j, v_load(tile + j));
    memcpy(out + j, tile + j, (size_t)(n - j) * sizeof *out);
}

/* Rows by rows, each tile put together aside. */
static void slice_aside(const lac_rows_t *s, real_t weight, const lac_row_indices_t *indices, int64_t i0,
                        int64_t i1, int64_t j0, int64_t j1, real_t *out, int64_t rs)
{
    real_t tile[SLICE_TILE];
    for (int64_t i = i0; i < i1; i++) {
        slice_cursor_t cursor = slice_open(s, lac_row_index(indices, i), j0);
        for (int64_t j = j0; j < j1; j += SLICE_TILE) {
            int64_t n = min_i64(j1 - j, SLICE_TILE);
            memset(tile, 0, (size_t)n * sizeof *tile);
            slice_scatter(s, weight, &cursor, j, j + n, tile, 1);
            slice_stream(tile, n, out + i * rs + j);
        }
    }
    v_stream_end();
}

static void slice_rows(const lac_rows_t *s, double value, const lac_row_indices_t *indices, int64_t i0,
                       int64_t i1, int64_t j0, int64_t j1, void *data, int64_t rs, int64_t cs, bool past)
{
    const real_t weight = (real_t)value;
    real_t *out = data;
    if (past && cs == 1) {
        slice_aside(s, weight, indices, i0, i1, j0, j1, out, rs);
        return;
    }
    slice_cursor_t cursor[SLICE_LINES];
    bool by_rows = (cs < 0 ? -cs : cs) <= (rs < 0 ? -rs : rs);
    int64_t lines = by_rows ? 1 : SLICE_LINES;
    int64_t width = SLICE_TILE / lines;
    for (int64_t i = i0; i < i1; i += lines) {
        int64_t m = min_i64(i1 - i, lines);
        for (int64_t l = 0; l < m; l++) cursor[l] = slice_open(s, lac_row_index(indices, i + l), j0);
        for (int64_t j = j0; j < j1; j += width) {
            int64_t n = min_i64(j1 - j, width);
            real_t *tile = out + i * rs + j * cs;
            slice_clear(tile, m, n, rs, cs, by_rows);
            for (int64_t l = 0; l < m; l++) slice_scatter(s, weight, cursor + l, j, j + n, tile + l * rs, cs);
        }
    }
}

/* slice_grad: the adjoint of slice_rows, grad[e] := sum of g[slice, idx[e]] over the slices of e's row.
 *
 * Layout    S in CSR; the slices of row r are slice[first[r]] .. slice[first[r + 1] - 1],
 *           ascending. A block of SLICE_BLOCK entries stays in the L1 cache while its slices pass, each of
 *           which reads one stretch of a row of g from left to right.
 * Bytes     8 per entry, and the cache lines of g that hold an entry: once per slice. One add per entry and
 *           slice but the first.
 * Order     ascending slices in the type of the values, LANE_RUN of them straight up; no dependence on the
 *           ranges. slice_sum adds in SUM_LANES double lanes, entry e in lane e % SUM_LANES, so that a sum of
 *           millions keeps its digits.
 * Limit     memory, by cache lines.
 * Measured  AVX2, AMD EPYC (family 25 model 17, 2.6 GHz), one thread on a loaded machine, 2026-11-21: for a
 *           slice of 5000 rows x 1000 entries of 10000 columns 1.6 to 2 times a copy of as many bytes. */

enum { SLICE_BLOCK = 1024, SLICE_AHEAD = 256, SUM_LANES = 8 };

/* One block of one row; `count` slices, at least one. */
static void slice_grad_block(const int32_t *idx, int64_t nnz, const int64_t *slice, int64_t count,
                             const real_t *g, int64_t rs, int64_t cs, real_t *grad)
{
    const real_t *line = g + slice[0] * rs;
    int64_t e = 0;
    for (; e + SLICE_AHEAD < nnz; e++) {
        __builtin_prefetch(line + idx[e + SLICE_AHEAD] * cs);
        grad[e] = line[idx[e] * cs];
    }
    for (; e < nnz; e++) grad[e] = line[idx[e] * cs];
    for (int64_t p = 1; p < min_i64(count, LANE_RUN); p++) {
        line = g + slice[p] * rs;
        for (e = 0; e < nnz; e++) grad[e] += line[idx[e] * cs];
    }
    for (int64_t p = LANE_RUN; p < count; p += LANE_RUN) {
        real_t sum[SLICE_BLOCK];
        slice_grad_block(idx, nnz, slice + p, min_i64(count - p, LANE_RUN), g, rs, cs, sum);
        for (e = 0; e < nnz; e++) grad[e] += sum[e];
    }
}

static void slice_grad(const lac_rows_t *s, const int64_t *first, const int64_t *slice, int64_t e0,
                       int64_t e1, const void *g, int64_t rs, int64_t cs, void *values)
{
    real_t *grad = values;
    if (e0 >= e1) return;
    for (int64_t row = row_of_entry(s, e0), e = e0; e < e1; row++) {
        int64_t end = min_i64(s->ptr[row + 1], e1);
        int64_t count = first[row + 1] - first[row];
        if (count == 0 && end > e) {
            memset(grad + e, 0, (size_t)(end - e) * sizeof *grad);
            e = end;
        }
        for (; e < end; e += SLICE_BLOCK)
            slice_grad_block(s->idx + e, min_i64(end - e, SLICE_BLOCK), slice + first[row], count, g, rs, cs,
                             grad + e);
        e = end;
    }
}

static double slice_sum(const int32_t *idx, int64_t nnz, const void *line, int64_t cs)
{
    const real_t *g = line;
    double sum[SUM_LANES] = {0};
    int64_t e = 0;
    for (; e + SUM_LANES <= nnz; e += SUM_LANES)
        for (int l = 0; l < SUM_LANES; l++) sum[l] += g[idx[e + l] * cs];
    for (int l = 0; e < nnz; e++, l++) sum[l] += g[idx[e] * cs];
    for (int half = SUM_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0];
}

#endif
