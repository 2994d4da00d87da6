/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products of the events of S with W, by rows of W and by columns. */

/* Row gather: rows of W are contiguous (element (k, j) at w[k * ldw + j]). m is the number of rows of S.
 * acc: scratch of at least `lac_event_scratch(m, size)` values. `fragments` event lists cover ascending,
 * disjoint k ranges. */
LAC_KERNEL(event_rows, void,
           (const lac_events_t *ev, int64_t fragments, int64_t m, const void *w, int64_t ldw, int64_t j0,
            int64_t j1, const lac_host_output_t *out, void *scratch))
/* Column gather: columns of W are contiguous along k (element (k, j) at w[j * ldw + k]). */
LAC_KERNEL(event_cols, void,
           (const lac_events_t *ev, int64_t fragments, int64_t m, const void *w, int64_t ldw, int64_t j0,
            int64_t j1, const lac_host_output_t *out, void *scratch))

#ifdef LAC_KERNEL_BODIES

/* event_rows: out := beta * out + alpha * S * W from the events of S, where rows of W are contiguous.
 *
 * Shapes    S m x kk as event lists (k-major), W kk x n with W[k, j] at w[k * ldw + j], out m x n at any
 *           strides. Columns [j0, j1) go in panels of event_panel(m), whose sums stay in scratch as strips
 *           of m x STRIP: a slice of W is loaded once per strip and added to every row that has an event.
 * Bytes     a value for each of j0 .. j1 and active k, read once; out once. Flops 2 (j1 - j0) per event.
 * Order     each out[i, j]: one multiply-add per event, k ascending, in runs (panels.h) of the events of row
 *           i; no dependence on the panels, on j0 and j1, on other rows, or on the cutting into fragments.
 * Limit     active rows of W from L3 or memory; with many events per active k (128 rows at 5 %), the sums,
 *           which then pass between L1 and L2. Software prefetch of later slices gained nothing.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           10x5000x5000 at 0.1 %: 31 us, at 1 %: 0.36 ms, at 10 %: 2.6 ms; 25-26 GB/s of W where a plain
 *           sum streams 31. 128x4096x4096 at 5 %: 8.8 ms. */

enum { STRIP_VECTORS = 4, STRIP = STRIP_VECTORS * LANES };

_Static_assert(EVENT_PANEL_MIN % STRIP == 0, "a panel is whole strips");

/* Active k [a0, a1) of a list, and for each of their events the number in its row where that begins a run, 0
 * elsewhere; `carries` where there is one. */
typedef struct event_block {
    const lac_events_t *ev;
    int64_t a0, a1;
    int32_t *run;
    bool carries;
} event_block_t;

/* The block from a0 on; seen[row] counts the events of each row. */
static event_block_t number_block(const lac_events_t *ev, int64_t a0, int32_t *seen, int32_t *run)
{
    event_block_t block = {ev, a0, min_i64(a0 + ACTIVE_BLOCK, ev->active), run, false};
    int64_t e0 = ev->first[a0];
    int64_t count = ev->first[block.a1] - e0;
    int32_t any = 0;
    for (int64_t e = 0; e < count; e++) {
        int32_t nth = seen[ev->row[e0 + e]]++;
        any |= run[e] = nth % RUN == 0 ? nth : 0;
    }
    block.carries = any != 0;
    return block;
}

LAC_INLINE real_t event_value(const lac_events_t *ev, int64_t e)
{
    return ((const real_t *)ev->val)[e];
}

/* One block into one strip of n <= STRIP columns; w is the strip's first column, `levels` apart are levels.
 */
LAC_INLINE void add_strip(const event_block_t *block, bool carries, const real_t *w, int64_t ldw, int64_t n,
                          real_t *acc, int64_t levels)
{
    const lac_events_t *ev = block->ev;
    int64_t e = ev->first[block->a0];
    const int32_t *run = block->run - e;
    for (int64_t a = block->a0; a < block->a1; a++) {
        const real_t *p = w + ev->k[a] * ldw;
        vec_t slice[STRIP_VECTORS];
        UNROLLED
        for (int v = 0; v < STRIP_VECTORS; v++) slice[v] = v_load_upto(p + v * LANES, n - v * LANES);
        for (int64_t end = ev->first[a + 1]; e < end; e++) {
            real_t *to = acc + (int64_t)ev->row[e] * STRIP;
            vec_t value = v_set1(event_value(ev, e));
            vec_t sum[STRIP_VECTORS];
            if (carries && run[e]) {
                UNROLLED
                for (int v = 0; v < STRIP_VECTORS; v++) sum[v] = v_load(to + v * LANES);
                carry_run(sum, STRIP_VECTORS, to + levels, levels, run[e]);
                UNROLLED
                for (int v = 0; v < STRIP_VECTORS; v++)
                    v_store(to + v * LANES, v_fma(value, slice[v], v_zero()));
                continue;
            }
            UNROLLED
            for (int v = 0; v < STRIP_VECTORS; v++)
                v_store(to + v * LANES, v_fma(value, slice[v], v_load(to + v * LANES)));
        }
    }
}

/* The same for all n columns of a panel of m rows. */
LAC_INLINE void add_block(const event_block_t *block, bool carries, int64_t m, const real_t *w, int64_t ldw,
                          int64_t n, real_t *acc, int64_t levels)
{
    int64_t j = 0;
    for (; j + STRIP <= n; j += STRIP) add_strip(block, carries, w + j, ldw, STRIP, acc + j * m, levels);
    if (j < n) add_strip(block, carries, w + j, ldw, n - j, acc + j * m, levels);
}

/* Adds up the levels of one strip into the first. */
static void close_strip(int64_t m, const int32_t *seen, real_t *acc, int64_t levels)
{
    for (int64_t i = 0; i < m; i++, acc += STRIP) {
        vec_t sum[STRIP_VECTORS];
        if (seen[i] <= RUN) continue;
        UNROLLED
        for (int v = 0; v < STRIP_VECTORS; v++) sum[v] = v_load(acc + v * LANES);
        add_levels(sum, STRIP_VECTORS, acc + levels, levels, seen[i]);
        UNROLLED
        for (int v = 0; v < STRIP_VECTORS; v++) v_store(acc + v * LANES, sum[v]);
    }
}

/* Sums and counts of events of m rows, at the beginning. */
LAC_INLINE void clear_sums(real_t *acc, int64_t count, int32_t *seen, int64_t m)
{
    memset(acc, 0, (size_t)count * sizeof *acc);
    memset(seen, 0, (size_t)m * sizeof *seen);
}

static void event_rows(const lac_events_t *ev, int64_t fragments, int64_t m, const void *w, int64_t ldw,
                       int64_t j0, int64_t j1, const lac_host_output_t *out, void *scratch)
{
    const real_t *from = w;
    real_t *acc = scratch;
    int64_t panel = event_panel(m, sizeof *acc);
    int64_t levels = m * panel;
    int32_t *seen = (int32_t *)(void *)(acc + levels * RUN_LEVELS);
    for (int64_t j = j0; j < j1; j += panel) {
        int64_t n = min_i64(j1 - j, panel);
        clear_sums(acc, m * ((n + STRIP - 1) / STRIP * STRIP), seen, m); /* whole strips, seldom the panel */
        for (int64_t f = 0; f < fragments; f++)
            for (int64_t a = 0; a < ev[f].active; a += ACTIVE_BLOCK) {
                event_block_t block = number_block(ev + f, a, seen, seen + m);
                if (block.carries)
                    add_block(&block, true, m, from + j, ldw, n, acc, levels);
                else
                    add_block(&block, false, m, from + j, ldw, n, acc, levels);
            }
        for (int64_t c = 0; c < n; c += STRIP) {
            close_strip(m, seen, acc + c * m, levels);
            write_out(acc + c * m, STRIP, m, min_i64(n - c, STRIP), out, 0, j + c);
        }
    }
}

/* event_cols: out := beta * out + alpha * S * W from the events of S, where columns of W are contiguous.
 *
 * Shapes    S m x kk as event lists (k-major), W kk x n with W[k, j] at w[j * ldw + k], out m x n at any
 *           strides. LANES columns at a time: the lanes of a vector are columns, its m sums stay in scratch.
 * Bytes     one cache line per active k and column, at worst all of W; out once. Flops 2 (j1 - j0) per
 *           event.
 * Order     as event_rows.
 * Limit     cache lines of W from L3 or memory.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           10x5000x5000 at 0.1 %: 0.61 ms, 22 GB/s of lines; at 1 %: 3.3 ms, 30 GB/s where a plain sum
 *           streams 31. */

/* The slices of n <= LANES columns at one k; lanes beyond are anything. */
LAC_INLINE vec_t load_slice(const real_t *w, int64_t ldw, int64_t n)
{
    real_t t[LANES] = {0};
    if (n == LANES) return v_load_strided(w, ldw);
    for (int64_t c = 0; c < n; c++) t[c] = w[c * ldw];
    return v_load(t);
}

LAC_INLINE void add_columns(const lac_events_t *ev, int64_t fragments, const real_t *w, int64_t ldw,
                            int64_t n, real_t *acc, int64_t levels, int32_t *seen)
{
    for (int64_t f = 0; f < fragments; f++)
        for (int64_t a = 0; a < ev[f].active; a++) {
            vec_t slice = n == 1 ? v_zero() : load_slice(w + ev[f].k[a], ldw, n);
            for (int64_t e = ev[f].first[a]; e < ev[f].first[a + 1]; e++) {
                int64_t row = ev[f].row[e];
                real_t *to = acc + row * LANES;
                int32_t nth = seen[row]++;
                if (begins_run(nth)) {
                    vec_t sum = v_load(to);
                    carry_run(&sum, 1, to + levels, levels, nth);
                    v_store(to, v_zero());
                }
                if (n == 1)
                    *to = r_fma(event_value(ev + f, e), w[ev[f].k[a]], *to);
                else
                    v_store(to, v_fma(v_set1(event_value(ev + f, e)), slice, v_load(to)));
            }
        }
}

static void event_cols(const lac_events_t *ev, int64_t fragments, int64_t m, const void *w, int64_t ldw,
                       int64_t j0, int64_t j1, const lac_host_output_t *out, void *scratch)
{
    real_t *acc = scratch;
    int64_t levels = m * LANES;
    int32_t *seen = (int32_t *)(void *)(acc + levels * RUN_LEVELS);
    for (int64_t j = j0; j < j1; j += LANES) {
        int64_t n = min_i64(j1 - j, LANES);
        const real_t *from = (const real_t *)w + j * ldw;
        clear_sums(acc, levels, seen, m);
        if (n == LANES)
            add_columns(ev, fragments, from, ldw, LANES, acc, levels, seen);
        else if (n == 1)
            add_columns(ev, fragments, from, ldw, 1, acc, levels, seen);
        else
            add_columns(ev, fragments, from, ldw, n, acc, levels, seen);
        for (int64_t i = 0; i < m; i++) {
            vec_t sum = v_load(acc + i * LANES);
            add_levels(&sum, 1, acc + i * LANES + levels, levels, seen[i]);
            v_store(acc + i * LANES, sum);
        }
        write_out(acc, LANES, m, n, out, 0, j);
    }
}

#endif
