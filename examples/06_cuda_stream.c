/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * On a CUDA device: operands in device memory, work queued on a stream, and a graph that is replayed.
 *
 * It is built without any header of CUDA. A program that has the CUDA runtime hands its own cudaStream_t to
 * lac_ctx_create_cuda and its own device pointers to the views, and needs nothing else of this. */
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 16, INPUTS = 2048, OUTPUTS = 1024, REPLAYS = 50, NO_DEVICE = 77 };

static float spikes[ROWS * INPUTS], weight[INPUTS * OUTPUTS], out[ROWS * OUTPUTS];

static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "%s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

typedef struct product {
    lac_ctx_t *ctx;
    lac_obj_t spikes, weight, out;
} product_t;

/* What is recorded: anything that queues calls on the context. */
static lac_status_t multiply(void *arg)
{
    product_t *p = arg;
    return lac_gemm(p->ctx, NULL, &p->spikes, &p->weight, NULL, &p->out);
}

/* A view by rows of new device memory that holds a copy of `from`. */
static lac_obj_t on_device(lac_ctx_t *ctx, lac_dim_t m, lac_dim_t n, const float *from)
{
    void *memory;
    size_t bytes = (size_t)(m * n) * sizeof *from;
    must(lac_device_alloc(ctx, bytes, &memory));
    must(lac_device_upload(ctx, memory, from, bytes));
    lac_obj_t view = lac_obj_rowmajor(LAC_F32, m, n, memory, n);
    view.space = LAC_DEVICE;
    return view;
}

static void expect_product(const product_t *p)
{
    must(lac_device_download(p->ctx, out, p->out.buf, sizeof out)); /* waits */
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < OUTPUTS; j++) {
            float sum = 0.0f;
            for (int k = 0; k < INPUTS; k++) sum += spikes[i * INPUTS + k] * weight[k * OUTPUTS + j];
            if (out[i * OUTPUTS + j] == sum) continue;
            printf("wrong at %d, %d\n", i, j);
            exit(EXIT_FAILURE);
        }
}

int main(void)
{
    product_t p;
    lac_graph_t *recording;
    double us;
    for (int i = 0; i < ROWS * INPUTS; i += 311) spikes[i] = 1.0f;
    for (int i = 0; i < INPUTS * OUTPUTS; i++) weight[i] = (float)(i % 9 - 4);

    /* Device 0, and a stream of the context's own. No driver, no device or no CUDA part is a status. */
    if (lac_ctx_create_cuda(&p.ctx, 0, LAC_STREAM_NEW) == LAC_ERR_UNAVAILABLE) {
        printf("no device: %s\n", lac_last_error());
        return NO_DEVICE; /* what test drivers take for "skipped" */
    }
    must(p.ctx ? LAC_OK : LAC_ERR_VENDOR);
    p.spikes = on_device(p.ctx, ROWS, INPUTS, spikes);
    p.weight = on_device(p.ctx, INPUTS, OUTPUTS, weight);
    p.out = on_device(p.ctx, ROWS, OUTPUTS, out);

    /* Calls return when they are queued. The first ones grow the workspace and learn how dense the spikes
     * are; from then on a call neither allocates nor waits. */
    for (int i = 0; i < 3; i++) must(multiply(&p));
    must(lac_device_wait(p.ctx));
    expect_product(&p);

    /* So it can be captured. The replays read the spikes of the day from the same device memory. */
    must(lac_graph_capture(p.ctx, multiply, &p, 1, &recording));
    for (int i = 0; i < ROWS * INPUTS; i += 173) spikes[i] = 2.0f;
    must(lac_device_upload(p.ctx, p.spikes.buf, spikes, sizeof spikes));
    must(lac_graph_launch(recording, REPLAYS, &us));
    expect_product(&p);
    printf("%d replays, %.1f us each\n", REPLAYS, us);

    lac_graph_free(recording); /* before its context */
    must(lac_device_free(p.ctx, p.spikes.buf));
    must(lac_device_free(p.ctx, p.weight.buf));
    must(lac_device_free(p.ctx, p.out.buf));
    lac_ctx_free(p.ctx);
    return EXIT_SUCCESS;
}
