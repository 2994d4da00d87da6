/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A device that is none: its memory is the host's, its routes are plain loops, and a recording is a list of
 * products. Built as liblacuna_cuda.so, so that the command line's way with devices is tested where there is
 * none. */
#include "reference_loops.h"
#include "ref_half.h"
#include "route/backend.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STRING(x)  #x
#define TEXT_OF(x) STRING(x)

typedef struct product {
    const lac_route_t *route;
    lac_problem_t problem;
} product_t;

typedef struct recording {
    product_t *product;
    int count;
} recording_t;

struct lac_exec {
    recording_t *recording; /* being made; NULL: products are computed at once */
};

static const lac_host_callbacks_t *core;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Routes ----------------------------------------------------------------------------------------------- */

static double at(const lac_operand_t *x, lac_dim_t i, lac_dim_t j)
{
    lac_inc_t where = i * x->rs + j * x->cs;
    if (x->dt == LAC_U8) return ((const unsigned char *)x->buf)[where] ? 1.0 : 0.0;
    if (lac_is_half(x->dt)) return ref_half_value(x->dt, ((const uint16_t *)x->buf)[where]);
    return x->dt == LAC_F64 ? ((const double *)x->buf)[where] : (double)((const float *)x->buf)[where];
}

/* STUB_WRONG: the name of a route whose results are wrong. */
static double fault_of(const lac_route_t *route)
{
    const char *wrong = getenv("STUB_WRONG");
    return wrong && strcmp(wrong, route->name) == 0 ? 1.0 : 0.0;
}

static void multiply(const product_t *product)
{
    const lac_problem_t *p = &product->problem;
    double fault = fault_of(product->route);
    bool skips = product->route->side == LAC_SIDE_LEFT;
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            double sum = i == p->m / 2 && j == p->n / 2 ? fault : 0.0;
            for (lac_dim_t k = 0; p->alpha != 0.0f && k < p->k; k++)
                if (!skips || at(&p->a, i, k) != 0.0) sum += at(&p->a, i, k) * at(&p->b, k, j);
            lac_operand_t c = {.dt = p->dt, .buf = p->c, .rs = p->crs, .cs = p->ccs};
            double value = (double)p->alpha * sum + (p->beta != 0.0f ? (double)p->beta * at(&c, i, j) : 0.0);
            if (lac_is_half(p->dt))
                *(uint16_t *)lac_c_at(p, i, j) = ref_half_nearest(p->dt, value);
            else if (p->dt == LAC_F64)
                *(double *)lac_c_at(p, i, j) = value;
            else
                *(float *)lac_c_at(p, i, j) = (float)value;
        }
}

static lac_refusal_t always(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return LAC_FITS;
}

static lac_refusal_t where_known(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return p->settings.strict_nan ? LAC_REFUSED_STRICT_NAN
           : p->a.density < 0.0   ? LAC_REFUSED_DENSITY_UNKNOWN
                                  : LAC_FITS;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)machine;
    double density = route->side == LAC_SIDE_LEFT ? p->a.density : 1.0;
    return 1.0 + 1e-3 * density * (double)p->m * (double)p->n * (double)p->k;
}

static size_t no_bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

/* Stack frames in the last run of a route, its own included: how deep a call goes. Found with dlsym. */
__attribute__((visibility("default"))) int stub_frames;
/* The arithmetic that the caller of this run asked for. Found with dlsym. */
__attribute__((visibility("default"))) int stub_math = -1;

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    void *frame[64];
    stub_frames = backtrace(frame, 64);
    stub_math = (int)p->settings.math;
    out->density = route->side == LAC_SIDE_LEFT ? p->a.density : -1.0;
    recording_t *to = exec->recording;
    product_t product = {route, *p};
    if (!to) {
        multiply(&product);
        return LAC_OK;
    }
    product_t *grown = realloc(to->product, (size_t)(to->count + 1) * sizeof *grown);
    if (!grown) return core->fail(LAC_ERR_MEMORY, "recording: out of memory");
    to->product = grown;
    to->product[to->count++] = product;
    return LAC_OK;
}

static const lac_route_t event = {
    "event", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, where_known, cost_us, no_bytes, run, NULL, false};
static const lac_route_t reference = {
    "reference", LAC_ROLE_ORACLE, LAC_SIDE_NONE, always, cost_us, no_bytes, run, NULL, false};
static const lac_route_t dense = {"dense", LAC_ROLE_DENSE, LAC_SIDE_NONE, always, cost_us, no_bytes,
                                  run,     NULL,           false};

static const lac_route_t *const *routes(int *count)
{
    static const lac_route_t *const table[] = {&event, &reference, &dense};
    *count = sizeof table / sizeof *table;
    return table;
}

/* Memory ----------------------------------------------------------------------------------------------- */

static lac_status_t alloc(lac_exec_t *exec, size_t bytes, void **memory)
{
    (void)exec;
    *memory = malloc(bytes ? bytes : 1);
    return *memory ? LAC_OK : core->fail(LAC_ERR_MEMORY, "memory: out of memory");
}

static lac_status_t release(lac_exec_t *exec, void *memory)
{
    (void)exec;
    free(memory);
    return LAC_OK;
}

static lac_status_t copy(lac_exec_t *exec, void *to, const void *from, size_t bytes)
{
    (void)exec;
    memcpy(to, from, bytes);
    return LAC_OK;
}

static lac_status_t fetch(int device, void *to, const void *from, size_t bytes)
{
    (void)device;
    memcpy(to, from, bytes);
    return LAC_OK;
}

static lac_status_t request(int device, void **to, const void *from, size_t bytes)
{
    (void)device;
    *to = malloc(bytes ? bytes : 1);
    if (!*to) return core->fail(LAC_ERR_MEMORY, "metadata: out of memory");
    memcpy(*to, from, bytes);
    return LAC_OK;
}

/* Calls ------------------------------------------------------------------------------------------------ */

static lac_status_t wait(lac_exec_t *exec)
{
    (void)exec;
    return LAC_OK;
}

/* Replayed at once, and given up. */
static lac_status_t branch(lac_exec_t *exec, lac_branch_t *two)
{
    (void)exec;
    int64_t nonzeros = 0;
    if (two->prepare(two->arg)) return LAC_ERR_INTERNAL;
    for (lac_dim_t i = 0; i < two->rows; i++)
        for (lac_dim_t j = 0; j < two->cols; j++) nonzeros += at(two->x, i, j) != 0.0;
    bool few = (double)nonzeros < two->limit * (double)(two->rows * two->cols);
    lac_status_t status = (few ? two->sparse_path : two->dense_path)(two->arg);
    two->touched = true;
    two->on_release(two->owner);
    return status;
}

static lac_status_t prepare(lac_exec_t *exec, const lac_route_t *route, const lac_problem_t *p)
{
    (void)exec, (void)route, (void)p;
    return LAC_OK;
}

static void *stream(const lac_exec_t *exec)
{
    return (void *)(uintptr_t)exec; /* any address but NULL: the context has one of its own */
}

static bool capturing(const lac_exec_t *exec)
{
    return exec->recording != NULL;
}

static lac_status_t time_work(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, double *us)
{
    (void)exec;
    lac_status_t status = LAC_OK;
    double begin = now_us();
    for (int i = 0; !status && i < calls; i++) status = work(arg);
    *us = (now_us() - begin) / calls;
    return status;
}

static void forget(void *recording)
{
    recording_t *made = recording;
    if (made) free(made->product);
    free(made);
}

static lac_status_t record(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, void **recording)
{
    lac_status_t status = LAC_OK;
    exec->recording = calloc(1, sizeof *exec->recording);
    if (!exec->recording) return core->fail(LAC_ERR_MEMORY, "recording: out of memory");
    for (int i = 0; !status && i < calls; i++) status = work(arg);
    *recording = exec->recording;
    exec->recording = NULL;
    if (status) forget(*recording);
    return status;
}

static lac_status_t replay(lac_exec_t *exec, void *recording, int times, double *us)
{
    (void)exec;
    const recording_t *made = recording;
    double begin = now_us();
    for (int t = 0; t < times; t++)
        for (int i = 0; i < made->count; i++) multiply(&made->product[i]);
    if (us) *us = (now_us() - begin) / times;
    return LAC_OK;
}

/* The backend ------------------------------------------------------------------------------------------ */

static lac_status_t open_device(lac_exec_t **exec, lac_device_request_t *where, const lac_machine_t *machine)
{
    (void)machine;
    *exec = NULL;
    if (where->device > 0)
        return core->fail(LAC_ERR_UNAVAILABLE, "device: %d, and there are 1", where->device);
    where->device = 0;
    *exec = calloc(1, sizeof **exec);
    where->name = "A Pretended Device";
    return *exec ? LAC_OK : core->fail(LAC_ERR_MEMORY, "context: out of memory");
}

static void close_device(lac_exec_t *exec)
{
    free(exec);
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "loaded, pretends to be a device");
}

/* Exact: it reads every element. */
static int64_t sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      lac_sample_t *out, uint64_t seed, const void *tag, bool first)
{
    (void)exec, (void)seed, (void)tag, (void)first;
    int64_t nonzeros = 0;
    for (lac_dim_t i = 0; i < rows; i++)
        for (lac_dim_t j = 0; j < cols; j++) nonzeros += at(x, i, j) != 0.0;
    out->looked = rows * cols;
    out->lines = -1.0;
    return nonzeros;
}

static lac_status_t scan(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, int threads)
{
    (void)exec, (void)obj, (void)what, (void)threads;
    return LAC_OK;
}

static lac_status_t tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                         void *arg)
{
    (void)exec, (void)threads;
    if (progress) progress(arg, "memory that is the host's", "1/1");
    machine->cuda_dram_gbps = 12.5;
    return LAC_OK;
}

static size_t bytes(const lac_exec_t *exec)
{
    (void)exec;
    return 0;
}

static void info(const lac_exec_t *exec, lac_info_fn fact, void *arg)
{
    (void)exec;
    fact(arg, "device", "pretended");
    fact(arg, "device cache", "0.1 MB");
}

__attribute__((visibility("default"))) const lac_backend_t *
lac_cuda_backend(const lac_host_callbacks_t *callbacks);

const lac_backend_t *lac_cuda_backend(const lac_host_callbacks_t *callbacks)
{
    static const lac_memory_t memory = {fetch, request, free};
    static const lac_device_t device = {.alloc = alloc,
                                        .release = release,
                                        .upload = copy,
                                        .download = copy,
                                        .wait = wait,
                                        .add = reference_loops_add,
                                        .branch = branch,
                                        .stream = stream,
                                        .capturing = capturing,
                                        .time = time_work,
                                        .record = record,
                                        .replay = replay,
                                        .forget = forget};
    static const lac_backend_t backend = {.name = "cuda",
                                          .space = LAC_DEVICE,
                                          .asynchronous = true,
                                          .version = TEXT_OF(LACUNA_VERSION),
                                          .memory = &memory,
                                          .device = &device,
                                          .describe = describe,
                                          .routes = routes,
                                          .open = open_device,
                                          .close = close_device,
                                          .prepare = prepare,
                                          .sample = sample,
                                          .spmm = reference_loops_spmm,
                                          .scan = scan,
                                          .tune = tune,
                                          .bytes = bytes,
                                          .info = info};
    core = callbacks;
    return &backend;
}
