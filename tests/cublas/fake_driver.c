/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A CUDA driver with one context, unless fake_contextless says that there is none, and a stream that is
 * captured where fake_capturing says so. Each change of fake_resets is a reset of the device, after which the
 * context has its old address and another number. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int fake_capturing, fake_contextless, fake_resets;
EXPORT int cuCtxGetCurrent(void **context);
EXPORT int cuCtxGetId(void *context, unsigned long long *number);
EXPORT int cuStreamIsCapturing(void *stream, int *status);
EXPORT int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph,
                                     const void **dependencies, unsigned long *count);
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode);

static _Thread_local int capture_mode;

int cuCtxGetCurrent(void **context)
{
    *context = fake_contextless ? (void *)0 : &fake_capturing;
    return 0;
}

int cuCtxGetId(void *context, unsigned long long *number)
{
    *number = 1 + (unsigned)fake_resets;
    return context ? 0 : 201;
}

int cuStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = fake_capturing;
    return 0;
}

int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph,
                              const void **dependencies, unsigned long *count)
{
    (void)graph, (void)dependencies, (void)count;
    *id = 1;
    return cuStreamIsCapturing(stream, status);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}
