/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Leaky integrate-and-fire neurons, as the equations read. Compiled without contraction. */
#include "ref_lif.h"

#include <math.h>
#include <string.h>

static float exponential(float x)
{
    static const float coefficient[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                        4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    if (!(x > -87.0f)) x = -87.0f;
    if (!(x < 87.0f)) x = 87.0f;
    float n = rintf(x * 1.44269504088896341f), r = fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, x));
    float p = coefficient[0];
    for (int i = 1; i < 6; i++) p = fmaf(p, r, coefficient[i]);
    float e = fmaf(p, r * r, r);
    return ldexpf(e + 1.0f, (int)n);
}

static void step(const lac_lif_t *lif, int64_t i, int64_t j)
{
    int64_t at = i * lif->n + j;
    float conductance = 1.0f, drive = lif->v_rest;
    if (lif->current) drive = drive + lif->current[j];
    for (int q = 0; q < lif->inputs; q++) {
        const lac_lif_input_t *x = &lif->input[q];
        float left = x->decay * x->g[at];
        x->g[at] = fmaf(x->weight, x->received[at], left);
        if (fabsf(x->g[at]) < 1e-30f) x->g[at] = 0.0f;
        if (x->conductance) {
            conductance = conductance + x->g[at];
            drive = fmaf(x->g[at], x->reversal, drive);
        } else {
            drive = drive + x->g[at];
        }
    }
    lif->spikes[at] = 0;
    if (lif->refractory && lif->wait[at] > 0) {
        lif->wait[at]--;
        return;
    }
    float u = drive / conductance, rate = lif->dt / lif->tau;
    float factor = exponential(-rate * conductance), away = lif->v[at] - u;
    lif->v[at] = fmaf(factor, away, u);
    if (!(lif->v[at] > lif->v_threshold)) return;
    lif->v[at] = lif->v_reset;
    lif->spikes[at] = 1;
    if (lif->refractory) lif->wait[at] = lif->refractory;
}

void ref_lif_neurons(const lac_lif_t *lif)
{
    int64_t words = (lif->n + 63) / 64;
    if (lif->bits) memset(lif->bits, 0, (size_t)(lif->m * words) * sizeof *lif->bits);
    for (int64_t i = 0; i < lif->m; i++) {
        if (lif->list) lif->count[i] = 0;
        for (int64_t j = 0; j < lif->n; j++) {
            step(lif, i, j);
            if (lif->bits) lif->bits[i * words + j / 64] |= (uint64_t)lif->spikes[i * lif->n + j] << (j % 64);
            if (lif->list && lif->spikes[i * lif->n + j])
                lif->list[i * lif->n + lif->count[i]++] = (int32_t)j;
        }
    }
}

static double element(const lac_obj_t *x, int64_t i, int64_t j)
{
    int64_t at = x->trans == LAC_TRANS ? j * x->rs + i * x->cs : i * x->rs + j * x->cs;
    return x->dt == LAC_U8 ? (double)(((const uint8_t *)x->buf)[at] != 0)
                           : (double)((const float *)x->buf)[at];
}

void ref_lif_receive(const lac_lif_t *lif, int input)
{
    const lac_lif_input_t *x = &lif->input[input];
    int64_t k = x->events.trans == LAC_TRANS ? x->events.m : x->events.n;
    for (int64_t i = 0; i < lif->m; i++)
        for (int64_t j = 0; j < lif->n; j++) {
            double sum = 0.0;
            for (int64_t l = 0; l < k; l++) {
                double event = element(&x->events, i, l);
                if (event != 0.0) sum += event * element(&x->w, l, j);
            }
            x->received[i * lif->n + j] = (float)sum;
        }
}
