/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Included before a kernel that is compiled for the host: stands in for csr/machine.cuh and
 * csr/tensor_map.cuh.
 */
#ifndef LACUNA_EMULATED_MACHINE_H
#define LACUNA_EMULATED_MACHINE_H
#define LACUNA_CUDA_CSR_MACHINE_CUH
#define LACUNA_CUDA_CSR_TENSOR_MAP_CUH

#include "csr/schedule.cuh"

/* csr/tensor_map.cuh */
struct CUtensorMap {
    const float *w;
    int64_t rows, cols, ld;
    int box_rows, box_cols;
};

namespace lacuna
{

inline bool make_tensor_map(CUtensorMap *map, const float *w, int64_t rows, int64_t cols, int64_t ld,
                            int box_rows, int box_cols)
{
    *map = {w, rows, cols, ld, box_rows, box_cols};
    return box_rows <= 256 && box_cols <= 256 && (uintptr_t)w % 16 == 0 && ld % 4 == 0;
}

inline void copy_tile(void *to, const CUtensorMap *map, int row, int col, barrier_t *done)
{
    const CUtensorMap m = *map;
    const int64_t count = (int64_t)m.box_rows * m.box_cols;
    float *into = at_address<float>(shared_address(to));
    EMULATED_REQUIRE(shared_address(to) + 4 * (size_t)count <= emulated_shared_bytes());
    emulated_later([=] {
        for (int64_t e = 0; e < count; e++) {
            const int64_t r = row + e / m.box_cols, c = col + e % m.box_cols;
            into[e] = r < m.rows && c < m.cols ? m.w[r * m.ld + c] : 0.0f;
        }
        done->bytes -= 4 * count;
        done->settle();
    });
}

/* csr/machine.cuh */

constexpr int kStepMine = kStepColumns / kWarp;

struct StepMachine {
    float sum[kStepRows][kStepMine];
    float w[2][kStepMine];
    unsigned at, next, what;
    uint32_t value;
};

inline void load_row(float (&w)[kStepMine], unsigned at)
{
    for (int c = 0; c < kStepMine; c++) w[c] = at_address<float>(at + 128 * (c / 4 * 4))[c % 4];
}

inline void keep_step(unsigned at, Step x)
{
    *at_address<Step>(at) = x;
}
inline void take_step(StepMachine &s)
{
    const Step x = *at_address<Step>(s.at);
    s.next = x.next, s.value = __float_as_uint(x.value);
}

inline void run_steps(StepMachine &s, unsigned chunk)
{
    while (s.what < kStepChunkOn) {
        const bool other = s.what >= kStepOther;
        float(&sum)[kStepMine] = s.sum[s.what % kStepOther];
        s.what = s.next & kStepOp;
        if (s.next & kStepFresh) load_row(s.w[!other], chunk + (s.next & kStepOffset));
        for (int c = 0; c < kStepMine; c++) sum[c] = fmaf(__uint_as_float(s.value), s.w[other][c], sum[c]);
        s.at += 8;
        take_step(s);
    }
}

} // namespace lacuna
#endif
