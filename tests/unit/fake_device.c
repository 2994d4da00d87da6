/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Counts, fails and refuses as the test asks. */
#include "fake_device.h"
#include "base/status.h"
#include "host/runtime/backend.h"

#include <stdlib.h>
#include <string.h>

fake_device_t fake;

static lac_status_t answer(void)
{
    return ++fake.calls == fake.fails ? lac_fail(LAC_ERR_VENDOR, "device: as the test wants it") : LAC_OK;
}

/* ---- memory ---- */

static lac_status_t alloc(lac_exec_t *exec, size_t bytes, void **memory)
{
    (void)exec;
    lac_status_t status = answer();
    if (status) return status;
    fake.allocated++;
    *memory = malloc(bytes ? bytes : 1);
    return LAC_OK;
}

static lac_status_t release(lac_exec_t *exec, void *memory)
{
    (void)exec;
    fake.allocated--;
    free(memory);
    return answer();
}

static lac_status_t copy(lac_exec_t *exec, void *to, const void *from, size_t bytes)
{
    (void)exec;
    lac_status_t status = answer();
    if (!status) memcpy(to, from, bytes);
    return status;
}

static lac_status_t fetch(int device, void *to, const void *from, size_t bytes)
{
    (void)device;
    return copy(NULL, to, from, bytes);
}

static lac_status_t request(int device, void **to, const void *from, size_t bytes)
{
    (void)device;
    *to = malloc(bytes ? bytes : 1);
    lac_status_t status = copy(NULL, *to, from, bytes);
    if (status) free(*to);
    return status;
}

static lac_status_t check(lac_exec_t *exec, const char *name, const void *buf)
{
    (void)exec;
    return buf && buf == fake.elsewhere ? lac_fail(LAC_ERR_SPACE, "%s: is not here", name) : LAC_OK;
}

static uint64_t allocation(lac_exec_t *exec, const void *buf)
{
    (void)exec, (void)buf;
    return fake.allocation;
}

/* There at the second question. */
static bool fingerprint(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                        const void *tag, bool asks, uint64_t *out)
{
    (void)exec, (void)tag;
    bool owed = fake.owes_fingerprint;
    fake.owes_fingerprint = asks;
    fake.prints += asks;
    *out = 0;
    for (lac_dim_t i = 0; i < rows; i++)
        for (lac_dim_t j = 0; j < cols; j++)
            *out = 31 * *out + (uint64_t)(int64_t)((const float *)x->buf)[i * x->rs + j * x->cs];
    return owed;
}

/* ---- streams and time ---- */

static lac_status_t wait(lac_exec_t *exec)
{
    (void)exec;
    return answer();
}

static lac_status_t add(lac_exec_t *exec, lac_dim_t m, lac_dim_t n, const float *x, lac_inc_t xrs,
                        lac_inc_t xcs, float beta, float *to, lac_inc_t rs, lac_inc_t cs)
{
    (void)exec;
    for (lac_dim_t i = 0; i < m; i++)
        for (lac_dim_t j = 0; j < n; j++) {
            float *at = &to[i * rs + j * cs];
            *at = beta * *at + x[i * xrs + j * xcs];
        }
    return answer();
}

static void *stream(const lac_exec_t *exec)
{
    return (void *)(uintptr_t)exec;
}

static bool capturing(const lac_exec_t *exec)
{
    (void)exec;
    return fake.capturing;
}

static lac_status_t time_work(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, double *us)
{
    (void)exec;
    lac_status_t status = answer();
    for (int i = 0; !status && i < calls; i++) status = work(arg);
    *us = 2.0;
    return status;
}

static lac_status_t record(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, void **recording)
{
    *recording = malloc(sizeof(double));
    lac_status_t status = time_work(exec, work, arg, calls, *recording);
    if (status) free(*recording);
    return status;
}

static lac_status_t replay(lac_exec_t *exec, void *recording, int times, double *us)
{
    (void)exec, (void)times;
    if (us) *us = 3.0 * *(double *)recording;
    return answer();
}

/* ---- calls ---- */

static int enter(lac_exec_t *exec)
{
    (void)exec;
    return fake.inside++;
}

static void leave(lac_exec_t *exec, int token)
{
    (void)exec;
    fake.inside--;
    assert_int_equal(fake.inside, token);
}

static lac_status_t prepare(lac_exec_t *exec, const lac_route_t *route, const lac_problem_t *p)
{
    (void)exec, (void)route, (void)p;
    fake.prepared++;
    return answer();
}

static lac_status_t batched(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                            lac_batch_outcome_t *out)
{
    (void)exec;
    fake.batches++;
    fake.batch = *batch;
    *out = fake.takes;
    for (lac_dim_t q = 0; out->served && q < batch->count; q++) {
        float *c = batch->c_each ? batch->c_each[q] : (float *)p->c + q * batch->c_step;
        for (lac_dim_t i = 0; i < p->m; i++)
            for (lac_dim_t j = 0; j < p->n; j++) c[i * p->crs + j * p->ccs] = 7.0f;
    }
    return answer();
}

lac_backend_t *fake_device_backend(void)
{
    static const lac_memory_t memory = {fetch, request, free};
    static const lac_device_t device = {.alloc = alloc,
                                        .release = release,
                                        .upload = copy,
                                        .download = copy,
                                        .wait = wait,
                                        .add = add,
                                        .stream = stream,
                                        .capturing = capturing,
                                        .time = time_work,
                                        .record = record,
                                        .replay = replay,
                                        .forget = free};
    static lac_backend_t backend;
    backend = lac_backend_host;
    backend.name = "fake";
    backend.space = LAC_DEVICE;
    backend.memory = &memory;
    backend.device = &device;
    backend.enter = enter;
    backend.leave = leave;
    backend.check = check;
    backend.allocation = allocation;
    backend.fingerprint = fingerprint;
    backend.prepare = prepare;
    backend.batched = batched;
    return &backend;
}

lac_ctx_t *fake_device_ctx(void)
{
    lac_ctx_t *ctx = unit_ctx();
    fake = (fake_device_t){0};
    ctx->backend = fake_device_backend();
    ctx->device = 0;
    return ctx;
}

lac_obj_t fake_device_matrix(lac_dim_t m, lac_dim_t n, float *buf)
{
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, m, n, buf, n);
    x.space = LAC_DEVICE;
    return x;
}

int fake_device_teardown(void **state)
{
    assert_int_equal(fake.inside, 0);
    assert_int_equal(fake.allocated, 0);
    lac_ctx_free(*state);
    return 0;
}

void fake_device_refuses(lac_status_t got, lac_status_t want, const char *words)
{
    unit_expect(got, want, words);
    unit_expect_text(lac_last_error(), words);
}
