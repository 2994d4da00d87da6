/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the search for cuBLAS and cuSPARSE has of its own: the names of their libraries, and of the getters.
 */
#define _GNU_SOURCE
#include "resolve.h"
#include "api/interpose.h"

#include <string.h>

__attribute__((visibility("default"))) void lacuna_cublas_marker(void) {}

/* A function of getters_t, by its name, and by another that older versions of the library have. */
typedef struct getter {
    size_t at;
    const char *name, *older;
} getter_t;

#define CUBLAS(member, name)          offsetof(getters_t, member), name, NULL
#define CUSPARSE(member, name, older) offsetof(getters_t, sparse.member), name, older
static const getter_t cublas_getters[] = {
    {CUBLAS(stream, "cublasGetStream_v2")},
    {CUBLAS(pointer_mode, "cublasGetPointerMode_v2")},
    {CUBLAS(math_mode, "cublasGetMathMode")},
    {CUBLAS(lt_product, "cublasLtMatmulDescGetAttribute")},
    {CUBLAS(lt_layout, "cublasLtMatrixLayoutGetAttribute")},
    {0},
};
/* cuSPARSE 11 has the calls without const alone. */
static const getter_t cusparse_getters[] = {
    {CUSPARSE(stream, "cusparseGetStream", NULL)},
    {CUSPARSE(pointer_mode, "cusparseGetPointerMode", NULL)},
    {CUSPARSE(format, "cusparseSpMatGetFormat", NULL)},
    {CUSPARSE(sparse_batch, "cusparseSpMatGetStridedBatch", NULL)},
    {CUSPARSE(csr, "cusparseConstCsrGet", "cusparseCsrGet")},
    {CUSPARSE(dense_batch, "cusparseDnMatGetStridedBatch", NULL)},
    {CUSPARSE(dense, "cusparseConstDnMatGet", "cusparseDnMatGet")},
    {0},
};

/* A vendor's library: how its symbols and its files' names begin, and its getters. */
typedef struct family {
    const char *prefix, *stems[3];
    const getter_t *getters;
} family_t;

static const family_t families[] = {
    {"cusparse", {"libcusparse."}, cusparse_getters},
    {"", {"libcublas.", "libcublasLt."}, cublas_getters}, /* all others */
};

static const family_t *family_of(const exported_symbol_t *symbol)
{
    const family_t *family = families;
    while (strncmp(symbol->name, family->prefix, strlen(family->prefix)) != 0) family++;
    return family;
}

static bool may_answer(const exported_symbol_t *symbol, const object_t *object)
{
    return object_is_named(object, family_of(symbol)->stems);
}

/* These call cuBLAS in the middle of algorithms of their own, whose errors they have weighed. */
static bool is_vendor(const object_t *object)
{
    return lac_is_vendor(object->path);
}

static void complete(const exported_symbol_t *symbol, next_fn_t *answer, const object_t *object)
{
    getters_t *get = &((cublas_fn_t *)answer)->get;
    for (const getter_t *row = family_of(symbol)->getters; row->name; row++) {
        void *found = object_symbol(object, row->name);
        if (!found && row->older) found = object_symbol(object, row->older);
        memcpy((char *)get + row->at, &found, sizeof found);
    }
}

static next_fn_t *unkept(void)
{
    static _Thread_local cublas_fn_t answer;
    return &answer.found;
}

const finder_t cublas_finder = {.marker = "lacuna_cublas_marker",
                                .bytes = sizeof(cublas_fn_t),
                                .unkept = unkept,
                                .may_answer = may_answer,
                                .is_vendor = is_vendor,
                                .complete = complete};

void *driver_symbol(const char *name)
{
    static const char *const stems[] = {"libcuda.so", NULL};
    return loaded_symbol(stems, name);
}
