/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * dlopen with a reason. */
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct own_object {
    uintptr_t address; /* of something in it */
    bool can_load;
} own_object_t;

/* A shared library was loaded by a dynamic linker; a program names the one that loads for it. */
static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    own_object_t *own = arg;
    bool holds = false, has_linker = *info->dlpi_name != '\0';
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        holds |= p->p_type == PT_LOAD && own->address >= begin && own->address < begin + p->p_memsz;
        has_linker |= p->p_type == PT_INTERP;
    }
    if (holds) own->can_load = has_linker;
    return holds;
}

bool lac_library_can_load(void)
{
    static const char here;
    own_object_t own = {(uintptr_t)&here, true};
    dl_iterate_phdr(find_own, &own);
    return own.can_load;
}

void *lac_library_open(const char *const *names, char *why, size_t size)
{
    if (!lac_library_can_load()) {
        snprintf(why, size, "a fully static executable can load no library");
        return NULL;
    }
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

bool lac_library_take(void *library, const char *vendor, const lac_library_call_t *calls, char *why,
                      size_t size)
{
    for (; calls->symbol; calls++) {
        char missing[200];
        void *found = lac_library_symbol(library, calls->symbol, missing, sizeof missing);
        memcpy(calls->function, &found, sizeof found);
        if (found || calls->optional) continue;
        snprintf(why, size, "%s %s", vendor, missing);
        return false;
    }
    return true;
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
