/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The kernels that read a dense S: its events, its rows as CSR, its bits, a sample of its density. Included
 * once per element type (elem.h). */

/* scan_events: the nonzeros of S[0..m, k0..k1) appended to an event list, in k-major order.
 *
 * Layout    S at s[i * rs + k * cs]. Three ways, by layout:
 *           k-major (rs == 1): a column is contiguous; one mask of 64 elements at a time, and where columns
 *           follow each other without a gap the mask runs over their ends.
 *           row-major (cs == 1, m <= SCAN_ROWS): blocks of m x 64; the masks of the rows that have events
 *           are kept, counted by k, and the events placed by counting sort, so that S is read once.
 *           any other: element by element.
 * Bytes     all of S once, 16 bytes (double: 20) per event written. No flops.
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
            ((real_t *)ev->val)[ev->count++] = ELEM(value)(s[p]);
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
                ((real_t *)ev->val)[ev->count++] = ELEM(value)(column[i]);
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
            ((real_t *)ev->val)[e] = ELEM(value)(s[rows[r] * rs + k0 + b]);
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
            ((real_t *)ev->val)[ev->count++] = ELEM(value)(e);
        }
    }
    return true;
}

static bool ELEM(scan_events)(const void *from, int64_t m, int64_t k0, int64_t k1, int64_t rs, int64_t cs,
                              lac_events_t *ev)
{
    const elem_t *s = from;
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

/* count_rows and fill_rows: nonzeros per row of S, and the rows as CSR entries; collect_rows: both at once.
 *
 * Layout    S at s[i * rs + k * cs]. cs == 1: 64 elements of a row per mask. rs == 1: 64 rows of a column
 *           per mask, with a write position per row. Any other: element by element.
 * Bytes     all of S once per kernel, 8 bytes per entry written. No flops.
 * Limit     memory for count_rows; the packed stores, CHUNK elements at a time, for fill_rows.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           2048x2048 at 10 %, row-major: count 0.54 ms, 31 GB/s, all that a plain sum streams; fill 1.2 ms;
 *           column-major: 0.83 and 2.4 ms. */

static void ELEM(count_rows)(const void *from, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                             int64_t *count)
{
    const elem_t *s = from;
    for (int64_t i = i0; i < i1; i++) count[i - i0] = 0;
    if (cs == 1) {
        for (int64_t i = i0; i < i1; i++) {
            const elem_t *row = s + i * rs;
            int64_t nnz = 0;
            int64_t k = 0;
            for (; k + 64 <= kk; k += 64) nnz += __builtin_popcountll(ELEM(nz64)(row + k));
            count[i - i0] = nnz + __builtin_popcountll(ELEM(nz_part)(row + k, kk - k));
        }
    } else if (rs == 1) {
        for (; i0 < i1; i0 += 64, count += 64) {
            int64_t n = min_i64(i1 - i0, 64);
            for (int64_t k = 0; k < kk; k++) {
                const elem_t *column = s + k * cs + i0;
                for (int64_t i = 0; i < n; i++) count[i] += column[i] != 0;
            }
        }
    } else {
        for (int64_t i = i0; i < i1; i++)
            for (int64_t k = 0; k < kk; k++) count[i - i0] += s[i * rs + k * cs] != 0;
    }
}

#if !defined(LAC_FILL_SHARED)
#    define LAC_FILL_SHARED
/* Entries that were counted and are there no more. */
static void fill_rest(int32_t *idx, real_t *val, int64_t e, int64_t end)
{
    for (; e < end; e++) {
        if (idx) idx[e] = 0;
        if (val) val[e] = 0;
    }
}
#endif

/* n <= CHUNK elements of one row, the first at position k: returns how many entries were written. */
static inline int64_t ELEM(fill_chunk)(const elem_t *p, int64_t k, uint32_t bits, int32_t *idx, real_t *val)
{
    if (bits) ELEM(store_entries)(idx, val, p, (int32_t)k, bits);
    return __builtin_popcount(bits);
}

static void ELEM(fill_row)(const elem_t *row, int64_t kk, int64_t room, int32_t *idx, real_t *val)
{
    for (int64_t k = 0; k < kk && room > 0; k += 64) {
        uint64_t bits = kk - k >= 64 ? ELEM(nz64)(row + k) : ELEM(nz_part)(row + k, kk - k);
        while (__builtin_popcountll(bits) > room) bits ^= UINT64_C(1) << (63 - __builtin_clzll(bits));
        room -= __builtin_popcountll(bits);
        for (int64_t o = 0; bits; bits >>= CHUNK, o += CHUNK) {
            int64_t n = ELEM(fill_chunk)(row + k + o, k + o, (uint32_t)(bits & CHUNK_MASK), idx, val);
            idx = idx ? idx + n : NULL;
            val = val ? val + n : NULL;
        }
    }
    fill_rest(idx, val, 0, room);
}

static void ELEM(fill_columns)(const elem_t *s, int64_t i0, int64_t n, int64_t kk, int64_t cs,
                               const int64_t *start, int32_t *idx, real_t *val)
{
    int64_t next[64];
    memcpy(next, start, (size_t)n * sizeof next[0]);
    for (int64_t k = 0; k < kk; k++) {
        const elem_t *column = s + k * cs + i0;
        for (uint64_t bits = ELEM(nz_part)(column, n); bits; bits &= bits - 1) {
            int i = __builtin_ctzll(bits);
            if (next[i] == start[i + 1]) continue;
            int64_t e = next[i]++;
            if (idx) idx[e] = (int32_t)k;
            if (val) val[e] = ELEM(value)(column[i]);
        }
    }
    for (int64_t i = 0; i < n; i++) fill_rest(idx, val, next[i], start[i + 1]);
}

static void ELEM(fill_rows)(const void *from, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                            const int64_t *start, int32_t *idx, void *values)
{
    const elem_t *s = from;
    real_t *val = values;
    if (cs != 1 && rs == 1) {
        for (int64_t i = i0; i < i1; i += 64)
            ELEM(fill_columns)(s, i, min_i64(i1 - i, 64), kk, cs, start + (i - i0), idx, val);
        return;
    }
    for (int64_t i = i0; i < i1; i++) {
        int64_t e = start[i - i0];
        int64_t end = start[i - i0 + 1];
        if (cs == 1) {
            ELEM(fill_row)(s + i * rs, kk, end - e, idx ? idx + e : NULL, val ? val + e : NULL);
            continue;
        }
        for (int64_t k = 0; k < kk && e < end; k++) {
            elem_t x = s[i * rs + k * cs];
            if (x == 0) continue;
            if (idx) idx[e] = (int32_t)k;
            if (val) val[e] = ELEM(value)(x);
            e++;
        }
        fill_rest(idx, val, e, end);
    }
}

enum {
    ELEM(FEW) = 8,                            /* nonzeros of 64: up to there one by one           */
    ELEM(AHEAD) = 4096 / (int)sizeof(elem_t), /* elements, of what is asked for early: 2.2 to 1.8 */
    ELEM(LINE_OF) = 64 / (int)sizeof(elem_t)  /* times as long as a copy (Xeon, 2026-11-21)       */
};

/* Returns how many entries were written. */
static int64_t ELEM(collect_row)(const elem_t *row, int64_t kk, int32_t *idx, real_t *val, uint64_t *bits)
{
    int64_t count = 0;
    for (int64_t k = 0; k < kk; k += 64) {
        for (int l = 0; l < 64; l += ELEM(LINE_OF)) __builtin_prefetch(row + k + l + ELEM(AHEAD));
        uint64_t set = kk - k >= 64 ? ELEM(nz64)(row + k) : ELEM(nz_part)(row + k, kk - k);
        if (bits) bits[k / 64] = set;
        if (__builtin_popcountll(set) > ELEM(FEW)) {
            for (int64_t o = 0; set; set >>= CHUNK, o += CHUNK)
                count += ELEM(fill_chunk)(row + k + o, k + o, (uint32_t)(set & CHUNK_MASK),
                                          idx ? idx + count : NULL, val + count);
            continue;
        }
        for (; set; set &= set - 1, count++) {
            int64_t at = k + __builtin_ctzll(set);
            if (idx) idx[count] = (int32_t)at;
            val[count] = ELEM(value)(row[at]);
        }
    }
    return count;
}

static void ELEM(collect_rows)(const void *from, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int32_t *idx,
                               void *values, uint64_t *bits, int64_t *count)
{
    const elem_t *s = from;
    real_t *val = values;
    for (int64_t i = i0; i < i1; i++) {
        *count = ELEM(collect_row)(s + i * rs, kk, idx, val, bits);
        val += *count;
        if (idx) idx += *count;
        if (bits) bits += (kk + 63) / 64;
        count++;
    }
}

/* fill_bits: one occupancy bit per element of S, rows of ceil(kk / 64) words.
 *
 * Layout    S at s[i * rs + k * cs]. cs == 1: a mask is a word. rs == 1: 64 masks along the rows are
 *           transposed as a 64 x 64 bit matrix. Any other: element by element.
 * Bytes     all of S once, 1 bit per element written. No flops.
 * Limit     memory, as count_rows. */

#if !defined(LAC_BITS_SHARED)
#    define LAC_BITS_SHARED
/* In place: bit c of a[r] becomes bit r of a[c]. Swaps off-diagonal blocks of 32, 16, .. 1 bits
 * (H. S. Warren, Hacker's Delight, 7-3). */
static void transpose_bits(uint64_t a[64])
{
    uint64_t low = 0x00000000FFFFFFFFU;
    for (int half = 32; half > 0; half /= 2, low ^= low << half)
        for (int r = 0; r < 64; r = (r + half + 1) & ~half) {
            uint64_t t = ((a[r] >> half) ^ a[r + half]) & low;
            a[r] ^= t << half;
            a[r + half] ^= t;
        }
}
#endif

static uint64_t ELEM(nz_strided)(const elem_t *p, int64_t stride, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t l = 0; l < n; l++) bits |= (uint64_t)(p[l * stride] != 0) << l;
    return bits;
}

/* Words of 64 rows from one block of 64 columns. */
static void ELEM(bits_of_columns)(const elem_t *s, int64_t i0, int64_t rows, int64_t k0, int64_t n,
                                  int64_t cs, uint64_t *bits, int64_t words)
{
    uint64_t block[64] = {0};
    for (int64_t k = 0; k < n; k++) block[k] = ELEM(nz_part)(s + (k0 + k) * cs + i0, rows);
    transpose_bits(block);
    for (int64_t i = 0; i < rows; i++) bits[i * words] = block[i];
}

static void ELEM(fill_bits)(const void *from, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                            uint64_t *bits)
{
    const elem_t *s = from;
    int64_t words = (kk + 63) / 64;
    if (cs != 1 && rs == 1) {
        for (int64_t i = i0; i < i1; i += 64)
            for (int64_t k = 0; k < kk; k += 64) ELEM(bits_of_columns)
        (s, i, min_i64(i1 - i, 64), k, min_i64(kk - k, 64), cs, bits + (i - i0) * words + k / 64, words);
        return;
    }
    for (int64_t i = i0; i < i1; i++)
        for (int64_t k = 0; k < kk; k += 64) {
            const elem_t *p = s + i * rs + k * cs;
            int64_t n = min_i64(kk - k, 64);
            *bits++ = cs == 1 ? ELEM(nz_part)(p, n) : ELEM(nz_strided)(p, cs, n);
        }
}

/* probe: nonzeros among a few elements spread over S, the cheapest estimate of a density.
 *
 * Positions follow the additive recurrence x += 1/g, y += 1/g^2 (mod 1) with g the real root of
 * g^3 = g + 1, which spreads evenly over the unit square for any number of samples (M. Roberts, "The
 * unreasonable effectiveness of quasirandom sequences", 2018); the seed moves the start. Fixed point, 64
 * bits: the same positions everywhere.
 * Bytes     one cache line per sample; the loads do not depend on each other.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           64 samples in cache: 0.14 us. */

#if !defined(LAC_PROBE_SHARED)
#    define LAC_PROBE_SHARED
/* The fraction x / 2^64 of n, rounded down: n < 2^63. */
LAC_INLINE int64_t fraction_of(uint64_t x, int64_t n)
{
    return (int64_t)((uint64_t)((unsigned __int128)x * (uint64_t)n >> 64));
}

#endif

static int64_t ELEM(probe)(const void *from, int64_t m, int64_t kk, int64_t rs, int64_t cs, int64_t samples,
                           uint64_t seed)
{
    const elem_t *s = from;
    uint64_t x = seed * 0x9E3779B97F4A7C15U + 0x8000000000000000U;
    uint64_t y = (x ^ x >> 29) * 0xBF58476D1CE4E5B9U;
    int64_t seen = 0;
    if (m <= 0 || kk <= 0) return 0;
    for (int64_t t = 0; t < samples; t++) {
        seen += s[fraction_of(x, m) * rs + fraction_of(y, kk) * cs] != 0;
        x += 0xC13FA9A902A6328FU;
        y += 0x91E10DA5C79E7B1DU;
    }
    return seen;
}
