/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The csr route on a device: S by rows times W, for rows too many for the event route and for sparse weights.

 Five kernels: a warp or more per row where W is short; where it is long, gathered slices of W, wide ones for
 many rows of few nonzeros, or what shares between rows what is read of W: steps, and lists of an operand that
 may change. These want W's rows, so a long W by columns is transposed first. The rows or lists of an operand
 that may change are built in the workspace, in every call. */
#include "cuda/formats/dense_view.h"
#include "routes.h"
#include "gather.h"
#include "csr.h"
#include "base/status.h"
#include "cuda/formats/formats.h"

#include <math.h>

#define NEAR_BYTES 262144.0 /* that a multiprocessor's first-level cache holds */
#define ONCE_MAX   3e8      /* elements of S whose steps or lists are made in the workspace */

/* How W comes to the kernel. */
typedef enum w_source {
    AS_IT_LIES,
    COPIED,    /* frozen: a k-major copy is kept        */
    TRANSPOSED /* in the workspace, in every call       */
} w_source_t;

typedef enum kernel {
    SHARED_ROWS, /* W is so short that a row's nonzeros are shared out */
    GATHERED,
    STAGED,
    STEPPED
} kernel_t;

typedef struct how {
    lac_cuda_rows_source_t source;
    w_source_t w_source;
    kernel_t kernel;
    bool wide; /* gathered, where there are no steps, in wide slices */
} how_t;

/* The leading dimension of a W that is transposed. */
static int64_t padded(int64_t n)
{
    return (n + 3) / 4 * 4;
}

/* Whether rows of W begin on 16 bytes, as the copy engine wants them, and loads of 16 bytes. */
static bool w_aligned(const lac_sided_t *s, how_t how)
{
    return how.w_source == TRANSPOSED ? true
           : how.w_source == COPIED   ? s->n % 4 == 0
                                      : s->wrs >= s->n && s->wrs % 4 == 0 && (uintptr_t)s->w->buf % 16 == 0;
}

static double gathered_us(const lac_sided_t *s, bool wide, const lac_machine_t *machine)
{
    return wide ? lac_cuda_wide_us(s, machine) : lac_cuda_gather_us(s, machine);
}

/* machine == NULL: the way that takes the most memory. */
static how_t how_of(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine)
{
    lac_w_layout_t slices = lac_sided_w_layout(p, s);
    bool narrow = s->n <= LAC_CUDA_NARROW_MAX, lies = slices != LAC_W_STRIDED && s->wrs >= 0 && s->wcs >= 0;
    w_source_t w_source = slices == LAC_W_PACKED                       ? COPIED
                          : !lies || (slices == LAC_W_COLS && !narrow) ? TRANSPOSED
                                                                       : AS_IT_LIES;
    how_t how = {lac_cuda_rows_source(s), w_source, narrow ? SHARED_ROWS : GATHERED, false};
    if (narrow || s->w->dt == LAC_F64 || !w_aligned(s, how)) return how;
    bool once = how.source == LAC_CUDA_ROWS_BUILT, stepped = lac_cuda_schedule_serves(s, once);
    double m = (double)s->m, k = (double)s->k;
    how.wide = machine && s->n % 4 == 0 &&
               lac_cuda_wide_wins(m, (double)s->n, k, s->s->density * m * k, s->ocs != 1, machine);
    double best = machine ? gathered_us(s, how.wide, machine) : INFINITY;
    double staged = !once || !lac_cuda_staged_serves(s) ? INFINITY
                    : machine                           ? lac_cuda_staged_us(s, machine)
                                                        : 0.0;
    if (staged < best) how.kernel = STAGED, best = staged;
    if (stepped && (!machine || lac_cuda_schedule_us(s, once, machine) < best)) how.kernel = STEPPED;
    return how;
}

static size_t transposed_bytes(const lac_sided_t *s, how_t how)
{
    return how.w_source == TRANSPOSED
               ? lac_cuda_piece((size_t)s->k * (size_t)padded(s->n) * lac_dt_size(s->w->dt))
               : 0;
}

static size_t schedule_bytes(const lac_sided_t *s, how_t how)
{
    return how.kernel == STEPPED && how.source == LAC_CUDA_ROWS_BUILT ? lac_cuda_schedule_work(s) : 0;
}

/* Sums of parts of k. */
static size_t partial_bytes(const lac_sided_t *s, how_t how)
{
    return how.kernel == STEPPED ? lac_cuda_piece((size_t)lac_cuda_csr_long_bytes(s->m, s->n, s->k)) : 0;
}

/* Of rows that are built, or lists. */
static size_t built_bytes(const lac_sided_t *s, how_t how)
{
    return how.kernel == STAGED ? lac_cuda_piece((size_t)lac_cuda_spmm_staged_bytes(s->m, s->k))
                                : lac_cuda_rows_bytes(s, false);
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, 0);
    bool indices = lac_cuda_fits_index(s.m) && lac_cuda_fits_index(s.k) && lac_cuda_fits_index(s.n) &&
                   lac_cuda_fits_index(s.wrs) && lac_cuda_fits_index(s.wcs);
    if (refusal != LAC_FITS) return refusal;
    if (lac_cuda_rows_source(&s) == LAC_CUDA_ROWS_NOWHERE) return LAC_REFUSED_NO_FORMAT;
    if (!indices) return LAC_REFUSED_INDEX_RANGE;
    return LAC_FITS;
}

/* A warp per row reads its nonzeros once, and for each the columns of W, at least half a sector of them. By
 * columns each is somewhere else: near while W fits the first-level cache, a sector beyond. */
static double narrow_us(const lac_sided_t *s, bool by_columns, const lac_machine_t *machine)
{
    double events = s->s->density * (double)s->m * (double)s->k, n = (double)s->n;
    double size = s->size, apart = size * (double)s->k * n <= NEAR_BYTES ? 2.5 * size : 32.0,
           listed = s->s->dt == LAC_U8 ? 4.0 : 4.0 + size;
    double row = by_columns ? apart * n : (size * n < 16.0 ? 16.0 : size * n);
    return events * (listed + row) / (machine->cuda_narrow_gbps * 1e3);
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, machine);
    double transposed = 2.0 * (double)transposed_bytes(&s, how) / (machine->cuda_dram_gbps * 1e3);
    if (how.w_source == TRANSPOSED) transposed += machine->cuda_launch_us;
    double product =
        how.kernel == SHARED_ROWS ? narrow_us(&s, lac_sided_w_layout(p, &s) == LAC_W_COLS, machine)
        : how.kernel == STEPPED   ? lac_cuda_schedule_us(&s, how.source == LAC_CUDA_ROWS_BUILT, machine)
        : how.kernel == STAGED    ? lac_cuda_staged_us(&s, machine)
                                  : gathered_us(&s, how.wide, machine);
    return machine->cuda_launch_us + lac_cuda_rows_us(&s, false, machine) + transposed + product;
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, NULL);
    size_t copy = how.w_source == COPIED ? lac_cuda_format_bytes(s.w, lac_sided_k_major(&s)) : 0;
    size_t kept =
        how.kernel == STEPPED && how.source == LAC_CUDA_ROWS_FORMAT ? lac_cuda_schedule_kept(&s) : 0;
    return copy + kept + transposed_bytes(&s, how) + schedule_bytes(&s, how) + partial_bytes(&s, how) +
           built_bytes(&s, how) + lac_cuda_format_bytes(s.s, lac_sided_by_rows(&s));
}

/* What the call wants of metadata; *declined where it is not there and cannot be made now. */
static lac_status_t find_formats(lac_exec_t *exec, const lac_sided_t *s, how_t how,
                                 const lac_format_data_t **rows, const lac_format_data_t **copy,
                                 bool *declined)
{
    lac_status_t status = LAC_OK;
    *rows = *copy = NULL;
    if (how.source == LAC_CUDA_ROWS_FORMAT)
        status = lac_cuda_format_now(exec, s->s, lac_sided_by_rows(s), rows);
    if (!status && how.w_source == COPIED)
        status = lac_cuda_format_now(exec, s->w, lac_sided_k_major(s), copy);
    *declined = (how.source == LAC_CUDA_ROWS_FORMAT && !*rows) || (how.w_source == COPIED && !*copy);
    return status;
}

/* W as the kernel reads it; transposed at `memory` where it has to be. */
static lac_status_t lay_out_w(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s, how_t how,
                              const lac_format_data_t *copy, char *memory, lac_cuda_product_t *product)
{
    bool by_rows = lac_sided_w_layout(p, s) == LAC_W_ROWS;
    product->w = copy ? copy->val : s->w->buf;
    product->order = by_rows || copy ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product->ldw = copy ? s->n : by_rows ? s->wrs : s->n == 1 ? s->k : s->wcs;
    if (how.w_source != TRANSPOSED) return LAC_OK;
    lac_cuda_matrix_t w = {s->w->dt, s->w->buf, s->k, s->n, s->wrs, s->wcs};
    product->w = memory;
    product->order = LAC_CUDA_ROWS;
    product->ldw = padded(s->n);
    return lac_cuda_launched(lac_cuda_copy(&w, 0.0, w.dt, memory, padded(s->n), 1, exec->stream), "csr");
}

static lac_status_t multiply(lac_exec_t *exec, how_t how, const lac_cuda_product_t *product,
                             const lac_cuda_csr_t *csr, const void *steps, void *partial)
{
    if (how.kernel == SHARED_ROWS) return lac_cuda_spmm_narrow(product, csr, exec->stream);
    if (steps) return lac_cuda_csr_long(product, steps, partial, exec->stream);
    if (how.wide) return lac_cuda_spmm_wide(product, csr, exec->stream);
    return lac_cuda_event_csr(product, csr, NULL, exec->stream);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, exec->machine);
    lac_cuda_product_t product = {.m = s.m, .n = s.n, .k = s.k, .out = p->c, .rs = s.ors, .cs = s.ocs};
    const lac_format_data_t *rows, *copy;
    const void *steps = NULL;
    lac_cuda_csr_t csr;
    char *memory;
    if ((how.kernel == STEPPED || how.kernel == STAGED) && !exec->takes_schedule) how.kernel = GATHERED;
    product.w_dt = product.out_dt = p->dt;
    product.alpha = lac_cuda_alpha(p);
    product.beta = lac_cuda_beta(p);
    product.epilogue = lac_cuda_epilogue(p, route->side);
    lac_status_t status = find_formats(exec, &s, how, &rows, &copy, &out->declined);
    if (status || out->declined) return status;
    if (rows && how.kernel == STEPPED) status = lac_cuda_schedule_now(exec, &s, rows, &steps);
    size_t transposed = transposed_bytes(&s, how), stepped = schedule_bytes(&s, how),
           partial = partial_bytes(&s, how);
    size_t rows_at = transposed + stepped + partial;
    if (!status) status = lac_cuda_work(exec, rows_at + built_bytes(&s, how), (void **)&memory);
    if (status || exec->preparing) return status;
    if (rows)
        csr = (lac_cuda_csr_t){rows->ptr, rows->idx, rows->val, rows->count, false};
    else if (how.kernel != STAGED)
        status = lac_cuda_rows_build(exec, &s, false, memory + rows_at, &csr);
    if (!status && stepped) status = lac_cuda_schedule_once(exec, &s, &csr, memory + transposed, &steps);
    if (!status) status = lay_out_w(exec, p, &s, how, copy, memory, &product);
    if (status) return status;
    if (how.kernel == STAGED) {
        lac_cuda_dense_t dense = {s.s->dt, s.s->buf, s.srs, s.scs, s.s->density};
        return lac_cuda_launched(lac_cuda_spmm_staged(&product, &dense, memory + rows_at, exec->stream),
                                 "csr");
    }
    return lac_cuda_launched(multiply(exec, how, &product, &csr, steps, memory + transposed + stepped),
                             "csr");
}

const lac_route_t lac_cuda_route_csr[] =
    LAC_ROUTE_SIDES(csr, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue, 0);

/* Where lists of an operand that may change serve, and what they cost. */

#define STAGED_ROWS  30.0   /* of S: of fewer, so many warps of a block have nothing to do */
#define STAGED_CLOCK 1900.0 /* cycles a us; H200, 2026-11-29                               */
#define STAGED_US    5.0    /* from the launch on, and behind the last chunk               */
#define STAGED_SHARE 0.85   /* of memory's rate, of W                                      */
#define STAGED_MOST  0.085  /* nonzeros: of more, a list has often more than lie ready     */

bool lac_cuda_staged_serves(const lac_sided_t *s)
{
    double m = (double)s->m, k = (double)s->k;
    bool types = (s->s->dt == LAC_F32 || s->s->dt == LAC_U8) && s->w->dt == LAC_F32;
    return types && m >= STAGED_ROWS && s->s->density <= STAGED_MOST && m * k < ONCE_MAX;
}

double lac_cuda_staged_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double processors = machine->cuda_processors;
    lac_cuda_staged_shape_t shape =
        lac_cuda_spmm_staged_shape(s->m, s->n, s->k, s->s->density, (int)processors);
    double chunks = ceil((double)shape.blocks / processors) * (double)shape.chunks;
    double w = 4.0 * (double)s->k * (double)s->n / (STAGED_SHARE * machine->cuda_dram_gbps * 1e3);
    return STAGED_US + fmax(chunks * shape.cycles / STAGED_CLOCK, w);
}

/* When steps pay, what they cost, and the keeping of them. */

#define TILE_ROWS    128.0 /* of S, and                                                  */
#define TILE_COLUMNS 256.0 /* of W: a block's                                            */
#define STREAM_NS    8.5   /* a k of a tile, which comes from the last-level cache       */
#define WALK_NS      7.5   /* or which is skipped, and                                   */
#define EVENT_NS     3.75  /* each event of the tile with its columns                    */
#define JOINED_US    8.0   /* to add up parts of k, and                                */
#define PART_US      1.2   /* each of them                                             */
#define MADE_US      27.0  /* steps of an empty S, and                                   */
#define MADE_NS      0.024 /* each entry                                                 */
#define OUT_SHARE    0.45  /* of the memory's rate: C, where k is so short that writing it is all */
#define PART         64.0  /* elements of S for which there is a byte even if they are empty */
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
 * 4096 x 4096 in eight: 75, 20 and 34 us (2026-11-22). At k = 3 8192 and 4096 rows of 4096: 65 and 37 us
 * (2026-11-23). */
double lac_cuda_schedule_us(const lac_sided_t *s, bool once, const lac_machine_t *machine)
{
    double down = ceil((double)s->m / TILE_ROWS), tiles = down * ceil((double)s->n / TILE_COLUMNS);
    double nnz = s->s->density * (double)s->m * (double)s->k;
    double streamed = STREAM_NS * (double)s->k, worked = WALK_NS * (double)s->k + EVENT_NS * nnz / down;
    double parts = lac_cuda_csr_long_parts(s->m, s->n, s->k, (int)machine->cuda_processors);
    double waves = ceil(tiles * parts / machine->cuda_processors);
    double product = waves * (streamed > worked ? streamed : worked) / parts * 1e-3;
    double out = 4.0 * (double)s->m * (double)s->n / (OUT_SHARE * machine->cuda_dram_gbps * 1e3);
    return (product > out ? product : out) + (parts > 1.0 ? JOINED_US + PART_US * parts : 0.0) +
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

typedef struct made {
    lac_exec_t *exec;
    const lac_sided_t *s;
    const lac_format_data_t *rows;
} made_t;

static lac_status_t make(void *arg, lac_format_data_t *data)
{
    const made_t *made = arg;
    lac_exec_t *exec = made->exec;
    const lac_sided_t *s = made->s;
    const lac_format_data_t *rows = made->rows;
    lac_cuda_csr_t csr = {rows->ptr, rows->idx, rows->val, rows->count, false};
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
    const lac_format_data_t *format = kept(s, rows);
    lac_status_t status = LAC_OK;
    *steps = NULL;
    if (!format && lac_cuda_capturing(exec)) return LAC_OK;
    if (!format)
        status = lac_cuda_format_keep(s->s->meta, format_of(s), rows->format_id, make,
                                      &(made_t){exec, s, rows}, &format);
    if (format) *steps = format->schedule;
    return status;
}

/* Rows from metadata, or filled in the workspace. */

#define ROW_TRIP 4096.0 /* elements of a row that its block has in flight */
#define ROW_US   3e-3   /* a block that begins and ends: rows of 6 to 17 elements; H200, 2026-11-23 */
#define TRIP_US  1.75
#define SECTOR   32.0 /* bytes that are read for an element of a row that does not lie side by side */

lac_cuda_rows_source_t lac_cuda_rows_source(const lac_sided_t *s)
{
    if (lac_cuda_format_at_hand(s->s, lac_sided_by_rows(s))) return LAC_CUDA_ROWS_FORMAT;
    return s->s->buf ? LAC_CUDA_ROWS_BUILT : LAC_CUDA_ROWS_NOWHERE;
}

/* Of rows that are apart, of which packed ones have fewer. */
static size_t pointer_bytes(const lac_sided_t *s)
{
    return lac_cuda_piece(2 * (size_t)s->m * sizeof(int64_t));
}

/* Of indices, which are as long as f32, or of values. */
static size_t entry_bytes(const lac_sided_t *s, lac_dt_t dt)
{
    return lac_cuda_piece((size_t)s->m * (size_t)s->k * lac_dt_size(dt));
}

size_t lac_cuda_rows_bytes(const lac_sided_t *s, bool packed)
{
    if (lac_cuda_rows_source(s) != LAC_CUDA_ROWS_BUILT) return 0;
    return pointer_bytes(s) + entry_bytes(s, LAC_F32) + (s->s->dt == LAC_U8 ? 0 : entry_bytes(s, s->s->dt)) +
           (packed ? lac_cuda_piece((size_t)lac_cuda_csr_bytes(s->m)) : 0);
}

double lac_cuda_rows_us(const lac_sided_t *s, bool packed, const lac_machine_t *machine)
{
    if (lac_cuda_rows_source(s) != LAC_CUDA_ROWS_BUILT) return 0.0;
    double elements = (double)s->m * (double)s->k, element = (double)lac_dt_size(s->s->dt);
    double listed = s->s->dt == LAC_F64 ? 12.0 : 8.0;
    double times = packed ? 2.0 : 1.0, launches = packed ? 3.0 : 1.0; /* count, add up, and fill; or fill */
    double bytes = times * element * elements + listed * s->s->density * elements;
    double moved = bytes / (machine->cuda_dram_gbps * 1e3);
    double walked = times * TRIP_US * ((double)s->k / ROW_TRIP - 1.0); /* one block per row */
    double fetched = s->scs == 1 ? 0.0 : times * SECTOR * elements / (machine->cuda_l2_gbps * 1e3);
    return launches * machine->cuda_launch_us + times * ROW_US * (double)s->m +
           fmax(fetched, fmax(moved, walked));
}

lac_status_t lac_cuda_rows_build(lac_exec_t *exec, const lac_sided_t *s, bool packed, char *memory,
                                 lac_cuda_csr_t *csr)
{
    int64_t *ptr = (int64_t *)(void *)memory;
    int32_t *idx = (int32_t *)(void *)(memory + pointer_bytes(s));
    char *val = (char *)idx + entry_bytes(s, LAC_F32);
    bool ones = s->s->dt == LAC_U8;
    void *scratch = ones ? val : val + entry_bytes(s, s->s->dt);
    lac_cuda_dense_t dense = {s->s->dt, s->s->buf, s->srs, s->scs, s->s->density};
    void *values = ones ? NULL : val;
    double nnz = s->s->density * (double)s->m * (double)s->k;
    *csr = (lac_cuda_csr_t){ptr, idx, values, (int64_t)nnz, !packed};
    lac_status_t status =
        packed ? lac_cuda_csr_ptr(s->m, s->k, &dense, ptr, scratch, exec->stream)
               : lac_cuda_csr_rows(s->m, s->k, &dense, ptr, idx, s->s->dt, values, exec->stream);
    if (!status && packed)
        status = lac_cuda_csr_fill(s->m, s->k, &dense, ptr, idx, s->s->dt, values, exec->stream);
    return lac_cuda_launched(status, "rows");
}
