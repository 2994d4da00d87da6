/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * dlopen with a reason. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void *lac_library_open(const char *const *names, char *why, size_t size)
{
    snprintf(why, size, "no name to open");
    for (; *names; names++) {
        void *library = **names ? dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
        if (library) return library;
        if (**names) snprintf(why, size, "%s", dlerror());
    }
    return NULL;
}

void *lac_library_symbol(void *library, const char *symbol, char *why, size_t size)
{
    void *found = dlsym(library, symbol);
    if (!found && why) snprintf(why, size, "has no %s", symbol);
    return found;
}

void lac_library_beside(const void *inside, const char *name, char *path, size_t size)
{
    Dl_info info;
    path[0] = '\0';
    if (!dladdr(inside, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash) snprintf(path, size, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, name);
}
