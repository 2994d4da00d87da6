/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The type of the values of one compilation of isa_kernels.c: float, or double where LAC_REAL_f64 is defined.
 */
#ifndef LACUNA_HOST_REAL_H
#define LACUNA_HOST_REAL_H

#include <stdint.h>

#if defined(LAC_REAL_f64)
typedef double real_t;
typedef uint8_t chunk_bits_t; /* one for each lane of a chunk */
#    define REAL(name)      name##_f64
#    define REAL_TYPE       LAC_HOST_F64
#    define SCALAR(x)       ((x).f64)
#    define FMA_OF(a, b, c) __builtin_fma(a, b, c)
#    if defined(__FP_FAST_FMA)
#        define REAL_FAST_FMA
#    endif
#else
typedef float real_t;
typedef uint16_t chunk_bits_t; /* one for each lane of a chunk */
#    define REAL(name)      name##_f32
#    define REAL_TYPE       LAC_HOST_F32
#    define SCALAR(x)       ((x).f32)
#    define FMA_OF(a, b, c) __builtin_fmaf(a, b, c)
#    if defined(__FP_FAST_FMAF)
#        define REAL_FAST_FMA
#    endif
#endif

/* A cache line's worth of lanes, whatever the width of a register: sums along k are the same on every
 * instruction set. */
enum { CHUNK = 64 / (int)sizeof(real_t), CHUNK_MASK = (1 << CHUNK) - 1 };

#endif
