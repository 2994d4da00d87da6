/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * C := beta C + alpha op(A) op(B) on a grid of processes, with zeros in A, compared with a serial loop; with
 * -DDOUBLE of doubles. Whole numbers: the result is exact however the sums are cut. Prints a line for each
 * product, from process 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef DOUBLE
typedef double value_t;
#    define PGEMM pdgemm_
#    define NAME  "pdgemm"
#else
typedef float value_t;
#    define PGEMM psgemm_
#    define NAME  "psgemm"
#endif

void Cblacs_pinfo(int *, int *);
void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, const char *, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
void Cblacs_gridexit(int);
void Cblacs_exit(int);
void Cigsum2d(int, const char *, const char *, int, int, int *, int, int, int);
int numroc_(const int *, const int *, const int *, const int *, const int *);
void descinit_(int *, const int *, const int *, const int *, const int *, const int *, const int *,
               const int *, const int *, int *);
void PGEMM(const char *, const char *, const int *, const int *, const int *, const value_t *,
           const value_t *, const int *, const int *, const int *, const value_t *, const int *, const int *,
           const int *, const value_t *, value_t *, const int *, const int *, const int *);

enum { BLOCK = 64, ZERO = 0, ONE = 1 };

typedef struct grid {
    int context, rows, cols, row, col;
} grid_t;

typedef struct matrix {
    int m, n, rows, cols, desc[9];
    value_t *local;
} matrix_t;

static value_t a_at(int i, int k, int every)
{
    return (i * 131 + k * 37) % every ? 0.0 : (value_t)((i + k) % 5 - 2);
}
static value_t b_at(int k, int j)
{
    return (value_t)((k * 3 + j) % 7 - 3);
}
static value_t c_at(int i, int j)
{
    return (value_t)((i + j) % 3);
}

static int global(int local, int block, int me, int processes)
{
    return (local / block * processes + me) * block + local % block;
}

static matrix_t make(const grid_t *g, int m, int n)
{
    matrix_t x = {.m = m, .n = n};
    int block = BLOCK, zero = ZERO, info;
    x.rows = numroc_(&m, &block, &g->row, &zero, &g->rows);
    x.cols = numroc_(&n, &block, &g->col, &zero, &g->cols);
    int ld = x.rows > 1 ? x.rows : 1;
    descinit_(x.desc, &m, &n, &block, &block, &zero, &zero, &g->context, &ld, &info);
    x.local = calloc((size_t)ld * (size_t)(x.cols + 1), sizeof *x.local);
    return x;
}

static void try_one(const grid_t *g, int m, int n, int k, int every, char ta)
{
    const int one = ONE;
    const value_t alpha = 2.0, beta = -1.0;
    matrix_t a = ta == 'N' ? make(g, m, k) : make(g, k, m), b = make(g, k, n), c = make(g, m, n);
    for (int j = 0; j < a.cols; j++)
        for (int i = 0; i < a.rows; i++) {
            int gi = global(i, BLOCK, g->row, g->rows), gj = global(j, BLOCK, g->col, g->cols);
            a.local[i + j * a.rows] = ta == 'N' ? a_at(gi, gj, every) : a_at(gj, gi, every);
        }
    for (int j = 0; j < b.cols; j++)
        for (int i = 0; i < b.rows; i++)
            b.local[i + j * b.rows] =
                b_at(global(i, BLOCK, g->row, g->rows), global(j, BLOCK, g->col, g->cols));
    for (int j = 0; j < c.cols; j++)
        for (int i = 0; i < c.rows; i++)
            c.local[i + j * c.rows] =
                c_at(global(i, BLOCK, g->row, g->rows), global(j, BLOCK, g->col, g->cols));
    PGEMM(&ta, "N", &m, &n, &k, &alpha, a.local, &one, &one, a.desc, b.local, &one, &one, b.desc, &beta,
          c.local, &one, &one, c.desc);
    int wrong = 0;
    for (int j = 0; j < c.cols; j++)
        for (int i = 0; i < c.rows; i++) {
            int gi = global(i, BLOCK, g->row, g->rows), gj = global(j, BLOCK, g->col, g->cols);
            value_t sum = 0.0;
            for (int l = 0; l < k; l++) sum += a_at(gi, l, every) * b_at(l, gj);
            wrong += !(c.local[i + j * c.rows] == beta * c_at(gi, gj) + alpha * sum);
        }
    Cigsum2d(g->context, "All", " ", 1, 1, &wrong, 1, -1, -1);
    if (g->row == 0 && g->col == 0)
        printf(NAME " %c %dx%dx%d, one of %d: %d wrong elements\n", ta, m, k, n, every, wrong);
    free(a.local), free(b.local), free(c.local);
    if (wrong) exit(EXIT_FAILURE);
}

int main(void)
{
    int me, processes;
    grid_t g;
    Cblacs_pinfo(&me, &processes);
    Cblacs_get(-1, 0, &g.context);
    g.rows = processes >= 4 ? 2 : 1;
    Cblacs_gridinit(&g.context, "Row", g.rows, processes / g.rows);
    Cblacs_gridinfo(g.context, &g.rows, &g.cols, &g.row, &g.col);
    const int every[] = {1, 10, 200}, shapes[][3] = {{300, 280, 260}, {64, 512, 500}};
    for (size_t e = 0; e < 3; e++)
        for (size_t s = 0; s < 2; s++) {
            try_one(&g, shapes[s][0], shapes[s][1], shapes[s][2], every[e], 'N');
            try_one(&g, shapes[s][0], shapes[s][1], shapes[s][2], every[e], 'T');
        }
    Cblacs_gridexit(g.context);
    Cblacs_exit(0);
    return EXIT_SUCCESS;
}
