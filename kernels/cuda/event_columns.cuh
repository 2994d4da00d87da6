/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the event products for W by columns share: sums across the lanes of a warp. */
#ifndef LACUNA_EVENT_COLUMNS_CUH
#define LACUNA_EVENT_COLUMNS_CUH

#include "event_gather.cuh"

namespace lacuna
{

/* Adds x[c] over the lanes, for each c; returns the total of column lane / (kWarp / kCols), in one fixed
 * order of additions. kCols: a power of two. */
template <int kCols> __device__ inline float reduce_columns(float (&x)[kCols], int lane)
{
    int offset = kWarp / 2;
#pragma unroll
    for (int half = kCols / 2; half > 0; half /= 2, offset /= 2) {
        const bool upper = lane & offset;
#pragma unroll
        for (int c = 0; c < half; c++) {
            const float keep = upper ? x[c + half] : x[c], send = upper ? x[c] : x[c + half];
            x[c] = keep + __shfl_xor_sync(kFull, send, offset);
        }
    }
#pragma unroll
    for (; offset > 0; offset /= 2) x[0] += __shfl_xor_sync(kFull, x[0], offset);
    return x[0];
}

} // namespace lacuna
#endif
