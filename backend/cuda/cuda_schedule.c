/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * When steps pay, what they cost, and the keeping of them. */
#include "cuda_schedule.h"
#include "cuda_capture.h"
#include "cuda_format_memory.h"

#include <math.h>

#define TILE_ROWS    128.0 /* of S, and                                                  */
#define TILE_COLUMNS 256.0 /* of W: a block's                                            */
#define STREAM_NS    8.5   /* a k of a tile, which comes from the last-level cache       */
#define WALK_NS      7.5   /* or which is gone past, and                                 */
#define EVENT_NS     3.75  /* each event of the tile with its columns                    */
#define JOINED_US    8.0   /* to add up parts of k, and                                */
#define PART_US      1.2   /* each of them                                             */
#define MADE_US      27.0  /* steps of an empty S, and                                   */
#define MADE_NS      0.024 /* each entry                                                 */
#define PART         64.0  /* elements of S for which there is a byte even if they are empty */
#define ONCE_MAX     3e8   /* elements of S whose steps are made in the workspace        */
#define INDEX_MAX    2e9

static lac_format_t format_of(const lac_sided_t *s)
{
    return s->s_transposed ? LAC_FORMAT_SCHEDULE_T : LAC_FORMAT_SCHEDULE;
}

/* The kept steps of these rows, or NULL. */
static const lac_format_data_t *kept(const lac_sided_t *s, const lac_format_data_t *rows)
{
    const lac_format_data_t *format = lac_meta_format(s->s->meta, format_of(s));
    return format && format->made_of == rows->format_id ? format : NULL;
}

bool lac_cuda_schedule_serves(const lac_sided_t *s, bool once)
{
    double elements = (double)s->m * (double)s->k;
    double others = 4.0 * (double)s->n * ((double)s->m + (double)s->k); /* bytes of W and the output */
    bool both_long = (double)s->m >= TILE_ROWS && (double)s->n >= TILE_COLUMNS;
    return both_long && elements / PART <= others && (double)s->m < INDEX_MAX &&
           s->s->density * elements < INDEX_MAX && (!once || elements < ONCE_MAX);
}

/* 4096^3 at 0.1 / 0.5 / 1 / 2 / 5 / 10 / 20 %: 138, 155, 183, 256, 504, 908, 1602 us, and 27 to 111 us for
 * making the steps (H200, 2026-11-21). At 5 %, 512 x 4096 x 4096 in two parts of k, 1024^3 in four and 128 x
 * 4096 x 4096 in eight: 75, 20 and 34 us (2026-11-22). */
double lac_cuda_schedule_us(const lac_sided_t *s, bool once, const lac_machine_t *machine)
{
    double down = ceil((double)s->m / TILE_ROWS), tiles = down * ceil((double)s->n / TILE_COLUMNS);
    double nnz = s->s->density * (double)s->m * (double)s->k;
    double streamed = STREAM_NS * (double)s->k, worked = WALK_NS * (double)s->k + EVENT_NS * nnz / down;
    double parts = lac_cuda_csr_long_parts(s->m, s->n, s->k, (int)machine->cuda_processors);
    double waves = ceil(tiles * parts / machine->cuda_processors);
    double product = waves * (streamed > worked ? streamed : worked) / parts * 1e-3;
    return product + (parts > 1.0 ? JOINED_US + PART_US * parts : 0.0) +
           (once ? MADE_US + MADE_NS * nnz * 1e-3 : 0.0);
}

size_t lac_cuda_schedule_work(const lac_sided_t *s)
{
    return lac_cuda_piece((size_t)lac_cuda_schedule_bytes(s->m, s->k, s->m * s->k)) +
           lac_cuda_piece((size_t)lac_cuda_schedule_scratch(s->m));
}

size_t lac_cuda_schedule_kept(const lac_sided_t *s)
{
    double nnz = s->s->density * (double)s->m * (double)s->k;
    return (size_t)lac_cuda_schedule_bytes(s->m, s->k, (int64_t)nnz);
}

lac_status_t lac_cuda_schedule_once(lac_exec_t *exec, const lac_sided_t *s, const lac_cuda_csr_t *rows,
                                    char *memory, const void **steps)
{
    char *scratch = memory + lac_cuda_piece((size_t)lac_cuda_schedule_bytes(s->m, s->k, s->m * s->k));
    *steps = memory;
    return lac_cuda_launched(lac_cuda_schedule(s->m, s->k, rows, memory, scratch, exec->stream), "steps");
}

static lac_status_t make(lac_exec_t *exec, const lac_sided_t *s, const lac_format_data_t *rows,
                         lac_format_data_t *data)
{
    lac_cuda_csr_t csr = {rows->ptr, rows->idx, rows->val, rows->count};
    void *steps, *scratch;
    lac_cuda_format_begin(rows->origin == LAC_ORIGIN_SCANNED ? LAC_ORIGIN_SCANNED : LAC_ORIGIN_DERIVED, data);
    data->count = rows->count;
    data->made_of = rows->format_id;
    lac_status_t status =
        lac_cuda_format_own(data, 0, (size_t)lac_cuda_schedule_bytes(s->m, s->k, rows->count), &steps);
    if (!status) status = lac_cuda_work(exec, (size_t)lac_cuda_schedule_scratch(s->m), &scratch);
    if (!status)
        status =
            lac_cuda_launched(lac_cuda_schedule(s->m, s->k, &csr, steps, scratch, exec->stream), "metadata");
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    if (status) lac_cuda_format_drop(data);
    data->schedule = status ? NULL : steps;
    return status;
}

lac_status_t lac_cuda_schedule_now(lac_exec_t *exec, const lac_sided_t *s, const lac_format_data_t *rows,
                                   const void **steps)
{
    lac_meta_t *meta = s->s->meta;
    const lac_format_data_t *format = kept(s, rows);
    lac_status_t status = LAC_OK;
    *steps = NULL;
    if (!format && lac_cuda_capturing(exec)) return LAC_OK;
    if (!format) {
        pthread_mutex_lock(&meta->build);
        if (!(format = kept(s, rows))) {
            lac_format_data_t data;
            enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
            status = make(exec, s, rows, &data);
            lac_cuda_capture_relaxed_end(mode);
            if (!status) lac_meta_install(meta, format_of(s), &data);
            format = kept(s, rows);
        }
        pthread_mutex_unlock(&meta->build);
    }
    if (format) *steps = format->schedule;
    return status;
}
