/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device memory for those outside: metadata's arrays, and what lacuna/device.h offers. */
#include "capture.h"
#include "exec.h"
#include "cuda/operators/operators.h"
#include "base/status.h"

#include <cuda.h>
#include <pthread.h>

/* Makes a device current and settles what it has under way. *before: the one to go back to; -1: not known. */
static lac_status_t settle(int device, int *before)
{
    *before = -1;
    lac_status_t status = lac_cuda_check_error(cudaGetDevice(before), "device");
    if (!status && *before != device) status = lac_cuda_check_error(cudaSetDevice(device), "device");
    if (status) return status;
    if (!lac_cuda_alone_begin())
        return lac_fail(LAC_ERR_VENDOR, "device: cannot be waited for while this thread records");
    status = lac_cuda_check_error(cudaDeviceSynchronize(), "device");
    lac_cuda_alone_end();
    return status;
}

static lac_status_t fetch(int device, void *to, const void *from, size_t bytes)
{
    int before;
    lac_status_t status = settle(device, &before);
    if (!status && cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
        cudaGetLastError();
        status = lac_fail(LAC_ERR_SPACE, "an attached array does not lie on device %d", device);
    }
    if (before >= 0) cudaSetDevice(before);
    return status;
}

/* A copy from pageable memory may return before its last bytes are there; kernels of other streams do not
 * wait for them by themselves. */
static lac_status_t put(void *to, const void *from, size_t bytes)
{
    cudaStream_t stream = cudaStreamPerThread;
    lac_status_t status =
        lac_cuda_check_error(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "metadata");
    return status ? status : lac_cuda_check_error(cudaStreamSynchronize(stream), "metadata");
}

static lac_status_t upload_new(int device, void **to, const void *from, size_t bytes)
{
    int before;
    *to = NULL;
    lac_status_t status = settle(device, &before);
    if (!status) status = lac_cuda_check_error(cudaMalloc(to, bytes ? bytes : 1), "metadata");
    if (!status) status = put(*to, from, bytes);
    if (status && *to) {
        cudaFree(*to);
        *to = NULL; /* its owner would give it back once more */
    }
    if (before >= 0) cudaSetDevice(before);
    return status;
}

static void release(void *memory)
{
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    cudaFree(memory);
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
}

const lac_memory_t lac_cuda_memory = {fetch, upload_new, release};

/* The driver's own count, which runtimes linked statically and pools go through as well. */
typedef CUresult (*ask_driver_t)(void *data, CUpointer_attribute attribute, CUdeviceptr address);
typedef CUresult (*ask_context_t)(CUcontext context, unsigned long long *number);
static ask_driver_t ask_driver;
static ask_context_t ask_context;
static pthread_once_t sought = PTHREAD_ONCE_INIT;

static void seek(void)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuPointerGetAttribute", &found, 12000, cudaEnableDefault, &result);
    if (error == cudaSuccess && result == cudaDriverEntryPointSuccess) ask_driver = (ask_driver_t)found;
    error = cudaGetDriverEntryPointByVersion("cuCtxGetId", &found, 12000, cudaEnableDefault, &result);
    if (error == cudaSuccess && result == cudaDriverEntryPointSuccess) ask_context = (ask_context_t)found;
    cudaGetLastError();
}

uint64_t lac_cuda_context_number(void)
{
    unsigned long long number = 0;
    pthread_once(&sought, seek);
    return ask_context && !ask_context(NULL, &number) ? number : 0;
}

uint64_t lac_cuda_allocation(lac_exec_t *exec, const void *buf)
{
    unsigned long long number = 0;
    (void)exec;
    pthread_once(&sought, seek);
    if (!ask_driver || ask_driver(&number, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)buf)) return 0;
    return number;
}

static lac_status_t device_alloc(lac_exec_t *exec, size_t bytes, void **memory)
{
    lac_status_t status = lac_cuda_may_allocate(exec, "memory");
    if (status) return status;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    status = lac_cuda_check_error(cudaMalloc(memory, bytes ? bytes : 1), "memory");
    lac_cuda_capture_relaxed_end(mode);
    return status;
}

static lac_status_t device_release(lac_exec_t *exec, void *memory)
{
    for (int i = 0; i < LAC_CUDA_SEEN; i++) exec->seen[i] = NULL; /* the address may come back elsewhere */
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status = lac_cuda_check_error(cudaFree(memory), "memory");
    lac_cuda_capture_relaxed_end(mode);
    return status;
}

static lac_status_t wait(lac_exec_t *exec)
{
    lac_status_t status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "stream");
    if (!status) status = lac_cuda_slice_check_errors(exec);
    return status ? status : lac_cuda_csr_check_errors(exec);
}

static lac_status_t copy(lac_exec_t *exec, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    lac_status_t status = lac_cuda_check_error(cudaMemcpyAsync(to, from, bytes, kind, exec->stream), "copy");
    return status ? status : wait(exec);
}

static lac_status_t upload(lac_exec_t *exec, void *to, const void *from, size_t bytes)
{
    return copy(exec, to, from, bytes, cudaMemcpyHostToDevice);
}

static lac_status_t download(lac_exec_t *exec, void *to, const void *from, size_t bytes)
{
    return copy(exec, to, from, bytes, cudaMemcpyDeviceToHost);
}

static lac_status_t add(lac_exec_t *exec, lac_dim_t m, lac_dim_t n, const float *x, lac_inc_t xrs,
                        lac_inc_t xcs, float beta, float *to, lac_inc_t rs, lac_inc_t cs)
{
    lac_cuda_matrix_t from = {LAC_F32, x, m, n, xrs, xcs};
    return lac_cuda_launched(lac_cuda_copy(&from, beta, LAC_F32, to, rs, cs, exec->stream), "add");
}

static void *stream_of(const lac_exec_t *exec)
{
    return exec->stream;
}

typedef struct span {
    cudaEvent_t begin, end;
} span_t;

static lac_status_t open_span(lac_exec_t *exec, span_t *span)
{
    *span = (span_t){NULL, NULL};
    lac_status_t status = lac_cuda_check_error(cudaEventCreate(&span->begin), "event");
    if (!status) status = lac_cuda_check_error(cudaEventCreate(&span->end), "event");
    if (!status) status = lac_cuda_check_error(cudaEventRecord(span->begin, exec->stream), "event");
    return status;
}

/* Microseconds since the span was opened; frees it whatever the status is. */
static lac_status_t close_span(lac_exec_t *exec, span_t *span, lac_status_t status, double *us)
{
    float ms = 0.0f;
    if (!status) status = lac_cuda_check_error(cudaEventRecord(span->end, exec->stream), "event");
    if (!status) status = lac_cuda_check_error(cudaEventSynchronize(span->end), "stream");
    if (!status) status = lac_cuda_check_error(cudaEventElapsedTime(&ms, span->begin, span->end), "event");
    if (span->begin) cudaEventDestroy(span->begin);
    if (span->end) cudaEventDestroy(span->end);
    *us = 1e3 * (double)ms;
    return status;
}

static lac_status_t time_work(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, double *us)
{
    span_t span;
    lac_status_t status = open_span(exec, &span);
    for (int i = 0; !status && i < calls; i++) status = work(arg);
    status = close_span(exec, &span, status, us);
    *us /= calls;
    return status;
}

static lac_status_t capture(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, cudaGraph_t *graph)
{
    lac_cuda_graph_capture_begin();
    lac_status_t status = lac_cuda_check_error(
        cudaStreamBeginCapture(exec->stream, cudaStreamCaptureModeThreadLocal), "recording");
    if (!status) {
        for (int i = 0; !status && i < calls; i++) status = work(arg);
        cudaError_t ended = cudaStreamEndCapture(exec->stream, graph);
        if (!status) status = lac_cuda_check_error(ended, "recording");
    }
    lac_cuda_graph_capture_end();
    return status;
}

static lac_status_t record(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, void **recording)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t made = NULL;
    if (!exec->stream)
        return lac_fail(LAC_ERR_UNAVAILABLE,
                        "stream: the default stream cannot be recorded; give the context "
                        "one of its own");
    lac_status_t status = capture(exec, work, arg, calls, &graph);
    if (!status) status = lac_cuda_check_error(cudaGraphInstantiate(&made, graph, 0), "recording");
    if (!status) status = lac_cuda_check_error(cudaGraphUpload(made, exec->stream), "recording");
    if (graph) cudaGraphDestroy(graph);
    if (status && made) cudaGraphExecDestroy(made);
    cudaGetLastError();
    *recording = status ? NULL : made;
    return status;
}

static lac_status_t replay(lac_exec_t *exec, void *recording, int times, double *us)
{
    span_t span;
    lac_status_t status = us ? open_span(exec, &span) : LAC_OK;
    for (int i = 0; !status && i < times; i++)
        status = lac_cuda_check_error(cudaGraphLaunch(recording, exec->stream), "replay");
    if (!us) return status;
    status = close_span(exec, &span, status, us);
    *us /= times;
    return status;
}

static void forget(void *recording)
{
    if (recording) cudaGraphExecDestroy(recording);
}

const lac_device_t lac_cuda_device = {.alloc = device_alloc,
                                      .release = device_release,
                                      .upload = upload,
                                      .download = download,
                                      .wait = wait,
                                      .add = add,
                                      .branch = lac_cuda_branch,
                                      .stream = stream_of,
                                      .capturing = lac_cuda_capturing,
                                      .time = time_work,
                                      .record = record,
                                      .replay = replay,
                                      .forget = forget};
