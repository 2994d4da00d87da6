/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lif_step: the bits of the plain loops on every instruction set, however the neurons are cut. */
#include "kernel_case.h"
#include "ref_lif.h"

#include <math.h>
#include <string.h>

enum { COUNT = 1500, INPUTS = 3 };

typedef struct neurons {
    float v[COUNT], current[COUNT], g[INPUTS][COUNT], received[INPUTS][COUNT];
    int32_t wait[COUNT];
    uint8_t spikes[COUNT];
    uint64_t bits[COUNT];
    lac_lif_input_t input[INPUTS];
    lac_lif_t lif;
} neurons_t;

static float number(uint64_t *random, float low, float high)
{
    return low + (high - low) * (float)(next_random(random) >> 40) / 16777216.0f;
}

/* Numbers of any size now and then, NaN and Inf among them where `wild`. */
static float odd(uint64_t *random, float usual, int wild)
{
    static const float values[] = {0.0f, -0.0f, 1e-31f, 1e30f, -1e30f, 1e-42f, -5.0f, INFINITY, NAN};
    uint64_t choice = next_random(random) % 64;
    return choice < (wild ? 9u : 7u) ? values[choice] : usual;
}

static void make(neurons_t *x, int64_t m, int64_t n, int way, uint64_t seed)
{
    uint64_t random = seed;
    memset(x, 0, sizeof *x);
    x->lif = (lac_lif_t){.size = sizeof x->lif, .m = m, .n = n, .dt = 0.1f, .tau = way & 1 ? 20.0f : 0.01f};
    x->lif.v_rest = -60.0f, x->lif.v_threshold = -50.0f, x->lif.v_reset = -61.0f;
    x->lif.refractory = way & 2 ? 4 : 0;
    x->lif.current = way & 4 ? x->current : NULL;
    x->lif.v = x->v, x->lif.wait = x->wait, x->lif.spikes = x->spikes;
    x->lif.bits = way & 8 ? x->bits : NULL;
    x->lif.inputs = way % (INPUTS + 1), x->lif.input = x->input;
    for (int64_t i = 0; i < m * n; i++) {
        x->v[i] = odd(&random, number(&random, -70.0f, -45.0f), way & 16);
        x->wait[i] = (int32_t)(next_random(&random) % 5) - 1;
        for (int q = 0; q < INPUTS; q++) {
            x->g[q][i] = odd(&random, number(&random, 0.0f, 4.0f), way & 16);
            x->received[q][i] = odd(&random, number(&random, 0.0f, 2.0f), way & 16);
        }
    }
    for (int64_t j = 0; j < n; j++) x->current[j] = number(&random, -5.0f, 20.0f);
    for (int q = 0; q < INPUTS; q++) {
        x->input[q] =
            (lac_lif_input_t){.weight = number(&random, -1.0f, 1.0f), .decay = number(&random, 0.0f, 1.0f)};
        x->input[q].conductance = q != 1;
        x->input[q].reversal = number(&random, -90.0f, 10.0f);
        x->input[q].g = x->g[q], x->input[q].received = x->received[q];
    }
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x == x ? bits : UINT32_C(0x7fc00000); /* a NaN's sign and payload are not promised */
}

static void compare(const char *isa, const float *got, const float *want, int64_t count, const char *what)
{
    for (int64_t i = 0; i < count; i++)
        if (bits_of(got[i]) != bits_of(want[i]))
            fail_msg("%s: %s[%ld] is %.9g, not %.9g", isa, what, (long)i, (double)got[i], (double)want[i]);
}

static void test_bits(void **state)
{
    static neurons_t got, want;
    static const int64_t shapes[][2] = {{1, 1}, {1, 15}, {2, 64}, {1, 257}, {3, 300}, {1, 1500}};
    (void)state;
    for (int i = 0; kernel_isa(i); i++)
        for (int shape = 0; shape < 6; shape++)
            for (int way = 0; way < 32; way++) {
                const lac_host_kernels_t *k = kernel_isa(i);
                int64_t m = shapes[shape][0], n = shapes[shape][1], cut = n / 128 * 64;
                make(&got, m, n, way, 40 * (uint64_t)shape + (uint64_t)way);
                make(&want, m, n, way, 40 * (uint64_t)shape + (uint64_t)way);
                ref_lif_neurons(&want.lif);
                for (int64_t r = 0; r < m; r++) {
                    k->lif_step(&got.lif, got.lif.dt / got.lif.tau, r, cut, n);
                    k->lif_step(&got.lif, got.lif.dt / got.lif.tau, r, 0, cut);
                }
                compare(k->isa, got.v, want.v, m * n, "v");
                for (int q = 0; q < got.lif.inputs; q++) compare(k->isa, got.g[q], want.g[q], m * n, "g");
                assert_memory_equal(got.wait, want.wait, sizeof got.wait);
                assert_memory_equal(got.spikes, want.spikes, sizeof got.spikes);
                assert_memory_equal(got.bits, want.bits, sizeof got.bits);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
