/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * dense: out := beta * out + alpha * A * B, all elements multiplied: the fallback where no BLAS is.
 *
 * Shapes    A m x kk, B kk x n, out m x n, each at any strides. Blocks of DENSE_M x DENSE_N sums stay in
 *           scratch while k advances by DENSE_K; A and B are packed into strips of MICRO_ROWS rows and of
 *           MICRO_COLS columns, zero-filled at the edges, after K. Goto and R. van de Geijn, "Anatomy of
 *           High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
 * Bytes     B once per DENSE_M rows, A once per DENSE_N columns. Flops 2 m n kk.
 * Order     each out[i, j]: one multiply-add per k, k ascending, DENSE_K of them straight up, RUN such sums,
 *           and those; no dependence on the other blocks or on i0 and i1.
 * Limit     multiply-adds, and the packing, which strides through memory element by element.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           1024x1024x1024: 13 ms, 165 GFLOP/s. */

/* The plain dense product: any strides of all three, rows [i0, i1) of out; blocked for cache.
 * scratch: at least lac_dense_scratch() values. The fallback where no BLAS is found. */
LAC_KERNEL(dense, void,
           (const lac_host_matrix_t *a, const lac_host_matrix_t *b, int64_t i0, int64_t i1, int64_t n,
            int64_t kk, const lac_host_output_t *out, void *memory))

#ifdef LAC_KERNEL_BODIES

enum { MICRO_COLS = 2 * LANES };

_Static_assert(DENSE_M % MICRO_ROWS == 0 && DENSE_N % MICRO_COLS == 0, "blocks are whole strips");

/* strip[s][k][r] = x[(s * width + r) * rs + k * ks]: count rows in strips of width, zero-filled. */
static void pack_strips(const real_t *x, int64_t rs, int64_t ks, int64_t count, int64_t depth, int64_t width,
                        real_t *strip)
{
    for (int64_t r0 = 0; r0 < count; r0 += width, strip += depth * width) {
        int64_t rows = min_i64(count - r0, width);
        for (int64_t k = 0; k < depth; k++) {
            real_t *to = strip + k * width;
            const real_t *from = x + r0 * rs + k * ks;
            for (int64_t r = 0; r < rows; r++) to[r] = from[r * rs];
            for (int64_t r = rows; r < width; r++) to[r] = 0;
        }
    }
}

/* Adds MICRO_ROWS x MICRO_COLS sums to sum[r * DENSE_N + c]. */
static void micro_tile(const real_t *a, const real_t *b, int64_t depth, real_t *sum)
{
    vec_t t[MICRO_ROWS][2];
    UNROLLED
    for (int r = 0; r < MICRO_ROWS; r++) {
        t[r][0] = t[r][1] = v_zero();
    }
    for (int64_t k = 0; k < depth; k++, a += MICRO_ROWS, b += MICRO_COLS) {
        vec_t b0 = v_load(b);
        vec_t b1 = v_load(b + LANES);
        UNROLLED
        for (int r = 0; r < MICRO_ROWS; r++) {
            vec_t v = v_set1(a[r]);
            t[r][0] = v_fma(v, b0, t[r][0]);
            t[r][1] = v_fma(v, b1, t[r][1]);
        }
    }
    UNROLLED
    for (int r = 0; r < MICRO_ROWS; r++) {
        v_store(sum + r * DENSE_N, v_load(sum + r * DENSE_N) + t[r][0]);
        v_store(sum + r * DENSE_N + LANES, v_load(sum + r * DENSE_N + LANES) + t[r][1]);
    }
}

/* Sums of RUN blocks along k, put aside. */
static void carry_block(real_t *sum, real_t *total)
{
    for (int64_t p = 0; p < DENSE_M * DENSE_N; p += LANES) {
        v_store(total + p, v_load(total + p) + v_load(sum + p));
        v_store(sum + p, v_zero());
    }
}

/* sum, or where k is long total, := rows [i, i + mb) of A times columns [j, j + nb) of B. */
static void dense_block(const lac_host_matrix_t *a, const lac_host_matrix_t *b, int64_t i, int64_t mb,
                        int64_t j, int64_t nb, int64_t kk, real_t *scratch)
{
    real_t *pa = scratch;
    real_t *pb = pa + DENSE_M * DENSE_K;
    real_t *sum = pb + DENSE_K * DENSE_N;
    real_t *total = sum + DENSE_M * DENSE_N;
    memset(sum, 0, 2 * DENSE_M * DENSE_N * sizeof *sum);
    for (int64_t k = 0; k < kk; k += DENSE_K) {
        int64_t kb = min_i64(kk - k, DENSE_K);
        if (begins_run(k / DENSE_K)) carry_block(sum, total);
        pack_strips((const real_t *)a->data + i * a->rs + k * a->cs, a->rs, a->cs, mb, kb, MICRO_ROWS, pa);
        pack_strips((const real_t *)b->data + j * b->cs + k * b->rs, b->cs, b->rs, nb, kb, MICRO_COLS, pb);
        for (int64_t c = 0; c < nb; c += MICRO_COLS)
            for (int64_t r = 0; r < mb; r += MICRO_ROWS)
                micro_tile(pa + r * kb, pb + c * kb, kb, sum + r * DENSE_N + c);
    }
    if (kk > RUN * DENSE_K) carry_block(sum, total);
}

static void dense(const lac_host_matrix_t *a, const lac_host_matrix_t *b, int64_t i0, int64_t i1, int64_t n,
                  int64_t kk, const lac_host_output_t *out, void *memory)
{
    real_t *scratch = memory;
    const real_t *sum = scratch + DENSE_M * DENSE_K + DENSE_K * DENSE_N;
    const real_t *result = kk > RUN * DENSE_K ? sum + DENSE_M * DENSE_N : sum;
    for (int64_t i = i0; i < i1; i += DENSE_M)
        for (int64_t j = 0; j < n; j += DENSE_N) {
            int64_t mb = min_i64(i1 - i, DENSE_M);
            int64_t nb = min_i64(n - j, DENSE_N);
            dense_block(a, b, i, mb, j, nb, kk, scratch);
            write_out(result, DENSE_N, mb, nb, out, i, j);
        }
}

#endif
