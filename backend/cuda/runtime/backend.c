/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The CUDA backend: its hooks, the one symbol of this library, and the core's callbacks for it. */
#include "route/backend.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"
#include "cuda/operators/operators.h"
#include "exec.h"
#include "cuda/formats/dense_view.h"
#include "cuda/routes/routes.h"
#include "cuda/operators/spmm.h"
#include "vendor.h"

#include <stdarg.h>
#include <stdio.h>

void lac_host_callbacks_take(const lac_host_callbacks_t *callbacks);

/* What the objects shared with the core call for messages goes to the core, whose thread-local text it is,
 * and so do their locks' announcements to forks. */

static const lac_host_callbacks_t *library;

void lac_host_callbacks_take(const lac_host_callbacks_t *callbacks)
{
    library = callbacks;
}

lac_status_t lac_fail(lac_status_t status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return library->fail(status, "%s", text);
}

void lac_log(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    library->log("%s", text);
}

void lac_defer_forks(void)
{
    library->defer_forks();
}

void lac_allow_forks(void)
{
    library->allow_forks();
}

/* Public entry points clear the message, and they are all in the core. */
void lac_clear_error(void) {}

/* The CUDA backend's hooks, and the one symbol of this library. */

#define STRING(x)  #x
#define TEXT_OF(x) STRING(x)

static lac_status_t prepare(lac_exec_t *exec, const lac_route_t *route, const lac_problem_t *p)
{
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    if (route->applicable(route, p) != LAC_FITS) return LAC_OK;
    exec->preparing = true;
    lac_status_t status = route->run(route, exec, p, &out);
    exec->preparing = false;
    return status;
}

static void describe(char *text, size_t size)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess)
        snprintf(text, size, "loaded, %d device%s", count, count == 1 ? "" : "s");
    else
        snprintf(text, size, "loaded, no device: %s", lac_cuda_why_none(error));
    cudaGetLastError();
}

static void info(const lac_exec_t *exec, lac_info_fn fact, void *arg)
{
    char text[64];
    int driver = 0, runtime = 0, version = 0, cache = 0;
    const lac_cublas_t *blas = lac_cublas();
    void *handle = NULL;
    fact(arg, "device", exec->name);
    snprintf(text, sizeof text, "%d of compute capability %d.%d", exec->device, exec->major, exec->minor);
    fact(arg, "device ordinal", text);
    if (cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, exec->device) == cudaSuccess) {
        snprintf(text, sizeof text, "%.1f MB", 1e-6 * cache);
        fact(arg, "device cache", text);
    }
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    snprintf(text, sizeof text, "driver %d.%d, runtime %d.%d", driver / 1000, driver % 1000 / 10,
             runtime / 1000, runtime % 1000 / 10);
    fact(arg, "cuda", text);
    if (blas->found && !lac_cublas_handle((lac_exec_t *)exec, &handle) && !blas->version(handle, &version)) {
        snprintf(text, sizeof text, "%d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
        fact(arg, "cublas", text);
    } else {
        fact(arg, "cublas", "none");
        if (!blas->found) fact(arg, "cublas missing", blas->missing);
    }
    version = lac_cuda_spmm_version((lac_exec_t *)exec);
    snprintf(text, sizeof text, "%d.%d.%d", version / 1000, version % 1000 / 100, version % 100);
    fact(arg, "cusparse", version ? text : "none");
    if (!lac_cusparse()->found) fact(arg, "cusparse missing", lac_cusparse()->missing);
}

static const lac_backend_t backend = {.name = "cuda",
                                      .space = LAC_DEVICE,
                                      .asynchronous = true,
                                      .version = TEXT_OF(LACUNA_VERSION),
                                      .memory = &lac_cuda_memory,
                                      .device = &lac_cuda_device,
                                      .clock = &lac_cuda_timer_hooks,
                                      .link = &lac_cuda_link,
                                      .slicer = &lac_cuda_slicer,
                                      .csr = &lac_cuda_csr,
                                      .describe = describe,
                                      .routes = lac_cuda_routes,
                                      .open = lac_cuda_open,
                                      .close = lac_cuda_close,
                                      .estimate = lac_cuda_estimate,
                                      .enter = lac_cuda_enter,
                                      .leave = lac_cuda_leave,
                                      .check = lac_cuda_check,
                                      .allocation = lac_cuda_allocation,
                                      .fingerprint = lac_cuda_operand_fingerprint,
                                      .prepare = prepare,
                                      .sample = lac_cuda_sample,
                                      .sddmm = lac_cuda_sample_product,
                                      .spmm = lac_cuda_spmm_arrays,
                                      .densify = lac_cuda_densify,
                                      .count = lac_cuda_count,
                                      .chain = lac_cuda_chain,
                                      .lif = lac_cuda_lif,
                                      .apply_epilogue = lac_cuda_apply_epilogue,
                                      .occupancy = lac_cuda_occupancy,
                                      .batched = lac_cuda_batched,
                                      .scan = lac_cuda_scan,
                                      .scan_bits = lac_cuda_scan_bits,
                                      .tune = lac_cuda_tune,
                                      .bytes = lac_cuda_bytes,
                                      .info = info};

__attribute__((visibility("default"))) const lac_backend_t *
lac_cuda_backend(const lac_host_callbacks_t *core);

const lac_backend_t *lac_cuda_backend(const lac_host_callbacks_t *core)
{
    lac_host_callbacks_take(core);
    return &backend;
}
