/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Making an exec, and giving back all that it holds. */
#include "exec.h"
#include "capture.h"
#include "machine.h"
#include "vendor.h"
#include "base/status.h"
#include "cuda/operators/operators.h"
#include "cuda/operators/spmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lac_status_t describe(lac_exec_t *exec)
{
    struct cudaDeviceProp properties;
    lac_status_t status = lac_cuda_check_error(cudaGetDeviceProperties(&properties, exec->device), "device");
    if (status) return status;
    snprintf(exec->name, sizeof exec->name, "%s", properties.name);
    exec->major = properties.major;
    exec->minor = properties.minor;
    exec->takes_schedule = exec->major >= 9 && properties.sharedMemPerBlockOptin >= LAC_CUDA_LONG_SHARED;
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
                              .clock_ghz = 1e-6 * attribute(exec, cudaDevAttrClockRate)};
    lac_cuda_machine_cores(exec->major, exec->minor, &shape);
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

static lac_status_t choose_device(lac_exec_t *exec, lac_device_request_t *request)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        cudaGetLastError();
        return lac_fail(LAC_ERR_UNAVAILABLE, "device: %s", lac_cuda_why_none(error));
    }
    if (request->device < 0 && cudaGetDevice(&request->device) != cudaSuccess) request->device = 0;
    if (request->device >= count)
        return lac_fail(LAC_ERR_UNAVAILABLE, "device: %d, and there are %d", request->device, count);
    exec->device = request->device;
    exec->only_device = count == 1;
    return describe(exec);
}

static lac_status_t make_stream(lac_exec_t *exec, void *stream)
{
    size_t words = (size_t)LAC_CUDA_SAMPLES * LAC_CUDA_PROBE_WORDS, known = words + LAC_CUDA_BAD_WORDS,
           all = known + (LAC_CUDA_GATE_WORDS + 1) / 2;
    exec->own_stream = stream == LAC_STREAM_NEW;
    if (!exec->own_stream) exec->stream = stream;
    lac_status_t status = LAC_OK;
    if (exec->own_stream)
        status =
            lac_cuda_check_error(cudaStreamCreateWithFlags(&exec->stream, cudaStreamNonBlocking), "stream");
    if (!status)
        status = lac_cuda_check_error(
            cudaHostAlloc((void **)&exec->answers, all * sizeof *exec->answers, cudaHostAllocDefault),
            "context");
    if (status) return status;
    memset(exec->answers, 0, all * sizeof *exec->answers);
    exec->bad = exec->answers + words;
    for (size_t i = 0; i < LAC_CUDA_BAD_WORDS; i++) exec->bad[i] = LAC_CUDA_NOTHING_BAD;
    exec->clock.open = (uint32_t *)(exec->answers + known);
    exec->clock.expired = (uint32_t *)(exec->answers + known) + 1;
    return LAC_OK;
}

lac_status_t lac_cuda_open(lac_exec_t **exec, lac_device_request_t *request, const lac_machine_t *machine)
{
    lac_exec_t *made = *exec = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "context: out of memory");
    made->machine = machine;
    lac_status_t status = choose_device(made, request);
    if (!status) {
        int token = lac_cuda_enter(made);
        enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
        status = make_stream(made, request->stream);
        made->born = lac_cuda_context_number();
        lac_cuda_capture_relaxed_end(mode);
        lac_cuda_leave(made, token);
    }
    if (!status) {
        request->name = made->name;
        return LAC_OK;
    }
    lac_cuda_close(made);
    *exec = NULL;
    return status;
}

/* Whether the device was reset since: memory, stream, events and handles went then, and giving them back
 * would be an error each, or a fault in cuBLAS. */
static bool is_lost(const lac_exec_t *exec)
{
    uint64_t now = exec->born ? lac_cuda_context_number() : 0;
    if (exec->born && !now && cudaFree(NULL) == cudaSuccess)
        now = lac_cuda_context_number(); /* this thread had none yet */
    cudaGetLastError();
    return now && now != exec->born;
}

void lac_cuda_close(lac_exec_t *exec)
{
    if (!exec) return;
    int token = lac_cuda_enter(exec);
    if (is_lost(exec)) {
        lac_cuda_leave(exec, token);
        free(exec);
        return;
    }
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    if (exec->answers) cudaStreamSynchronize(exec->stream); /* what is under way uses what is freed here */
    bool alone = lac_cuda_alone_begin();
    lac_cuda_spmm_close(exec);
    lac_cuda_vendor_close(exec);
    if (alone) lac_cuda_alone_end();
    cudaFree(exec->work);
    cudaFree(exec->bits);
    cudaFree(exec->lif_state);
    for (int i = 0; i < exec->retired_count; i++) cudaFree(exec->retired[i]);
    cudaFreeHost(exec->answers);
    lac_cuda_event_timer_close(exec);
    if (exec->own_stream && exec->stream) cudaStreamDestroy(exec->stream);
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
    lac_cuda_leave(exec, token);
    free(exec);
}

size_t lac_cuda_bytes(const lac_exec_t *exec)
{
    return exec->work_bytes + exec->retired_bytes + exec->bits_bytes +
           (exec->lif_state ? LAC_CUDA_LIF_STATE : 0) + (exec->blas_workspace ? LAC_CUDA_BLAS_WORKSPACE : 0) +
           lac_cuda_spmm_held(exec) + (size_t)LAC_CUDA_SAMPLES * LAC_CUDA_PROBE_WORDS * sizeof(uint64_t);
}
