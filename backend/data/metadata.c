/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Life and generations of metadata. Passive: nothing here reads an operand. */
#include "metadata.h"
#include "../base/memory.h"
#include "../base/status.h"
#include "../base/threads.h"

#include <stdlib.h>

static void drop_form(lac_form_data_t *form)
{
    void (*release)(void *) = form->release ? form->release : lac_free;
    for (size_t i = 0; i < sizeof form->owned / sizeof *form->owned; i++)
        if (form->owned[i]) release(form->owned[i]);
    *form = (lac_form_data_t){0};
}

/* Leaves of a form its memory, as far as its size is known. */
static void keep_memory(lac_form_data_t *form)
{
    lac_form_data_t kept = {.release = form->release};
    for (int i = 0; i < 4; i++) {
        if (!form->room[i]) continue;
        kept.owned[i] = form->owned[i];
        kept.room[i] = form->room[i];
        kept.owned_bytes += form->room[i];
        form->owned[i] = NULL;
    }
    drop_form(form);
    *form = kept;
}

static _Atomic uint64_t serials;

lac_status_t lac_meta_create(lac_meta_t **meta, lac_dim_t m, lac_dim_t n)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    *meta = NULL;
    if (m < 0 || n < 0)
        return lac_fail(LAC_ERR_EXTENT, "m, n: %lld x %lld is negative", (long long)m, (long long)n);
    lac_meta_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "metadata: out of memory");
    made->m = m;
    made->n = n;
    made->serial = ++serials;
    made->generation = 1;
    made->nnz = -1;
    pthread_mutex_init(&made->build, NULL);
    *meta = made;
    return LAC_OK;
}

void lac_meta_free(lac_meta_t *meta)
{
    if (!meta) return;
    for (int i = 0; i < LAC_FORM_COUNT; i++) drop_form(&meta->form[i]);
    pthread_mutex_destroy(&meta->build);
    free(meta);
}

void lac_meta_lock(lac_meta_t *meta)
{
    lac_defer_forks();
    pthread_mutex_lock(&meta->build);
}

void lac_meta_unlock(lac_meta_t *meta)
{
    pthread_mutex_unlock(&meta->build);
    lac_allow_forks();
}

lac_status_t lac_meta_freeze(lac_meta_t *meta)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    lac_meta_lock(meta);
    meta->frozen = true;
    lac_meta_unlock(meta);
    return LAC_OK;
}

void lac_meta_renew(lac_meta_t *meta, unsigned keep)
{
    lac_meta_lock(meta);
    meta->frozen = false;
    meta->generation++;
    meta->density_origin = LAC_ORIGIN_NONE; /* the number stays, as a hint */
    atomic_store(&meta->ready, 0);
    for (int i = 0; i < LAC_FORM_COUNT; i++)
        if (keep & 1u << i)
            keep_memory(&meta->form[i]);
        else
            drop_form(&meta->form[i]);
    lac_meta_unlock(meta);
}

lac_status_t lac_meta_touch(lac_meta_t *meta)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    lac_meta_renew(meta, 0);
    return LAC_OK;
}

bool lac_meta_settle(lac_meta_t *meta, lac_space_t space)
{
    int home = space == LAC_HOST ? LAC_HOME_HOST : LAC_HOME_DEVICE, found = LAC_HOME_OPEN;
    if (atomic_load_explicit(&meta->home, memory_order_relaxed) == home) return true;
    return atomic_compare_exchange_strong(&meta->home, &found, home) || found == home;
}

double lac_meta_density(const lac_meta_t *meta)
{
    int64_t nnz = meta ? meta->nnz : -1;
    if (nnz < 0) return -1.0;
    double elements = (double)meta->m * (double)meta->n;
    return elements > 0 ? (double)nnz / elements : 0.0;
}

uint64_t lac_meta_generation(const lac_meta_t *meta)
{
    return meta ? meta->generation : 0;
}

size_t lac_meta_bytes(const lac_meta_t *meta)
{
    if (!meta) return 0;
    size_t bytes = sizeof *meta;
    unsigned ready = atomic_load_explicit(&meta->ready, memory_order_acquire);
    for (int i = 0; i < LAC_FORM_COUNT; i++)
        if (ready & 1u << i) bytes += meta->form[i].owned_bytes;
    return bytes;
}

const lac_form_data_t *lac_meta_form(const lac_meta_t *meta, lac_form_t form)
{
    if (!meta || !(atomic_load_explicit(&meta->ready, memory_order_acquire) & 1u << form)) return NULL;
    return &meta->form[form];
}

unsigned lac_meta_trusted(const lac_meta_t *meta)
{
    if (!meta) return 0;
    unsigned ready = atomic_load_explicit(&meta->ready, memory_order_acquire), trusted = 0;
    for (int i = 0; i < LAC_FORM_COUNT; i++)
        if (ready & 1u << i && (meta->frozen || meta->form[i].origin >= LAC_ORIGIN_ATTACHED))
            trusted |= 1u << i;
    return trusted;
}

static void remove_form(lac_meta_t *meta, int form)
{
    atomic_fetch_and(&meta->ready, ~(1u << form));
    drop_form(&meta->form[form]);
}

/* What a form that is attached makes obsolete: what followed from another, and what was measured before
 * and is nobody's promise. */
static bool outlives_attaching(const lac_meta_t *meta, lac_origin_t origin)
{
    return origin == LAC_ORIGIN_ATTACHED || (origin == LAC_ORIGIN_SCANNED && meta->frozen);
}

void lac_meta_install(lac_meta_t *meta, lac_form_t form, const lac_form_data_t *data)
{
    for (int i = 0; data->origin == LAC_ORIGIN_ATTACHED && i < LAC_FORM_COUNT; i++)
        if (!outlives_attaching(meta, meta->form[i].origin)) remove_form(meta, i);
    remove_form(meta, (int)form);
    meta->form[form] = *data;
    meta->form[form].generation = meta->generation;
    meta->form[form].stamp = ++meta->stamps;
    bool counts = form == LAC_FORM_CSR || form == LAC_FORM_CSC || form == LAC_FORM_BITS;
    if (counts && data->origin != LAC_ORIGIN_DERIVED) {
        meta->nnz = data->count;
        meta->density_origin = data->origin;
    }
    atomic_fetch_or_explicit(&meta->ready, 1u << form, memory_order_release);
}
