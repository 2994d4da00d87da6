/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Pages, and what is in them. */
#include "guarded.h"
#include "ref_random.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t draw_below(draw_t *draw, uint64_t limit)
{
    return ref_random(draw->stream, draw->index++) % limit;
}

bool draw_once(draw_t *draw, uint64_t in)
{
    return draw_below(draw, in) == 0;
}

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static float poison(void)
{
    const uint32_t bits = REF_POISON_F32_BITS;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float *own(const guarded_t *x)
{
    return (float *)(void *)(x->map + page());
}

bool guarded_make(guarded_t *x, int64_t rows, int64_t cols, draw_t *draw)
{
    const bool by_rows = draw_once(draw, 2), at_end = !draw_once(draw, 3);
    const int64_t step = draw_once(draw, 6) ? 2 : 1, inner = by_rows ? cols : rows;
    const int64_t ld = step * inner + (draw_once(draw, 2) ? (int64_t)draw_below(draw, 9) : 0);
    int64_t rs = by_rows ? ld : step, cs = by_rows ? step : ld;
    const int64_t slots = (rows - 1) * rs + (cols - 1) * cs + 1;
    x->bytes = ((size_t)slots * sizeof(float) + page() - 1) / page() * page();
    x->map = mmap(NULL, x->bytes + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (x->map == MAP_FAILED) {
        x->map = NULL;
        return false;
    }
    guarded_unlock(x);
    const size_t floats = x->bytes / sizeof(float);
    float *first = own(x) + (at_end ? floats - (size_t)slots : 0);
    for (size_t i = 0; i < floats; i++) own(x)[i] = poison();
    if (draw_once(draw, 8)) first += (rows - 1) * rs, rs = -rs;
    if (draw_once(draw, 8)) first += (cols - 1) * cs, cs = -cs;
    x->view = (ref_matrix_t){.dt = LAC_F32, .m = rows, .n = cols, .rs = rs, .cs = cs, .data = first};
    return true;
}

void guarded_free(guarded_t *x)
{
    if (x->map) munmap(x->map, x->bytes + 2 * page());
    x->map = NULL;
}

lac_obj_t guarded_obj(const guarded_t *x, bool transposed)
{
    const ref_matrix_t *v = &x->view;
    lac_obj_t obj = {.dt = LAC_F32, .space = LAC_HOST, .buf = v->data};
    obj.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    obj.m = transposed ? v->n : v->m, obj.n = transposed ? v->m : v->n;
    obj.rs = transposed ? v->cs : v->rs, obj.cs = transposed ? v->rs : v->cs;
    return obj;
}

static float *element(const guarded_t *x, int64_t i, int64_t j)
{
    return (float *)x->view.data + i * x->view.rs + j * x->view.cs;
}

bool guarded_intact(const guarded_t *x)
{
    const size_t floats = x->bytes / sizeof(float);
    const float expected = poison();
    unsigned char *inside = calloc(floats, 1);
    bool intact = inside != NULL;
    for (int64_t i = 0; inside && i < x->view.m; i++)
        for (int64_t j = 0; j < x->view.n; j++) inside[element(x, i, j) - own(x)] = 1;
    for (size_t e = 0; inside && e < floats; e++)
        intact &= inside[e] || memcmp(own(x) + e, &expected, sizeof expected) == 0;
    free(inside);
    return intact;
}

static void protect(guarded_t *x, int rights)
{
    if (mprotect(own(x), x->bytes, rights)) abort();
}

void guarded_lock(guarded_t *x)
{
    protect(x, PROT_READ);
}

void guarded_unlock(guarded_t *x)
{
    protect(x, PROT_READ | PROT_WRITE);
}

const char *const contents_name[CONTENTS_COUNT] = {"sparse",     "full",    "empty",    "one row",
                                                   "one column", "sampled", "unsampled"};

/* What a caller who has read the library knows: where the samples of a site's calls fall
 * (kernels/host/scan.h). Whether they still do is nothing that a result depends on. */
static void fill_sampled(guarded_t *x, uint64_t call, bool full)
{
    const int samples = 1024;
    uint64_t a = call * 0x9E3779B97F4A7C15U + 0x8000000000000000U, b = (a ^ a >> 29) * 0xBF58476D1CE4E5B9U;
    for (int s = 0; s < samples; s++, a += 0xC13FA9A902A6328FU, b += 0x91E10DA5C79E7B1DU) {
        const int64_t i = (int64_t)((unsigned __int128)a * (uint64_t)x->view.m >> 64),
                      j = (int64_t)((unsigned __int128)b * (uint64_t)x->view.n >> 64);
        *element(x, i, j) = full ? 1.25f : 0.0f;
    }
}

void guarded_fill(guarded_t *x, contents_t contents, double density, uint64_t call, draw_t *draw)
{
    const int64_t m = x->view.m, n = x->view.n;
    const int64_t row = (int64_t)draw_below(draw, (uint64_t)m), col = (int64_t)draw_below(draw, (uint64_t)n);
    const uint64_t limit = (uint64_t)(density * 1e6);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const uint64_t r = ref_random(draw->stream, draw->index++);
            const float value = ((float)(r >> 40) + 1.0f) * 0x1p-24f * (r & 1 ? 1.0f : -1.0f);
            const bool there = contents == CONTENTS_FULL || contents == CONTENTS_UNSAMPLED ||
                               (contents == CONTENTS_SPARSE && (r >> 8) % 1000000 < limit) ||
                               (contents == CONTENTS_ONE_ROW && i == row) ||
                               (contents == CONTENTS_ONE_COLUMN && j == col);
            *element(x, i, j) = there ? value : r & 2 ? -0.0f : 0.0f;
        }
    if (contents == CONTENTS_SAMPLED || contents == CONTENTS_UNSAMPLED)
        fill_sampled(x, call, contents == CONTENTS_SAMPLED);
}
