/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A short list that only grows; finding a place in it takes no lock. */
#include "cublas_places.h"
#include "cublas_resolve.h"
#include "cublas_shapes.h"

#include "lacuna/context.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { PLACES_MAX = 64, STREAM_PER_THREAD = 2, CAPTURE_RELAXED = 2 };

static place_t places[PLACES_MAX];
static atomic_int place_count;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static int (*current_context)(void **context);
static int (*is_capturing)(void *stream, int *status);
static int (*capture_info)(void *stream, int *status, unsigned long long *id, void **graph,
                           const void **dependencies, size_t *count);
static int (*exchange_mode)(int *mode);

/* A program that has a cuBLAS handle has loaded the driver. */
static void look(void)
{
    *(void **)&current_context = driver_symbol("cuCtxGetCurrent");
    *(void **)&is_capturing = driver_symbol("cuStreamIsCapturing");
    *(void **)&capture_info = driver_symbol("cuStreamGetCaptureInfo_v2");
    *(void **)&exchange_mode = driver_symbol("cuThreadExchangeStreamCaptureMode");
}

static place_t *find(void *device, void *stream, int math)
{
    int count = atomic_load_explicit(&place_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (places[i].stream == stream && places[i].device == device && places[i].math == math)
            return &places[i];
    return NULL;
}

/* The legacy default stream cannot be captured, and asking while another one is would be an error. */
static bool captured(void *stream)
{
    int status = 0;
    return stream && (!is_capturing || is_capturing(stream, &status) || status);
}

const char *math_name(int math)
{
    return math == CUBLAS_MATH_TF32 ? "tf32" : math == CUBLAS_MATH_PEDANTIC ? "pedantic" : "fp32";
}

bool capture_of(void *stream, capture_t *capture)
{
    int status = 0;
    enum { CAPTURE_ACTIVE = 1 };
    return stream && capture_info && !capture_info(stream, &status, &capture->id, NULL, NULL, NULL) &&
           status == CAPTURE_ACTIVE && !current_context(&capture->device);
}

bool places_estimate(void *device, int math, const lac_captured_gemm_t *product, lac_estimate_t *estimate)
{
    int count = atomic_load_explicit(&place_count, memory_order_acquire);
    bool found = false;
    for (int i = 0; !found && i < count; i++) {
        place_t *place = &places[i];
        if (place->device != device || place->math != math || !place->ctx) continue;
        if (pthread_mutex_trylock(&place->lock))
            continue; /* in use: it may well be this thread's other stream */
        found = lac_gemm_estimate(place->ctx, product, estimate);
        pthread_mutex_unlock(&place->lock);
    }
    return found;
}

/* A place whose context could not be made is kept too: it will not be tried again. */
static place_t *make(void *device, void *stream, int math)
{
    pthread_mutex_lock(&making);
    place_t *place = find(device, stream, math);
    int count = atomic_load(&place_count);
    if (!place && count < PLACES_MAX) {
        place = &places[count];
        *place = (place_t){.device = device, .stream = stream, .math = math};
        pthread_mutex_init(&place->lock, NULL);
        if (!lac_ctx_create_cuda(&place->ctx, -1, stream) && math != CUBLAS_MATH_DEFAULT)
            lac_ctx_set(place->ctx, "math", math_name(math));
        atomic_store_explicit(&place_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&making);
    return place;
}

/* Another thread may be recording in the mode in which nobody may allocate, unless he says that it is no
 * business of that recording. */
static int set_mode(int mode)
{
    exchange_mode(&mode);
    return mode;
}

static place_t *find_or_make(void *stream, int math, lac_pass_t *why)
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
    place_t *place = find(device, stream, math);
    if (place) return place->ctx ? place : NULL;
    int mode = set_mode(CAPTURE_RELAXED);
    place = make(device, stream, math);
    set_mode(mode);
    if (!place) *why = LAC_PASS_STREAM;
    return place && place->ctx ? place : NULL;
}

int capture_relaxed_begin(void)
{
    return set_mode(CAPTURE_RELAXED);
}

void capture_relaxed_end(int mode)
{
    set_mode(mode);
}

place_t *place_enter(void *stream, int math, lac_pass_t *why)
{
    pthread_once(&looked, look);
    place_t *place = find_or_make(stream, math, why);
    if (!place) return NULL;
    pthread_mutex_lock(&place->lock);
    place->capture_mode = set_mode(CAPTURE_RELAXED);
    return place;
}

void place_leave(place_t *place)
{
    int mode = place->capture_mode;
    pthread_mutex_unlock(&place->lock);
    set_mode(mode);
}

void place_pause(place_t *place)
{
    set_mode(place->capture_mode);
}

void place_served(place_t *place)
{
    place->capture_mode = set_mode(CAPTURE_RELAXED);
    lac_interpose_timing_end(place->ctx);
    place_leave(place);
}
