/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A short list that only grows; finding a place in it takes no lock. */
#include "cublas_places.h"
#include "cublas_resolve.h"
#include "cublas_shapes.h"

#include "lacuna/context.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { PLACES_MAX = 64, STREAM_PER_THREAD = 2, CAPTURE_RELAXED = 2 };

static place_t places[PLACES_MAX];
static atomic_int place_count;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static int (*current_context)(void **context);
static int (*is_capturing)(void *stream, int *status);
static int (*exchange_mode)(int *mode);

/* A program that has a cuBLAS handle has loaded the driver. */
static void look(void)
{
    *(void **)&current_context = driver_symbol("cuCtxGetCurrent");
    *(void **)&is_capturing = driver_symbol("cuStreamIsCapturing");
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
            lac_ctx_set(place->ctx, "math", math == CUBLAS_MATH_TF32 ? "tf32" : "pedantic");
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

place_t *place_enter(void *stream, int math)
{
    void *device = NULL;
    pthread_once(&looked, look);
    if (!current_context || !exchange_mode || (uintptr_t)stream == STREAM_PER_THREAD) return NULL;
    if (captured(stream) || current_context(&device) || !device) return NULL;
    int mode = set_mode(CAPTURE_RELAXED);
    place_t *place = find(device, stream, math);
    if (!place) place = make(device, stream, math);
    if (!place || !place->ctx) {
        set_mode(mode);
        return NULL;
    }
    pthread_mutex_lock(&place->lock);
    place->capture_mode = mode;
    return place;
}

void place_leave(place_t *place)
{
    int mode = place->capture_mode;
    pthread_mutex_unlock(&place->lock);
    set_mode(mode);
}
