/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The process's list of operands that calls know by their address. */
#ifndef LACUNA_OPERAND_REGISTRY_H
#define LACUNA_OPERAND_REGISTRY_H

#include "metadata.h"

#include <stdatomic.h>

typedef struct lac_registered lac_registered_t; /* one of them */

/* Which memory a matrix lies in. */
typedef struct lac_memory_id {
    int device;          /* ordinal; -1 on the host                              */
    uint64_t allocation; /* the driver's number for it, never used again; 0: none */
} lac_memory_id_t;

/* How many there are, ended ones included. */
extern _Atomic int lac_registry_size;

/* Adds a checked matrix with a buffer. `owned`: its metadata is freed with it. Errors: ALIAS, MEMORY. */
lac_status_t lac_registry_add(const lac_obj_t *obj, lac_memory_id_t at, bool owned);

/* Removes the one that begins there, when no call uses it any more; false where there is none. */
bool lac_registry_remove(const void *buf);

/* The same for one whose metadata is freed with it; false too where a call uses it. */
bool lac_registry_drop_owned(const void *buf);

/* The first that has an element where one of x may lie, whether it has ended or not; false: none. */
bool lac_registry_meets(const lac_obj_t *x, const void **buf, lac_memory_id_t *at);

/* The one that begins there, whatever its shape is and whether it has ended; false: none. */
bool lac_registry_find(const void *buf, lac_memory_id_t *at, bool *ended);

/* The one that is the call's matrix, or its transpose: *x becomes the registered view of it, with metadata.
 * NULL: none, or it has ended. To be given back. */
lac_registered_t *lac_registry_borrow(lac_obj_t *x, int device);
void lac_registry_give_back(lac_registered_t *borrowed);

/* While a recording reads the metadata of a borrowed one: what is freed with it stays until then, though it
 * may be removed. Unpinning frees nothing, and may be done wherever a mutex may be locked. */
void lac_registry_pin(lac_registered_t *borrowed);
void lac_registry_unpin(lac_registered_t *pinned);

/* Where its matrix was when it was added; and that it is not what it was: no call borrows it from now on. */
uint64_t lac_registered_allocation(const lac_registered_t *entry);
void lac_registered_end(lac_registered_t *entry);

/* Whether a device is to be watched in this call: now and then it is asked for what its contents look like
 * (*asks), and until it has answered. */
bool lac_registered_watch(lac_registered_t *entry, bool *asks);

/* The answer: the first one is what later ones must be. False where it is another; then it has ended. */
bool lac_registered_compare(lac_registered_t *entry, uint64_t fingerprint);

/* Ends those that share an element with c; their number. */
int lac_registry_written(const lac_obj_t *c);

#endif
