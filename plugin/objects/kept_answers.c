/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A list of answers, pushed to without a lock. */
#include "kept_answers.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWERS_MAX = 64, PAGE = 4096 };

static int answers(const exported_symbol_t *symbol)
{
    int count = 0;
    for (const answer_t *a = atomic_load(&symbol->known); a; a = a->next) count++;
    return count;
}

/* Code made at run time belongs to no object: there the answer holds for one page, and pages may be many, so
 * that past ANSWERS_MAX an answer is not kept. A caller may be unloaded and another object take its place: it
 * inherits the answer, which stays valid because what was found is pinned. */
answer_t *answer_new(const exported_symbol_t *symbol, const object_t *object, const void *caller, bool keep,
                     answer_t *unkept, size_t size)
{
    answer_t *answer = keep && answers(symbol) < ANSWERS_MAX ? calloc(1, size) : NULL;
    if (!answer) answer = memset(unkept, 0, size);
    answer->lo = object ? object->lo : (uintptr_t)caller / PAGE * PAGE;
    answer->bytes = object ? object->hi - object->lo : PAGE;
    return answer;
}

void answer_keep(exported_symbol_t *symbol, answer_t *answer)
{
    const answer_t *first = atomic_load(&symbol->known);
    do answer->next = first;
    while (!atomic_compare_exchange_weak(&symbol->known, &first, answer));
}
