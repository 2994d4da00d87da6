/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One triangle of a product: panels whose rectangles go to C, and whose squares on the diagonal go there by
 * way of the workspace. */
#include "triangle.h"
#include "host/operators/operators.h"

#include <string.h>

/* Columns of a panel: what a kernel takes at a time, or fewer where there are threads to share few of them.
 */
enum { PANEL_MIN = 32, PANEL_MAX = 128 };

typedef struct run {
    lac_triangle_t which;
    int64_t n, width;    /* of C; of a panel                              */
    bool by_rows, falls; /* falls: the last panels are the long ones      */
    size_t size;
    lac_host_output_t c;
    bool reads; /* C is added to */
    char *squares;
    lac_block_fn block;
    void *arg;
    lac_pieces_t panels;
} run_t;

static int64_t width_of(int64_t n, int parts)
{
    int64_t shared = n / (2 * parts) / PANEL_MIN * PANEL_MIN;
    return shared < PANEL_MIN ? PANEL_MIN : shared > PANEL_MAX ? PANEL_MAX : shared;
}

static size_t square_bytes(const lac_problem_t *p, int64_t width)
{
    return (size_t)(width * width) * lac_dt_size(p->dt);
}

double lac_triangle_share(const lac_problem_t *p)
{
    double n = (double)p->n, width = (double)width_of(p->n, 1);
    return !p->triangle || n <= width ? 1.0 : 0.5 * (1.0 + width / n);
}

size_t lac_triangle_bytes(const lac_problem_t *p, int parts)
{
    return p->triangle ? (size_t)parts * square_bytes(p, width_of(p->n, parts)) : 0;
}

/* The triangle's elements of rows and columns [d, d + w), from one place to the other. */
static void copy_triangle(const run_t *r, int64_t d, int64_t w, char *square, bool to_c)
{
    size_t size = r->size;
    for (int64_t i = 0; i < w; i++) {
        int64_t j0 = r->which == LAC_TRIANGLE_LOWER ? 0 : i, j1 = r->which == LAC_TRIANGLE_LOWER ? i + 1 : w;
        for (int64_t j = j0; j < j1; j++) {
            char *in_c = (char *)r->c.data + ((d + i) * r->c.rs + (d + j) * r->c.cs) * (int64_t)size,
                 *in_square = square + (i * w + j) * (int64_t)size;
            memcpy(to_c ? in_c : in_square, to_c ? in_square : in_c, size);
        }
    }
}

static void run_square(const run_t *r, int64_t d, int64_t w, int part)
{
    char *square = r->squares + (size_t)part * (size_t)(r->width * r->width) * r->size;
    lac_host_output_t out = {r->c.alpha, r->c.beta, NULL, w, 1};
    /* A block's elements are numbered as C's are: the square begins so much before itself. */
    uintptr_t origin = (uintptr_t)square - (uintptr_t)((d * w + d) * (int64_t)r->size);
    out.data = (void *)origin;
    if (r->reads) {
        memset(square, 0, (size_t)(w * w) * r->size);
        copy_triangle(r, d, w, square, false);
    }
    r->block(r->arg, d, d + w, d, d + w, &out, part);
    copy_triangle(r, d, w, square, true);
}

static void run_part(void *arg, int part, int parts)
{
    run_t *r = arg;
    int64_t begin, end, count = r->panels.extent;
    (void)parts;
    while (lac_pieces_take(&r->panels, &begin, &end)) {
        int64_t d = (r->falls ? count - end : begin) * r->width;
        int64_t w = r->n - d < r->width ? r->n - d : r->width;
        bool beyond = (r->which == LAC_TRIANGLE_LOWER) != r->by_rows; /* the diagonal: else up to it */
        int64_t r0 = beyond ? d + w : 0, r1 = beyond ? r->n : d;
        if (r0 < r1 && r->by_rows) r->block(r->arg, d, d + w, r0, r1, &r->c, part);
        if (r0 < r1 && !r->by_rows) r->block(r->arg, r0, r1, d, d + w, &r->c, part);
        run_square(r, d, w, part);
    }
}

lac_status_t lac_triangle_run(lac_exec_t *exec, const lac_problem_t *p, int parts, bool by_rows,
                              lac_block_fn block, void *arg)
{
    run_t r = {.which = p->triangle,
               .n = p->n,
               .width = width_of(p->n, parts),
               .by_rows = by_rows,
               .falls = (p->triangle == LAC_TRIANGLE_LOWER) == by_rows,
               .size = lac_dt_size(p->dt),
               .c = lac_host_output(lac_kernels(exec, p->dt), p->alpha, p->beta, p->c, p->crs, p->ccs),
               .reads = p->beta != 0.0,
               .block = block,
               .arg = arg};
    r.panels.extent = (p->n + r.width - 1) / r.width;
    r.panels.grain = 1;
    r.squares = lac_work(exec, LAC_WORK_C, lac_triangle_bytes(p, parts));
    if (!r.squares) return LAC_ERR_MEMORY;
    lac_parallel(parts, run_part, &r);
    return LAC_OK;
}
