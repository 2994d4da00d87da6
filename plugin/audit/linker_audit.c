/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * An auditor of the dynamic linker (LD_AUDIT), with a search of its own through symbol tables: dlsym does not
 * reach the objects of another namespace. */
#include "base/environment.h"
#include "base/log.h"
#include "base/vendor.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <stdbool.h>
#include <unistd.h>

/* Symbols of an object, by the tables that its dynamic section names. */

/* The linker has added the load address to what the section holds, or has not yet. */
static const void *table(const struct link_map *map, Elf64_Sxword tag)
{
    for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return (const void *)(d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr);
    return NULL;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Where an object has a function that it exports; 0: it has none of that name. A bucket of its GNU hash table
 * holds the first symbol of a chain; the lowest bit of a chain's hash says that it is the last. */
static uintptr_t map_function(const struct link_map *map, const char *name)
{
    const Elf64_Sym *symbol = table(map, DT_SYMTAB);
    const char *text = table(map, DT_STRTAB);
    const uint32_t *head = table(map, DT_GNU_HASH);
    if (!symbol || !text || !head || !head[0]) return 0;
    uint32_t buckets = head[0], first = head[1], words = head[2], hash = gnu_hash(name);
    const uint32_t *bucket = (const uint32_t *)((const Elf64_Addr *)(head + 4) + words);
    const uint32_t *chain = bucket + buckets;
    uint32_t i = bucket[hash % buckets];
    if (i < first) return 0;
    for (;; i++) {
        bool same = (chain[i - first] | 1) == (hash | 1) && !strcmp(text + symbol[i].st_name, name);
        if (same && ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC) return map->l_addr + symbol[i].st_value;
        if (chain[i - first] & 1) return 0;
    }
}

/* An auditor of the dynamic linker (LD_AUDIT). With LACUNA_AUDIT=1 it logs each object that is loaded,
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

/* The function of that name that a drop-in library exports, those after `to` aside; 0: none. */
static uintptr_t dropin_function(const char *name, const struct link_map *to)
{
    uintptr_t found = 0;
    if (!strncmp(name, "lac", 3)) return 0; /* the library's own */
    for (int i = 0; !found && i < dropin_count && to != dropin[i]; i++) found = map_function(dropin[i], name);
    return found;
}

/* The vendor's libraries, and Lacuna's, are to find what they look up. */
static bool is_left_alone(const struct link_map *from)
{
    return begins(from, "liblacuna") || lac_is_vendor(name_of(from)) || lac_is_blas(name_of(from));
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    if (lmid != LM_ID_BASE) return 0;
    if (begins(map, "liblacuna_") && dropin_count < DROPINS_MAX) dropin[dropin_count++] = map;
    if (is_on("LACUNA_AUDIT")) lac_log("lacuna,1,object,%s", name_of(map));
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

/* What the drop-in libraries export, whatever it is called; and, to be named in passing, products by any
 * BLAS, of any type. C++ has its own names for its own. */
static bool is_product(const char *name)
{
    static const char *const words[] = {"gemm", "Gemm", "gemv", "Gemv", "cublasLtMatmul", "cusparseSpM"};
    static const char *const beside[] = {"Desc", "Algo", "Preference", "bufferSize", "preprocess"};
    if (dropin_function(name, NULL)) return true;
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
    bool redirected = by_dlsym && is_on("LACUNA_DLSYM") && !is_left_alone(from);
    uintptr_t other = redirected ? dropin_function(symname, to) : 0;
    if (is_on("LACUNA_AUDIT"))
        lac_log("lacuna,1,bind,%s,%s,%s,%s", symname, name_of(from), other ? "liblacuna" : name_of(to),
                by_dlsym ? "dlsym" : "linked");
    return other ? other : sym->st_value;
}
