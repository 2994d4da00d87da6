/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Carries out steps: one warp, 8 rows of sums in registers, a jump from step to step.
 *
 * Why assembly: registers cannot be indexed, so each row has code of its own, and CUDA C has no jump to an
 * address in data: a switch becomes a tree of branches. Here a step is 20 instructions, 8 of them
 * multiply-adds. */
#ifndef LACUNA_CUDA_CSR_MACHINE_CUH
#define LACUNA_CUDA_CSR_MACHINE_CUH

#include "schedule.cuh"

namespace lacuna
{

constexpr int kStepMine = kStepColumns / kWarp; /* columns of a lane: 4 l .. 4 l + 3 of each 128 */

/* The state of a warp. `at`: in shared memory, of the step in turn. next, value: that step's. what: what it
 * does. */
struct StepMachine {
    float sum[kStepRows][kStepMine];
    float w[2][kStepMine]; /* two rows of W */
    unsigned at, next, what;
    uint32_t value;
};

__device__ inline void load_row(float (&w)[kStepMine], unsigned at)
{
#pragma unroll
    for (int c = 0; c < kStepMine; c += 4)
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(w[c]), "=f"(w[c + 1]), "=f"(w[c + 2]), "=f"(w[c + 3])
                     : "r"(at + 128 * c));
}

/* A step into a warp's queue, and the step in turn out of it. */
__device__ inline void keep_step(unsigned at, Step x)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(x.next), "r"(__float_as_uint(x.value))
                 : "memory");
}
__device__ inline void take_step(StepMachine &s)
{
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(s.next), "=r"(s.value) : "r"(s.at) : "memory");
}

/* One step: sums a += value * w. Meanwhile the row of W that the next step wants is fetched into o, where it
 * is another, and the next step itself; then on to where that one says. %80: at, %81: next, %82: value, %83:
 * what, %84: this lane's address in the first row of the chunk, %85: 0, but not known to be. value | %85 &
 * %82 is the value, in a register of each lane (a uniform one would be another move) and not in that of the
 * value in use (the load would wait for the multiply-adds). */
#define LAC_STEP(label, a0, a1, a2, a3, a4, a5, a6, a7, w0, w1, w2, w3, w4, w5, w6, w7, o0, o1, o2, o3, o4,  \
                 o5, o6, o7)                                                                                 \
    label ":\n"                                                                                              \
          " and.b32 %83, %81, 63;\n"                                                                         \
          " setp.lt.s32 fresh, %81, 0;\n"                                                                    \
          " and.b32 place, %81, 0xfc00;\n"                                                                   \
          " add.u32 place, place, %84;\n"                                                                    \
          " @fresh ld.shared.v4.f32 {" o0 ", " o1 ", " o2 ", " o3 "}, [place];\n"                            \
          " @fresh ld.shared.v4.f32 {" o4 ", " o5 ", " o6 ", " o7 "}, [place+512];\n"                        \
          " ld.shared.v2.b32 {%81, value}, [%80+8];\n"                                                       \
          " fma.rn.f32 " a0 ", %82, " w0 ", " a0 ";\n"                                                       \
          " fma.rn.f32 " a1 ", %82, " w1 ", " a1 ";\n"                                                       \
          " fma.rn.f32 " a2 ", %82, " w2 ", " a2 ";\n"                                                       \
          " fma.rn.f32 " a3 ", %82, " w3 ", " a3 ";\n"                                                       \
          " fma.rn.f32 " a4 ", %82, " w4 ", " a4 ";\n"                                                       \
          " fma.rn.f32 " a5 ", %82, " w5 ", " a5 ";\n"                                                       \
          " fma.rn.f32 " a6 ", %82, " w6 ", " a6 ";\n"                                                       \
          " fma.rn.f32 " a7 ", %82, " w7 ", " a7 ";\n"                                                       \
          " lop3.b32 %82, value, %85, %82, 0xf8;\n"                                                          \
          " add.u32 %80, %80, 8;\n"                                                                          \
          " brx.idx.uni %83, $lac_steps;\n"
#define LAC_STEP_ROW(r, a0, a1, a2, a3, a4, a5, a6, a7)                                                      \
    LAC_STEP("$lac_a" r, a0, a1, a2, a3, a4, a5, a6, a7, "%64", "%65", "%66", "%67", "%68", "%69", "%70",    \
             "%71", "%72", "%73", "%74", "%75", "%76", "%77", "%78", "%79")                                  \
    LAC_STEP("$lac_b" r, a0, a1, a2, a3, a4, a5, a6, a7, "%72", "%73", "%74", "%75", "%76", "%77", "%78",    \
             "%79", "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71")
#define LAC_STEP_ROWS                                                                                        \
    LAC_STEP_ROW("0", "%0", "%1", "%2", "%3", "%4", "%5", "%6", "%7")                                        \
    LAC_STEP_ROW("1", "%8", "%9", "%10", "%11", "%12", "%13", "%14", "%15")                                  \
    LAC_STEP_ROW("2", "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23")                                \
    LAC_STEP_ROW("3", "%24", "%25", "%26", "%27", "%28", "%29", "%30", "%31")                                \
    LAC_STEP_ROW("4", "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39")                                \
    LAC_STEP_ROW("5", "%40", "%41", "%42", "%43", "%44", "%45", "%46", "%47")                                \
    LAC_STEP_ROW("6", "%48", "%49", "%50", "%51", "%52", "%53", "%54", "%55")                                \
    LAC_STEP_ROW("7", "%56", "%57", "%58", "%59", "%60", "%61", "%62", "%63")
#define LAC_STEP_HELD(x)                                                                                     \
    "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7])

/* 0, of which the compiler does not know that all lanes have the same. */
__device__ __forceinline__ unsigned lane_zero()
{
    unsigned below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    return below >> 31;
}

/* Runs until a step adds nothing: the next chunk or batch, or the end. */
__device__ __forceinline__ void run_steps(StepMachine &s, unsigned chunk)
{
    static_assert(kStepRows == 8 && kStepMine == 8 && kStepOp == 63 && kStepOffset == 0xfc00,
                  "as the code has it");
    asm volatile(
        "{\n .reg .pred fresh;\n .reg .b32 place, value;\n"
        "$lac_steps: .branchtargets $lac_a0, $lac_a1, $lac_a2, $lac_a3, $lac_a4, $lac_a5, $lac_a6, $lac_a7, "
        "$lac_b0, $lac_b1, $lac_b2, $lac_b3, $lac_b4, $lac_b5, $lac_b6, $lac_b7, "
        "$lac_out, $lac_out, $lac_out;\n brx.idx.uni %83, $lac_steps;\n" LAC_STEP_ROWS "$lac_out:\n}\n"
        : LAC_STEP_HELD(s.sum[0]), LAC_STEP_HELD(s.sum[1]), LAC_STEP_HELD(s.sum[2]), LAC_STEP_HELD(s.sum[3]),
          LAC_STEP_HELD(s.sum[4]), LAC_STEP_HELD(s.sum[5]), LAC_STEP_HELD(s.sum[6]), LAC_STEP_HELD(s.sum[7]),
          LAC_STEP_HELD(s.w[0]), LAC_STEP_HELD(s.w[1]), "+r"(s.at), "+r"(s.next), "+r"(s.value), "+r"(s.what)
        : "r"(chunk), "r"(lane_zero())
        : "memory");
}

#undef LAC_STEP
#undef LAC_STEP_ROW
#undef LAC_STEP_ROWS
#undef LAC_STEP_HELD

} // namespace lacuna
#endif
