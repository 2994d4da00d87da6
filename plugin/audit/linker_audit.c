/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * An auditor of the dynamic linker (LD_AUDIT), with a search of its own through symbol tables: dlsym does not
 * reach the objects of another namespace. */
#include "base/environment.h"
#include "base/log.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <stdbool.h>
#include <unistd.h>

/* Where an object has a function that it exports; 0: it has none of that name. */
uintptr_t map_function(const struct link_map *map, const char *name);

/* A look through the symbol table that the object's dynamic section names. */

/* The linker has added the load address to what the section holds, or has not yet. */
static const void *table(const struct link_map *map, Elf64_Sxword tag)
{
    for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return (const void *)(d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr);
    return NULL;
}

/* Symbols that a GNU hash table knows: the last chain ends them. */
static uint32_t count_of(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], words = hash[2], last = 0;
    const uint32_t *bucket = (const uint32_t *)((const Elf64_Addr *)(hash + 4) + words);
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last) last = bucket[i];
    if (last < first) return first;
    const uint32_t *chain = bucket + buckets;
    while (!(chain[last - first] & 1)) last++;
    return last + 1;
}

uintptr_t map_function(const struct link_map *map, const char *name)
{
    const Elf64_Sym *symbol = table(map, DT_SYMTAB);
    const char *text = table(map, DT_STRTAB);
    const uint32_t *hash = table(map, DT_GNU_HASH);
    if (!symbol || !text || !hash) return 0;
    uint32_t count = count_of(hash);
    for (uint32_t i = 0; i < count; i++)
        if (symbol[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC &&
            !strcmp(text + symbol[i].st_name, name))
            return map->l_addr + symbol[i].st_value;
    return 0;
}

/* An auditor of the dynamic linker (LD_AUDIT). With LACUNA_AUDIT=1 it tells of each object that is loaded,
 * and which object a matrix product of each caller was bound to; with LACUNA_DLSYM=1 it has dlsym find the
 * products of the drop-in libraries instead of those that they stand in front of.
 *
 * It lives in a namespace of its own, and shares nothing with the library in the program but the file that
 * LACUNA_LOG names. */

#define EXPORT __attribute__((visibility("default")))

/* The linker may be older than the header that this was built with, and knows its own version. */
EXPORT unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* The linker has no name for the program itself. */
static const char *name_of(const struct link_map *map)
{
    static char program[4096];
    if (map->l_name && *map->l_name) return map->l_name;
    if (!*program && readlink("/proc/self/exe", program, sizeof program - 1) < 0) strcpy(program, "-");
    return program;
}

static bool is_on(const char *variable)
{
    const char *value = lac_env(variable);
    return value && strcmp(value, "0") != 0;
}

static bool begins(const struct link_map *map, const char *stem)
{
    const char *name = name_of(map), *slash = strrchr(name, '/');
    return strncmp(slash ? slash + 1 : name, stem, strlen(stem)) == 0;
}

enum { DROPINS_MAX = 4 };
static const struct link_map *dropin[DROPINS_MAX];
static int dropin_count;

/* What dlsym is to return to this object instead; 0: what it found. The vendor's libraries, and Lacuna's, are
 * to find what they look for. */
static uintptr_t instead(const struct link_map *from, const struct link_map *to, const char *name)
{
    static const char *const left[] = {"liblacuna", "libcublas", "libcusolver", "libcusparse"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (begins(from, left[i])) return 0;
    uintptr_t found = 0;
    for (int i = 0; !found && i < dropin_count && to != dropin[i]; i++) found = map_function(dropin[i], name);
    return found;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    if (lmid != LM_ID_BASE) return 0;
    if (begins(map, "liblacuna_") && dropin_count < DROPINS_MAX) dropin[dropin_count++] = map;
    if (is_on("LACUNA_AUDIT")) lac_log("lacuna,1,object,%s", name_of(map));
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

/* Products by any BLAS, of any type; C++ has its own names for its own. */
static bool is_product(const char *name)
{
    static const char *const words[] = {"gemm", "Gemm", "gemv", "Gemv", "cublasLtMatmul", "cusparseSpM"};
    static const char *const beside[] = {"Desc", "Algo", "Preference", "bufferSize", "preprocess"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (name[0] == '_' || strstr(name, beside[i])) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return true;
    return false;
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *sym, unsigned ndx, uintptr_t *refcook, uintptr_t *defcook,
                              unsigned *flags, const char *symname)
{
    (void)ndx;
    const struct link_map *from = (const struct link_map *)*refcook, *to = (const struct link_map *)*defcook;
    bool by_dlsym = *flags & LA_SYMB_DLSYM;
    if (!is_product(symname)) return sym->st_value;
    uintptr_t other = by_dlsym && is_on("LACUNA_DLSYM") ? instead(from, to, symname) : 0;
    if (is_on("LACUNA_AUDIT"))
        lac_log("lacuna,1,bind,%s,%s,%s,%s", symname, name_of(from), other ? "liblacuna" : name_of(to),
                by_dlsym ? "dlsym" : "linked");
    return other ? other : sym->st_value;
}
