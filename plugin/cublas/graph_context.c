/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A few contexts for recordings, lent and given back. */
#include "graph_context.h"
#include "stream_context.h"

#include "lacuna/context.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Each has a workspace for cuBLAS, 64 MB, and one for the routes. */
enum { GRAPH_CONTEXTS_MAX = 8 };

typedef struct graph_context {
    void *device, *stream;
    unsigned long long capture;
    int math;
    lac_ctx_t *ctx;
    atomic_long products; /* in graphs that are alive; 0: free to be lent again */
} graph_context_t;

static graph_context_t graph_contexts[GRAPH_CONTEXTS_MAX];
static pthread_mutex_t lending = PTHREAD_MUTEX_INITIALIZER;

/* Called when a graph and all that was made of it are gone. */
static void give_back(void *owner)
{
    atomic_fetch_sub(&((graph_context_t *)owner)->products, 1);
}

/* One that belongs to this capture, or a free one; with one more product to it. Called with the lock held. */
static graph_context_t *lend(const capture_t *capture, void *stream, int math)
{
    graph_context_t *free_one = NULL;
    for (int i = 0; i < GRAPH_CONTEXTS_MAX; i++) {
        graph_context_t *r = &graph_contexts[i];
        bool in_use = atomic_load(&r->products) > 0;
        bool same = r->device == capture->device && r->math == math;
        if (in_use && same && r->capture == capture->id && r->stream == stream) return r;
        if (!in_use && (!r->ctx || same) && (!free_one || same)) free_one = r;
    }
    if (!free_one) return NULL;
    if (!free_one->ctx) {
        if (lac_ctx_create_cuda(&free_one->ctx, -1, LAC_STREAM_NEW)) return NULL;
        lac_ctx_set(free_one->ctx, "math", math_name(math));
    }
    free_one->device = capture->device;
    free_one->math = math;
    free_one->capture = capture->id;
    free_one->stream = stream;
    return free_one;
}

int capture_product(void *stream, int math, const lac_captured_gemm_t *product, lac_pass_t *why)
{
    capture_t capture;
    lac_estimate_t estimate;
    *why = LAC_PASS_CAPTURED;
    if (!capture_of(stream, &capture) || !stream_contexts_estimate(capture.device, math, product, &estimate))
        return 0;
    int mode = capture_relaxed_begin(), done = 0;
    pthread_mutex_lock(&lending);
    graph_context_t *r = lend(&capture, stream, math);
    if (r) {
        atomic_fetch_add(&r->products, 1);
        done = lac_capture_gemm(r->ctx, stream, product, &estimate, give_back, r);
    }
    pthread_mutex_unlock(&lending);
    capture_relaxed_end(mode);
    return done;
}
