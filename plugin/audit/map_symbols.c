/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A look through the symbol table that the object's dynamic section names. */
#include "map_symbols.h"

#include <stddef.h>
#include <string.h>

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
