/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cases, their operands by a generator of random numbers, and what they must touch. */
#define _GNU_SOURCE
#include "host_kernels_cases.h"

#include <stdlib.h>
#include <string.h>

const kernel_case_t kernel_cases[] = {
    {"rows.1x5000x5000:0.001", EVENT_ROWS, 1, 5000, 5000, 0.001, false, false},
    {"rows.10x5000x5000:0.001", EVENT_ROWS, 10, 5000, 5000, 0.001, false, false},
    {"rows.10x5000x5000:0.01", EVENT_ROWS, 10, 5000, 5000, 0.01, false, false},
    {"rows.10x5000x5000:0.1", EVENT_ROWS, 10, 5000, 5000, 0.1, false, false},
    {"rows.10x5000x5000:0.1:outT", EVENT_ROWS, 10, 5000, 5000, 0.1, true, true},
    {"rows.10x10000x10000:0.01", EVENT_ROWS, 10, 10000, 10000, 0.01, false, false},
    {"rows.50x10000x10000:0.001", EVENT_ROWS, 50, 10000, 10000, 0.001, false, false},
    {"rows.50x10000x10000:0.01", EVENT_ROWS, 50, 10000, 10000, 0.01, false, false},
    {"rows.128x4096x4096:0.05", EVENT_ROWS, 128, 4096, 4096, 0.05, false, false},
    {"cols.10x5000x5000:0.001", EVENT_COLS, 10, 5000, 5000, 0.001, true, true},
    {"cols.50x5000x5000:0.01", EVENT_COLS, 50, 5000, 5000, 0.01, true, true},
    {"cols.50x5000x5000:0.01:rowmajor", EVENT_COLS, 50, 5000, 5000, 0.01, false, false},
    {"cols.10x5000x5000:0.01", EVENT_COLS, 10, 5000, 5000, 0.01, true, true},
    {"cols.10x10000x10000:0.001", EVENT_COLS, 10, 10000, 10000, 0.001, true, true},
    {"csr.128x4096x4096:0.05", CSR_ROWS, 128, 4096, 4096, 0.05, false, false},
    {"csr.50x10000x10000:0.01", CSR_ROWS, 50, 10000, 10000, 0.01, false, false},
    {"csr.2048x2048x2048:0.1", CSR_ROWS, 2048, 2048, 2048, 0.1, false, false},
    {"csr.2048x2048x2048:0.01", CSR_ROWS, 2048, 2048, 2048, 0.01, false, false},
    {"csr.4096x4096x4096:0.1", CSR_ROWS, 4096, 4096, 4096, 0.1, false, false},
    {"csr.10000x10000x100:0.01", CSR_ROWS, 10000, 10000, 100, 0.01, false, false},
    {"csr.5000x5000x10:0.05", CSR_ROWS, 5000, 5000, 10, 0.05, false, false},
    {"csrcols.5000x5000x1:0.05", CSR_COLS, 5000, 5000, 1, 0.05, false, false},
    {"csrcols.5000x5000x10:0.05", CSR_COLS, 5000, 5000, 10, 0.05, false, true},
    {"bitmask.5000x5000x1:0.5", BITMASK, 5000, 5000, 1, 0.5, false, true},
    {"bitmask.5000x5000x10:0.5", BITMASK, 5000, 5000, 10, 0.5, false, true},
    {"bitmask.5000x5000x10:0.1", BITMASK, 5000, 5000, 10, 0.1, false, true},
    {"bitmask.5000x5000x32:0.3", BITMASK, 5000, 5000, 32, 0.3, false, true},
    {"dense.1024x1024x1024", DENSE, 1024, 1024, 1024, 1, false, false},
    {"transpose.5000x5000", TRANSPOSE, 1, 5000, 5000, 1, false, false},
    {"scan.1x5000:0.001", SCAN, 1, 5000, 1, 0.001, false, false},
    {"scan.10x5000:0.001:rows", SCAN, 10, 5000, 1, 0.001, false, false},
    {"scan.10x5000:0.001:kmajor", SCAN, 10, 5000, 1, 0.001, true, false},
    {"scan.10x5000:0.1:rows", SCAN, 10, 5000, 1, 0.1, false, false},
    {"scan.10x5000:0.1:kmajor", SCAN, 10, 5000, 1, 0.1, true, false},
    {"scan.128x10000:0.01:rows", SCAN, 128, 10000, 1, 0.01, false, false},
    {"scan.128x10000:0.01:kmajor", SCAN, 128, 10000, 1, 0.01, true, false},
    {"count.2048x2048:rows", COUNT, 2048, 2048, 1, 0.1, false, false},
    {"count.2048x2048:kmajor", COUNT, 2048, 2048, 1, 0.1, true, false},
    {"fill.2048x2048:0.1:rows", FILL, 2048, 2048, 1, 0.1, false, false},
    {"fill.2048x2048:0.5:rows", FILL, 2048, 2048, 1, 0.5, false, false},
    {"fill.2048x2048:0.1:kmajor", FILL, 2048, 2048, 1, 0.1, true, false},
    {"probe.2048x2048", PROBE, 2048, 2048, 1, 0.1, false, false},
};

const int kernel_case_count = sizeof kernel_cases / sizeof kernel_cases[0];

static void *need(int64_t bytes)
{
    void *p = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64 + 64);
    if (!p) abort();
    return p;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static float uniform(uint64_t *state)
{
    return (float)(next_random(state) >> 40) * 0x1p-24F;
}

static void set(const kernel_work_t *x, void *values, int64_t p, float value)
{
    if (x->k->type == LAC_HOST_F64)
        ((double *)values)[p] = (double)value;
    else
        ((float *)values)[p] = value;
}

static void build_sparse(kernel_work_t *x)
{
    const kernel_case_t *c = x->c;
    int64_t *ptr = need((c->m + 1) * 8);
    int64_t *first = need(c->m * 8);
    int64_t words = (c->kk + 63) / 64;
    uint64_t *bits = need(c->m * words * 8);
    x->k->scan.count_rows(x->s, 0, c->m, c->kk, x->s_rs, x->s_cs, first);
    ptr[0] = 0;
    for (int64_t i = 0; i < c->m; i++) ptr[i + 1] = ptr[i] + first[i];
    memcpy(first, ptr, (size_t)c->m * 8);
    int32_t *idx = need((ptr[c->m] + 16) * 4);
    size_t val_bytes = (size_t)(ptr[c->m] + 16) * x->k->size;
    void *val = memset(need((int64_t)val_bytes), 0, val_bytes);
    x->k->scan.fill_rows(x->s, 0, c->m, c->kk, x->s_rs, x->s_cs, ptr, idx, val);
    x->k->scan.fill_bits(x->s, 0, c->m, c->kk, x->s_rs, x->s_cs, bits);
    x->rows = (lac_rows_t){c->m, c->kk, ptr, idx, val};
    x->bits = (lac_bits_t){c->m, c->kk, words, bits, first, val};
}

void kernel_case_build(kernel_work_t *x)
{
    const kernel_case_t *c = x->c;
    uint64_t state = 1;
    x->s_rs = c->s_by_k ? 1 : c->kk;
    x->s_cs = c->s_by_k ? c->m : 1;
    x->o_rs = c->out_by_j ? 1 : c->n;
    x->o_cs = c->out_by_j ? c->m : 1;
    int64_t size = (int64_t)x->k->size;
    int64_t out_bytes = (c->kind == TRANSPOSE ? c->kk * c->n : c->m * c->n) * size;
    x->s = need(c->m * c->kk * size);
    x->w = need(c->kk * c->n * size);
    x->out = memset(need(out_bytes), 0, (size_t)out_bytes);
    for (int64_t p = 0; p < c->kk * c->n; p++) set(x, x->w, p, uniform(&state) - 0.5F);
    for (int64_t p = 0; p < c->m * c->kk; p++) {
        float value = uniform(&state) + 0.25F;
        set(x, x->s, p, (double)uniform(&state) < c->density ? value : 0);
    }
    int64_t capacity = c->kind <= EVENT_COLS || c->kind == SCAN ? c->m * c->kk : 1;
    for (int t = 0; t < x->threads; t++) {
        x->ev[t] = (lac_events_t){.capacity = capacity};
        x->ev[t].first = need((capacity + 1) * 8);
        x->ev[t].k = need(capacity * 4);
        x->ev[t].row = need(capacity * 4);
        x->ev[t].val = need(capacity * size);
        int64_t values = lac_event_scratch(c->m, x->k->size) + lac_csr_scratch(c->kk, x->k->size) +
                         lac_dense_scratch() + 2 * c->m;
        x->scratch[t] = need(values * size);
    }
    if (c->kind != EVENT_ROWS && c->kind != EVENT_COLS) build_sparse(x);
}

void kernel_case_free(kernel_work_t *x)
{
    free(x->s);
    free(x->w);
    free(x->out);
    for (int t = 0; t < x->threads; t++) {
        free(x->ev[t].first);
        free(x->ev[t].k);
        free(x->ev[t].row);
        free(x->ev[t].val);
        free(x->scratch[t]);
    }
    free((void *)x->rows.ptr);
    free((void *)x->rows.idx);
    free((void *)x->rows.val);
    free((void *)x->bits.bits);
    free((void *)x->bits.first);
}

double kernel_case_touched(const kernel_work_t *x)
{
    const kernel_case_t *c = x->c;
    double active = 0, size = (double)x->k->size;
    double nnz = c->kind == EVENT_ROWS || c->kind == EVENT_COLS ? 0 : (double)x->rows.ptr[c->m];
    for (int t = 0; t < x->threads; t++) active += (double)x->ev[t].active;
    switch (c->kind) {
    case EVENT_ROWS:
        return size * active * (double)c->n;
    case EVENT_COLS:
        return 64 * (active < (double)c->kk * size / 64 ? active : (double)c->kk * size / 64) * (double)c->n;
    case CSR_ROWS:
        return size * nnz * (double)c->n;
    case CSR_COLS:
        return (4 + size) * nnz;
    case BITMASK:
        return size * nnz + (double)(c->m * c->kk) / 8;
    case DENSE:
        return size * (double)(c->kk * c->n);
    case TRANSPOSE:
        return 2 * size * (double)(c->kk * c->n);
    default:
        return size * (double)(c->m * c->kk);
    }
}
