/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Opens a BLAS with dlopen, keeping clear of our own drop-in libraries. */
#include "vendor.h"
#include "env.h"
#include "lacuna/dropin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* In order of preference: the fast ones first, then whatever the system calls its BLAS. */
static const char *const candidates[] = {"libopenblas.so.0", "libopenblas.so", "libblis.so.4", "libblis.so",
                                         "libmkl_rt.so.2",   "libmkl_rt.so",   "libblas.so.3", "libblas.so"};

static pthread_once_t looked = PTHREAD_ONCE_INIT;
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

static int try_open(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return 0;
    void *sgemm = dlsym(handle, "sgemm_"), *sgemv = dlsym(handle, "sgemv_");
    if (!sgemm || !sgemv || dlsym(handle, "lacuna_blas_marker")) {
        snprintf(found.missing, sizeof found.missing, "%s %s", name,
                 sgemm && sgemv ? "is a Lacuna drop-in library" : "has no sgemm_ and sgemv_");
        dlclose(handle);
        return 0;
    }
    found.sgemm = (lac_sgemm_fn)sgemm;
    found.sgemv = (lac_sgemv_fn)sgemv;
    found_handle = handle;
    read_name(sgemm, name);
    read_version(handle);
    found.missing[0] = '\0';
    return 1;
}

static void look(void)
{
    const char *named = lac_env("LACUNA_BLAS");
    if (named) {
        if (!strcmp(named, "none"))
            snprintf(found.missing, sizeof found.missing, "LACUNA_BLAS=none");
        else if (!try_open(named) && !found.missing[0])
            snprintf(found.missing, sizeof found.missing, "LACUNA_BLAS: %.200s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (try_open(candidates[i])) return;
    if (!found.missing[0]) snprintf(found.missing, sizeof found.missing, "no BLAS library is installed");
}

const lac_blas_t *lac_blas(void)
{
    pthread_once(&looked, look);
    return &found;
}

void *lac_blas_symbol(const char *name)
{
    return name && lac_blas()->sgemm ? dlsym(found_handle, name) : NULL;
}
