/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Loaded objects, asked of the dynamic linker. Slow: only used the first time that an object calls a symbol.
 */
#define _GNU_SOURCE
#include "resolve_objects.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

enum { BLAS_OBJECTS_MAX = 32 };

__attribute__((visibility("default"))) void lacuna_blas_marker(void) {}

/* How the file names of BLAS libraries begin. */
static const char *const blas_names[] = {
    "libopenblas", "libscipy_openblas", "libblis",   "libmkl_rt", "libmkl_intel", "libflexiblas",
    "libarmpl",    "libnvpl_blas",      "libsatlas", "libtatlas", "libf77blas",   "libcblas",
    "libblas",     "libgslcblas",       "libsci_",   "libessl",   "libgoto",
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool has_blas_name(const char *path)
{
    const char *name = file_name(path);
    for (size_t i = 0; i < sizeof blas_names / sizeof *blas_names; i++)
        if (strncmp(name, blas_names[i], strlen(blas_names[i])) == 0) return true;
    return false;
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

bool object_is_lacuna(const object_t *object)
{
    object_t holder;
    const void *marker = object_symbol(object, "lacuna_blas_marker");
    return marker && object_of(marker, &holder) && holder.base == object->base;
}

void object_pin(const object_t *object)
{
    (void)handle(object, RTLD_NODELETE);
}

bool object_is_wide_blas(const object_t *object)
{
    if (!has_blas_name(object->path)) return false;
    const char *name = file_name(object->path);
    size_t stem = strcspn(name, "-."); /* what follows is a version, or a wheel's checksum */
    for (size_t i = 3; i + 2 <= stem; i++) {
        if (strncmp(name + i, "64", 2) != 0) continue;
        bool lp64 = strncmp(name + i - 2, "lp", 2) == 0 && name[i - 3] != 'i';
        bool processor = strncmp(name + i - 2, "6_", 2) == 0 || strncmp(name + i - 2, "ch", 2) == 0;
        if (!lp64 && !processor) return true;
    }
    return false;
}

typedef struct blas_list {
    int count;
    object_t object[BLAS_OBJECTS_MAX];
} blas_list_t;

static int list_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    blas_list_t *list = arg;
    if (list->count < BLAS_OBJECTS_MAX && has_blas_name(info->dlpi_name))
        list->object[list->count++] = describe(info);
    return 0;
}

/* The visitor may load and unload: it runs after the walk, not inside it. */
bool objects_visit_blas(bool (*visit)(const object_t *object, void *arg), void *arg)
{
    blas_list_t list = {0};
    dl_iterate_phdr(list_one, &list);
    for (int i = 0; i < list.count; i++)
        if (visit(&list.object[i], arg)) return true;
    return false;
}
