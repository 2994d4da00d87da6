/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of a step: what they received, integration, threshold and reset. */

/* Neurons [j0, j1) of copy i, as lacuna/lif.h says, once lif->input[..].received is there; rate = dt / tau.
 * j0 is a multiple of 64. */
LAC_KERNEL(lif_step, void, (const lac_lif_t *lif, float rate, int64_t i, int64_t j0, int64_t j1))

#ifdef LAC_KERNEL_BODIES

/* lif_step: exponential Euler of n neurons.
 *
 * Shapes    arrays [m][n] by rows, LIF_CHUNK neurons of a row at a time.
 * Bytes     12 per input and neuron, 17 per neuron.
 * Order     each operation rounds once, where lacuna/lif.h says: fmaf is written out, and no product is left
 *           that a compiler could contract with a sum. The portable set has no such instruction and calls the
 *           C library's. A device's kernel does the same steps (kernels/cuda/lif/lif_step.cu).
 * Limit     arithmetic of the polynomial while the arrays stay in a cache, memory beyond. */

enum { LIF_CHUNK = 256 };

/* Within 2 units in the last place of e^x for |x| < 87, beyond as at 87 (polynomial of the Cephes library, S.
 * Moshier). */
LAC_INLINE float lif_exp(float x)
{
    x = x > -87.0f ? x : -87.0f;
    x = x < 87.0f ? x : 87.0f;
    float n = rintf(x * 1.44269504088896341f);
    float r = fmaf(n, -0.693359375f, x);
    r = fmaf(n, 2.12194440e-4f, r);
    float p = fmaf(1.9875691500e-4f, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(p, r * r, r) + 1.0f;
    int32_t bits = ((int32_t)n + 127) * (1 << 23);
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* One input into the conductances and drives of `count` neurons. */
LAC_INLINE void lif_receive(const lac_lif_input_t *input, int64_t first, int64_t count, float *total,
                            float *drive)
{
    float *restrict g = input->g + first;
    const float *restrict received = input->received + first;
    float weight = input->weight;
    float decay = input->decay;
    float reversal = input->reversal;
    for (int64_t j = 0; j < count; j++) {
        float now = fmaf(weight, received[j], decay * g[j]);
        g[j] = fabsf(now) < 1e-30f ? 0.0f : now;
    }
    if (input->conductance)
        for (int64_t j = 0; j < count; j++) {
            total[j] += g[j];
            drive[j] = fmaf(g[j], reversal, drive[j]);
        }
    else
        for (int64_t j = 0; j < count; j++) drive[j] += g[j];
}

/* Where v goes, in place of drive. */
LAC_INLINE void lif_integrate(const float *restrict v, float rate, int64_t count, const float *restrict total,
                              float *restrict drive)
{
    for (int64_t j = 0; j < count; j++) {
        float u = drive[j] / total[j];
        drive[j] = fmaf(lif_exp(-rate * total[j]), v[j] - u, u);
    }
}

LAC_INLINE void lif_fire(const lac_lif_t *lif, int64_t first, int64_t count, const float *restrict moved)
{
    float *restrict v = lif->v + first;
    uint8_t *restrict spikes = lif->spikes + first;
    float threshold = lif->v_threshold;
    float reset = lif->v_reset;
    if (!lif->refractory) {
        for (int64_t j = 0; j < count; j++) {
            bool fires = moved[j] > threshold;
            v[j] = fires ? reset : moved[j];
            spikes[j] = fires;
        }
        return;
    }
    int32_t *restrict wait = lif->wait + first;
    int32_t refractory = lif->refractory;
    for (int64_t j = 0; j < count; j++) {
        bool waits = wait[j] > 0;
        bool fires = !waits && moved[j] > threshold;
        float stays = waits ? v[j] : moved[j];
        v[j] = fires ? reset : stays;
        wait[j] = fires ? refractory : wait[j] - waits;
        spikes[j] = fires;
    }
}

static void lif_step(const lac_lif_t *lif, float rate, int64_t i, int64_t j0, int64_t j1)
{
    for (int64_t j = j0; j < j1; j += LIF_CHUNK) {
        float total[LIF_CHUNK], drive[LIF_CHUNK];
        int64_t count = min_i64(j1 - j, LIF_CHUNK);
        int64_t first = i * lif->n + j;
        for (int64_t l = 0; l < count; l++) {
            total[l] = 1.0f;
            drive[l] = lif->current ? lif->v_rest + lif->current[j + l] : lif->v_rest;
        }
        for (int q = 0; q < lif->inputs; q++) lif_receive(&lif->input[q], first, count, total, drive);
        lif_integrate(lif->v + first, rate, count, total, drive);
        lif_fire(lif, first, count, drive);
        if (lif->spikes_twin) memcpy(lif->spikes_twin + first, lif->spikes + first, (size_t)count);
        for (int64_t l = 0; lif->bits && l < count; l += 64) {
            uint64_t word = 0;
            for (int64_t b = 0; b < min_i64(count - l, 64); b++)
                word |= (uint64_t)lif->spikes[first + l + b] << b;
            int64_t at = i * ((lif->n + 63) / 64) + (j + l) / 64;
            lif->bits[at] = word;
            if (lif->bits_twin) lif->bits_twin[at] = word;
        }
    }
}

#endif
