/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The search for the cuBLAS behind a symbol, in the order in which the dynamic linker would have looked. */
#define _GNU_SOURCE
#include "resolve.h"
#include "common/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

__attribute__((visibility("default"))) void lacuna_cublas_marker(void) {}

static bool name_begins(const object_t *object, const char *stem)
{
    return strncmp(object_file_name(object), stem, strlen(stem)) == 0;
}

/* These call cuBLAS in the middle of algorithms of their own, whose errors they have weighed. */
static bool is_vendor(const object_t *object)
{
    static const char *const stems[] = {"libcublas.", "libcublasLt.", "libcusolver", "libcusparse.",
                                        "libnvblas."};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (name_begins(object, stems[i])) return true;
    return false;
}

typedef struct lookup {
    const char *name;
    next_fn_t *resolved;
} lookup_t;

static bool is_of_cusparse(const char *name)
{
    return strncmp(name, "cusparse", 8) == 0;
}

/* cuSPARSE 11 has the calls without const alone. */
static void *either(const object_t *object, const char *name, const char *older)
{
    void *found = object_symbol(object, name);
    return found ? found : object_symbol(object, older);
}

static void take_sparse_getters(const object_t *object, sparse_getters_t *get)
{
    *(void **)&get->stream = object_symbol(object, "cusparseGetStream");
    *(void **)&get->pointer_mode = object_symbol(object, "cusparseGetPointerMode");
    *(void **)&get->format = object_symbol(object, "cusparseSpMatGetFormat");
    *(void **)&get->sparse_batch = object_symbol(object, "cusparseSpMatGetStridedBatch");
    *(void **)&get->csr = either(object, "cusparseConstCsrGet", "cusparseCsrGet");
    *(void **)&get->dense_batch = object_symbol(object, "cusparseDnMatGetStridedBatch");
    *(void **)&get->dense = either(object, "cusparseConstDnMatGet", "cusparseDnMatGet");
}

/* Takes fn as the answer, unless it is ours or another Lacuna library's. */
static bool accept(lookup_t *lookup, void *fn)
{
    object_t object = {0};
    next_fn_t *b = lookup->resolved;
    if (!fn || !object_of(fn, &object) || object_defines(&object, "lacuna_cublas_marker")) return false;
    object_pin(&object);
    b->fn = fn;
    if (is_of_cusparse(lookup->name)) {
        take_sparse_getters(&object, &b->get.sparse);
        return true;
    }
    *(void **)&b->get.stream = object_symbol(&object, "cublasGetStream_v2");
    *(void **)&b->get.pointer_mode = object_symbol(&object, "cublasGetPointerMode_v2");
    *(void **)&b->get.math_mode = object_symbol(&object, "cublasGetMathMode");
    *(void **)&b->get.lt_product = object_symbol(&object, "cublasLtMatmulDescGetAttribute");
    *(void **)&b->get.lt_layout = object_symbol(&object, "cublasLtMatrixLayoutGetAttribute");
    return true;
}

static bool is_cublas(const object_t *object)
{
    return name_begins(object, "libcublas.") || name_begins(object, "libcublasLt.");
}

static bool is_cusparse(const object_t *object)
{
    return name_begins(object, "libcusparse.");
}

static bool accept_loaded(const object_t *object, void *arg)
{
    lookup_t *lookup = arg;
    return accept(lookup, object_symbol(object, lookup->name));
}

/* The linker goes by the versions that cuBLAS gives its symbols: what was linked against another version than
 * the global scope has reaches its own. */
static void *by_version(const object_t *caller, const char *name)
{
    object_t global = {0}, local = {0};
    void *next = dlsym(RTLD_NEXT, name), *own = next && caller ? object_symbol(caller, name) : NULL;
    if (!own || !object_of(next, &global) || !object_of(own, &local)) return next;
    bool other = is_vendor(&global) && is_vendor(&local) &&
                 strcmp(object_file_name(&global), object_file_name(&local)) != 0;
    return other ? own : next;
}

/* The scopes in the linker's order: what was loaded after this library in the global scope; then the caller's
 * own scope, which is where a Python extension (RTLD_LOCAL) has its cuBLAS. A caller that brought none (it
 * was handed this function's address) gets one that is loaded. */
static void search(lookup_t *lookup, const object_t *caller)
{
    if (accept(lookup, by_version(caller, lookup->name))) return;
    if (caller && accept(lookup, object_symbol(caller, lookup->name))) return;
    objects_visit(is_of_cusparse(lookup->name) ? is_cusparse : is_cublas, accept_loaded, lookup);
}

const next_fn_t *next_fn_search(exported_symbol_t *symbol, const void *caller)
{
    static _Thread_local next_fn_t unkept;
    int saved_errno = errno;
    object_t found = {0}, *object = object_of(caller, &found) ? &found : NULL;
    next_fn_t *b = (next_fn_t *)resolved_new(symbol, object, caller, true, &unkept.resolved, sizeof unkept);
    b->forward_only = object && is_vendor(object);
    search(&(lookup_t){symbol->name, b}, object);
    if (b != &unkept) resolved_keep(symbol, &b->resolved);
    (void)dlerror(); /* a failed look-up of ours is not the program's error */
    errno = saved_errno;
    return b;
}

static bool is_driver(const object_t *object)
{
    return name_begins(object, "libcuda.so");
}

typedef struct wanted {
    const char *name;
    void *found;
} wanted_t;

static bool take_symbol(const object_t *object, void *arg)
{
    wanted_t *wanted = arg;
    wanted->found = object_symbol(object, wanted->name);
    return wanted->found != NULL;
}

void *driver_symbol(const char *name)
{
    wanted_t wanted = {name, NULL};
    objects_visit(is_driver, take_symbol, &wanted);
    return wanted.found;
}
