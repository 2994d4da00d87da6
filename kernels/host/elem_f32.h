/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Element type of S for the scans: binary32, whose value is itself. */
#undef elem_t
#undef ELEM

#define elem_t     float
#define ELEM(name) name##_f32

static inline float value_f32(float e)
{
    return e;
}

/* Entries of the set bits of 16 elements at src, the first of which has position base. */
static inline void store_entries_f32(int32_t *idx, float *val, const float *src, int32_t base, uint32_t bits)
{
    store_packed(idx, val, src, base, bits);
}
