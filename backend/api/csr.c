/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows that a call brings along: what can be checked without reading them is checked
 * here. */
#include "entry.h"
#include "base/status.h"
#include "base/memory.h"
#include "operand/check.h"
#include "operand/delays.h"
#include "lacuna/device.h"
#include "lacuna/csr.h"

#include <inttypes.h>
#include <stdio.h>

static size_t width_of(lac_index_t it)
{
    return it == LAC_I64 ? sizeof(int64_t) : sizeof(int32_t);
}

static lac_status_t check_index_type(const char *name, lac_index_t it)
{
    if (it == LAC_I32 || it == LAC_I64) return LAC_OK;
    return lac_fail(LAC_ERR_TYPE, "%s: %d is no index type", name, (int)it);
}

static lac_status_t check_pointers(const char *name, const lac_csr_t *a)
{
    if (a->ptr) return LAC_OK;
    if (a->m ? a->nnz % a->m == 0 : a->nnz == 0) return LAC_OK;
    return lac_fail(LAC_ERR_EXTENT,
                    "%s.nnz: %" PRId64 " entries are not as many for each of %" PRId64 " rows", name, a->nnz,
                    a->m);
}

static lac_status_t check_csr(const char *name, const lac_csr_t *a)
{
    lac_status_t status;
    if (!a) return lac_fail(LAC_ERR_NULL, "%s: is NULL", name);
    if (a->size < sizeof *a)
        return lac_fail(LAC_ERR_VALUE, "%s.size: is %zu; set it to sizeof(lac_csr_t)", name, a->size);
    if ((status = check_index_type(name, a->it))) return status;
    if (a->trans != LAC_NO_TRANS && a->trans != LAC_TRANS)
        return lac_fail(LAC_ERR_VALUE, "%s.trans: %d is no lac_trans_t", name, (int)a->trans);
    if (a->m < 0 || a->n < 0 || a->nnz < 0 || a->m >= INT64_MAX / 16 || a->n >= INT64_MAX / 2048 ||
        a->nnz >= INT64_MAX / 16)
        return lac_fail(LAC_ERR_EXTENT, "%s: %" PRId64 " x %" PRId64 " with %" PRId64 " entries", name, a->m,
                        a->n, a->nnz);
    if (a->nnz && !a->idx) return lac_fail(LAC_ERR_NULL, "%s.idx: is NULL", name);
    if (a->homogeneous && !a->val) return lac_fail(LAC_ERR_NULL, "%s.val: is NULL", name);
    return check_pointers(name, a);
}

static lac_csr_call_t describe(const lac_ctx_t *ctx, const lac_csr_t *a, bool values)
{
    return (lac_csr_call_t){
        .a = a, .transposed = a->trans == LAC_TRANS, .values = values, .threads = ctx->policy.threads};
}

static lac_status_t check_available(const lac_ctx_t *ctx)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if (ctx->backend->csr) return LAC_OK;
    return lac_fail(LAC_ERR_UNAVAILABLE, "ctx: the %s backend has no such operator; use a host context",
                    ctx->backend->name);
}

/* That an array lies in the context's space, as far as that can be known at no cost. */
static lac_status_t check_space(const lac_ctx_t *ctx, const char *name, const char *array, const void *memory)
{
    char full[32];
    if (!memory || !ctx->backend->check) return LAC_OK;
    snprintf(full, sizeof full, "%s%s%s", name, array ? "." : "", array ? array : "");
    return ctx->backend->check(ctx->exec, full, memory);
}

static lac_status_t begin(const lac_ctx_t *ctx, const char *name, const lac_csr_t *a)
{
    lac_status_t status = check_available(ctx);
    if (!status) status = check_csr(name, a);
    if (!status) status = check_space(ctx, name, "ptr", a->ptr);
    if (!status) status = check_space(ctx, name, "idx", a->idx);
    if (!status) status = check_space(ctx, name, "val", a->val);
    return status ? status : check_space(ctx, name, "perm", a->perm);
}

typedef lac_status_t (*csr_operator_t)(lac_exec_t *exec, const lac_csr_call_t *call);

/* Runs a checked call with the context's device as the current one. */
static lac_status_t run(const lac_ctx_t *ctx, csr_operator_t serve, const lac_csr_call_t *call)
{
    int token = lac_enter(ctx);
    lac_status_t status = serve(ctx->exec, call);
    lac_leave(ctx, token);
    return status;
}

/* A dense operand of these extents. */
static lac_status_t check_dense(const lac_ctx_t *ctx, const char *name, const lac_obj_t *x, bool output,
                                bool events, lac_dim_t rows, lac_dim_t cols)
{
    lac_status_t status = lac_check_operand(name, x, output, lac_location_of(ctx));
    if (status) return status;
    if (x->dt != LAC_F32 && !(events && x->dt == LAC_U8))
        return lac_fail(LAC_ERR_TYPE, "%s.dt: is not LAC_F32%s", name, events ? " or LAC_U8" : "");
    if (lac_obj_rows(x) != rows || lac_obj_cols(x) != cols)
        return lac_fail(LAC_ERR_EXTENT, "%s: is %" PRId64 " x %" PRId64 "; expected %" PRId64 " x %" PRId64,
                        name, lac_obj_rows(x), lac_obj_cols(x), rows, cols);
    if (!x->buf && x->m && x->n) return lac_fail(LAC_ERR_NULL, "%s.buf: is NULL", name);
    return check_space(ctx, name, NULL, x->buf);
}

/* That what is written shares no memory with an array of a. */
static lac_status_t check_apart(const char *written_name, const lac_obj_t *written, const char *name,
                                const lac_csr_t *a)
{
    const struct {
        const char *name;
        lac_obj_t read;
    } reads[] = {{"ptr", lac_view_array(a->ptr, a->ptr ? a->m + 1 : 0, width_of(a->it))},
                 {"idx", lac_view_array(a->idx, a->nnz, width_of(a->it))},
                 {"perm", lac_view_array(a->perm, a->perm ? a->nnz : 0, width_of(a->it))},
                 {"val", lac_view_array(a->val,
                                        !a->val          ? 0
                                        : a->homogeneous ? 1
                                                         : a->nnz,
                                        sizeof *a->val)}};
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        if (lac_share_memory(&reads[i].read, written))
            return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s.%s", written_name, name, reads[i].name);
    return LAC_OK;
}

static lac_inc_t row_stride(const lac_obj_t *x)
{
    return x->trans == LAC_TRANS ? x->cs : x->rs;
}

static lac_inc_t col_stride(const lac_obj_t *x)
{
    return x->trans == LAC_TRANS ? x->rs : x->cs;
}

static lac_obj_t untransposed(const lac_obj_t *x)
{
    return (lac_obj_t){.dt = x->dt,
                       .space = x->space,
                       .m = lac_obj_rows(x),
                       .n = lac_obj_cols(x),
                       .rs = row_stride(x),
                       .cs = col_stride(x),
                       .buf = x->buf};
}

static void set_output(lac_csr_call_t *call, const lac_obj_t *out)
{
    call->out = out->buf;
    call->rs = row_stride(out);
    call->cs = col_stride(out);
}

lac_status_t lac_csr_gemm(lac_ctx_t *ctx, const lac_csr_t *a, const lac_obj_t *b, int binary,
                          const lac_obj_t *c)
{
    lac_status_t status = begin(ctx, "a", a);
    if (status) return status;
    bool transposed = a->trans == LAC_TRANS;
    if (!b) return lac_fail(LAC_ERR_NULL, "b: is NULL");
    lac_dim_t columns = lac_obj_cols(b);
    if ((status = check_dense(ctx, "b", b, false, true, transposed ? a->m : a->n, columns))) return status;
    if ((status = check_dense(ctx, "c", c, true, false, transposed ? a->n : a->m, columns))) return status;
    if (lac_share_memory(b, c)) return lac_fail(LAC_ERR_ALIAS, "c: overlaps b");
    if ((status = check_apart("c", c, "a", a))) return status;
    lac_csr_call_t call = describe(ctx, a, true);
    call.x = untransposed(b);
    call.binary = binary;
    call.columns = columns;
    set_output(&call, c);
    return c->m && c->n ? run(ctx, ctx->backend->csr->gemm, &call) : LAC_OK;
}

lac_status_t lac_csr_count(lac_ctx_t *ctx, const lac_csr_t *a, const lac_obj_t *b, int32_t *counts)
{
    lac_status_t status = begin(ctx, "a", a);
    if (status) return status;
    if (a->trans != LAC_TRANS) return lac_fail(LAC_ERR_VALUE, "a.trans: is not LAC_TRANS");
    if (!b) return lac_fail(LAC_ERR_NULL, "b: is NULL");
    lac_dim_t columns = lac_obj_cols(b), all;
    if ((status = check_dense(ctx, "b", b, false, true, a->m, columns))) return status;
    if (__builtin_mul_overflow(a->n, columns, &all) || all >= INT64_MAX / 16 || a->nnz > INT32_MAX)
        return lac_fail(LAC_ERR_EXTENT, "counts: %" PRId64 " x %" PRId64 " of up to %" PRId64, a->n, columns,
                        a->nnz);
    if (all && !counts) return lac_fail(LAC_ERR_NULL, "counts: is NULL");
    if ((status = check_space(ctx, "counts", NULL, all ? counts : NULL))) return status;
    lac_obj_t written = lac_view_array(counts, all, sizeof *counts);
    if (lac_share_memory(b, &written)) return lac_fail(LAC_ERR_ALIAS, "counts: overlaps b");
    lac_csr_t read = *a;
    read.val = NULL, read.perm = NULL; /* not read here */
    if ((status = check_apart("counts", &written, "a", &read))) return status;
    lac_csr_call_t call = describe(ctx, a, false);
    call.x = untransposed(b);
    call.binary = true;
    call.columns = columns;
    call.counts = counts;
    return all ? run(ctx, ctx->backend->csr->count, &call) : LAC_OK;
}

/* What both slices share: everything but the values. */
static lac_status_t check_slice(const lac_ctx_t *ctx, const lac_csr_t *a, lac_index_t it, lac_dim_t count,
                                const void *rows, const char *name, const lac_obj_t *dense, bool output)
{
    lac_status_t status = begin(ctx, "a", a);
    if (!status) status = check_index_type("it", it);
    if (status) return status;
    if (a->trans != LAC_NO_TRANS) return lac_fail(LAC_ERR_VALUE, "a.trans: is not LAC_NO_TRANS");
    if (count < 0 || count >= INT64_MAX / 16) return lac_fail(LAC_ERR_EXTENT, "count: is %" PRId64, count);
    if (count && !rows) return lac_fail(LAC_ERR_NULL, "rows: is NULL");
    if ((status = check_space(ctx, "rows", NULL, count ? rows : NULL))) return status;
    return check_dense(ctx, name, dense, output, false, count, a->n);
}

static lac_status_t check_rows_apart(const char *name, const lac_obj_t *written, lac_index_t it,
                                     lac_dim_t count, const void *rows)
{
    lac_obj_t list = lac_view_array(rows, count, width_of(it));
    return lac_share_memory(&list, written) ? lac_fail(LAC_ERR_ALIAS, "%s: overlaps rows", name) : LAC_OK;
}

lac_status_t lac_csr_slice_rows(lac_ctx_t *ctx, const lac_csr_t *a, lac_index_t it, lac_dim_t count,
                                const void *rows, const lac_obj_t *out)
{
    lac_status_t status = check_slice(ctx, a, it, count, rows, "out", out, true);
    if (!status) status = check_rows_apart("out", out, it, count, rows);
    if (!status) status = check_apart("out", out, "a", a);
    if (status) return status;
    lac_csr_call_t call = describe(ctx, a, true);
    call.it = it;
    call.count = count;
    call.rows = rows;
    set_output(&call, out);
    return count && a->n ? run(ctx, ctx->backend->csr->slice_rows, &call) : LAC_OK;
}

/* An output of one value for each entry. */
static lac_status_t check_values(const lac_ctx_t *ctx, const char *name, const float *values,
                                 const char *csr_name, const lac_csr_t *a, lac_obj_t *written)
{
    if (a->nnz && !values) return lac_fail(LAC_ERR_NULL, "%s: is NULL", name);
    lac_status_t status = check_space(ctx, name, NULL, a->nnz ? values : NULL);
    if (status) return status;
    *written = lac_view_array(values, a->nnz, sizeof *values);
    lac_csr_t read = *a;
    read.val = NULL; /* not read here */
    return check_apart(name, written, csr_name, &read);
}

lac_status_t lac_csr_slice_rows_grad(lac_ctx_t *ctx, const lac_csr_t *a, lac_index_t it, lac_dim_t count,
                                     const void *rows, const lac_obj_t *grad_out, float *grad_val)
{
    lac_obj_t written;
    lac_status_t status = check_slice(ctx, a, it, count, rows, "grad_out", grad_out, false);
    if (!status) status = check_values(ctx, "grad_val", grad_val, "a", a, &written);
    if (!status) status = check_rows_apart("grad_val", &written, it, count, rows);
    if (status) return status;
    if (lac_share_memory(grad_out, &written)) return lac_fail(LAC_ERR_ALIAS, "grad_val: overlaps grad_out");
    lac_csr_call_t call = describe(ctx, a, false);
    call.it = it;
    call.count = count;
    call.rows = rows;
    call.y = untransposed(grad_out);
    call.out = grad_val;
    return a->nnz ? run(ctx, ctx->backend->csr->slice_rows_grad, &call) : LAC_OK;
}

lac_status_t lac_csr_sddmm(lac_ctx_t *ctx, const lac_obj_t *x, const lac_obj_t *y, const lac_csr_t *pattern,
                           float *values)
{
    lac_obj_t written;
    lac_status_t status = begin(ctx, "pattern", pattern);
    if (status) return status;
    if (pattern->trans != LAC_NO_TRANS) return lac_fail(LAC_ERR_VALUE, "pattern.trans: is not LAC_NO_TRANS");
    if (!x) return lac_fail(LAC_ERR_NULL, "x: is NULL");
    if ((status = check_dense(ctx, "x", x, false, false, pattern->m, lac_obj_cols(x)))) return status;
    if ((status = check_dense(ctx, "y", y, false, false, lac_obj_cols(x), pattern->n))) return status;
    if ((status = check_values(ctx, "values", values, "pattern", pattern, &written))) return status;
    if (lac_share_memory(x, &written)) return lac_fail(LAC_ERR_ALIAS, "values: overlaps x");
    if (lac_share_memory(y, &written)) return lac_fail(LAC_ERR_ALIAS, "values: overlaps y");
    lac_csr_call_t call = describe(ctx, pattern, false);
    call.x = untransposed(x);
    call.y = untransposed(y);
    call.depth = lac_obj_cols(x);
    call.out = values;
    return pattern->nnz ? run(ctx, ctx->backend->csr->sddmm, &call) : LAC_OK;
}

lac_status_t lac_csr_workspace(lac_ctx_t *ctx, void *memory, size_t bytes)
{
    lac_status_t status = check_available(ctx);
    if (!status) status = check_space(ctx, "memory", NULL, memory);
    if (status) return status;
    if ((uintptr_t)memory % sizeof(uint64_t))
        return lac_fail(LAC_ERR_VALUE, "memory: is not aligned to %zu bytes", sizeof(uint64_t));
    return ctx->backend->csr->workspace(ctx->exec, memory, memory ? bytes : 0);
}

/* What lac_csr_by_delay reads and writes: of what size, and where it stands on the host. */
typedef struct passed {
    const char *name;
    void *memory; /* the caller's; NULL: there is none */
    int64_t count;
    size_t width;
    bool written;
    void *here;
} passed_t;

enum { READ = 5, PASSED = 9 };

static lac_status_t check_passed(const lac_ctx_t *ctx, const passed_t *all)
{
    for (int i = 0; i < PASSED; i++) {
        lac_status_t status = check_space(ctx, all[i].name, NULL, all[i].memory);
        if (status) return status;
        lac_obj_t one = lac_view_array(all[i].memory, all[i].memory ? all[i].count : 0, all[i].width);
        for (int j = 0; all[i].written && j < i; j++) {
            lac_obj_t other = lac_view_array(all[j].memory, all[j].memory ? all[j].count : 0, all[j].width);
            if (lac_share_memory(&one, &other))
                return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", all[i].name, all[j].name);
        }
    }
    return LAC_OK;
}

/* Copies of what lies on a device. */
static lac_status_t fetch_passed(lac_ctx_t *ctx, passed_t *all)
{
    lac_status_t status = LAC_OK;
    for (int i = 0; !status && i < PASSED; i++) {
        size_t bytes = (size_t)all[i].count * all[i].width;
        if (!all[i].memory) continue;
        all[i].here = lac_alloc(bytes);
        if (!all[i].here) return lac_fail(LAC_ERR_MEMORY, "%s: out of memory for a copy", all[i].name);
        if (!all[i].written) status = lac_device_download(ctx, all[i].here, all[i].memory, bytes);
    }
    return status;
}

static lac_status_t split_passed(const lac_csr_t *a, lac_dim_t delays, lac_dim_t pitch, const passed_t *all)
{
    lac_csr_t read = *a;
    read.ptr = all[0].here, read.idx = all[1].here, read.val = all[2].here, read.perm = all[3].here;
    return lac_split_delays(&(lac_delays_t){.a = &read,
                                            .delay = all[4].here,
                                            .delays = delays,
                                            .pitch = pitch,
                                            .ptr = all[5].here,
                                            .idx = all[6].here,
                                            .val = all[7].here,
                                            .order = all[8].here});
}

lac_status_t lac_csr_by_delay(lac_ctx_t *ctx, const lac_csr_t *a, const int32_t *delay, lac_dim_t delays,
                              lac_dim_t pitch, void *ptr, void *idx, float *val, void *order)
{
    lac_status_t status = begin(ctx, "a", a);
    if (status) return status;
    if (a->trans != LAC_NO_TRANS) return lac_fail(LAC_ERR_VALUE, "a.trans: is not LAC_NO_TRANS");
    if (a->nnz && !delay) return lac_fail(LAC_ERR_NULL, "delay: is NULL");
    if (!ptr) return lac_fail(LAC_ERR_NULL, "ptr: is NULL");
    if (delays < 1 || delays > INT32_MAX)
        return lac_fail(LAC_ERR_EXTENT, "delays: %" PRId64 " is outside [1, 2^31)", delays);
    if (pitch < a->m || pitch > INT64_MAX / 16 / delays)
        return lac_fail(LAC_ERR_EXTENT, "pitch: %" PRId64 " for %" PRId64 " rows", pitch, a->m);
    if (a->it == LAC_I32 && a->nnz > INT32_MAX)
        return lac_fail(LAC_ERR_EXTENT, "a.nnz: %" PRId64 " overflows 32-bit indices", a->nnz);
    size_t index = width_of(a->it);
    passed_t all[PASSED] = {
        {"a.ptr", (void *)(uintptr_t)a->ptr, a->m + 1, index, false, NULL},
        {"a.idx", (void *)(uintptr_t)a->idx, a->nnz, index, false, NULL},
        {"a.val", (void *)(uintptr_t)a->val, a->homogeneous ? 1 : a->nnz, sizeof *val, false, NULL},
        {"a.perm", (void *)(uintptr_t)a->perm, a->nnz, index, false, NULL},
        {"delay", (void *)(uintptr_t)delay, a->nnz, sizeof *delay, false, NULL},
        {"ptr", ptr, (delays - 1) * pitch + a->m + 1, index, true, NULL},
        {"idx", idx, a->nnz, index, true, NULL},
        {"val", val, a->nnz, sizeof *val, true, NULL},
        {"order", order, a->nnz, index, true, NULL}};
    if ((status = check_passed(ctx, all))) return status;
    bool device = ctx->backend->device;
    if (device)
        status = fetch_passed(ctx, all);
    else
        for (int i = 0; i < PASSED; i++) all[i].here = all[i].memory;
    if (!status) status = split_passed(a, delays, pitch, all);
    for (int i = READ; device && !status && i < PASSED; i++)
        if (all[i].memory)
            status = lac_device_upload(ctx, all[i].memory, all[i].here, (size_t)all[i].count * all[i].width);
    for (int i = 0; device && i < PASSED; i++) lac_free(all[i].here);
    return status;
}
