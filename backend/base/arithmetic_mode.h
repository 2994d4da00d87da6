/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How a thread rounds, and whether subnormal numbers count as zero: each thread has its own setting. */
#ifndef LACUNA_BASE_ARITHMETIC_MODE_H
#define LACUNA_BASE_ARITHMETIC_MODE_H

#include <stdint.h>

/* This thread's mode: what its results follow from. Traps and the flags of past exceptions are left out. */
static inline uint64_t lac_arithmetic_mode(void)
{
#if defined(__SSE__)
    return __builtin_ia32_stmxcsr() & 0xE040u; /* FTZ, rounding; DAZ */
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr & ~UINT64_C(0x9F00);
#else
    return 0;
#endif
}

/* Gives this thread that mode. Where it has another, its traps are switched off: one of a thread of the
 * library's would end the program. */
static inline void lac_enter_arithmetic_mode(uint64_t mode)
{
    if (mode == lac_arithmetic_mode()) return;
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr((unsigned)mode | 0x1F80u);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#endif
}

#endif
