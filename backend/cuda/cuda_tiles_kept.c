/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Lists of active k and pieces of a frozen S: made once, in as much memory as they turn out to need. */
#include "cuda_tiles_kept.h"
#include "cuda_capture.h"
#include "cuda_format_memory.h"

#include <math.h>

#define LEFT 4 /* steps that hold what sets of quarters have beyond whole steps */

static lac_format_t format_of(const lac_sided_t *s)
{
    return s->s_transposed ? LAC_FORMAT_TILES_T : LAC_FORMAT_TILES;
}

bool lac_cuda_tiles_keeps(const lac_problem_t *p, const lac_sided_t *s)
{
    const lac_operand_t *x = s->s;
    return p->may_copy && x->frozen && x->meta && x->buf && x->dt == LAC_F32 &&
           lac_cuda_tiles_whole(s->m, s->n, s->k);
}

size_t lac_cuda_tiles_kept_bytes(const lac_sided_t *s, double active)
{
    const lac_format_data_t *format = lac_meta_format(s->s->meta, format_of(s));
    if (format) return format->owned_bytes;
    int64_t steps = (int64_t)ceil(active * (double)s->k / LAC_CUDA_TILES_STEP) + LEFT,
            most = lac_cuda_tiles_room(s->k);
    return (size_t)lac_cuda_tiles_packed_bytes(s->m, s->k, steps < most ? steps : most);
}

/* How many steps the quarter with most of them has: packed once as if it had all k, and counted. */
static lac_status_t find_room(lac_exec_t *exec, const lac_sided_t *s, const lac_cuda_tiles_t *product,
                              int64_t *room)
{
    int64_t any = lac_cuda_tiles_room(s->k);
    lac_format_data_t scratch;
    void *memory, *found;
    int most = 0;
    lac_cuda_format_begin(LAC_ORIGIN_SCANNED, &scratch);
    lac_status_t status =
        lac_cuda_format_own(&scratch, 0, (size_t)lac_cuda_tiles_packed_bytes(s->m, s->k, any), &memory);
    if (!status) status = lac_cuda_format_own(&scratch, 1, sizeof most, &found);
    if (!status)
        status = lac_cuda_launched(lac_cuda_tiles_pack(product, any, memory, exec->stream), "metadata");
    if (!status)
        status = lac_cuda_launched(lac_cuda_tiles_max_room(s->m, s->k, any, memory, found, exec->stream),
                                   "metadata");
    if (!status)
        status = lac_cuda_check_error(
            cudaMemcpyAsync(&most, found, sizeof most, cudaMemcpyDeviceToHost, exec->stream), "metadata");
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    lac_cuda_format_drop(&scratch);
    *room = most;
    return status;
}

static lac_status_t make(lac_exec_t *exec, const lac_sided_t *s, const lac_cuda_tiles_t *product,
                         lac_format_data_t *data)
{
    void *memory;
    lac_cuda_format_begin(LAC_ORIGIN_SCANNED, data);
    lac_status_t status = find_room(exec, s, product, &data->count);
    if (!status)
        status = lac_cuda_format_own(data, 0, (size_t)lac_cuda_tiles_packed_bytes(s->m, s->k, data->count),
                                     &memory);
    if (!status)
        status =
            lac_cuda_launched(lac_cuda_tiles_pack(product, data->count, memory, exec->stream), "metadata");
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    if (status) lac_cuda_format_drop(data);
    data->schedule = status ? NULL : memory;
    return status;
}

lac_status_t lac_cuda_tiles_kept_now(lac_exec_t *exec, const lac_sided_t *s, lac_cuda_tiles_t *product)
{
    lac_meta_t *meta = s->s->meta;
    lac_format_t which = format_of(s);
    const lac_format_data_t *format = lac_meta_format(meta, which);
    lac_status_t status = LAC_OK;
    if (!format && lac_cuda_capturing(exec)) return LAC_OK;
    if (!format) {
        pthread_mutex_lock(&meta->build);
        if (!lac_meta_format(meta, which)) {
            lac_format_data_t data;
            enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
            status = make(exec, s, product, &data);
            lac_cuda_capture_relaxed_end(mode);
            if (!status) lac_meta_install(meta, which, &data);
        }
        format = lac_meta_format(meta, which);
        pthread_mutex_unlock(&meta->build);
    }
    product->packed = format ? format->schedule : NULL;
    product->room = format ? format->count : 0;
    return status;
}
