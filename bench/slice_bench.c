/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times row slices on the host: the slice, other ways to the same result, and what the memory allows, in one
 * run.
 *
 * usage: slice_bench [-t threads] [-r repeats] [-m rows] [-n columns] [-z entries-per-row] [-c count]
 * Medians, the ways taken in turns. The bytes are those that must move: 8 per entry and 4 per element of the
 * output. "floor" is a copy that moves as many, on as many threads. The other ways are those that have been
 * proposed against scattered writes: columns gathered from CSC, entries counted by column and laid in that
 * order, entries sorted by column. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_timing.h"
#include "lacuna/lacuna.h"

enum { BLOCK = 64, LINE = 16, DIGIT = 1024 }; /* slices and columns of a tile; values of a sorted digit */

static int threads = 2, repeats = 15;
static int64_t m = 10000, n = 10000, per_row = 1000, picked = 5000;

static lac_ctx_t *ctx;
static int64_t *ptr, *rows;
static int32_t *idx;
static float *val, *out, *grad;
static lac_obj_t a, dense;
static lac_format_view_t columns;
static int64_t *first, *place; /* slices of row r: place[first[r]] .. place[first[r + 1] - 1] */

/* An entry of a block of slices: column * BLOCK + slice. */
typedef struct item {
    int32_t key;
    float val;
} item_t;
static item_t *items;   /* [threads][2][BLOCK * per_row] */
static int64_t *starts; /* [threads][n + 1] */

/* per_row columns of each row, spread evenly with a random position in each stretch. */
static void build(void)
{
    ptr = bench_need((m + 1) * 8), idx = bench_need(m * per_row * 4), val = bench_need(m * per_row * 4);
    for (int64_t i = 0; i <= m; i++) ptr[i] = i * per_row;
    for (int64_t e = 0; e < m * per_row; e++) {
        int64_t from = e % per_row * n / per_row, to = (e % per_row + 1) * n / per_row;
        idx[e] = (int32_t)(from + (int64_t)(bench_random() % (uint64_t)(to - from)));
        val[e] = (float)(bench_random() >> 40) * 0x1p-24F + 0.25F;
    }
    rows = bench_need(picked * 8);
    for (int64_t i = 0; i < picked; i++) rows[i] = (int64_t)(bench_random() % (uint64_t)m);
    out = bench_need(picked * n * 4), grad = bench_need(m * per_row * 4);
    int32_t *narrow = bench_need((m + 1) * 4);
    for (int64_t i = 0; i <= m; i++) narrow[i] = (int32_t)ptr[i];
    a = lac_obj_rowmajor(LAC_F32, m, n, NULL, n);
    dense = lac_obj_rowmajor(LAC_F32, picked, n, out, n);
    if (lac_meta_create(&a.meta, m, n) || lac_meta_attach_csr(a.meta, LAC_I32, narrow, idx, val)) abort();
}

/* What the other ways are given: CSC, and the slices of each row. */
static void build_other_ways(void)
{
    if (lac_meta_convert(ctx, &a, LAC_META_CSC) || lac_meta_view(a.meta, LAC_META_CSC, &columns)) abort();
    first = bench_need((m + 2) * 8), place = bench_need(picked * 8);
    memset(first, 0, (size_t)(m + 2) * 8);
    for (int64_t i = 0; i < picked; i++) first[rows[i] + 2]++;
    for (int64_t r = 0; r < m; r++) first[r + 2] += first[r + 1];
    for (int64_t i = 0; i < picked; i++) place[first[rows[i] + 1]++] = i;
    items = bench_need((int64_t)threads * 2 * BLOCK * per_row * (int64_t)sizeof *items);
    starts = bench_need((int64_t)threads * (n + 1 > DIGIT ? n + 1 : DIGIT + 1) * 8);
}

static void scatter_part(int t, int parts)
{
    int64_t i0 = picked * t / parts, i1 = picked * (t + 1) / parts;
    memset(out + i0 * n, 0, (size_t)((i1 - i0) * n) * 4);
    for (int64_t i = i0; i < i1; i++)
        for (int64_t e = ptr[rows[i]]; e < ptr[rows[i] + 1]; e++) out[i * n + idx[e]] = val[e];
}

static void row_scatter_part(int t, int parts)
{
    int64_t i0 = picked * t / parts, i1 = picked * (t + 1) / parts;
    for (int64_t i = i0; i < i1; i++) {
        memset(out + i * n, 0, (size_t)n * 4);
        for (int64_t e = ptr[rows[i]]; e < ptr[rows[i] + 1]; e++) out[i * n + idx[e]] = val[e];
    }
}

static void clear_part(int t, int parts)
{
    int64_t i0 = picked * t / parts, i1 = picked * (t + 1) / parts;
    memset(out + i0 * n, 0, (size_t)((i1 - i0) * n) * 4);
}

/* Column by column, for every slice of the row that an entry is in. */
static void columns_part(int t, int parts)
{
    for (int64_t j = n * t / parts; j < n * (t + 1) / parts; j++)
        for (int64_t e = columns.ptr[j]; e < columns.ptr[j + 1]; e++)
            for (int64_t p = first[columns.idx[e]]; p < first[columns.idx[e] + 1]; p++)
                out[place[p] * n + j] = ((const float *)columns.val)[e];
}

/* The items of slices [i0, i0 + count), in order of their keys, in tiles that are written whole. */
static void write_tiles(const item_t *item, int64_t items_there, int64_t i0, int64_t count)
{
    float tile[BLOCK][LINE];
    int64_t e = 0;
    for (int64_t j = 0; j < n; j += LINE) {
        int64_t width = n - j < LINE ? n - j : LINE;
        memset(tile, 0, sizeof tile);
        for (; e < items_there && item[e].key < (j + width) * BLOCK; e++)
            tile[item[e].key % BLOCK][item[e].key / BLOCK - j] = item[e].val;
        for (int64_t i = 0; i < count; i++) memcpy(out + (i0 + i) * n + j, tile[i], (size_t)width * 4);
    }
}

static void counted_part(int t, int parts)
{
    item_t *laid = items + (int64_t)t * 2 * BLOCK * per_row;
    int64_t *start = starts + t * (n + 1 > DIGIT ? n + 1 : DIGIT + 1);
    for (int64_t i0 = picked * t / parts, i1 = picked * (t + 1) / parts; i0 < i1; i0 += BLOCK) {
        int64_t count = i1 - i0 < BLOCK ? i1 - i0 : BLOCK;
        memset(start, 0, (size_t)(n + 1) * sizeof *start);
        for (int64_t i = 0; i < count; i++)
            for (int64_t e = ptr[rows[i0 + i]]; e < ptr[rows[i0 + i] + 1]; e++) start[idx[e] + 1]++;
        for (int64_t j = 0; j < n; j++) start[j + 1] += start[j];
        for (int64_t i = 0; i < count; i++)
            for (int64_t e = ptr[rows[i0 + i]]; e < ptr[rows[i0 + i] + 1]; e++)
                laid[start[idx[e]]++] = (item_t){(int32_t)(idx[e] * BLOCK + i), val[e]};
        write_tiles(laid, count * per_row, i0, count);
    }
}

static void sort_digit(const item_t *from, item_t *to, int64_t count, int shift, int64_t *start)
{
    memset(start, 0, (DIGIT + 1) * sizeof *start);
    for (int64_t e = 0; e < count; e++) start[(from[e].key >> shift) % DIGIT + 1]++;
    for (int64_t d = 0; d < DIGIT; d++) start[d + 1] += start[d];
    for (int64_t e = 0; e < count; e++) to[start[(from[e].key >> shift) % DIGIT]++] = from[e];
}

/* Two digits of ten bits are enough for 16384 columns. */
static void sorted_part(int t, int parts)
{
    item_t *x = items + (int64_t)t * 2 * BLOCK * per_row, *y = x + BLOCK * per_row;
    int64_t *start = starts + t * (n + 1 > DIGIT ? n + 1 : DIGIT + 1);
    for (int64_t i0 = picked * t / parts, i1 = picked * (t + 1) / parts; i0 < i1; i0 += BLOCK) {
        int64_t count = i1 - i0 < BLOCK ? i1 - i0 : BLOCK, at = 0;
        for (int64_t i = 0; i < count; i++)
            for (int64_t e = ptr[rows[i0 + i]]; e < ptr[rows[i0 + i] + 1]; e++)
                x[at++] = (item_t){(int32_t)(idx[e] * BLOCK + i), val[e]};
        sort_digit(x, y, at, 0, start);
        sort_digit(y, x, at, 10, start);
        write_tiles(x, at, i0, count);
    }
}

static void slice(void)
{
    if (lac_slice_rows(ctx, &a, LAC_I64, picked, rows, &dense, NULL)) abort();
}
static void adjoint(void)
{
    if (lac_slice_rows_grad(ctx, &a, LAC_I64, picked, rows, &dense, grad, NULL)) abort();
}
static void scatter(void)
{
    bench_on_threads(threads, scatter_part);
}
static void row_scatter(void)
{
    bench_on_threads(threads, row_scatter_part);
}
static void by_columns(void)
{
    bench_on_threads(threads, clear_part);
    bench_on_threads(threads, columns_part);
}
static void counted(void)
{
    bench_on_threads(threads, counted_part);
}
static void sorted(void)
{
    bench_on_threads(threads, sorted_part);
}
static void clear(void)
{
    bench_on_threads(threads, clear_part);
}
static void copy(void)
{
    bench_copy(threads, 8 * picked * per_row + 4 * picked * n);
}

/* That a way wrote what the library writes. */
static bool same(void (*way)(void))
{
    float *kept = bench_need(picked * n * 4);
    slice();
    memcpy(kept, out, (size_t)(picked * n) * 4);
    memset(out, 1, (size_t)(picked * n) * 4);
    way();
    bool equal = !memcmp(kept, out, (size_t)(picked * n) * 4);
    free(kept);
    return equal;
}

int main(int argc, char **argv)
{
    static bench_way_t ways[] = {{.name = "lac_slice_rows", .run = slice},
                                 {.name = "memset, then scatter", .run = scatter},
                                 {.name = "memset and scatter by rows", .run = row_scatter},
                                 {.name = "columns gathered from CSC", .run = by_columns},
                                 {.name = "counted by column, then laid", .run = counted},
                                 {.name = "sorted by column", .run = sorted},
                                 {.name = "lac_slice_rows_grad", .run = adjoint},
                                 {.name = "copy of as many bytes", .run = copy},
                                 {.name = "memset of the output", .run = clear}};
    enum { WAYS = sizeof ways / sizeof *ways, FORWARD = 6 };
    for (int o; (o = getopt(argc, argv, "t:r:m:n:z:c:")) != -1;) {
        if (o == 't') threads = atoi(optarg);
        if (o == 'r') repeats = atoi(optarg);
        if (o == 'm') m = atoll(optarg);
        if (o == 'n') n = atoll(optarg);
        if (o == 'z') per_row = atoll(optarg);
        if (o == 'c') picked = atoll(optarg);
        if (o == '?') return 2;
    }
    if (threads < 1 || threads > BENCH_THREADS || repeats < 1 || repeats > BENCH_REPEATS || per_row > n ||
        n * BLOCK > DIGIT * DIGIT)
        return 2;
    char number[16];
    snprintf(number, sizeof number, "%d", threads);
    if (lac_ctx_create(&ctx) || lac_ctx_set(ctx, "threads", number)) return 1;
    build(), build_other_ways();
    for (int w = 1; w < FORWARD; w++)
        if (!same(ways[w].run)) printf("%s: WRONG\n", ways[w].name);
    bench_in_turns(ways, WAYS, repeats);
    double floor_us = ways[WAYS - 2].us[repeats / 2];
    printf("# %ld of %ld rows x %ld columns, %ld entries each, %d threads\n", (long)picked, (long)m, (long)n,
           (long)per_row, threads);
    for (int w = 0; w < WAYS; w++)
        printf("%-28s %10.0f us  (%.0f to %.0f)  %.2f times the copy\n", ways[w].name,
               ways[w].us[repeats / 2], ways[w].us[0], ways[w].us[repeats - 1],
               ways[w].us[repeats / 2] / floor_us);
    return 0;
}
