/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * bitmask_cols: out := beta * out + alpha * S * W with S as occupancy bits and packed values, and few
 * columns in W, each contiguous.
 *
 * Shapes    S rows x kk, W kk x n with W[k, j] at w[j * ldw + k], out rows x n at any strides. A tile is
 *           BITS_ROWS x BITS_COLUMNS sums in registers; CHUNK k at a time, the packed values of each row
 *           are spread to their lanes and meet the same vector of each column.
 * Bytes     per row kk / 8 of bits and one value per nonzero, against kk values when dense; W once per
 *           BITS_ROWS rows, from cache. Flops 2 n kk, CHUNK lanes at a time, whatever the density.
 * Order     k is added in lane k % CHUNK, LANE_RUN of them straight up; the lanes are added in one fixed
 *           tree. No dependence on the ranges.
 * Limit     bytes of S while n is 1; from n = 4 on the two ports that spread, mask and multiply.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           5000x5000 at 50 %, n = 1: 2.2 ms, 24 GB/s of the 31 that a plain sum streams; n = 10: 6.1 ms. */

/* Bitmask product, rows [i0, i1) of out, W by columns (w[j * ldw + k]), n short. Only the elements of W
 * that meet a set bit are read. */
LAC_KERNEL(bitmask_cols, void,
           (const lac_bits_t *s, int64_t i0, int64_t i1, const void *w, int64_t ldw, int64_t n,
            const lac_host_output_t *out))

#ifdef LAC_KERNEL_BODIES

/* Sums, values and one vector of W fill the registers: 24 + 4 + 1 of 32; or 8 + 2 + 1 of 16 beside the masks,
 * where no row needs a mask after the load. One way for all rows of an instruction set: the two differ in
 * the sign of a zero. */
enum { BITS_ROWS = PER_CHUNK == 1 ? 4 : 1, BITS_COLUMNS = PER_CHUNK == 1 ? 6 : 4 };

enum { BITS_RUN = LANE_RUN * CHUNK / 64 }; /* words */

/* The sums of a tile. */
typedef xvec_t bits_sums_t[BITS_ROWS][BITS_COLUMNS];

/* The run in turn into the total; another begins. */
LAC_INLINE void bits_settle(bits_sums_t sum, bits_sums_t total, int rows, int columns)
{
    UNROLLED
    for (int r = 0; r < rows; r++) UNROLLED
    for (int c = 0; c < columns; c++) {
        total[r][c] = x_add(total[r][c], sum[r][c]);
        sum[r][c] = x_ones(0);
    }
}

/* CHUNK k, w being the first column of W there. Of row r, rest[r] begins with their bits and val[r] with
 * their values, which are taken off; `any` has the bits of all rows. */
LAC_INLINE void bits_chunk(bits_sums_t sum, int rows, int columns, const real_t **val, bool ones,
                           uint64_t *rest, xmask_t any, const real_t *w, int64_t ldw)
{
    xvec_t value[BITS_ROWS];
    xmask_t set[BITS_ROWS];
    UNROLLED
    for (int r = 0; r < rows; r++) {
        uint32_t chunk = (chunk_bits_t)rest[r];
        rest[r] >>= CHUNK;
        set[r] = (xmask_t)chunk;
        value[r] = ones ? x_ones(set[r]) : x_expand(val[r], set[r]);
        if (!ones) val[r] += __builtin_popcount(chunk);
    }
    UNROLLED
    for (int c = 0; c < columns; c++) {
        xvec_t slice = x_load_masked(w + c * ldw, any);
        UNROLLED
        for (int r = 0; r < rows; r++)
            sum[r][c] = BITS_ROWS == 1 ? x_fma(value[r], slice, sum[r][c])
                                       : x_fma_masked(value[r], slice, sum[r][c], set[r]);
    }
}

/* Rows i .. i + rows of S against columns of W; rows and columns are constants where this is inlined. */
LAC_INLINE void bits_tile(const lac_bits_t *s, bool ones, int64_t i, int rows, const real_t *w, int64_t ldw,
                          int columns, const lac_host_output_t *out, real_t *to)
{
    const int64_t words = s->words;
    const uint64_t *bits = s->bits + i * words;
    const real_t *val[BITS_ROWS];
    bits_sums_t sum, total;
    UNROLLED
    for (int r = 0; r < rows; r++) {
        val[r] = ones ? NULL : (const real_t *)s->val + s->first[i + r];
        UNROLLED
        for (int c = 0; c < columns; c++) sum[r][c] = total[r][c] = x_ones(0);
    }
    for (int64_t word = 0; word < words; word++) {
        if (word % BITS_RUN == 0) bits_settle(sum, total, rows, columns);
        uint64_t rest[BITS_ROWS];
        uint64_t any = 0;
        UNROLLED
        for (int r = 0; r < rows; r++) any |= rest[r] = bits[r * words + word];
        if (any == 0) continue;
        ROLLED
        for (int shift = 0; shift < 64; shift += CHUNK) {
            bits_chunk(sum, rows, columns, val, ones, rest, (xmask_t)(chunk_bits_t)(any >> shift),
                       w + word * 64 + shift, ldw);
        }
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        UNROLLED
        for (int c = 0; c < columns; c++) {
            real_t *o = to + r * out->rs + c * out->cs;
            *o = r_scale_out(SCALAR(out->alpha), x_sum(x_add(total[r][c], sum[r][c])), SCALAR(out->beta), o);
        }
    }
}

LAC_INLINE void bits_rows(const lac_bits_t *s, bool ones, int64_t i, int rows, const real_t *w, int64_t ldw,
                          int64_t n, const lac_host_output_t *out)
{
    int64_t columns = BITS_COLUMNS;
    for (int64_t j = 0; j < n; j += columns) {
        const real_t *from = w + j * ldw;
        real_t *to = (real_t *)out->data + i * out->rs + j * out->cs;
        while (columns > n - j) columns = columns > 4 ? 4 : columns / 2;
        if (columns == BITS_COLUMNS)
            bits_tile(s, ones, i, rows, from, ldw, BITS_COLUMNS, out, to);
        else if (columns == 4)
            bits_tile(s, ones, i, rows, from, ldw, 4, out, to);
        else if (columns == 2)
            bits_tile(s, ones, i, rows, from, ldw, 2, out, to);
        else
            bits_tile(s, ones, i, rows, from, ldw, 1, out, to);
    }
}

LAC_INLINE void bits_range(const lac_bits_t *s, bool ones, int64_t i0, int64_t i1, const real_t *w,
                           int64_t ldw, int64_t n, const lac_host_output_t *out)
{
    int64_t i = i0;
    for (; i + BITS_ROWS <= i1; i += BITS_ROWS) bits_rows(s, ones, i, BITS_ROWS, w, ldw, n, out);
    for (; i < i1; i++) bits_rows(s, ones, i, 1, w, ldw, n, out);
}

static void bitmask_cols(const lac_bits_t *s, int64_t i0, int64_t i1, const void *w, int64_t ldw, int64_t n,
                         const lac_host_output_t *out)
{
    if (s->val)
        bits_range(s, false, i0, i1, w, ldw, n, out);
    else
        bits_range(s, true, i0, i1, w, ldw, n, out);
}

#endif
