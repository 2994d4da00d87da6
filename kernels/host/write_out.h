/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The end of a product that keeps its sums in scratch: out := beta * out + alpha * acc, any strides of
 * out. */

/* acc[i * lda + j], i < m, j < n, to out[i * rs + j * cs]. Every element is finished alike, so that the
 * result does not depend on the layout of out or on where a vector ended. */
static void write_out(const real_t *acc, int64_t lda, int64_t m, int64_t n, real_t alpha, real_t beta,
                      real_t *out, int64_t rs, int64_t cs)
{
    if (cs == 1) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j += LANES) {
                int64_t lanes = min_i64(n - j, LANES);
                const real_t *p = acc + i * lda + j;
                v_scale_out(out + i * rs + j, lanes == LANES ? v_load(p) : v_load_n(p, lanes), alpha, beta,
                            lanes);
            }
        return;
    }
    int64_t vector_rows = rs == 1 ? m - m % LANES : 0;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < vector_rows; i += LANES)
            v_scale_out(out + i + j * cs, v_load_strided(acc + i * lda + j, lda), alpha, beta, LANES);
        for (int64_t i = vector_rows; i < m; i++)
            out[i * rs + j * cs] = r_scale_out(alpha, acc[i * lda + j], beta, out + i * rs + j * cs);
    }
}
