/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where the rows of a CSR begin, from their counts, by CUB's scan. */
#ifndef LACUNA_CUDA_CONVERT_ROW_SUMS_CUH
#define LACUNA_CUDA_CONVERT_ROW_SUMS_CUH

#include <cub/device/device_scan.cuh>

#include "common/device.cuh"

namespace lacuna
{

inline size_t row_sums_scratch(int64_t m)
{
    size_t bytes = 0;
    cub::DeviceScan::InclusiveSum(nullptr, bytes, (int64_t *)nullptr, (int64_t *)nullptr, m);
    return bytes;
}

/* Bytes of a workspace that begins with the counts of m rows. */
inline int64_t row_sums_bytes(int64_t m)
{
    return round_up(8 * m, 256) + round_up((int64_t)row_sums_scratch(m), 256);
}

/* ptr[1 .. m] := the sums of the counts that the workspace begins with; ptr[0] is 0 already. m > 0. */
inline lac_status_t sum_rows(int64_t m, void *workspace, int64_t *ptr, lac_cuda_stream_t stream)
{
    size_t bytes = row_sums_scratch(m);
    void *const scratch = (char *)workspace + round_up(8 * m, 256);
    return cub::DeviceScan::InclusiveSum(scratch, bytes, (int64_t *)workspace, ptr + 1, m,
                                         (cudaStream_t)stream) == cudaSuccess
               ? LAC_OK
               : LAC_ERR_VENDOR;
}

} // namespace lacuna
#endif
