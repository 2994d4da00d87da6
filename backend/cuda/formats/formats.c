/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Formats from a dense buffer on the device: count, scan, fill; one number travels to the host, the entries'
 * count. */
#include "formats.h"
#include "cuda/runtime/capture.h"
#include "base/status.h"

#include <math.h>

static lac_status_t read_count(lac_exec_t *exec, const int64_t *from, int64_t *count)
{
    lac_status_t status = lac_cuda_check_error(
        cudaMemcpyAsync(count, from, sizeof *count, cudaMemcpyDeviceToHost, exec->stream), "metadata");
    return status ? status : lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
}

static lac_cuda_dense_t as_dense(const lac_cuda_matrix_t *x)
{
    return (lac_cuda_dense_t){x->dt, x->data, x->rs, x->cs, 0.0};
}

/* first[rows + 1] of x, queued; of its bits where they are known. */
static lac_status_t sum_rows(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                             int64_t *first, void *scratch)
{
    lac_cuda_dense_t dense = as_dense(x);
    lac_status_t status =
        known ? lac_cuda_csr_ptr_of_bits(x->rows, x->cols, known, first, scratch, exec->stream)
              : lac_cuda_csr_ptr(x->rows, x->cols, &dense, first, scratch, exec->stream);
    return lac_cuda_launched(status, "metadata");
}

/* The same with the sum read back. */
static lac_status_t count_rows(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                               int64_t *first, int64_t *count)
{
    void *scratch;
    lac_status_t status = lac_cuda_work(exec, (size_t)lac_cuda_csr_bytes(x->rows), &scratch);
    if (!status) status = sum_rows(exec, x, known, first, scratch);
    return status ? status : read_count(exec, first + x->rows, count);
}

static lac_status_t fill_rows(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                              const int64_t *first, int32_t *idx, lac_dt_t values, void *val)
{
    lac_cuda_dense_t dense = as_dense(x);
    lac_status_t status =
        known ? lac_cuda_csr_fill_of_bits(x->rows, x->cols, known, x->data, x->rs, x->cs, first, idx, val,
                                          exec->stream)
              : lac_cuda_csr_fill(x->rows, x->cols, &dense, first, idx, values, val, exec->stream);
    return lac_cuda_launched(status, "metadata");
}

static lac_status_t copy_piece(lac_exec_t *exec, void *to, const void *from, size_t bytes)
{
    return lac_cuda_check_error(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, exec->stream),
                                "metadata");
}

static size_t bits_bytes(const lac_cuda_matrix_t *x)
{
    return (size_t)x->rows * (size_t)((x->cols + 63) / 64) * sizeof(uint64_t);
}

static lac_status_t fill_bits(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                              uint64_t *bits)
{
    lac_cuda_dense_t dense = as_dense(x);
    if (known) return copy_piece(exec, bits, known, bits_bytes(x));
    return lac_cuda_launched(lac_cuda_fill_bits(x->rows, x->cols, &dense, bits, exec->stream), "metadata");
}

/* A bitmask beside the CSR of the same contents: its values lie in the same order. */
static lac_status_t build_bits(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                               const lac_format_data_t *rows, lac_dt_t values, lac_format_data_t *data)
{
    void *first, *val, *bits;
    size_t starts = (size_t)(x->rows + 1) * sizeof(int64_t),
           bytes = (size_t)rows->count * lac_dt_size(values);
    lac_status_t status = lac_cuda_format_own(data, 0, starts, &first);
    if (!status) status = lac_cuda_format_own(data, 1, bytes, &val);
    if (!status) status = lac_cuda_format_own(data, 2, bits_bytes(x), &bits);
    if (!status) status = copy_piece(exec, first, rows->ptr, starts);
    if (!status) status = copy_piece(exec, val, rows->val, bytes);
    if (!status) status = fill_bits(exec, x, known, bits);
    if (status) return status;
    data->count = rows->count;
    data->ptr = first;
    data->val = val;
    data->bits = bits;
    return LAC_OK;
}

/* A bitmask is filled by way of CSR: its indices live only meanwhile, if at all. */
static lac_status_t build_rows(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                               bool with_bits, lac_dt_t values, lac_format_data_t *data)
{
    void *first, *val = NULL, *idx = NULL, *bits = NULL;
    lac_status_t status = lac_cuda_format_own(data, 0, (size_t)(x->rows + 1) * sizeof(int64_t), &first);
    if (!status) status = count_rows(exec, x, known, first, &data->count);
    if (!status) status = lac_cuda_format_own(data, 1, (size_t)data->count * lac_dt_size(values), &val);
    if (!status && with_bits) status = lac_cuda_format_own(data, 2, bits_bytes(x), &bits);
    if (!status && with_bits && !known)
        status = lac_cuda_work(exec, (size_t)data->count * sizeof(int32_t), &idx);
    if (!status && !with_bits)
        status = lac_cuda_format_own(data, 2, (size_t)data->count * sizeof(int32_t), &idx);
    if (!status) status = fill_rows(exec, x, known, first, idx, values, val);
    if (!status && with_bits) status = fill_bits(exec, x, known, bits);
    if (status) return status;
    data->ptr = first;
    data->val = val;
    data->bits = bits;
    data->idx = with_bits ? NULL : idx;
    return LAC_OK;
}

/* The dense contents by rows of x. */
static lac_status_t build_copy(lac_exec_t *exec, const lac_cuda_matrix_t *x, lac_format_data_t *data)
{
    void *copy;
    if (x->dt == LAC_U8) return lac_fail(LAC_ERR_TYPE, "metadata: a transposed copy is made of numbers only");
    lac_status_t status =
        lac_cuda_format_own(data, 0, (size_t)x->rows * (size_t)x->cols * lac_dt_size(x->dt), &copy);
    if (!status)
        status = lac_cuda_launched(lac_cuda_copy(x, 0.0f, x->dt, copy, x->cols, 1, exec->stream), "metadata");
    data->val = status ? NULL : copy;
    return status;
}

static lac_status_t build_active(lac_exec_t *exec, const lac_cuda_matrix_t *x, lac_dt_t values,
                                 lac_format_data_t *data)
{
    size_t lists = lac_cuda_piece((size_t)x->cols * sizeof(int32_t));
    lac_cuda_dense_t dense = as_dense(x);
    char *memory;
    void *idx, *val;
    lac_status_t status =
        lac_cuda_work(exec, 256 + lists + (size_t)lac_cuda_active_bytes(x->cols), (void **)&memory);
    if (status) return status;
    int64_t *count = (int64_t *)(void *)memory;
    int32_t *active = (int32_t *)(void *)(memory + 256);
    status = lac_cuda_launched(
        lac_cuda_active_list(x->rows, x->cols, &dense, active, count, memory + 256 + lists, exec->stream),
        "metadata");
    if (!status) status = read_count(exec, count, &data->count);
    size_t bytes = (size_t)data->count * sizeof(int32_t);
    if (!status) status = lac_cuda_format_own(data, 0, bytes, &idx);
    if (!status)
        status =
            lac_cuda_format_own(data, 1, (size_t)data->count * (size_t)x->rows * lac_dt_size(values), &val);
    if (!status)
        status = lac_cuda_check_error(
            cudaMemcpyAsync(idx, active, bytes, cudaMemcpyDeviceToDevice, exec->stream), "metadata");
    if (!status)
        status = lac_cuda_launched(lac_cuda_active_values(x, data->count, idx, values, val, exec->stream),
                                   "metadata");
    if (status) return status;
    data->idx = idx;
    data->val = val;
    return LAC_OK;
}

/* `x` is the stored matrix, *data begun. known: its bits, or NULL. rows: its CSR, or NULL. The format is
 * complete when this returns: another stream may use it at once. */
static lac_status_t build(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                          lac_format_t format, lac_dt_t values, const lac_format_data_t *rows,
                          lac_format_data_t *data)
{
    bool turns = format == LAC_FORMAT_CSC || format == LAC_FORMAT_BITS_T || format == LAC_FORMAT_PACKED_T;
    lac_cuda_matrix_t view = *x;
    if (turns) view = (lac_cuda_matrix_t){x->dt, x->data, x->cols, x->rows, x->cs, x->rs}, known = NULL;
    bool copy = format == LAC_FORMAT_PACKED || format == LAC_FORMAT_PACKED_T;
    lac_status_t status = lac_cuda_may_allocate(exec, "metadata");
    if (!status && !copy && (x->rows > INT32_MAX || x->cols > INT32_MAX))
        status = lac_fail(LAC_ERR_EXTENT, "metadata: %lld x %lld overflows 32-bit indices",
                          (long long)x->rows, (long long)x->cols);
    if (!status)
        status = copy                          ? build_copy(exec, &view, data)
                 : format == LAC_FORMAT_ACTIVE ? build_active(exec, &view, values, data)
                 : format == LAC_FORMAT_BITS && rows
                     ? build_bits(exec, &view, known, rows, values, data)
                     : build_rows(exec, &view, known,
                                  format == LAC_FORMAT_BITS || format == LAC_FORMAT_BITS_T, values, data);
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    if (status) lac_cuda_format_drop(data);
    return status;
}

bool lac_cuda_format_at_hand(const lac_operand_t *x, lac_format_t which)
{
    if (x->formats & 1u << which || lac_cuda_format_converts(x, which)) return true;
    bool copy = which == LAC_FORMAT_PACKED || which == LAC_FORMAT_PACKED_T;
    bool buildable = copy ? x->dt != LAC_U8 : x->meta && x->meta->m <= INT32_MAX && x->meta->n <= INT32_MAX;
    return x->frozen && x->buf && buildable;
}

size_t lac_cuda_format_bytes(const lac_operand_t *x, lac_format_t which)
{
    const lac_format_data_t *there = lac_operand_format(x, which);
    if (there) return there->owned_bytes;
    if (!lac_cuda_format_at_hand(x, which)) return 0;
    double m = (double)x->meta->m, n = (double)x->meta->n, nnz = (x->density < 0 ? 0.0 : x->density) * m * n;
    if (which == LAC_FORMAT_PACKED || which == LAC_FORMAT_PACKED_T)
        return (size_t)((double)lac_dt_size(x->dt) * m * n);
    double entry = (double)lac_dt_size(x->values);
    if (which == LAC_FORMAT_BITS) return (size_t)(entry * nnz + 8.0 * m * (1.0 + ceil(n / 64.0)));
    if (which == LAC_FORMAT_BITS_T) return (size_t)(entry * nnz + 8.0 * n * (1.0 + ceil(m / 64.0)));
    return (size_t)((4.0 + entry) * nnz + 8.0 * ((which == LAC_FORMAT_CSC ? n : m) + 1.0));
}

lac_status_t lac_cuda_format_keep(lac_meta_t *meta, lac_format_t which, uint64_t made_of,
                                  lac_meta_make_fn make, void *arg, const lac_format_data_t **format)
{
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status = lac_meta_ensure(meta, which, made_of, make, arg, format);
    lac_cuda_capture_relaxed_end(mode);
    return status;
}

typedef struct made {
    lac_exec_t *exec;
    const lac_operand_t *x;
    lac_format_t which;
} made_t;

static lac_status_t make(void *arg, lac_format_data_t *data)
{
    const made_t *made = arg;
    const lac_operand_t *x = made->x;
    lac_cuda_matrix_t stored = {
        x->dt, x->buf, x->meta->m, x->meta->n, x->transposed ? x->cs : x->rs, x->transposed ? x->rs : x->cs};
    lac_cuda_format_begin(LAC_ORIGIN_SCANNED, data);
    return lac_cuda_format_converts(x, made->which)
               ? lac_cuda_format_convert(made->exec, x, made->which, data)
               : build(made->exec, &stored, NULL, made->which, x->values, NULL, data);
}

lac_status_t lac_cuda_format_ensure(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                    const lac_format_data_t **format)
{
    if ((*format = lac_operand_format(x, which))) return LAC_OK;
    if (!lac_cuda_format_at_hand(x, which)) return LAC_OK;
    return lac_cuda_format_keep(x->meta, which, 0, make, &(made_t){exec, x, which}, format);
}

lac_status_t lac_cuda_format_now(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                 const lac_format_data_t **format)
{
    *format = lac_operand_format(x, which);
    return *format || lac_cuda_capturing(exec) ? LAC_OK : lac_cuda_format_ensure(exec, x, which, format);
}

static const struct {
    unsigned bit;
    lac_format_t format;
} scans[] = {{LAC_META_CSR, LAC_FORMAT_CSR},
             {LAC_META_CSC, LAC_FORMAT_CSC},
             {LAC_META_BITMASK, LAC_FORMAT_BITS},
             {LAC_META_ACTIVE, LAC_FORMAT_ACTIVE}};

static lac_status_t scan_density(lac_exec_t *exec, const lac_cuda_matrix_t *x, const uint64_t *known,
                                 lac_meta_t *meta)
{
    size_t starts = lac_cuda_piece((size_t)(x->rows + 1) * sizeof(int64_t));
    char *memory;
    int64_t nnz = 0;
    lac_status_t status = lac_cuda_work(exec, starts + (size_t)lac_cuda_csr_bytes(x->rows), (void **)&memory);
    if (status) return status;
    int64_t *first = (int64_t *)(void *)memory;
    status = sum_rows(exec, x, known, first, memory + starts);
    if (!status) status = read_count(exec, first + x->rows, &nnz);
    if (status) return status;
    meta->nnz = nnz;
    meta->density_origin = LAC_ORIGIN_SCANNED;
    return LAC_OK;
}

static lac_status_t scan(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, const uint64_t *known)
{
    lac_cuda_matrix_t x = {obj->dt, obj->buf, obj->m, obj->n, obj->rs, obj->cs};
    lac_dt_t values = lac_meta_values(obj->meta);
    if (obj->dt == LAC_U8) lac_meta_settle_values(obj->meta, values); /* of a product of another one, too */
    lac_status_t status = lac_cuda_may_allocate(exec, "metadata");
    for (size_t i = 0; !status && i < sizeof scans / sizeof *scans; i++) {
        lac_format_data_t data;
        if (!(what & scans[i].bit)) continue;
        /* the CSR comes first: by then it is of these contents */
        const lac_format_data_t *rows =
            what & LAC_META_CSR ? lac_meta_format(obj->meta, LAC_FORMAT_CSR) : NULL;
        lac_cuda_format_begin(LAC_ORIGIN_SCANNED, &data);
        lac_cuda_format_inherit(obj->meta, scans[i].format, &data);
        status = build(exec, &x, known, scans[i].format, values, rows, &data);
        if (!status) lac_meta_install(obj->meta, scans[i].format, &data);
    }
    bool counted = what & (LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK);
    return status || counted ? status : scan_density(exec, &x, known, obj->meta);
}

lac_status_t lac_cuda_scan_bits(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, const uint64_t *bits)
{
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status = scan(exec, obj, what, bits);
    lac_cuda_capture_relaxed_end(mode);
    return status;
}

lac_status_t lac_cuda_scan(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, int threads)
{
    (void)threads;
    return lac_cuda_scan_bits(exec, obj, what, NULL);
}

/* Compressed formats from other sparse formats, for operands that have no buffer to scan. */

/* The compressed format of the other extent. */
static lac_format_t across(lac_format_t which)
{
    return which == LAC_FORMAT_CSR ? LAC_FORMAT_CSC : LAC_FORMAT_CSR;
}

bool lac_cuda_format_converts(const lac_operand_t *x, lac_format_t which)
{
    if (x->values == LAC_F64 || (which != LAC_FORMAT_CSR && which != LAC_FORMAT_CSC)) return false;
    return x->formats & (1u << across(which) | 1u << LAC_FORMAT_BITS);
}

static lac_status_t csr_to_csc(lac_exec_t *exec, const lac_meta_t *meta, lac_format_t which,
                               const lac_format_data_t *from, lac_format_data_t *data)
{
    int64_t majors = which == LAC_FORMAT_CSC ? meta->m : meta->n,
            minors = which == LAC_FORMAT_CSC ? meta->n : meta->m;
    lac_cuda_csr_t csr = {from->ptr, from->idx, from->val, from->count, false};
    size_t entries = (size_t)from->count * sizeof(float);
    void *ptr, *idx, *val = NULL, *scratch;
    lac_status_t status = lac_cuda_format_own(data, 0, (size_t)(minors + 1) * sizeof(int64_t), &ptr);
    if (!status) status = lac_cuda_format_own(data, 1, entries, &idx);
    if (!status && from->val) status = lac_cuda_format_own(data, 2, entries, &val);
    if (!status)
        status = lac_cuda_work(exec, (size_t)lac_cuda_csr_to_csc_bytes(minors, from->count), &scratch);
    if (!status)
        status = lac_cuda_launched(
            lac_cuda_csr_to_csc(majors, minors, &csr, ptr, idx, val, scratch, exec->stream), "metadata");
    if (status) return status;
    data->ptr = ptr, data->idx = idx, data->val = val;
    return LAC_OK;
}

static lac_status_t list_bits(lac_exec_t *exec, const lac_meta_t *meta, const lac_format_data_t *from,
                              lac_format_data_t *data)
{
    lac_cuda_bits_t bits = {(meta->n + 63) / 64, from->bits, from->ptr, from->val};
    size_t entries = (size_t)from->count * sizeof(float);
    void *ptr, *idx, *val;
    lac_status_t status = lac_cuda_format_own(data, 0, (size_t)(meta->m + 1) * sizeof(int64_t), &ptr);
    if (!status) status = lac_cuda_format_own(data, 1, entries, &idx);
    if (!status) status = lac_cuda_format_own(data, 2, entries, &val);
    if (!status)
        status = lac_cuda_check_error(
            cudaMemcpyAsync(val, from->val, entries, cudaMemcpyDeviceToDevice, exec->stream), "metadata");
    if (!status)
        status = lac_cuda_launched(lac_cuda_list_bits(meta->m, meta->n, &bits, ptr, idx, exec->stream),
                                   "metadata");
    if (status) return status;
    data->ptr = ptr, data->idx = idx, data->val = val;
    return LAC_OK;
}

lac_status_t lac_cuda_format_convert(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                     lac_format_data_t *data)
{
    const lac_meta_t *meta = x->meta;
    lac_format_t source = x->formats & 1u << across(which) ? across(which) : LAC_FORMAT_BITS;
    const lac_format_data_t *from = lac_meta_format(meta, source);
    lac_format_data_t rows;
    *data = (lac_format_data_t){0};
    if (!from) return lac_fail(LAC_ERR_INTERNAL, "metadata: the format went away");
    lac_cuda_format_begin(from->origin == LAC_ORIGIN_SCANNED ? LAC_ORIGIN_SCANNED : LAC_ORIGIN_DERIVED, data);
    data->count = from->count;
    rows = *data;
    lac_status_t status = lac_cuda_may_allocate(exec, "metadata");
    if (status) return status;
    if (source != LAC_FORMAT_BITS)
        status = csr_to_csc(exec, meta, which, from, data);
    else if (which == LAC_FORMAT_CSR)
        status = list_bits(exec, meta, from, data);
    else if (!(status = list_bits(exec, meta, from, &rows)))
        status = csr_to_csc(exec, meta, which, &rows, data);
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    lac_cuda_format_drop(&rows);
    if (status) lac_cuda_format_drop(data);
    return status;
}

/* Device memory that a format owns. */

#define SPARE 8 /* one part in so many */

void lac_cuda_format_begin(lac_origin_t origin, lac_format_data_t *data)
{
    *data = (lac_format_data_t){.origin = origin, .release = lac_cuda_memory.release};
}

void lac_cuda_format_drop(lac_format_data_t *data)
{
    for (int i = 0; i < 4; i++)
        if (data->owned[i]) cudaFree(data->owned[i]);
    *data = (lac_format_data_t){0};
}

void lac_cuda_format_inherit(lac_meta_t *meta, lac_format_t format, lac_format_data_t *data)
{
    lac_format_data_t *old = &meta->format[format];
    if (old->origin != LAC_ORIGIN_NONE || old->release != data->release) return;
    for (int i = 0; i < 4; i++) {
        data->owned[i] = old->owned[i];
        data->room[i] = old->room[i];
    }
    data->owned_bytes = old->owned_bytes;
    *old = (lac_format_data_t){0};
}

/* A piece that was too small once is made with some to spare: counts go up and down. */
lac_status_t lac_cuda_format_own(lac_format_data_t *data, int slot, size_t bytes, void **memory)
{
    size_t before = data->room[slot], wanted = before ? bytes + bytes / SPARE : bytes ? bytes : 1;
    *memory = data->owned[slot];
    if (data->owned[slot] && before >= bytes) return LAC_OK;
    if (data->owned[slot]) cudaFree(data->owned[slot]);
    data->owned[slot] = NULL;
    data->room[slot] = 0;
    data->owned_bytes -= before;
    lac_status_t status = lac_cuda_check_error(cudaMalloc(memory, wanted), "metadata");
    if (status) return status;
    data->owned[slot] = *memory;
    data->room[slot] = bytes ? wanted : 0;
    data->owned_bytes += data->room[slot];
    return LAC_OK;
}
