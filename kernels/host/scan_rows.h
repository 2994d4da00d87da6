/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * count_rows and fill_rows: nonzeros per row of S, and the rows as CSR entries; collect_rows: both at once.
 *
 * Layout    S at s[i * rs + k * cs]. cs == 1: 64 elements of a row per mask. rs == 1: 64 rows of a column
 *           per mask, with a write position per row. Any other: element by element.
 * Bytes     all of S once per kernel, 8 bytes per entry written. No flops.
 * Limit     memory for count_rows; the packed stores, 16 elements at a time, for fill_rows.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           2048x2048 at 10 %, row-major: count 0.54 ms, 31 GB/s, all that a plain sum streams; fill 1.2 ms;
 *           column-major: 0.83 and 2.4 ms. */

static void ELEM(count_rows)(const elem_t *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                             int64_t *count)
{
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
static void fill_rest(int32_t *idx, float *val, int64_t e, int64_t end)
{
    for (; e < end; e++) {
        if (idx) idx[e] = 0;
        if (val) val[e] = 0;
    }
}
#endif

/* n <= 16 elements of one row, the first at position k: returns how many entries were written. */
static inline int64_t ELEM(fill_chunk)(const elem_t *p, int64_t k, uint32_t bits, int32_t *idx, float *val)
{
    if (bits) ELEM(store_entries)(idx, val, p, (int32_t)k, bits);
    return __builtin_popcount(bits);
}

static void ELEM(fill_row)(const elem_t *row, int64_t kk, int64_t room, int32_t *idx, float *val)
{
    for (int64_t k = 0; k < kk && room > 0; k += 64) {
        uint64_t bits = kk - k >= 64 ? ELEM(nz64)(row + k) : ELEM(nz_part)(row + k, kk - k);
        while (__builtin_popcountll(bits) > room) bits ^= UINT64_C(1) << (63 - __builtin_clzll(bits));
        room -= __builtin_popcountll(bits);
        for (int64_t o = 0; bits; bits >>= 16, o += 16) {
            int64_t n = ELEM(fill_chunk)(row + k + o, k + o, (uint32_t)(bits & 0xFFFFU), idx, val);
            idx = idx ? idx + n : NULL;
            val = val ? val + n : NULL;
        }
    }
    fill_rest(idx, val, 0, room);
}

static void ELEM(fill_columns)(const elem_t *s, int64_t i0, int64_t n, int64_t kk, int64_t cs,
                               const int64_t *start, int32_t *idx, float *val)
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

static void ELEM(fill_rows)(const elem_t *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                            const int64_t *start, int32_t *idx, float *val)
{
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
static int64_t ELEM(collect_row)(const elem_t *row, int64_t kk, int32_t *idx, float *val, uint64_t *bits)
{
    int64_t count = 0;
    for (int64_t k = 0; k < kk; k += 64) {
        for (int l = 0; l < 64; l += ELEM(LINE_OF)) __builtin_prefetch(row + k + l + ELEM(AHEAD));
        uint64_t set = kk - k >= 64 ? ELEM(nz64)(row + k) : ELEM(nz_part)(row + k, kk - k);
        if (bits) bits[k / 64] = set;
        if (__builtin_popcountll(set) > ELEM(FEW)) {
            for (int64_t o = 0; set; set >>= 16, o += 16)
                count += ELEM(fill_chunk)(row + k + o, k + o, (uint32_t)(set & 0xFFFFU),
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

static void ELEM(collect_rows)(const elem_t *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int32_t *idx,
                               float *val, uint64_t *bits, int64_t *count)
{
    for (int64_t i = i0; i < i1; i++) {
        *count = ELEM(collect_row)(s + i * rs, kk, idx, val, bits);
        val += *count;
        if (idx) idx += *count;
        if (bits) bits += (kk + 63) / 64;
        count++;
    }
}
