/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Searches the objects that the dynamic linker has loaded, in the order in which it would have (slow: only
 * the first time that an object calls a symbol), and keeps the answers in a list that is pushed to without a
 * lock.
 */
#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <stdlib.h>

/* Loaded objects. */

enum { OBJECTS_MAX = 32 };

const char *object_file_name(const object_t *object)
{
    const char *slash = strrchr(object->path, '/');
    return slash ? slash + 1 : object->path;
}

bool object_is_named(const object_t *object, const char *const *stems)
{
    while (*stems && strncmp(object_file_name(object), *stems, strlen(*stems)) != 0) stems++;
    return *stems != NULL;
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

/* The object that an address lies in; false for code made at run time. */
static bool object_of(const void *address, object_t *object)
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

/* Whether the object itself has the symbol, and not only what it was linked against. */
static bool object_defines(const object_t *object, const char *name)
{
    object_t holder = {0};
    const void *symbol = object_symbol(object, name);
    return symbol && object_of(symbol, &holder) && holder.base == object->base;
}

/* Keeps the object loaded for as long as the process lives. */
static void object_pin(const object_t *object)
{
    (void)handle(object, RTLD_NODELETE);
}

typedef bool object_fn(const object_t *object, void *arg);

typedef struct list {
    object_fn *match;
    void *arg;
    int count;
    object_t object[OBJECTS_MAX];
} list_t;

static int list_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    list_t *list = arg;
    object_t o = describe(info);
    if (list->count < OBJECTS_MAX && list->match(&o, list->arg)) list->object[list->count++] = o;
    return 0;
}

/* Calls visit for each loaded object that matches, in load order, until it returns true; at most OBJECTS_MAX
 * of them. The visitor may load and unload: it runs after the walk, not inside it. */
static bool objects_visit(object_fn *match, object_fn *visit, void *arg)
{
    list_t list = {.match = match, .arg = arg};
    dl_iterate_phdr(list_one, &list);
    for (int i = 0; i < list.count; i++)
        if (visit(&list.object[i], arg)) return true;
    return false;
}

typedef struct wanted {
    const char *const *stems;
    const char *name;
    void *found;
} wanted_t;

static bool is_wanted(const object_t *object, void *arg)
{
    const wanted_t *wanted = arg;
    return object_is_named(object, wanted->stems);
}

static bool take_symbol(const object_t *object, void *arg)
{
    wanted_t *wanted = arg;
    wanted->found = object_symbol(object, wanted->name);
    return wanted->found != NULL;
}

void *loaded_symbol(const char *const *stems, const char *name)
{
    wanted_t wanted = {stems, name, NULL};
    objects_visit(is_wanted, take_symbol, &wanted);
    return wanted.found;
}

/* The search for the function behind a symbol. */

typedef struct lookup {
    const finder_t *finder;
    const exported_symbol_t *symbol;
    next_fn_t *answer;
} lookup_t;

/* Takes fn as the answer, unless it is ours, another Lacuna library's, or leads back here. */
static bool accept(const lookup_t *lookup, void *fn)
{
    const finder_t *finder = lookup->finder;
    object_t object = {0};
    if (!fn || !object_of(fn, &object)) return false;
    if (finder->is_excluded && finder->is_excluded(&object)) return false;
    if (object_defines(&object, finder->marker)) return false;
    object_pin(&object);
    lookup->answer->fn = fn;
    lookup->answer->object = object.base;
    if (finder->complete) finder->complete(lookup->symbol, lookup->answer, &object);
    return true;
}

static bool may_answer(const object_t *object, void *arg)
{
    const lookup_t *lookup = arg;
    return lookup->finder->may_answer(lookup->symbol, object);
}

static bool accept_loaded(const object_t *object, void *arg)
{
    const lookup_t *lookup = arg;
    return accept(lookup, object_symbol(object, lookup->symbol->name));
}

/* What was loaded after this library in the global scope. The linker goes by the versions that a vendor gives
 * its symbols: a caller that was linked against another version than the global scope has reaches its own. */
static void *next_global(const lookup_t *lookup, const object_t *caller)
{
    object_t global = {0}, local = {0};
    const char *name = lookup->symbol->name;
    void *next = dlsym(RTLD_NEXT, name);
    if (!lookup->finder->is_vendor || !next || !caller) return next;
    void *own = object_symbol(caller, name);
    if (!own || !object_of(next, &global) || !object_of(own, &local)) return next;
    bool other = lookup->finder->is_vendor(&global) && lookup->finder->is_vendor(&local) &&
                 strcmp(object_file_name(&global), object_file_name(&local)) != 0;
    return other ? own : next;
}

/* The scopes in the linker's order: the global one; then the caller's own, which is where a Python extension
 * (RTLD_LOCAL) has its libraries. A caller that brought none (it was handed this function's address) gets a
 * loaded one; where none is loaded, the finder's last. */
static void search(lookup_t *lookup, const object_t *caller)
{
    const finder_t *finder = lookup->finder;
    if (accept(lookup, next_global(lookup, caller))) return;
    if (caller && accept(lookup, object_symbol(caller, lookup->symbol->name))) return;
    if (objects_visit(may_answer, accept_loaded, lookup)) return;
    if (finder->fallback) accept(lookup, finder->fallback(lookup->symbol->name));
}

/* The list of answers. */

enum { ANSWERS_MAX = 64, PAGE = 4096 };

static int answers(const exported_symbol_t *symbol)
{
    int count = 0;
    for (const next_fn_t *b = atomic_load(&symbol->known); b; b = b->next) count++;
    return count;
}

static void push(exported_symbol_t *symbol, next_fn_t *answer)
{
    const next_fn_t *first = atomic_load(&symbol->known);
    do answer->next = first;
    while (!atomic_compare_exchange_weak(&symbol->known, &first, answer));
}

static bool is_own(const object_t *object)
{
    static const char here = 0;
    return (uintptr_t)&here - object->lo < object->hi - object->lo;
}

/* Code made at run time belongs to no object: there the answer holds for one page, and pages may be many, so
 * that past ANSWERS_MAX an answer is not kept. A caller may be unloaded and another object be mapped there:
 * it inherits the answer, which stays valid because what was found is pinned. */
const next_fn_t *next_fn_search(const finder_t *finder, exported_symbol_t *symbol, const void *caller)
{
    int saved_errno = errno;
    object_t found = {0}, *object = object_of(caller, &found) ? &found : NULL;
    bool looped = finder->break_loop && object && is_own(object);
    if (looped) finder->break_loop(symbol);
    next_fn_t *b = looped || answers(symbol) >= ANSWERS_MAX ? NULL : calloc(1, finder->bytes);
    bool kept = b != NULL;
    if (!kept) b = memset(finder->unkept(), 0, finder->bytes);
    b->lo = object ? object->lo : (uintptr_t)caller / PAGE * PAGE;
    b->bytes = object ? object->hi - object->lo : PAGE;
    b->wide = symbol->wide;
    b->forward_only = object && finder->is_vendor && finder->is_vendor(object);
    search(&(lookup_t){finder, symbol, b}, object);
    if (kept) push(symbol, b);
    (void)dlerror(); /* a failed look-up of ours is not the program's error */
    errno = saved_errno;
    return b;
}
