/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * An auditor of the dynamic linker (LD_AUDIT): tells of each object that is loaded, and which object a matrix
 * product of each caller was bound to.
 *
 * It lives in a namespace of its own, and shares nothing with the library in the program but the file that
 * LACUNA_LOG names. */
#include "../../backend/base/log.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

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

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    if (space != LM_ID_BASE) return 0;
    lac_log("lacuna,1,object,%s", name_of(map));
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

/* Products by any BLAS, of any type; C++ has its own names for its own. */
static bool is_product(const char *name)
{
    static const char *const words[] = {"gemm", "Gemm", "gemv", "Gemv", "cublasLtMatmul", "cusparseSpM"};
    if (name[0] == '_' || strstr(name, "GetAttribute") || strstr(name, "bufferSize")) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return true;
    return false;
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                              unsigned *flags, const char *name)
{
    (void)index;
    if (is_product(name))
        lac_log("lacuna,1,bind,%s,%s,%s,%s", name, name_of((const struct link_map *)*from),
                name_of((const struct link_map *)*to), *flags & LA_SYMB_DLSYM ? "dlsym" : "linked");
    return symbol->st_value;
}
