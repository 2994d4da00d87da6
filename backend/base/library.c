/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * dlopen with a reason. */
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>

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

/* The folder as the loader made it out when it opened the library: the name that it was opened by may be
 * relative to a working directory that has changed since. */
void lac_library_beside(const void *inside, const char *name, char *path, size_t size)
{
    Dl_info info;
    char origin[PATH_MAX];
    struct link_map *library = NULL;
    path[0] = '\0';
    if (!dladdr1(inside, &info, (void **)&library, RTLD_DL_LINKMAP) || !library) return;
    if (!library->l_name || !*library->l_name)
        return; /* the program itself: its folder is nobody's promise */
    if (dlinfo(library, RTLD_DI_ORIGIN, origin) || *origin != '/') return;
    if ((size_t)snprintf(path, size, "%s/%s", origin, name) >= size) path[0] = '\0';
}
