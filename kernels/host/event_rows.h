/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * event_rows: out := beta * out + alpha * S * W from the events of S, where rows of W are contiguous.
 *
 * Shapes    S m x kk as event lists (k-major), W kk x n with W[k, j] at w[k * ldw + j], out m x n at any
 *           strides. Columns [j0, j1) go in panels of event_panel(m), whose sums stay in scratch as strips
 *           of m x STRIP: a slice of W is loaded once per strip and added to every row that has an event.
 * Bytes     4 (j1 - j0) per active k, read once; out once. Flops 2 (j1 - j0) per event.
 * Order     each out[i, j]: one multiply-add per event, k ascending, in one accumulator; no dependence on
 *           the panels, on j0 and j1, or on the cutting into fragments.
 * Limit     active rows of W from L3 or memory; with many events per active k (128 rows at 5 %), the sums,
 *           which then pass between L1 and L2. Software prefetch of later slices gained nothing.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           10x5000x5000 at 0.1 %: 31 us, at 1 %: 0.36 ms, at 10 %: 2.6 ms; 25-26 GB/s of W where a plain
 *           sum streams 31. 128x4096x4096 at 5 %: 8.8 ms. */

enum {
    STRIP_VECTORS = 4,
    STRIP = STRIP_VECTORS * LANES,
    ACTIVE_BLOCK = 16 /* slices of W that are read side by side: as many streams as the prefetchers follow */
};

_Static_assert(EVENT_PANEL_MIN % STRIP == 0, "a panel is whole strips");

/* Active k [a0, a1) of one list into one strip of n <= STRIP columns; w is the strip's first column. */
LAC_INLINE void add_strip(const lac_events_t *ev, int64_t a0, int64_t a1, const real_t *w, int64_t ldw,
                          int64_t n, real_t *acc)
{
    int64_t e = ev->first[a0];
    for (int64_t a = a0; a < a1; a++) {
        const real_t *p = w + ev->k[a] * ldw;
        vec_t slice[STRIP_VECTORS];
        UNROLLED
        for (int v = 0; v < STRIP_VECTORS; v++) slice[v] = v_load_upto(p + v * LANES, n - v * LANES);
        for (int64_t end = ev->first[a + 1]; e < end; e++) {
            real_t *sum = acc + (int64_t)ev->row[e] * STRIP;
            vec_t value = v_set1(ev->val[e]);
            UNROLLED
            for (int v = 0; v < STRIP_VECTORS; v++)
                v_store(sum + v * LANES, v_fma(value, slice[v], v_load(sum + v * LANES)));
        }
    }
}

/* One list into a panel of n columns: strip after strip for ACTIVE_BLOCK active k at a time. */
static void add_panel(const lac_events_t *ev, int64_t m, const real_t *w, int64_t ldw, int64_t n, real_t *acc)
{
    for (int64_t a = 0; a < ev->active; a += ACTIVE_BLOCK) {
        int64_t end = min_i64(a + ACTIVE_BLOCK, ev->active);
        int64_t j = 0;
        for (; j + STRIP <= n; j += STRIP) add_strip(ev, a, end, w + j, ldw, STRIP, acc + j * m);
        if (j < n) add_strip(ev, a, end, w + j, ldw, n - j, acc + j * m);
    }
}

static void event_rows(const lac_events_t *ev, int64_t fragments, int64_t m, const float *w, int64_t ldw,
                       int64_t j0, int64_t j1, float alpha, float beta, float *out, int64_t rs, int64_t cs,
                       float *acc)
{
    int64_t panel = event_panel(m);
    for (int64_t j = j0; j < j1; j += panel) {
        int64_t n = min_i64(j1 - j, panel);
        memset(acc, 0, (size_t)(m * panel) * sizeof *acc);
        for (int64_t f = 0; f < fragments; f++) add_panel(ev + f, m, w + j, ldw, n, acc);
        for (int64_t c = 0; c < n; c += STRIP)
            write_out(acc + c * m, STRIP, m, min_i64(n - c, STRIP), alpha, beta, out + (j + c) * cs, rs, cs);
    }
}
