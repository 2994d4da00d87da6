/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A list sorted by address, behind one lock that is not taken while it is empty. */
#include "registry.h"
#include "check.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* Elements that are remembered; how far each is searched for; calls between two checks on a device. */
enum { WATCHED = 16, STEPS = 256, WATCH_EVERY = 64 };

struct lac_registered {
    lac_obj_t obj; /* the stored matrix */
    uintptr_t low, high;
    lac_memory_id_t at;
    bool owned, ended;
    int users, pins;
    lac_registered_t *next;      /* in `kept` */
    uint64_t calls, fingerprint; /* on a device */
    bool asked, printed;
    int watched; /* on the host */
    const void *where[WATCHED];
    uint64_t bits[WATCHED];
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static lac_registered_t **entries; /* by address; no two meet */
static int room;
static lac_registered_t *kept; /* removed, and not freed yet: they may be pinned */
_Atomic int lac_registry_size;

static uint64_t bits_at(const lac_registered_t *entry, const void *at)
{
    return entry->obj.dt == LAC_F64 ? *(const uint64_t *)at : *(const uint32_t *)at;
}

/* Zeros are many and alike: each sample moves on to the next nonzero, if one is near. */
static void remember(lac_registered_t *entry)
{
    const lac_obj_t *x = &entry->obj;
    int64_t total = x->m * x->n, apart = total / WATCHED + (total % WATCHED != 0);
    for (int64_t first = 0; first < total && entry->watched < WATCHED; first += apart) {
        const char *at;
        int64_t e = first, size = (int64_t)lac_dt_size(x->dt);
        do at = (const char *)x->buf + (e / x->n * x->rs + e % x->n * x->cs) * size;
        while (!bits_at(entry, at) && ++e < total && e < first + STEPS);
        entry->where[entry->watched] = at;
        entry->bits[entry->watched++] = bits_at(entry, at);
    }
}

static bool as_remembered(const lac_registered_t *entry)
{
    for (int i = 0; i < entry->watched; i++)
        if (bits_at(entry, entry->where[i]) != entry->bits[i]) return false;
    return true;
}

/* The first that ends behind an address. */
static int slot_of(uintptr_t address)
{
    int low = 0, high = lac_registry_size;
    while (low < high) {
        int middle = (low + high) / 2;
        if (entries[middle]->high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static lac_registered_t *beginning_at(const void *buf)
{
    int i = slot_of((uintptr_t)buf);
    return i < lac_registry_size && entries[i]->obj.buf == buf ? entries[i] : NULL;
}

/* A forked child has none of the threads that used an entry. */
static void before_fork(void)
{
    pthread_mutex_lock(&guard);
}
static void in_parent(void)
{
    pthread_mutex_unlock(&guard);
}
static void in_child(void)
{
    for (int i = 0; i < lac_registry_size; i++) entries[i]->users = 0;
    pthread_cond_init(&idle, NULL);
    in_parent();
}

static void prepare(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

static bool make_room(void)
{
    if (lac_registry_size < room) return true;
    int more = room ? 2 * room : 16;
    lac_registered_t **grown = realloc(entries, (size_t)more * sizeof(lac_registered_t *));
    if (!grown) return false;
    entries = grown;
    room = more;
    return true;
}

/* Called with the lock held; takes the entry over. */
static lac_status_t insert(lac_registered_t *entry)
{
    int i = slot_of(entry->low);
    if (i < lac_registry_size && entries[i]->low < entry->high) {
        const void *there = entries[i]->obj.buf;
        return there == entry->obj.buf
                   ? lac_fail(LAC_ERR_ALIAS, "obj.buf: %p is registered already; lac_unregister ends that",
                              there)
                   : lac_fail(LAC_ERR_ALIAS, "obj.buf: overlaps the matrix that is registered at %p", there);
    }
    if (!make_room()) return lac_fail(LAC_ERR_MEMORY, "obj: out of memory to register it");
    memmove(entries + i + 1, entries + i, (size_t)(lac_registry_size - i) * sizeof(lac_registered_t *));
    entries[i] = entry;
    lac_registry_size++;
    return LAC_OK;
}

static void destroy(lac_registered_t *entry)
{
    if (entry->owned) lac_meta_free(entry->obj.meta);
    free(entry);
}

/* What no recording reads any more of all that was kept for one. */
static void free_unpinned(void)
{
    lac_registered_t *unpinned = NULL, **at = &kept;
    pthread_mutex_lock(&guard);
    while (*at) {
        lac_registered_t *entry = *at;
        if (entry->pins > 0) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        entry->next = unpinned;
        unpinned = entry;
    }
    pthread_mutex_unlock(&guard);
    while (unpinned) {
        lac_registered_t *entry = unpinned;
        unpinned = entry->next;
        destroy(entry);
    }
}

/* Of one that was taken out, if any. */
static bool dispose(lac_registered_t *entry)
{
    if (entry) {
        pthread_mutex_lock(&guard);
        entry->next = kept;
        kept = entry;
        pthread_mutex_unlock(&guard);
    }
    free_unpinned();
    return entry != NULL;
}

lac_status_t lac_registry_add(const lac_obj_t *obj, lac_memory_id_t at, bool owned)
{
    lac_registered_t *entry = calloc(1, sizeof *entry);
    if (!entry) return lac_fail(LAC_ERR_MEMORY, "obj: out of memory to register it");
    *entry = (lac_registered_t){.obj = *obj, .at = at, .owned = owned};
    entry->obj.trans = LAC_NO_TRANS;
    lac_obj_span(obj, &entry->low, &entry->high);
    if (at.device < 0) remember(entry);
    pthread_once(&prepared, prepare);
    pthread_mutex_lock(&guard);
    lac_status_t status = insert(entry);
    pthread_mutex_unlock(&guard);
    if (status) free(entry);
    return status;
}

/* Called with the lock held. */
static void take_out(const lac_registered_t *entry)
{
    int i = slot_of(entry->low);
    lac_registry_size--;
    memmove(entries + i, entries + i + 1, (size_t)(lac_registry_size - i) * sizeof(lac_registered_t *));
}

bool lac_registry_remove(const void *buf)
{
    lac_registered_t *entry;
    int cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable); /* or it would end with the lock */
    pthread_mutex_lock(&guard);
    while ((entry = beginning_at(buf)) && entry->users) pthread_cond_wait(&idle, &guard);
    if (entry) take_out(entry);
    pthread_mutex_unlock(&guard);
    pthread_setcancelstate(cancellable, &cancellable);
    return dispose(entry);
}

bool lac_registry_drop_owned(const void *buf)
{
    pthread_mutex_lock(&guard);
    lac_registered_t *entry = beginning_at(buf);
    if (entry && (!entry->owned || entry->users)) entry = NULL;
    if (entry) take_out(entry);
    pthread_mutex_unlock(&guard);
    return dispose(entry);
}

bool lac_registry_meets(const lac_obj_t *x, const void **buf, lac_memory_id_t *at)
{
    uintptr_t low, high;
    lac_obj_span(x, &low, &high);
    pthread_mutex_lock(&guard);
    int i = slot_of(low);
    bool meets = i < lac_registry_size && entries[i]->low < high;
    if (meets) {
        *buf = entries[i]->obj.buf;
        *at = entries[i]->at;
    }
    pthread_mutex_unlock(&guard);
    return meets;
}

bool lac_registry_find(const void *buf, lac_memory_id_t *at, bool *ended)
{
    pthread_mutex_lock(&guard);
    const lac_registered_t *entry = beginning_at(buf);
    if (entry) {
        *at = entry->at;
        *ended = entry->ended;
    }
    pthread_mutex_unlock(&guard);
    return entry != NULL;
}

/* Steps along an extent of one do not matter. */
static bool same_lines(lac_dim_t extent, lac_inc_t x, lac_inc_t y)
{
    return extent == 1 || x == y;
}

static bool is_same(const lac_obj_t *x, const lac_obj_t *y)
{
    return x->dt == y->dt && x->m == y->m && x->n == y->n && same_lines(x->m, x->rs, y->rs) &&
           same_lines(x->n, x->cs, y->cs);
}

static bool is_transpose(const lac_obj_t *x, const lac_obj_t *y)
{
    return x->dt == y->dt && x->m == y->n && x->n == y->m && same_lines(x->m, x->rs, y->cs) &&
           same_lines(x->n, x->cs, y->rs);
}

lac_registered_t *lac_registry_borrow(lac_obj_t *x, int device)
{
    if (!lac_registry_size) return NULL;
    pthread_mutex_lock(&guard);
    lac_registered_t *entry = beginning_at(x->buf);
    bool same = entry && is_same(&entry->obj, x), swapped = entry && !same && is_transpose(&entry->obj, x);
    if ((!same && !swapped) || entry->ended || entry->at.device != device) entry = NULL;
    if (entry && !as_remembered(entry)) {
        entry->ended = true;
        entry = NULL;
    }
    if (entry) entry->users++;
    pthread_mutex_unlock(&guard);
    if (!entry) return NULL;
    lac_trans_t trans = swapped == (x->trans == LAC_TRANS) ? LAC_NO_TRANS : LAC_TRANS;
    *x = entry->obj;
    x->trans = trans;
    return entry;
}

void lac_registry_give_back(lac_registered_t *borrowed)
{
    if (!borrowed) return;
    pthread_mutex_lock(&guard);
    if (--borrowed->users == 0) pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&guard);
}

void lac_registry_pin(lac_registered_t *borrowed)
{
    if (!borrowed) return;
    pthread_mutex_lock(&guard);
    borrowed->pins++;
    pthread_mutex_unlock(&guard);
}

void lac_registry_unpin(lac_registered_t *pinned)
{
    if (!pinned) return;
    pthread_mutex_lock(&guard);
    pinned->pins--;
    pthread_mutex_unlock(&guard);
}

uint64_t lac_registered_allocation(const lac_registered_t *entry)
{
    return entry->at.allocation;
}

void lac_registered_end(lac_registered_t *entry)
{
    pthread_mutex_lock(&guard);
    entry->ended = true;
    pthread_mutex_unlock(&guard);
}

bool lac_registered_watch(lac_registered_t *entry, bool *asks)
{
    pthread_mutex_lock(&guard);
    uint64_t calls = ++entry->calls;
    *asks = calls < WATCH_EVERY ? (calls & (calls - 1)) == 0 : calls % WATCH_EVERY == 0;
    entry->asked |= *asks;
    bool owed = entry->asked;
    pthread_mutex_unlock(&guard);
    return owed;
}

bool lac_registered_compare(lac_registered_t *entry, uint64_t fingerprint)
{
    pthread_mutex_lock(&guard);
    bool same = !entry->printed || entry->fingerprint == fingerprint;
    entry->fingerprint = fingerprint;
    entry->printed = true;
    entry->asked = false;
    entry->ended |= !same;
    pthread_mutex_unlock(&guard);
    return same;
}

int lac_registry_written(const lac_obj_t *c)
{
    uintptr_t low, high;
    int ended = 0;
    if (!lac_registry_size) return 0;
    lac_obj_span(c, &low, &high);
    pthread_mutex_lock(&guard);
    for (int i = slot_of(low); i < lac_registry_size && entries[i]->low < high; i++) {
        lac_registered_t *entry = entries[i];
        if (entry->ended || !lac_share_memory(&entry->obj, c)) continue;
        entry->ended = true;
        ended++;
    }
    pthread_mutex_unlock(&guard);
    return ended;
}
