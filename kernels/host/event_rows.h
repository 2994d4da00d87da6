/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * event_rows: out := beta * out + alpha * S * W from the events of S, where rows of W are contiguous.
 *
 * Shapes    S m x kk as event lists (k-major), W kk x n with W[k, j] at w[k * ldw + j], out m x n at any
 *           strides. Columns [j0, j1) in panels of event_panel(m), whose m x panel sums stay in scratch.
 * Bytes     4 (j1 - j0) per active k, read once; out once. Flops 2 (j1 - j0) per event.
 * Order     each out[i, j]: one multiply-add per event, k ascending, in one accumulator; no dependence on
 *           the panels, on j0 and j1, or on the cutting into fragments. */

static void add_row(real_t *acc, real_t value, const real_t *w, int64_t n)
{
    vec_t v = v_set1(value);
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) v_store(acc + j, v_fma(v, v_load(w + j), v_load(acc + j)));
    if (j < n) v_store_n(acc + j, v_fma(v, v_load_n(w + j, n - j), v_load_n(acc + j, n - j)), n - j);
}

static void event_rows(const lac_events_t *ev, int64_t fragments, int64_t m, const float *w, int64_t ldw,
                       int64_t j0, int64_t j1, float alpha, float beta, float *out, int64_t rs, int64_t cs,
                       float *acc)
{
    int64_t panel = event_panel(m);
    for (int64_t j = j0; j < j1; j += panel) {
        int64_t n = min_i64(j1 - j, panel);
        memset(acc, 0, (size_t)(m * panel) * sizeof *acc);
        for (int64_t f = 0; f < fragments; f++)
            for (int64_t a = 0; a < ev[f].active; a++) {
                const real_t *slice = w + ev[f].k[a] * ldw + j;
                for (int64_t e = ev[f].first[a]; e < ev[f].first[a + 1]; e++)
                    add_row(acc + ev[f].row[e] * panel, ev[f].val[e], slice, n);
            }
        write_out(acc, panel, m, n, alpha, beta, out + j * cs, rs, cs);
    }
}
