/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Lacuna's contexts for streams and for captures: short lists; finding one in that of the streams takes
 * no lock. */
#include "context.h"
#include "resolve.h"
#include "shapes.h"
#include "lacuna/context.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { STREAM_CONTEXTS_MAX = 64, STREAM_PER_THREAD = 2, CAPTURE_RELAXED = 2 };

static stream_context_t stream_contexts[STREAM_CONTEXTS_MAX];
static atomic_int context_count;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static int (*current_context)(void **context);
static int (*context_number)(void *context, unsigned long long *number);
static int (*is_capturing)(void *stream, int *status);
static int (*capture_info)(void *stream, int *status, unsigned long long *id, void **graph,
                           const void **dependencies, size_t *count);
static int (*exchange_mode)(int *mode);

/* A program that has a cuBLAS handle has loaded the driver. */
static void look(void)
{
    *(void **)&current_context = driver_symbol("cuCtxGetCurrent");
    *(void **)&context_number = driver_symbol("cuCtxGetId");
    *(void **)&is_capturing = driver_symbol("cuStreamIsCapturing");
    *(void **)&capture_info = driver_symbol("cuStreamGetCaptureInfo_v2");
    *(void **)&exchange_mode = driver_symbol("cuThreadExchangeStreamCaptureMode");
}

/* No two contexts of a process have the same number, though a device that is reset gets a context at the
 * address of the one before. 0 where the driver (before 12.0) has none. */
static unsigned long long number_of(void *device)
{
    unsigned long long number = 0;
    return context_number && !context_number(device, &number) ? number : 0;
}

static stream_context_t *find(void *device, void *stream, int math)
{
    int count = atomic_load_explicit(&context_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (stream_contexts[i].stream == stream && stream_contexts[i].device == device &&
            stream_contexts[i].math == math)
            return &stream_contexts[i];
    return NULL;
}

/* Whether what the slot holds is gone: its device was reset since. */
static bool is_stale(const stream_context_t *sc)
{
    return atomic_load_explicit(&sc->born, memory_order_acquire) != number_of(sc->device);
}

/* The legacy default stream cannot be captured, and asking while another one is would be an error. */
static bool captured(void *stream)
{
    int status = 0;
    return stream && (!is_capturing || is_capturing(stream, &status) || status);
}

/* The value of option "math" for a math mode of cuBLAS. */
static const char *math_name(int math)
{
    if (math == CUBLAS_MATH_TF32) return "tf32";
    return math == CUBLAS_MATH_PEDANTIC ? "pedantic" : "fp32";
}

/* A capture that is under way. */
typedef struct capture {
    void *device;
    unsigned long long id;
} capture_t;

/* False where the stream is not being captured. */
static bool capture_of(void *stream, capture_t *capture)
{
    int status = 0;
    enum { CAPTURE_ACTIVE = 1 };
    return stream && capture_info && !capture_info(stream, &status, &capture->id, NULL, NULL, NULL) &&
           status == CAPTURE_ACTIVE && !current_context(&capture->device);
}

/* What the contexts of the device know of a product that is to be recorded. */
typedef struct prospect {
    lac_estimate_t estimate;
    bool known;       /* the estimate is there: a sparse route served such a product                  */
    bool any_density; /* one path is predicted to be faster whatever the operands hold */
} prospect_t;

static prospect_t prospect_of(void *device, int math, const lac_gemm_args_t *g)
{
    prospect_t p = {.any_density = true};
    int count = atomic_load_explicit(&context_count, memory_order_acquire);
    for (int i = 0; !p.known && i < count; i++) {
        stream_context_t *sc = &stream_contexts[i];
        if (sc->device != device || sc->math != math || !sc->ctx || is_stale(sc)) continue;
        if (pthread_mutex_trylock(&sc->lock))
            continue; /* in use: it may well be this thread's other stream */
        p.known = lac_gemm_estimate(sc->ctx, g, &p.estimate);
        if (p.any_density) p.any_density = lac_records_any_density(sc->ctx, g);
        pthread_mutex_unlock(&sc->lock);
    }
    return p;
}

/* A new context in place of that of before a reset, which ends without a call for what went with the device.
 */
static void fill(stream_context_t *sc)
{
    lac_ctx_t *ctx = NULL;
    unsigned long long number = number_of(sc->device);
    lac_ctx_free(sc->ctx);
    if (!lac_ctx_create_cuda(&ctx, -1, sc->stream) && sc->math != CUBLAS_MATH_DEFAULT)
        lac_ctx_set(ctx, "math", math_name(sc->math));
    sc->ctx = ctx;
    atomic_store_explicit(&sc->born, number, memory_order_release);
}

/* A slot whose context could not be made is kept too: it will not be tried again. */
static stream_context_t *make(void *device, void *stream, int math)
{
    pthread_mutex_lock(&making);
    stream_context_t *sc = find(device, stream, math);
    if (sc && is_stale(sc)) {
        pthread_mutex_lock(&sc->lock);
        fill(sc);
        pthread_mutex_unlock(&sc->lock);
    }
    int count = atomic_load(&context_count);
    if (!sc && count < STREAM_CONTEXTS_MAX) {
        sc = &stream_contexts[count];
        *sc = (stream_context_t){.device = device, .stream = stream, .math = math};
        pthread_mutex_init(&sc->lock, NULL);
        fill(sc);
        atomic_store_explicit(&context_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&making);
    return sc;
}

/* Another thread may be recording in the mode in which nobody may allocate, unless he says that it is no
 * business of that recording. */
static int set_mode(int mode)
{
    exchange_mode(&mode);
    return mode;
}

static stream_context_t *find_or_make(void *stream, int math, lac_pass_t *why)
{
    void *device = NULL;
    *why = LAC_PASS_CONTEXT;
    if (!current_context || !exchange_mode) return NULL;
    *why = LAC_PASS_STREAM;
    if ((uintptr_t)stream == STREAM_PER_THREAD) return NULL;
    *why = LAC_PASS_CAPTURED;
    if (captured(stream)) return NULL;
    *why = LAC_PASS_CONTEXT;
    if (current_context(&device) || !device) return NULL;
    stream_context_t *sc = find(device, stream, math);
    if (sc && !is_stale(sc)) return sc->ctx ? sc : NULL;
    int mode = set_mode(CAPTURE_RELAXED);
    sc = make(device, stream, math);
    set_mode(mode);
    if (!sc) *why = LAC_PASS_STREAM;
    return sc && sc->ctx ? sc : NULL;
}

/* From here to capture_relaxed_end, what this thread does is allowed although others capture. */
static int capture_relaxed_begin(void)
{
    return set_mode(CAPTURE_RELAXED);
}

static void capture_relaxed_end(int mode)
{
    set_mode(mode);
}

stream_context_t *stream_context_enter(void *stream, int math, lac_pass_t *why)
{
    pthread_once(&looked, look);
    stream_context_t *sc = find_or_make(stream, math, why);
    if (!sc) return NULL;
    pthread_mutex_lock(&sc->lock);
    sc->capture_mode = set_mode(CAPTURE_RELAXED);
    return sc;
}

void stream_context_leave(stream_context_t *sc)
{
    int mode = sc->capture_mode;
    pthread_mutex_unlock(&sc->lock);
    set_mode(mode);
}

void stream_context_pause(stream_context_t *sc)
{
    set_mode(sc->capture_mode);
}

void stream_context_served(stream_context_t *sc)
{
    sc->capture_mode = set_mode(CAPTURE_RELAXED);
    lac_interpose_timing_end(sc->ctx);
    stream_context_leave(sc);
}

/* A few contexts for recordings, lent and given back. */

/* Each has a workspace for cuBLAS, 64 MB, and one for the routes. */
enum { GRAPH_CONTEXTS_MAX = 8 };

typedef struct graph_context {
    void *device, *stream;
    unsigned long long capture, born; /* numbers of the capture, and of the driver's context */
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
        bool same = r->device == capture->device && r->math == math && r->born == number_of(capture->device);
        if (in_use && same && r->capture == capture->id && r->stream == stream) return r;
        bool gone = r->ctx && r->born != number_of(r->device);
        if (!in_use && (!r->ctx || same || gone) && (!free_one || same)) free_one = r;
    }
    if (!free_one) return NULL;
    if (!free_one->ctx || free_one->born != number_of(free_one->device)) {
        lac_ctx_free(free_one->ctx);
        free_one->ctx = NULL;
        if (lac_ctx_create_cuda(&free_one->ctx, -1, LAC_STREAM_NEW)) return NULL;
        lac_ctx_set(free_one->ctx, "math", math_name(math));
    }
    free_one->device = capture->device;
    free_one->born = number_of(capture->device);
    free_one->math = math;
    free_one->capture = capture->id;
    free_one->stream = stream;
    return free_one;
}

int capture_product(void *stream, int math, const lac_gemm_args_t *g, lac_pass_t *why)
{
    capture_t capture;
    *why = LAC_PASS_CAPTURED;
    if (!capture_of(stream, &capture)) return 0;
    prospect_t prospect = prospect_of(capture.device, math, g);
    if (!prospect.known && !prospect.any_density) return 0;
    int mode = capture_relaxed_begin(), done = 0;
    pthread_mutex_lock(&lending);
    graph_context_t *r = lend(&capture, stream, math);
    if (r) {
        atomic_fetch_add(&r->products, 1);
        done = lac_capture_gemm(r->ctx, stream, g, prospect.known ? &prospect.estimate : NULL, give_back, r);
    }
    pthread_mutex_unlock(&lending);
    capture_relaxed_end(mode);
    return done;
}
