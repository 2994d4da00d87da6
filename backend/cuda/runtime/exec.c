/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a run asks of its exec: what an error means, where buffers lie, the workspace. */
#include "exec.h"
#include "capture.h"
#include "base/status.h"

lac_status_t lac_cuda_check_error(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return LAC_OK;
    cudaGetLastError(); /* cleared: this call reports it */
    return lac_fail(error == cudaErrorMemoryAllocation ? LAC_ERR_MEMORY : LAC_ERR_VENDOR, "%s: %s", what,
                    cudaGetErrorString(error));
}

lac_status_t lac_cuda_launched(lac_status_t status, const char *what)
{
    if (status == LAC_OK) return LAC_OK;
    if (status == LAC_ERR_VENDOR)
        return lac_cuda_check_error(cudaGetLastError(), what) ? LAC_ERR_VENDOR
                                                              : lac_fail(status, "%s: a launch failed", what);
    return lac_fail(status, "%s: %s", what,
                    status == LAC_ERR_EXTENT ? "an extent is too large for the kernel"
                                             : "the kernel refused");
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

static const char *slot_of(const struct cudaPointerAttributes *found)
{
    return found->type == cudaMemoryTypeUnregistered ? "host memory"
           : found->type == cudaMemoryTypeHost       ? "pinned host memory"
                                                     : "another device's memory";
}

/* Asking the driver takes about a microsecond, so the answers are kept. Large allocations begin at multiples
 * of 2 MB, small ones at a few offsets of such a block: all bits count. */
static const void **slot_of_seen(lac_exec_t *exec, const void *buf)
{
    uint64_t mixed = (uint64_t)(uintptr_t)buf * UINT64_C(0x9E3779B97F4A7C15);
    return &exec->seen[(mixed >> 32) % LAC_CUDA_SEEN];
}

lac_status_t lac_cuda_check(lac_exec_t *exec, const char *name, const void *buf)
{
    const void **seen = slot_of_seen(exec, buf);
    struct cudaPointerAttributes found;
    if (*seen == buf) return LAC_OK;
    lac_status_t status = lac_cuda_check_error(cudaPointerGetAttributes(&found, buf), name);
    if (status) return status;
    bool here = found.type == cudaMemoryTypeManaged ||
                (found.type == cudaMemoryTypeDevice && found.device == exec->device);
    if (!here)
        return lac_fail(LAC_ERR_SPACE, "%s.buf: points to %s, and the context computes on device %d (%s)",
                        name, slot_of(&found), exec->device, exec->name);
    *seen = buf;
    return LAC_OK;
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
    lac_status_t status = lac_cuda_check_error(cudaMalloc(made, bytes), "workspace");
    if (!status) status = lac_cuda_check_error(cudaMemsetAsync(*made, 0, bytes, exec->stream), "workspace");
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
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    status = allocate_work(exec, grown, &made);
    if (status && grown > bytes) {
        grown = bytes;
        status = allocate_work(exec, grown, &made);
    }
    lac_cuda_capture_relaxed_end(mode);
    if (status) return status;
    if (exec->work) { /* a recording may still use the old one, and so may what is under way */
        exec->retired[exec->retired_count++] = exec->work;
        exec->retired_bytes += exec->work_bytes;
    }
    exec->work = *memory = made;
    exec->work_bytes = grown;
    return LAC_OK;
}

lac_status_t lac_cuda_step_state(lac_exec_t *exec, uint64_t **state)
{
    if (!exec->lif_state) {
        lac_status_t status = lac_cuda_may_allocate(exec, "lif.list");
        if (status) return status;
        void *made;
        enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
        status = allocate_work(exec, LAC_CUDA_LIF_STATE, &made);
        lac_cuda_capture_relaxed_end(mode);
        if (status) return status;
        exec->lif_state = made;
    }
    *state = exec->lif_state;
    return LAC_OK;
}

uint64_t *lac_cuda_output_bits(lac_exec_t *exec, lac_dim_t m, lac_dim_t n)
{
    size_t bytes = (size_t)m * (size_t)((n + 63) / 64) * sizeof *exec->bits;
    if (bytes <= exec->bits_bytes) return exec->bits;
    if (lac_cuda_capturing(exec)) return NULL;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    cudaFree(exec->bits); /* waits for whoever uses it */
    exec->bits = NULL;
    exec->bits_bytes = 0;
    bool made = cudaMalloc((void **)&exec->bits, bytes) == cudaSuccess;
    if (made)
        exec->bits_bytes = bytes;
    else
        exec->bits = NULL, cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
    return exec->bits;
}
