/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Lists of indices of either type, one entry at a time. */
#ifndef TOOL_INDEX_LIST_H
#define TOOL_INDEX_LIST_H

#include "lacuna/meta.h"

static inline size_t index_width(lac_index_t it)
{
    return it == LAC_I64 ? sizeof(int64_t) : sizeof(int32_t);
}

static inline void index_store(void *list, lac_index_t it, int64_t i, int64_t value)
{
    if (it == LAC_I64)
        ((int64_t *)list)[i] = value;
    else
        ((int32_t *)list)[i] = (int32_t)value;
}

static inline int64_t index_load(const void *list, lac_index_t it, int64_t i)
{
    return it == LAC_I64 ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

#endif
