/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Aligned memory, and a buffer that grows and is kept. */
#ifndef LACUNA_BASE_MEMORY_H
#define LACUNA_BASE_MEMORY_H

#include <stddef.h>

/* A cache line, and the widest vector. */
#define LAC_ALIGN 64

/* Uninitialised memory aligned to LAC_ALIGN, readable LAC_ALIGN bytes past its end; NULL when there is none.
 */
void *lac_alloc(size_t bytes);
void lac_free(void *memory);

/* Scratch memory that only grows, so that a steady state allocates nothing. Start from all zero. */
typedef struct lac_buffer {
    void *memory;
    size_t bytes;
} lac_buffer_t;

/* At least `bytes` of memory whose old contents are lost when it grows; NULL when out of memory (the buffer
 * then still holds what it had). */
void *lac_buffer_reserve(lac_buffer_t *buffer, size_t bytes);
void lac_buffer_free(lac_buffer_t *buffer);

#endif
