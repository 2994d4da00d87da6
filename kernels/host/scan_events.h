/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * scan_events: the nonzeros of S[0..m, k0..k1) appended to an event list, in k-major order.
 *
 * Layout    S at s[i * rs + k * cs]. Three ways, by layout:
 *           k-major (rs == 1): a column is contiguous; one mask of 64 elements at a time, and where columns
 *           follow each other without a gap the mask runs over their ends.
 *           row-major (cs == 1, m <= SCAN_ROWS): blocks of m x 64; the masks of the rows that have events
 *           are kept, counted by k, and the events placed by counting sort, so that S is read once.
 *           any other: element by element.
 * Bytes     all of S once, 16 bytes per event written. No flops.
 * Order     k ascending, row ascending within a k, whatever the layout.
 * Limit     reading S; about 3 ns per event where there are many.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           1x5000 at 0.1 %: 0.14 us; 10x5000 at 0.1 %: 1.6 us k-major, 3.0 us row-major, at 10 % 12 and
 *           17 us; 128x10000 at 1 %: 23 and 17 GB/s of S where a plain sum streams 31. */

#define SCAN_ROWS 1024 /* rows whose masks a block keeps on the stack: 16 KiB */

/* Appends k unless it is the last active one; `first` of the new one is the next event. */
#if !defined(LAC_SCAN_SHARED)
#    define LAC_SCAN_SHARED
LAC_INLINE void open_k(lac_events_t *ev, int64_t k)
{
    ev->k[ev->active] = (int32_t)k;
    ev->first[ev->active++] = ev->count;
}
#endif

/* The columns lie end to end: element p of the run is row p % m of column k0 + p / m. */
static bool ELEM(scan_run)(const elem_t *s, int64_t m, int64_t k0, int64_t k1, lac_events_t *ev)
{
    int64_t total = (k1 - k0) * m;
    int64_t column = -m; /* start of the open column */
    for (int64_t p0 = 0; p0 < total; p0 += 64) {
        uint64_t bits = total - p0 >= 64 ? ELEM(nz64)(s + p0) : ELEM(nz_part)(s + p0, total - p0);
        if (bits == 0) continue;
        if (ev->count + __builtin_popcountll(bits) > ev->capacity) return false;
        for (; bits; bits &= bits - 1) {
            int64_t p = p0 + __builtin_ctzll(bits);
            if (p >= column + m) {
                int64_t k = p / m;
                column = k * m;
                open_k(ev, k0 + k);
            }
            ev->row[ev->count] = (int32_t)(p - column);
            ev->val[ev->count++] = ELEM(value)(s[p]);
        }
    }
    return true;
}

static bool ELEM(scan_columns)(const elem_t *s, int64_t m, int64_t k0, int64_t k1, int64_t cs,
                               lac_events_t *ev)
{
    for (int64_t k = k0; k < k1; k++) {
        const elem_t *column = s + k * cs;
        int64_t before = ev->count;
        for (int64_t i0 = 0; i0 < m; i0 += 64) {
            uint64_t bits = ELEM(nz_part)(column + i0, min_i64(m - i0, 64));
            if (bits == 0) continue;
            if (ev->count + __builtin_popcountll(bits) > ev->capacity) return false;
            if (ev->count == before) open_k(ev, k);
            for (; bits; bits &= bits - 1) {
                int64_t i = i0 + __builtin_ctzll(bits);
                ev->row[ev->count] = (int32_t)i;
                ev->val[ev->count++] = ELEM(value)(column[i]);
            }
        }
    }
    return true;
}

/* One block of n <= 64 k: rows[] and masks[] hold the rows that have events, `any` the active k. */
static bool ELEM(locate_block)(const elem_t *s, int64_t k0, int64_t rs, const int32_t *rows,
                               const uint64_t *masks, int64_t occupied, uint64_t any, lac_events_t *ev)
{
    int64_t next[64] = {0};
    int64_t events = 0;
    for (int64_t r = 0; r < occupied; r++) {
        events += __builtin_popcountll(masks[r]);
        for (uint64_t bits = masks[r]; bits; bits &= bits - 1) next[__builtin_ctzll(bits)]++;
    }
    if (ev->count + events > ev->capacity) return false;
    for (; any; any &= any - 1) {
        int b = __builtin_ctzll(any);
        int64_t events_of_k = next[b];
        open_k(ev, k0 + b);
        next[b] = ev->count;
        ev->count += events_of_k;
    }
    for (int64_t r = 0; r < occupied; r++)
        for (uint64_t bits = masks[r]; bits; bits &= bits - 1) {
            int b = __builtin_ctzll(bits);
            int64_t e = next[b]++;
            ev->row[e] = rows[r];
            ev->val[e] = ELEM(value)(s[rows[r] * rs + k0 + b]);
        }
    return true;
}

static bool ELEM(scan_blocks)(const elem_t *s, int64_t m, int64_t k0, int64_t k1, int64_t rs,
                              lac_events_t *ev)
{
    int32_t rows[SCAN_ROWS];
    uint64_t masks[SCAN_ROWS];
    for (; k0 < k1; k0 += 64) {
        int64_t n = min_i64(k1 - k0, 64);
        int64_t occupied = 0;
        uint64_t any = 0;
        for (int64_t i = 0; i < m; i++) {
            const elem_t *p = s + i * rs + k0;
            uint64_t bits = n == 64 ? ELEM(nz64)(p) : ELEM(nz_part)(p, n);
            rows[occupied] = (int32_t)i;
            masks[occupied] = bits;
            occupied += bits != 0;
            any |= bits;
        }
        if (any && !ELEM(locate_block)(s, k0, rs, rows, masks, occupied, any, ev)) return false;
    }
    return true;
}

static bool ELEM(scan_strided)(const elem_t *s, int64_t m, int64_t k0, int64_t k1, int64_t rs, int64_t cs,
                               lac_events_t *ev)
{
    for (int64_t k = k0; k < k1; k++) {
        int64_t before = ev->count;
        for (int64_t i = 0; i < m; i++) {
            elem_t e = s[i * rs + k * cs];
            if (e == 0) continue;
            if (ev->count == ev->capacity) return false;
            if (ev->count == before) open_k(ev, k);
            ev->row[ev->count] = (int32_t)i;
            ev->val[ev->count++] = ELEM(value)(e);
        }
    }
    return true;
}

static bool ELEM(scan_events)(const elem_t *s, int64_t m, int64_t k0, int64_t k1, int64_t rs, int64_t cs,
                              lac_events_t *ev)
{
    bool fits;
    if (m <= 0 || k1 <= k0) return true;
    if (m == 1) rs = 1;
    if (rs == 1 && cs == m)
        fits = ELEM(scan_run)(s + k0 * cs, m, k0, k1, ev);
    else if (rs == 1)
        fits = ELEM(scan_columns)(s, m, k0, k1, cs, ev);
    else if (cs == 1 && m <= SCAN_ROWS)
        fits = ELEM(scan_blocks)(s, m, k0, k1, rs, ev);
    else
        fits = ELEM(scan_strided)(s, m, k0, k1, rs, cs, ev);
    if (fits) ev->first[ev->active] = ev->count;
    return fits;
}
