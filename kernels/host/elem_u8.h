/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Element type of S for the scans: binary events in bytes, whose value is 1. */
#undef elem_t
#undef ELEM

#define elem_t     uint8_t
#define ELEM(name) name##_u8

static inline float value_u8(uint8_t e)
{
    (void)e;
    return 1.0F;
}

/* Entries of the set bits of 16 elements, the first of which has position base. */
static inline void store_entries_u8(int32_t *idx, float *val, const uint8_t *src, int32_t base, uint32_t bits)
{
    (void)src;
    store_packed(idx, NULL, NULL, base, bits);
    for (int n = __builtin_popcount(bits); val && n > 0; n--) val[n - 1] = 1.0F;
}
