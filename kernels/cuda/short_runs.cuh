/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How many terms one accumulator adds one after the other before it is added to a total.
 *
 * The rounding error of a straight sum of n terms grows with n where they have one sign and with its square
 * root where they cancel. A vendor's GEMM divides k among warps and blocks, and adds up the parts: its sums
 * of a few hundred nonzeros are three times as accurate as one accumulator's. Two levels of sums, short runs
 * and the total of the runs, are as accurate as that. */
#ifndef LACUNA_SHORT_RUNS_CUH
#define LACUNA_SHORT_RUNS_CUH

#include "device_common.cuh"

namespace lacuna
{

constexpr int kShortestRun = 16; /* of 20 .. 100 terms: 1.4 times the error of eight parts; 32: 1.9 times */
constexpr int kLongestRun = 512;
constexpr int kRunsOfSum = 48; /* at most, of which a total is made, between these two bounds */

/* Length of the runs of a sum of about so many terms: a power of two. */
__host__ __device__ constexpr int run_length(int64_t terms)
{
    int length = kShortestRun;
    while (length < kLongestRun && (int64_t)length * kRunsOfSum < terms) length *= 2;
    return length;
}

} // namespace lacuna
#endif
