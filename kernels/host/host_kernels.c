/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Picks the widest set of host kernels that this processor and its operating system support. */
#include "host_kernels.h"
#include "panels.h"

#include <stddef.h>
#include <string.h>

/* __builtin_cpu_supports also checks that the operating system saves the wide registers (XCR0). */
static bool has_avx512(void)
{
#if defined(LAC_HAVE_AVX512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

static bool has_avx2(void)
{
#if defined(LAC_HAVE_AVX2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

static bool has_portable(void)
{
    return true;
}

/* Widest first; the portable one is always there. */
static const struct {
    const lac_host_kernels_t *table[LAC_HOST_TYPES];
    bool (*supported)(void);
} isas[] = {
#if defined(LAC_HAVE_AVX512)
    {{&lac_host_kernels_avx512_f32, &lac_host_kernels_avx512_f64}, has_avx512},
#endif
#if defined(LAC_HAVE_AVX2)
    {{&lac_host_kernels_avx2_f32, &lac_host_kernels_avx2_f64}, has_avx2},
#endif
    {{&lac_host_kernels_portable_f32, &lac_host_kernels_portable_f64}, has_portable},
};

const lac_host_kernels_t *lac_host_kernels(lac_host_type_t type)
{
    size_t i = 0;
    while (!isas[i].supported()) i++;
    return isas[i].table[type];
}

const lac_host_kernels_t *lac_host_kernels_named(const char *isa, lac_host_type_t type)
{
    for (size_t i = 0; isa && i < sizeof isas / sizeof isas[0]; i++)
        if (strcmp(isa, isas[i].table[type]->isa) == 0)
            return isas[i].supported() ? isas[i].table[type] : NULL;
    return NULL;
}

/* How much scratch the host kernels need, and when they use it; the same for every instruction set. */

int64_t lac_event_scratch(int64_t m, size_t size)
{
    return event_scratch(m > 0 ? m : 1, size);
}

int64_t lac_csr_scratch(int64_t kk, size_t size)
{
    return kk * csr_panel(kk, size);
}

int64_t lac_pair_scratch(int64_t columns, size_t size)
{
    return columns * (int64_t)sizeof(double) * (size < sizeof(double) ? 1 : 2);
}

bool lac_csr_packs(int64_t rows, int64_t kk, int64_t entries, size_t size)
{
    return csr_packs(rows, kk, entries, size);
}

int64_t lac_dense_scratch(void)
{
    return DENSE_SCRATCH;
}
