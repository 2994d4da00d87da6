/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Loaded objects, from the dynamic linker (slow: only used the first time that an object calls a symbol), and
 * a list of answers, pushed to without a lock. */
#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <stdlib.h>

enum { OBJECTS_MAX = 32 };

const char *object_file_name(const object_t *object)
{
    const char *slash = strrchr(object->path, '/');
    return slash ? slash + 1 : object->path;
}

static object_t describe(const struct dl_phdr_info *info)
{
    object_t o = {info->dlpi_addr, UINTPTR_MAX, 0, info->dlpi_name};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD) continue;
        uintptr_t lo = info->dlpi_addr + p->p_vaddr;
        if (lo < o.lo) o.lo = lo;
        if (lo + p->p_memsz > o.hi) o.hi = lo + p->p_memsz;
    }
    return o;
}

typedef struct seek {
    uintptr_t address;
    object_t *object;
} seek_t;

static int seek_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    const seek_t *seek = arg;
    object_t o = describe(info);
    if (seek->address < o.lo || seek->address >= o.hi) return 0;
    *seek->object = o;
    return 1;
}

bool object_of(const void *address, object_t *object)
{
    seek_t seek = {(uintptr_t)address, object};
    return address && dl_iterate_phdr(seek_one, &seek) == 1;
}

static void *handle(const object_t *object, int flags)
{
    return dlopen(*object->path ? object->path : NULL, RTLD_LAZY | RTLD_NOLOAD | flags);
}

void *object_symbol(const object_t *object, const char *name)
{
    void *h = handle(object, 0);
    if (!h) return NULL;
    void *symbol = dlsym(h, name);
    dlclose(h);
    return symbol;
}

bool object_defines(const object_t *object, const char *name)
{
    object_t holder = {0};
    const void *symbol = object_symbol(object, name);
    return symbol && object_of(symbol, &holder) && holder.base == object->base;
}

void object_pin(const object_t *object)
{
    (void)handle(object, RTLD_NODELETE);
}

typedef struct list {
    bool (*match)(const object_t *object);
    int count;
    object_t object[OBJECTS_MAX];
} list_t;

static int list_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    list_t *list = arg;
    object_t o = describe(info);
    if (list->count < OBJECTS_MAX && list->match(&o)) list->object[list->count++] = o;
    return 0;
}

/* The visitor may load and unload: it runs after the walk, not inside it. */
bool objects_visit(bool (*match)(const object_t *object), bool (*visit)(const object_t *object, void *arg),
                   void *arg)
{
    list_t list = {.match = match};
    dl_iterate_phdr(list_one, &list);
    for (int i = 0; i < list.count; i++)
        if (visit(&list.object[i], arg)) return true;
    return false;
}

/* A list of answers, pushed to without a lock. */

enum { RESOLVED_MAX = 64, PAGE = 4096 };

static int answers(const exported_symbol_t *symbol)
{
    int count = 0;
    for (const resolved_t *a = atomic_load(&symbol->known); a; a = a->next) count++;
    return count;
}

/* Code made at run time belongs to no object: there the answer holds for one page, and pages may be many, so
 * that past RESOLVED_MAX an answer is not kept. A caller may be unloaded and another object take its place:
 * it inherits the answer, which stays valid because what was found is pinned. */
resolved_t *resolved_new(const exported_symbol_t *symbol, const object_t *object, const void *caller,
                         bool keep, resolved_t *unkept, size_t size)
{
    resolved_t *resolved = keep && answers(symbol) < RESOLVED_MAX ? calloc(1, size) : NULL;
    if (!resolved) resolved = memset(unkept, 0, size);
    resolved->lo = object ? object->lo : (uintptr_t)caller / PAGE * PAGE;
    resolved->bytes = object ? object->hi - object->lo : PAGE;
    return resolved;
}

void resolved_keep(exported_symbol_t *symbol, resolved_t *resolved)
{
    const resolved_t *first = atomic_load(&symbol->known);
    do resolved->next = first;
    while (!atomic_compare_exchange_weak(&symbol->known, &first, resolved));
}
