/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The products of a time step on a CUDA device, through Lacuna's public API and nothing else.
 *
 * The weights go there once and stay. A step sends the spikes, a byte each, and fetches what they add. */
#include <stdlib.h>
#include <string.h>

#include "../coba_synapses.h"
#include "lacuna/lacuna.h"

enum { EXCITATORY, INHIBITORY, KINDS };

struct coba_synapses {
    lac_ctx_t *ctx;
    size_t count;                                         /* trials x neurons                       */
    unsigned char *fired;                                 /* [trials x neurons], on the host        */
    void *fired_there, *weights_there, *add_there[KINDS]; /* device memory                          */
    lac_obj_t spikes[KINDS], weights[KINDS], add[KINDS];  /* views of it                            */
    lac_meta_t *known[KINDS];                             /* of the weights                         */
};

static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "coba_device: %s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

static lac_obj_t view(lac_dt_t dt, int m, int n, void *memory, int ld)
{
    lac_obj_t view = lac_obj_rowmajor(dt, m, n, memory, ld);
    view.space = LAC_DEVICE;
    return view;
}

/* The promise that the weights never change. (Their CSR, scanned besides, changed neither route nor time: one
 * H200, 2026-11-21.) */
static void freeze_weights(coba_synapses_t *s, int kind)
{
    must(lac_meta_create_for(s->ctx, &s->known[kind], s->weights[kind].m, s->weights[kind].n));
    must(lac_meta_freeze(s->known[kind]));
    s->weights[kind].meta = s->known[kind];
}

coba_synapses_t *coba_synapses_open(const coba_network_t *network, int trials)
{
    const int n = network->neurons, n_e = network->excitatory;
    const size_t weight_bytes = (size_t)n * (size_t)n * sizeof(float);
    coba_synapses_t *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    if (lac_ctx_create_cuda(&s->ctx, -1, LAC_STREAM_NEW) == LAC_ERR_UNAVAILABLE) {
        fprintf(stderr, "no device: %s\n", lac_last_error());
        exit(COBA_NO_DEVICE);
    }
    must(s->ctx ? LAC_OK : LAC_ERR_VENDOR);

    s->count = (size_t)trials * (size_t)n;
    s->fired = malloc(s->count);
    if (!s->fired) {
        coba_synapses_close(s);
        return NULL;
    }
    must(lac_device_alloc(s->ctx, s->count, &s->fired_there));
    must(lac_device_alloc(s->ctx, weight_bytes, &s->weights_there));
    must(lac_device_upload(s->ctx, s->weights_there, network->weights, weight_bytes));
    for (int kind = EXCITATORY; kind < KINDS; kind++) {
        const int first = kind == EXCITATORY ? 0 : n_e, many = kind == EXCITATORY ? n_e : n - n_e;
        float *rows = (float *)s->weights_there + (size_t)first * (size_t)n;
        must(lac_device_alloc(s->ctx, s->count * sizeof(float), &s->add_there[kind]));
        s->spikes[kind] = view(LAC_U8, trials, many, (unsigned char *)s->fired_there + first, n);
        s->weights[kind] = view(LAC_F32, many, n, rows, n);
        s->add[kind] = view(LAC_F32, trials, n, s->add_there[kind], n);
        freeze_weights(s, kind);
    }
    return s;
}

void coba_synapses_pass(coba_synapses_t *s, const float *spikes, float *add_e, float *add_i)
{
    float *const add[KINDS] = {add_e, add_i};
    for (size_t i = 0; i < s->count; i++) s->fired[i] = spikes[i] != 0.0f;
    must(lac_device_upload(s->ctx, s->fired_there, s->fired, s->count));
    for (int kind = EXCITATORY; kind < KINDS; kind++)
        must(lac_gemm(s->ctx, NULL, &s->spikes[kind], &s->weights[kind], NULL, &s->add[kind]));
    for (int kind = EXCITATORY; kind < KINDS; kind++)
        must(lac_device_download(s->ctx, add[kind], s->add_there[kind], s->count * sizeof(float)));
}

static void device_name(void *out, const char *key, const char *value)
{
    if (strcmp(key, "device") == 0) fprintf(out, "on %s,", value);
}

void coba_synapses_note(coba_synapses_t *s, FILE *out)
{
    lac_decision_t decision;
    must(lac_explain(s->ctx, NULL, &s->spikes[EXCITATORY], &s->weights[EXCITATORY], NULL, &s->add[EXCITATORY],
                     NULL, &decision));
    must(lac_ctx_info(s->ctx, device_name, out));
    fprintf(out, " by route %s: %s, spikes %s\n", decision.route, decision.reason, decision.known);
}

void coba_synapses_close(coba_synapses_t *s)
{
    if (!s) return;
    for (int kind = EXCITATORY; kind < KINDS; kind++) {
        lac_meta_free(s->known[kind]);
        lac_device_free(s->ctx, s->add_there[kind]);
    }
    lac_device_free(s->ctx, s->weights_there);
    lac_device_free(s->ctx, s->fired_there);
    lac_ctx_free(s->ctx);
    free(s->fired);
    free(s);
}
