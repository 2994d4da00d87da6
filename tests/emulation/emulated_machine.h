/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Included before a kernel that is compiled for the host: stands in for csr/machine.cuh and,
 * by emulated_tensor_map.h, for common/tensor_map.cuh. */
#ifndef LACUNA_EMULATED_MACHINE_H
#define LACUNA_EMULATED_MACHINE_H
#define LACUNA_CUDA_CSR_MACHINE_CUH

#include "csr/schedule.cuh"
#include "emulated_tensor_map.h"

namespace lacuna
{

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
