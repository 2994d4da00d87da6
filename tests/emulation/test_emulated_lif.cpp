/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of a step on the emulator: the bits of the plain loops, and nothing written beyond them. */
#include "cuda_support.h"
#include "emulator.h"

extern "C" {
#include "ref_lif.h"
}

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace
{

int checks, failures;

/* Of exactly so many elements: a sanitizer sees what lies beyond. */
template <typename T> std::vector<T> filled(int64_t count, T value = T())
{
    return std::vector<T>((size_t)count, value);
}

struct Network {
    int64_t m, n;
    std::vector<float> v, current, g[LAC_LIF_INPUTS_MAX], received[LAC_LIF_INPUTS_MAX];
    std::vector<int32_t> wait;
    std::vector<uint8_t> spikes, spikes_twin;
    std::vector<uint64_t> bits, bits_twin, state;
    std::vector<int32_t> list, count;
    lac_lif_input_t input[LAC_LIF_INPUTS_MAX];
    lac_lif_t lif;
};

void make(Network &x, int64_t m, int64_t n, int inputs, unsigned way, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> potential(-70.0f, -45.0f), conductance(0.0f, 4.0f),
        any(-1.0f, 1.0f);
    x.m = m, x.n = n;
    x.v = filled<float>(m * n), x.current = filled<float>(n);
    x.wait = filled<int32_t>(m * n), x.spikes = filled<uint8_t>(m * n, 7);
    x.bits = filled<uint64_t>(m * ((n + 63) / 64), ~uint64_t(0));
    if (seed % 2) x.spikes_twin = x.spikes, x.bits_twin = x.bits;
    for (float &e : x.v) e = potential(random);
    for (float &e : x.current) e = 9.0f * any(random);
    for (int32_t &e : x.wait) e = (int32_t)(random() % 4) - 1;
    x.lif = lac_lif_t{};
    x.lif.size = sizeof x.lif, x.lif.m = m, x.lif.n = n;
    x.lif.dt = 0.1f, x.lif.tau = way & 1 ? 20.0f : 0.3f;
    x.lif.v_rest = -60.0f, x.lif.v_threshold = -50.0f, x.lif.v_reset = -61.0f;
    x.lif.refractory = way & 2 ? 3 : 0;
    x.lif.current = way & 4 ? x.current.data() : nullptr;
    x.lif.v = x.v.data(), x.lif.wait = x.wait.data(), x.lif.spikes = x.spikes.data();
    x.lif.bits = way & 8 ? x.bits.data() : nullptr;
    x.list = filled<int32_t>(way & 16 ? m * n : 0, -1), x.count = filled<int32_t>(way & 16 ? m : 0, -1);
    x.state = filled<uint64_t>(way & 16 ? LAC_CUDA_LIF_STATE / 8 : 0);
    x.lif.list = way & 16 ? x.list.data() : nullptr, x.lif.count = x.count.data();
    x.lif.inputs = inputs, x.lif.input = x.input;
    for (int q = 0; q < inputs; q++) {
        x.g[q] = filled<float>(m * n), x.received[q] = filled<float>(m * n);
        for (float &e : x.g[q]) e = random() % 9 ? conductance(random) : 1e-31f;
        for (float &e : x.received[q]) e = random() % 5 ? 0.0f : conductance(random);
        x.input[q] = lac_lif_input_t{};
        x.input[q].weight = any(random), x.input[q].decay = std::fabs(any(random));
        x.input[q].conductance = (q ^ way) & 1, x.input[q].reversal = 80.0f * any(random);
        x.input[q].g = x.g[q].data(), x.input[q].received = x.received[q].data();
    }
}

void step(Network &x)
{
    lac_cuda_lif_t g{};
    g.m = x.m, g.n = x.n, g.rate = x.lif.dt / x.lif.tau;
    g.v_rest = x.lif.v_rest, g.v_threshold = x.lif.v_threshold, g.v_reset = x.lif.v_reset;
    g.refractory = x.lif.refractory, g.inputs = x.lif.inputs, g.current = x.lif.current;
    g.v = x.lif.v, g.wait = x.lif.wait, g.spikes = x.lif.spikes, g.bits = x.lif.bits;
    g.spikes_twin = x.spikes_twin.empty() ? nullptr : x.spikes_twin.data();
    g.bits_twin = x.bits_twin.empty() ? nullptr : x.bits_twin.data();
    g.list = x.lif.list, g.count = x.lif.count, g.state = x.state.data();
    for (int q = 0; q < x.lif.inputs; q++) {
        const lac_lif_input_t &i = x.input[q];
        g.input[q] = {i.g, i.received, i.weight, i.decay, i.reversal, i.conductance};
    }
    if (lac_cuda_lif_step(&g, nullptr) != LAC_OK) failures++, printf("FAIL the launch\n");
}

template <typename T>
void same(const std::vector<T> &got, const std::vector<T> &want, const char *what, int seed)
{
    checks++;
    if (got.empty() || !memcmp(got.data(), want.data(), got.size() * sizeof(T))) return;
    printf("FAIL %s, seed %d\n", what, seed);
    failures++;
}

/* The lists of three steps, one after the other: those of the plain loops, and nothing behind them. */
void same_lists(const Network &got, const Network &want, int seed)
{
    if (!got.lif.list) return;
    same(got.count, want.count, "count", seed);
    for (int64_t i = 0; i < got.m; i++)
        for (int64_t e = 0; e < got.count[(size_t)i]; e++)
            if (got.list[(size_t)(i * got.n + e)] != want.list[(size_t)(i * got.n + e)]) {
                printf("FAIL list, seed %d: [%ld][%ld]\n", seed, (long)i, (long)e);
                failures++;
                return;
            }
}

} // namespace

int main()
{
    static const int64_t shapes[][2] = {{1, 1},   {1, 31},   {1, 32},    {2, 33},    {3, 64},   {1, 65},
                                        {2, 255}, {1, 256},  {1, 257},   {40, 100},  {2, 1000}, {0, 5},
                                        {5, 0},   {1, 3000}, {513, 260}, {513, 1030}};
    long fired = 0;
    int seed = 0;
    for (const auto &shape : shapes)
        for (unsigned way = 0; way < 32; way++, seed++) {
            if (shape[0] > 500 && (way < 16 || way % (shape[1] > 1000 ? 16 : 5))) continue;
            Network got, want;
            int inputs = seed % (LAC_LIF_INPUTS_MAX + 1);
            make(got, shape[0], shape[1], inputs, way, (unsigned)seed);
            make(want, shape[0], shape[1], inputs, way, (unsigned)seed);
            for (int t = 0; t < 3; t++) {
                step(got);
                ref_lif_neurons(&want.lif);
                same(got.v, want.v, "v", seed), same(got.wait, want.wait, "wait", seed);
                same(got.spikes, want.spikes, "spikes", seed), same(got.bits, want.bits, "bits", seed);
                if (seed % 2) same(got.spikes_twin, got.spikes, "spikes_twin", seed);
                if (seed % 2) same(got.bits_twin, got.bits, "bits_twin", seed);
                same_lists(got, want, seed);
                for (int q = 0; q < inputs; q++) same(got.g[q], want.g[q], "g", seed);
                for (uint8_t e : got.spikes) fired += e;
            }
        }
    printf("%d checks, %d failures, %ld spikes\n", checks, failures, fired);
    return failures || checks < 1000 || fired < 100;
}
