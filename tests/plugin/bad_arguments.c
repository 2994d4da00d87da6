/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Calls a real BLAS with bad arguments and prints what its error reporters, overridden here, received. Run
 * plain and under the plugin, the lines must be the same. The reporters leave by longjmp, as Octave's and R's
 * do: what the C interfaces do with a letter that they do not know, after their reporter returned, is chance.
 */
#include "blas/shapes.h"

#include <setjmp.h>
#include <stdio.h>

extern sgemm_fn sgemm_;
extern sgemv_fn sgemv_;
extern dgemm_fn dgemm_;
extern dgemv_fn dgemv_;
extern ssyrk_fn ssyrk_;
extern dsymm_fn dsymm_;
extern void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);
extern void cblas_sgemv(int order, int ta, int m, int n, float alpha, const float *a, int lda, const float *x,
                        int incx, float beta, float *y, int incy);
extern void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                        int lda, const double *b, int ldb, double beta, double *c, int ldc);
extern void cblas_dgemv(int order, int ta, int m, int n, double alpha, const double *a, int lda,
                        const double *x, int incx, double beta, double *y, int incy);

extern void cblas_dsyrk(int order, int uplo, int trans, int n, int k, double alpha, const double *a, int lda,
                        double beta, double *c, int ldc);
extern void cblas_ssymm(int order, int side, int uplo, int m, int n, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);

#define EXPORT __attribute__((visibility("default")))

EXPORT void xerbla_(const char *routine, const int *parameter, size_t length);
EXPORT void cblas_xerbla(int parameter, const char *routine, const char *format, ...);

/* Needed by netlib's cblas, whose own cblas_xerbla is replaced here. */
EXPORT int RowMajorStrg, CBLAS_CallFromC;

static jmp_buf back;

void xerbla_(const char *routine, const int *parameter, size_t length)
{
    printf("  xerbla %.*s %d\n", (int)length, routine, *parameter);
    longjmp(back, 1);
}

void cblas_xerbla(int parameter, const char *routine, const char *format, ...)
{
    (void)format;
    printf("  cblas_xerbla %s %d\n", routine, parameter);
    longjmp(back, 1);
}

static const float a[64] = {1, 2, 3}, b[64] = {4, 5, 6}, alpha = 1, beta = 0.5f;
static float c[64];
static const double da[64] = {1, 2, 3}, db[64] = {4, 5, 6}, dalpha = 1, dbeta = 0.5;
static double dc[64];

/* Extents and steps that are good for every transposition of 3 x 4 x 5, with one of them spoilt. */
typedef struct sizes {
    int m, n, k, lda, ldb, ldc;
} sizes_t;

static sizes_t corrupted(int member, int value)
{
    int v[] = {3, 4, 5, 6, 7, 8};
    if (member < 6) v[member] = value;
    return (sizes_t){v[0], v[1], v[2], v[3], v[4], v[5]};
}

static void checksum(void)
{
    RowMajorStrg = CBLAS_CallFromC = 0; /* which a reporter that returned would have let happen */
    double sum = 0;
    for (int i = 0; i < 64; i++) sum += (i + 1) * ((double)c[i] + 3 * dc[i]);
    printf("  c %.9g\n", sum);
}

static void try_fortran(char ta, char tb, sizes_t s)
{
    printf("sgemm %c%c %d %d %d %d %d %d\n", ta, tb, s.m, s.n, s.k, s.lda, s.ldb, s.ldc);
    if (setjmp(back) == 0)
        sgemm_(&ta, &tb, &s.m, &s.n, &s.k, &alpha, a, &s.lda, b, &s.ldb, &beta, c, &s.ldc, 1, 1);
    checksum();
    printf("sgemv %c %d %d %d %d %d\n", ta, s.m, s.n, s.lda, s.ldb, s.ldc);
    if (setjmp(back) == 0) sgemv_(&ta, &s.m, &s.n, &alpha, a, &s.lda, b, &s.ldb, &beta, c, &s.ldc, 1);
    checksum();
    printf("dgemm\n");
    if (setjmp(back) == 0)
        dgemm_(&ta, &tb, &s.m, &s.n, &s.k, &dalpha, da, &s.lda, db, &s.ldb, &dbeta, dc, &s.ldc, 1, 1);
    checksum();
    printf("dgemv\n");
    if (setjmp(back) == 0) dgemv_(&ta, &s.m, &s.n, &dalpha, da, &s.lda, db, &s.ldb, &dbeta, dc, &s.ldc, 1);
    checksum();
}

static void try_c(int order, int ta, int tb, sizes_t s)
{
    printf("cblas_sgemm %d %d %d %d %d %d %d %d %d\n", order, ta, tb, s.m, s.n, s.k, s.lda, s.ldb, s.ldc);
    if (setjmp(back) == 0)
        cblas_sgemm(order, ta, tb, s.m, s.n, s.k, alpha, a, s.lda, b, s.ldb, beta, c, s.ldc);
    checksum();
    printf("cblas_sgemv %d %d %d %d %d %d %d\n", order, ta, s.m, s.n, s.lda, s.ldb, s.ldc);
    if (setjmp(back) == 0) cblas_sgemv(order, ta, s.m, s.n, alpha, a, s.lda, b, s.ldb, beta, c, s.ldc);
    checksum();
    printf("cblas_dgemm\n");
    if (setjmp(back) == 0)
        cblas_dgemm(order, ta, tb, s.m, s.n, s.k, dalpha, da, s.lda, db, s.ldb, dbeta, dc, s.ldc);
    checksum();
    printf("cblas_dgemv\n");
    if (setjmp(back) == 0) cblas_dgemv(order, ta, s.m, s.n, dalpha, da, s.lda, db, s.ldb, dbeta, dc, s.ldc);
    checksum();
}

/* The same of one triangle: letters of a side, a triangle and an operation, good and bad. */
static void try_triangles(char first, char second, sizes_t s)
{
    printf("ssyrk %c%c %d %d %d %d\n", first, second, s.n, s.k, s.lda, s.ldc);
    if (setjmp(back) == 0) ssyrk_(&first, &second, &s.n, &s.k, &alpha, a, &s.lda, &beta, c, &s.ldc, 1, 1);
    checksum();
    printf("dsymm %c%c %d %d %d %d %d\n", first, second, s.m, s.n, s.lda, s.ldb, s.ldc);
    if (setjmp(back) == 0)
        dsymm_(&first, &second, &s.m, &s.n, &dalpha, da, &s.lda, db, &s.ldb, &dbeta, dc, &s.ldc, 1, 1);
    checksum();
}

static void try_c_triangles(int order, int first, int second, sizes_t s)
{
    printf("cblas_dsyrk %d %d %d %d %d %d %d\n", order, first, second, s.n, s.k, s.lda, s.ldc);
    if (setjmp(back) == 0) cblas_dsyrk(order, first, second, s.n, s.k, dalpha, da, s.lda, dbeta, dc, s.ldc);
    checksum();
    printf("cblas_ssymm %d %d %d %d %d %d %d %d\n", order, first + 20, second + 10, s.m, s.n, s.lda, s.ldb,
           s.ldc);
    if (setjmp(back) == 0)
        cblas_ssymm(order, first + 20, second + 10, s.m, s.n, alpha, a, s.lda, b, s.ldb, beta, c, s.ldc);
    checksum();
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a reporter may end the process */
    const char letters[] = "NTCtXR";
    for (int i = 0; i < 36; i++) try_fortran(letters[i / 6], letters[i % 6], corrupted(6, 0));
    for (int order = 100; order < 104; order++)
        for (int i = 0; i < 25; i++) try_c(order, 110 + i / 5, 110 + i % 5, corrupted(6, 0));
    const char sides[] = "ULlRrNTcX";
    for (int i = 0; i < 81; i++) try_triangles(sides[i / 9], sides[i % 9], corrupted(6, 0));
    for (int order = 100; order < 104; order++)
        for (int i = 0; i < 25; i++) try_c_triangles(order, 120 + i / 5, 110 + i % 5, corrupted(6, 0));
    for (int member = 0; member < 6; member++)
        for (int value = -1; value < 3; value++) {
            try_fortran('N', 'T', corrupted(member, value));
            try_fortran('C', 'n', corrupted(member, value));
            try_triangles('U', 'T', corrupted(member, value));
            try_triangles('L', 'U', corrupted(member, value));
            try_triangles('R', 'l', corrupted(member, value));
            for (int order = 101; order < 103; order++) {
                try_c(order, 111, 112, corrupted(member, value));
                try_c(order, 113, 111, corrupted(member, value));
                try_c_triangles(order, 121, 111, corrupted(member, value));
                try_c_triangles(order, 122, 112, corrupted(member, value));
            }
        }
    return 0;
}
