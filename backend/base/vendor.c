/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Finds a BLAS among the loaded libraries, or opens one, keeping clear of our own drop-in libraries. */
#include "vendor.h"
#include "environment.h"
#include "library.h"
#include "log.h"
#include "threads.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* In order of preference: the fast ones first, then whatever the system calls its BLAS. */
static const char *const candidates[] = {"libopenblas.so.0", "libopenblas.so", "libblis.so.4", "libblis.so",
                                         "libmkl_rt.so.2",   "libmkl_rt.so",   "libblas.so.3", "libblas.so"};

static pthread_once_t searched = PTHREAD_ONCE_INIT;
static lac_blas_t found;
static void *found_handle;

static void read_version(void *handle)
{
    char *(*openblas)(void) = (char *(*)(void))dlsym(handle, "openblas_get_config");
    const char *(*blis)(void) = (const char *(*)(void))dlsym(handle, "bli_info_get_version_str");
    if (openblas)
        snprintf(found.version, sizeof found.version, "%s", openblas());
    else if (blis)
        snprintf(found.version, sizeof found.version, "BLIS %s", blis());
}

/* The path the dynamic linker really opened, since the name may be a link to anything. */
static void read_name(void *symbol, const char *asked)
{
    Dl_info info;
    const char *name = dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : asked;
    snprintf(found.name, sizeof found.name, "%s", name);
}

/* The calls as libraries spell them: what the drop-in BLAS stands in front of. */
#define SYMBOL(shape, name, wide) {#shape, #name},
static const char *const spellings[][2] = {
#include "../../plugin/blas/symbols.def"
};

/* The first call of that shape that the library has, by whichever name. */
static void *call_of(void *handle, const char *shape)
{
    void *call = NULL;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings && !call; i++)
        if (!strcmp(spellings[i][0], shape)) call = dlsym(handle, spellings[i][1]);
    return call;
}

/* Takes the library as the BLAS and keeps its handle; on false, with the reason, it is closed. */
static int take(void *handle, const char *name)
{
    void *sgemm = call_of(handle, "SGEMM"), *sgemv = call_of(handle, "SGEMV");
    if (!sgemm || !sgemv || dlsym(handle, "lacuna_blas_marker")) {
        snprintf(found.missing, sizeof found.missing, "%s %s", name,
                 sgemm && sgemv ? "is a Lacuna drop-in library" : "has no sgemm_ and sgemv_");
        dlclose(handle);
        return 0;
    }
    void *dgemm = call_of(handle, "DGEMM"), *dgemv = call_of(handle, "DGEMV");
    found.gemm[0] = (lac_gemm_fn)sgemm;
    found.gemv[0] = (lac_gemv_fn)sgemv;
    if (dgemm && dgemv) {
        found.gemm[1] = (lac_gemm_fn)dgemm;
        found.gemv[1] = (lac_gemv_fn)dgemv;
    }
    found_handle = handle;
    read_name(sgemm, name);
    read_version(handle);
    found.missing[0] = '\0';
    return 1;
}

/* lacuna doctor is not to count what is opened here among the program's libraries. */
static int try_open(const char *name)
{
    void *before = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (before) dlclose(before);
    if (!handle || !take(handle, name)) return 0;
    if (!before && lac_env("LACUNA_AUDIT")) lac_log("lacuna,1,opened,%s", found.name);
    return 1;
}

enum { LOADED_MAX = 8 };

/* Paths are copied: a library may be unloaded as soon as the walk is over. */
typedef struct loaded {
    int count;
    char path[LOADED_MAX][1024];
} loaded_t;

static int note_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    loaded_t *loaded = arg;
    const char *path = info->dlpi_name;
    bool fits = loaded->count < LOADED_MAX && strlen(path) < sizeof *loaded->path;
    if (fits && lac_is_blas(path)) strcpy(loaded->path[loaded->count++], path);
    return 0;
}

/* The BLAS that the program has loaded: a second one beside it would bring threads of its own. */
static int take_loaded(void)
{
    static loaded_t loaded;
    loaded.count = 0;
    dl_iterate_phdr(note_loaded, &loaded);
    for (int i = 0; i < loaded.count; i++) {
        void *handle = dlopen(loaded.path[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle && take(handle, loaded.path[i])) return 1;
    }
    return 0;
}

static bool is_off(const char *named)
{
    return named && !strcmp(named, "none");
}

bool lac_blas_can_load(void)
{
    return is_off(lac_env("LACUNA_BLAS")) || lac_library_can_load();
}

static void find(void)
{
    const char *named = lac_env("LACUNA_BLAS");
    if (is_off(named)) {
        snprintf(found.missing, sizeof found.missing, "LACUNA_BLAS=none");
        return;
    }
    if (!lac_library_can_load()) {
        snprintf(found.missing, sizeof found.missing, "a fully static executable can load none");
        return;
    }
    if (named) {
        if (!try_open(named) && !found.missing[0])
            snprintf(found.missing, sizeof found.missing, "LACUNA_BLAS: %.200s", dlerror());
        return;
    }
    if (take_loaded()) return;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (try_open(candidates[i])) return;
    if (!found.missing[0]) snprintf(found.missing, sizeof found.missing, "no BLAS library is installed");
}

/* A child of a process that was loading it would find a library that is half there. */
static void find_before_forks(void)
{
    lac_defer_forks();
    find();
    lac_allow_forks();
}

const lac_blas_t *lac_blas(void)
{
    pthread_once(&searched, find_before_forks);
    return &found;
}

void *lac_blas_symbol(const char *name)
{
    return name && lac_blas()->gemm[0] ? dlsym(found_handle, name) : NULL;
}
