/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Life of an exec on a device, its workspace, and where buffers lie. */
#include "cuda_exec.h"
#include "cuda_capture.h"
#include "cuda_clock.h"
#include "cuda_machine.h"
#include "cuda_slice.h"
#include "cuda_spmm.h"
#include "cuda_vendor.h"
#include "slice_kernels.h"
#include "../base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lac_status_t lac_cuda_told(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return LAC_OK;
    cudaGetLastError(); /* it has been told */
    return lac_fail(error == cudaErrorMemoryAllocation ? LAC_ERR_MEMORY : LAC_ERR_VENDOR, "%s: %s", what,
                    cudaGetErrorString(error));
}

lac_status_t lac_cuda_launched(lac_status_t status, const char *what)
{
    if (status == LAC_OK) return LAC_OK;
    if (status == LAC_ERR_VENDOR)
        return lac_cuda_told(cudaGetLastError(), what) ? LAC_ERR_VENDOR
                                                       : lac_fail(status, "%s: a launch failed", what);
    return lac_fail(status, "%s: %s", what,
                    status == LAC_ERR_EXTENT ? "an extent is too large for the kernel"
                                             : "the kernel refused");
}

static lac_status_t describe(lac_exec_t *exec)
{
    struct cudaDeviceProp properties;
    lac_status_t status = lac_cuda_told(cudaGetDeviceProperties(&properties, exec->device), "device");
    if (status) return status;
    snprintf(exec->name, sizeof exec->name, "%s", properties.name);
    exec->major = properties.major;
    exec->minor = properties.minor;
    exec->takes_steps = exec->major >= 9 && properties.sharedMemPerBlockOptin >= LAC_CUDA_LONG_SHARED;
    if (exec->major >= 8) return LAC_OK;
    return lac_fail(LAC_ERR_UNAVAILABLE, "device: %s is of compute capability %d.%d; 8.0 is the least",
                    exec->name, exec->major, exec->minor);
}

static int attribute(const lac_exec_t *exec, enum cudaDeviceAttr which)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, exec->device) != cudaSuccess) cudaGetLastError();
    return value;
}

const char *lac_cuda_estimate(const lac_exec_t *exec, lac_machine_t *machine)
{
    if (strstr(exec->name, "H200")) return "as shipped, measured on an H200";
    lac_cuda_shape_t shape = {.processors = attribute(exec, cudaDevAttrMultiProcessorCount),
                              .lanes = exec->major == 8 && exec->minor == 0 ? 64 : 128,
                              .clock_ghz = 1e-6 * attribute(exec, cudaDevAttrClockRate)};
    double memory_ghz = 1e-6 * attribute(exec, cudaDevAttrMemoryClockRate);
    shape.memory_gbps = 2.0 * memory_ghz * attribute(exec, cudaDevAttrGlobalMemoryBusWidth) / 8.0;
    if (shape.processors > 0 && shape.clock_ghz > 0.0 && shape.memory_gbps > 0.0)
        lac_cuda_machine_scale(machine, &shape);
    return "estimated from an H200's; run 'lacuna tune --device cuda' to measure them";
}

/* The runtime calls a driver that is not there too old for it. */
const char *lac_cuda_why_none(cudaError_t error)
{
    int version = 0;
    bool driver = cudaDriverGetVersion(&version) == cudaSuccess && version > 0;
    cudaGetLastError();
    return driver ? cudaGetErrorString(error) : "no CUDA driver";
}

static lac_status_t choose_device(lac_exec_t *exec, lac_place_t *place)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        cudaGetLastError();
        return lac_fail(LAC_ERR_UNAVAILABLE, "device: %s", lac_cuda_why_none(error));
    }
    if (place->device < 0 && cudaGetDevice(&place->device) != cudaSuccess) place->device = 0;
    if (place->device >= count)
        return lac_fail(LAC_ERR_UNAVAILABLE, "device: %d, and there are %d", place->device, count);
    exec->device = place->device;
    exec->only_device = count == 1;
    return describe(exec);
}

static lac_status_t make_stream(lac_exec_t *exec, void *stream)
{
    size_t words = (size_t)LAC_CUDA_SAMPLES * LAC_CUDA_PROBE_WORDS, all = words + LAC_CUDA_BAD_WORDS;
    exec->own_stream = stream == LAC_STREAM_NEW;
    if (!exec->own_stream) exec->stream = stream;
    lac_status_t status = LAC_OK;
    if (exec->own_stream)
        status = lac_cuda_told(cudaStreamCreateWithFlags(&exec->stream, cudaStreamNonBlocking), "stream");
    if (!status)
        status = lac_cuda_told(
            cudaHostAlloc((void **)&exec->answers, all * sizeof *exec->answers, cudaHostAllocDefault),
            "context");
    if (status) return status;
    for (size_t i = 0; i < all; i++) exec->answers[i] = i < words ? 0 : LAC_CUDA_NOTHING_BAD;
    exec->bad = exec->answers + words;
    return LAC_OK;
}

lac_status_t lac_cuda_open(lac_exec_t **exec, lac_place_t *place, const lac_machine_t *machine)
{
    lac_exec_t *made = *exec = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "context: out of memory");
    made->machine = machine;
    lac_status_t status = choose_device(made, place);
    if (!status) {
        int token = lac_cuda_enter(made);
        enum cudaStreamCaptureMode mode = lac_cuda_relax();
        status = make_stream(made, place->stream);
        lac_cuda_unrelax(mode);
        lac_cuda_leave(made, token);
    }
    if (!status) {
        place->name = made->name;
        return LAC_OK;
    }
    lac_cuda_close(made);
    *exec = NULL;
    return status;
}

void lac_cuda_close(lac_exec_t *exec)
{
    if (!exec) return;
    int token = lac_cuda_enter(exec);
    enum cudaStreamCaptureMode mode = lac_cuda_relax();
    if (exec->answers) cudaStreamSynchronize(exec->stream); /* what is under way uses what is freed here */
    bool alone = lac_cuda_alone_begin();
    lac_cuda_spmm_close(exec);
    lac_cuda_vendor_close(exec);
    if (alone) lac_cuda_alone_end();
    cudaFree(exec->work);
    for (int i = 0; i < exec->retired_count; i++) cudaFree(exec->retired[i]);
    cudaFreeHost(exec->answers);
    lac_cuda_clock_close(exec);
    if (exec->own_stream && exec->stream) cudaStreamDestroy(exec->stream);
    cudaGetLastError();
    lac_cuda_unrelax(mode);
    lac_cuda_leave(exec, token);
    free(exec);
}

int lac_cuda_enter(lac_exec_t *exec)
{
    int before = -1;
    if (exec->only_device || cudaGetDevice(&before) != cudaSuccess || before == exec->device) return -1;
    cudaSetDevice(exec->device);
    return before;
}

void lac_cuda_leave(lac_exec_t *exec, int token)
{
    (void)exec;
    if (token >= 0) cudaSetDevice(token);
}

static const char *place_of(const struct cudaPointerAttributes *found)
{
    return found->type == cudaMemoryTypeUnregistered ? "host memory"
           : found->type == cudaMemoryTypeHost       ? "pinned host memory"
                                                     : "another device's memory";
}

/* Asking the driver takes about a microsecond, so the answers are kept. */
lac_status_t lac_cuda_check(lac_exec_t *exec, const char *name, const void *buf)
{
    const void **seen = &exec->seen[((uintptr_t)buf >> 4 ^ (uintptr_t)buf >> 13) % LAC_CUDA_SEEN];
    struct cudaPointerAttributes found;
    if (*seen == buf) return LAC_OK;
    lac_status_t status = lac_cuda_told(cudaPointerGetAttributes(&found, buf), name);
    if (status) return status;
    bool here = found.type == cudaMemoryTypeManaged ||
                (found.type == cudaMemoryTypeDevice && found.device == exec->device);
    if (!here)
        return lac_fail(LAC_ERR_SPACE, "%s.buf: points to %s, and the context computes on device %d (%s)",
                        name, place_of(&found), exec->device, exec->name);
    *seen = buf;
    return LAC_OK;
}

size_t lac_cuda_bytes(const lac_exec_t *exec)
{
    return exec->work_bytes + exec->retired_bytes + (exec->blas_workspace ? LAC_CUDA_BLAS_WORKSPACE : 0) +
           lac_cuda_spmm_held(exec) + (size_t)LAC_CUDA_SAMPLES * LAC_CUDA_PROBE_WORDS * sizeof(uint64_t);
}

bool lac_cuda_capturing(const lac_exec_t *exec)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    /* The default stream cannot be captured, and asking while another is would be an error. */
    return exec->stream && cudaStreamIsCapturing(exec->stream, &capturing) == cudaSuccess &&
           capturing != cudaStreamCaptureStatusNone;
}

lac_status_t lac_cuda_may_allocate(const lac_exec_t *exec, const char *what)
{
    if (!lac_cuda_capturing(exec)) return LAC_OK;
    return lac_fail(
        LAC_ERR_MEMORY,
        "%s: would have to be allocated, which cannot be while the stream is captured: make the call "
        "once before, or a plan",
        what);
}

/* Gathers load the first slots of a list before they know how many it has, garbage that is thrown away: so it
 * is cleared. */
static lac_status_t allocate_work(const lac_exec_t *exec, size_t bytes, void **made)
{
    *made = NULL;
    lac_status_t status = lac_cuda_told(cudaMalloc(made, bytes), "workspace");
    if (!status) status = lac_cuda_told(cudaMemsetAsync(*made, 0, bytes, exec->stream), "workspace");
    if (status) cudaFree(*made);
    return status;
}

lac_status_t lac_cuda_work(lac_exec_t *exec, size_t bytes, void **memory)
{
    *memory = exec->work;
    if (bytes <= exec->work_bytes) return LAC_OK;
    lac_status_t status = lac_cuda_may_allocate(exec, "workspace");
    if (status) return status;
    size_t grown = bytes > 2 * exec->work_bytes ? bytes : 2 * exec->work_bytes;
    void *made;
    if (exec->retired_count == LAC_CUDA_RETIRED)
        return lac_fail(LAC_ERR_INTERNAL, "workspace: grew too often");
    enum cudaStreamCaptureMode mode = lac_cuda_relax();
    status = allocate_work(exec, grown, &made);
    if (status && grown > bytes) {
        grown = bytes;
        status = allocate_work(exec, grown, &made);
    }
    lac_cuda_unrelax(mode);
    if (status) return status;
    if (exec->work) { /* a recording may still use the old one, and so may what is under way */
        exec->retired[exec->retired_count++] = exec->work;
        exec->retired_bytes += exec->work_bytes;
    }
    exec->work = *memory = made;
    exec->work_bytes = grown;
    return LAC_OK;
}
