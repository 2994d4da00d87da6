/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The tiles route: both sides long, products on tensor cores over the k that are active in some rows of S, of
 * f32 as accurate as fp32, of f16 and bf16 exact; where none is inactive, a dense product.
 *
 * S is packed anew in every call, unless it is frozen. W is read by rows; by columns, it is transposed first,
 * or its copy is read. */
#include "cuda/formats/dense_view.h"
#include "routes.h"
#include "cuda/formats/formats.h"
#include "tiles_kept.h"

#include <math.h>

#define WORK_MAX ((size_t)4 << 30) /* bytes; a context keeps its workspace */
/* Longest sums: with k = 10^6 and outliers in S the largest error was 2.8 times cuBLAS's (H200, 2026-11-22).
 */
#define DEPTH_MAX ((lac_dim_t)1 << 18)
#define DEPTH_MIN                                                                                            \
    16 /* of k: below, the tensor cores' truncations are more than the roundings of a plain sum */

#define BRINGING                                                                                             \
    0.44 /* of the time of a step is that of its rows of W, the rest that of products: H200, 2026-11-26 */
#define SIX_SPEED                                                                                            \
    0.54 /* of the rate where floats are multiplied as three bf16 numbers in place of two f16 ones */
#define FORMS_US 7.0 /* of two f16 ones: the launches of the other form, which return at once */

/* Of f16 and bf16: a block has two tiles side by side, row groups are active in pairs, and one product takes
 * the place of six. Within a sixth (4096^3, H200, 2026-11-27). */
#define HALF_WIDE  2
#define HALF_PAIR  2
#define HALF_SPEED 2.6 /* times the rate of f32 */
#define HALF_PACK  2.0 /* its packing counts elements, not bytes */
/* Where zeros come in large blocks, or nowhere, whole steps of k are multiplied as they lie: the rate, and
 * how many more k than those that have something (takes_unpacked). Within an eleventh (4096^3, 8192^3 and
 * 11008 x 4096 x 1024, H200, 2026-11-28). */
#define WHOLE_SPEED 3.2
#define WHOLE_MORE  1.25

/* How W comes to the kernel. */
typedef enum w_source {
    AS_IT_LIES,
    COPIED,
    BY_COLUMNS, /* as it lies, too; by rows in the workspace only where the kernels find that they pack S */
    TRANSPOSED
} w_source_t;

/* The type that both operands are multiplied in. */
static lac_dt_t type_of(const lac_sided_t *s)
{
    return lac_is_half(s->w->dt) ? s->w->dt : LAC_F32;
}

/* Elements of 16 bytes. */
static int64_t piece_of(const lac_sided_t *s)
{
    return 16 / (int64_t)lac_dt_size(type_of(s));
}

/* Two operands of one type in buffers, the rows of W in whole pieces. */
static bool takes_halves(const lac_sided_t *s)
{
    return s->s->dt == s->w->dt && s->s->buf && s->n % piece_of(s) == 0 && lac_cuda_tiles_warpgroups_here();
}

static w_source_t w_source_of(const lac_problem_t *p, const lac_sided_t *s)
{
    lac_dt_t dt = type_of(s);
    bool by_rows = s->w->dt == dt && s->wrs >= 0 && (s->wcs == 1 || s->n == 1);
    if (by_rows && lac_cuda_tiles_aligned(dt, s->w->buf, s->n, s->wrs)) return AS_IT_LIES;
    if (lac_sided_w_layout(p, s) == LAC_W_PACKED && s->n % piece_of(s) == 0) return COPIED;
    bool columns = lac_is_half(dt) && s->wrs == 1 && s->wcs >= s->k && s->wcs % piece_of(s) == 0 &&
                   lac_cuda_fits_index(s->wcs) && (uintptr_t)s->w->buf % 16 == 0;
    return columns ? BY_COLUMNS : TRANSPOSED;
}

static int64_t transposed_ld(const lac_sided_t *s)
{
    int64_t piece = piece_of(s);
    return (s->n + piece - 1) / piece * piece;
}

static size_t transposed_bytes(const lac_sided_t *s, w_source_t w_source)
{
    size_t size = lac_dt_size(type_of(s));
    return w_source >= BY_COLUMNS ? lac_cuda_piece((size_t)s->k * (size_t)transposed_ld(s) * size) : 0;
}

/* S may have any strides; only bytes and sparse formats are expanded. */
static size_t densified_bytes(const lac_problem_t *p, const lac_sided_t *s)
{
    if (lac_is_half(type_of(s))) return 0;
    return s->s == &p->b ? lac_cuda_dense_view_bytes(s->s, p->k, p->n, false)
                         : lac_cuda_dense_view_bytes(s->s, p->m, p->k, false);
}

/* Workspace of the kernels alone. */
static size_t own_bytes(const lac_sided_t *s, bool packed)
{
    return lac_cuda_piece((size_t)lac_cuda_tiles_bytes(type_of(s), s->m, s->n, s->k, packed));
}

/* Beside what is kept of S, where it is, and of W. */
static size_t work_bytes(const lac_problem_t *p, const lac_sided_t *s, w_source_t w_source, bool packed)
{
    return transposed_bytes(s, w_source) + densified_bytes(p, s) + own_bytes(s, packed);
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, LAC_TAKES_U8_W | LAC_TAKES_HALVES);
    bool indices = lac_cuda_fits_index(s.m) && lac_cuda_fits_index(s.k) && lac_cuda_fits_index(s.n);
    if (refusal != LAC_FITS) return refusal;
    if (p->dt == LAC_F64) return LAC_REFUSED_DOUBLES;
    if (lac_problem_is_half(p) && !takes_halves(&s)) return LAC_REFUSED_HALVES;
    if (p->settings.math == LAC_MATH_PEDANTIC) return LAC_REFUSED_PEDANTIC;
    if (p->settings.math == LAC_MATH_TF32 && !p->terms.named) return LAC_REFUSED_TF32;
    if (!s.s->buf && !(s.s->formats & LAC_FORMATS_SPARSE)) return LAC_REFUSED_NO_FORMAT;
    if (!indices) return LAC_REFUSED_INDEX_RANGE;
    if (p->k < DEPTH_MIN) return LAC_REFUSED_SHALLOW;
    if (p->k > DEPTH_MAX) return LAC_REFUSED_DEEP;
    if (work_bytes(p, &s, w_source_of(p, &s), false) > WORK_MAX) return LAC_REFUSED_WORKSPACE;
    if (!lac_cuda_tiles_here()) return LAC_REFUSED_NO_TENSOR_CORES;
    return LAC_FITS;
}

/* Fraction of k that some of so many rows of S have active. */
static double active_fraction(const lac_sided_t *s, double rows)
{
    const lac_operand_t *x = s->s;
    double among = (double)s->m < rows ? (double)s->m : rows,
           blocks = x->blocks_active > 0 ? x->blocks_active : 1.0,
           active = blocks * lac_active_fraction(fmin(x->density / blocks, 1.0), among);
    return x->k_active >= 0 && x->k_active < active ? x->k_active : active;
}

/* Fraction of whole steps that a tile has something in, where they are multiplied as they lie; negative where
 * S is packed. */
static double whole_fraction(const lac_sided_t *s)
{
    const lac_operand_t *x = s->s;
    bool along = s->srs == 1 || s->scs == 1;
    lac_inc_t ld = s->scs == 1 ? s->srs : s->scs, line = s->scs == 1 ? s->k : s->m;
    if (!lac_is_half(type_of(s)) || !along || ld < line || ld % piece_of(s) || (uintptr_t)x->buf % 16)
        return -1.0;
    double whole = x->blocks_active > 0
                       ? x->blocks_active
                       : lac_active_fraction(x->density, LAC_BLOCK_K * (double)LAC_CUDA_TILES_SIDE);
    return whole <= WHOLE_MORE * active_fraction(s, HALF_PAIR * LAC_CUDA_TILES_ROWS) ? whole : -1.0;
}

/* Of that which a dense product takes: rows of W are brought for a whole tile of rows of S, and multiplied
 * with those row groups of it that have them active. */
static double busy_fraction(const lac_sided_t *s)
{
    double together = lac_is_half(type_of(s)) ? HALF_PAIR : 1.0,
           multiplied = active_fraction(s, together * LAC_CUDA_TILES_ROWS),
           brought = active_fraction(s, LAC_CUDA_TILES_SIDE);
    return multiplied + BRINGING * (brought - multiplied);
}

/* Whether floats are multiplied as two f16 numbers. */
static bool in_f16(const lac_problem_t *p, const lac_sided_t *s)
{
    return !lac_is_half(type_of(s)) && lac_cuda_tiles_in_f16(s->m, s->n, s->k, lac_cuda_tiles_keeps(p, s));
}

/* Each block walks through the active k of its rows, in steps; the blocks of a wave end together. */
static double multiply_us(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine)
{
    bool half = lac_is_half(type_of(s));
    double side = LAC_CUDA_TILES_SIDE, across = half ? HALF_WIDE * side : side, depth = LAC_CUDA_TILES_STEP;
    double tiles = ceil((double)s->m / side) * ceil((double)s->n / across),
           steps = ceil((double)s->k / depth);
    double splits = lac_cuda_tiles_splits((int64_t)tiles, (int64_t)steps, (int64_t)machine->cuda_processors);
    double waves = ceil(tiles * splits / machine->cuda_processors);
    double whole = whole_fraction(s), busy = whole >= 0 ? whole : busy_fraction(s);
    double block = 2.0 * side * across * depth * busy * ceil(steps / splits) * machine->cuda_processors;
    double parts = splits > 1.0 ? 2.0 * splits * 4.0 * tiles * side * across : 0.0;
    double rate = (whole >= 0     ? WHOLE_SPEED
                   : half         ? HALF_SPEED
                   : in_f16(p, s) ? 1.0
                                  : SIX_SPEED) *
                  machine->cuda_tiles_tflops;
    return waves * (machine->cuda_tiles_block_us + block / (rate * 1e6)) +
           parts / (machine->cuda_l2_gbps * 1e3);
}

/* Preparation reads S twice and writes six bytes for each of its active elements, or four; of a frozen S once
 * for all calls. W becomes planes of as many bytes as it has, each time. Within a seventh for 64 to 8192
 * rows, columns and k, and for whole columns, blocks and single elements that are zero (H200, 2026-11-27); a
 * quarter too dear for 64 k. */
static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    w_source_t w_source = w_source_of(p, &s);
    size_t transposed =
        w_source == BY_COLUMNS && whole_fraction(&s) >= 0 ? 0 : transposed_bytes(&s, w_source);
    double copied = 2.0 * (double)transposed + 3.0 * (double)densified_bytes(p, &s);
    bool half = lac_is_half(type_of(&s));
    double read = half ? HALF_PACK * 4.0 : 8.0, written = half ? HALF_PACK * 2.0 : 6.0,
           planes = in_f16(p, &s) ? 8.0 * (double)s.k * (double)s.n : 0.0,
           forms = in_f16(p, &s) ? FORMS_US : 0.0;
    double each = whole_fraction(&s) >= 0 ? 2.0 : read + written * active_fraction(&s, LAC_CUDA_TILES_ROWS),
           packed = lac_cuda_tiles_keeps(p, &s) ? 0.0 : each * (double)s.m * (double)s.k;
    return machine->cuda_tiles_us + forms + copied / (machine->cuda_dram_gbps * 1e3) +
           (packed + planes) / (machine->cuda_tiles_pack_gbps * 1e3) + multiply_us(p, &s, machine);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    w_source_t w_source = w_source_of(p, &s);
    size_t copy = w_source == COPIED ? lac_cuda_format_bytes(s.w, lac_sided_k_major(&s)) : 0;
    bool keeps = lac_cuda_tiles_keeps(p, &s);
    size_t kept = keeps ? lac_cuda_tiles_kept_bytes(&s, active_fraction(&s, LAC_CUDA_TILES_ROWS)) : 0;
    return copy + kept + work_bytes(p, &s, w_source, keeps);
}

/* S as the kernel reads it; expanded at *memory where it has to be. */
static lac_status_t lay_out_s(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s, char **memory,
                              lac_cuda_tiles_t *product)
{
    bool right = s->s == &p->b;
    lac_cuda_dense_view_t found;
    if (lac_is_half(product->dt)) {
        product->a = s->s->buf;
        product->ars = s->srs;
        product->acs = s->scs;
        return LAC_OK;
    }
    lac_status_t status =
        lac_cuda_dense_view(exec, s->s, right ? p->k : p->m, right ? p->n : p->k, false, memory, &found);
    product->a = found.buf;
    product->ars = right ? found.cs : found.rs;
    product->acs = right ? found.rs : found.cs;
    return status;
}

/* W by aligned rows; transposed at memory where it has to be. */
static lac_status_t lay_out_w(lac_exec_t *exec, const lac_sided_t *s, const lac_format_data_t *copy,
                              w_source_t w_source, char *memory, lac_cuda_tiles_t *product)
{
    product->b = copy ? copy->val : s->w->buf;
    product->ldb = copy ? s->n : s->wrs;
    if (w_source < BY_COLUMNS) return LAC_OK;
    lac_cuda_matrix_t w = {s->w->dt, s->w->buf, s->k, s->n, s->wrs, s->wcs};
    product->b = memory;
    product->ldb = transposed_ld(s);
    if (w_source == BY_COLUMNS) {
        product->b_columns = s->w->buf;
        product->ld_columns = s->wcs;
        return LAC_OK;
    }
    return lac_cuda_launched(lac_cuda_copy(&w, 0.0f, product->dt, memory, transposed_ld(s), 1, exec->stream),
                             "tiles");
}

/* Has the product write the output's bits, where they are asked for and there is room. */
static void lay_out_bits(lac_exec_t *exec, const lac_problem_t *p, lac_side_t side, lac_cuda_tiles_t *product)
{
    if (!p->epilogue.bits || lac_is_half(product->dt)) return;
    product->bits_transposed = p->epilogue.bits_transposed != (side == LAC_SIDE_RIGHT);
    lac_dim_t lines = product->bits_transposed ? product->n : product->m,
              across = product->bits_transposed ? product->m : product->n;
    product->bits_words = (across + 63) / 64;
    product->bits = lac_cuda_output_bits(exec, lines, across);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    w_source_t w_source = w_source_of(p, &s);
    lac_cuda_tiles_t product = {.dt = type_of(&s),
                                .out_dt = p->dt,
                                .m = s.m,
                                .n = s.n,
                                .k = s.k,
                                .alpha = lac_cuda_alpha(p),
                                .beta = lac_cuda_beta(p),
                                .c = p->c,
                                .crs = s.ors,
                                .ccs = s.ocs,
                                .epilogue = lac_cuda_epilogue(p, route->side)};
    const lac_format_data_t *copy = NULL;
    char *workspace, *memory;
    lac_status_t status = LAC_OK;
    if (lac_cuda_tiles_keeps(p, &s)) {
        product.a = s.s->buf;
        product.ars = s.srs;
        product.acs = s.scs;
        status = lac_cuda_tiles_kept_now(exec, &s, &product);
    }
    if (!status && w_source == COPIED) status = lac_cuda_format_now(exec, s.w, lac_sided_k_major(&s), &copy);
    if (!status && w_source == COPIED && !copy) w_source = TRANSPOSED;
    size_t own = own_bytes(&s, product.packed);
    if (!status)
        status = lac_cuda_work(exec, work_bytes(p, &s, w_source, product.packed), (void **)&workspace);
    if (status || exec->preparing) return status;
    memory = workspace + own;
    status = lay_out_s(exec, p, &s, &memory, &product);
    if (!status) status = lay_out_w(exec, &s, copy, w_source, memory, &product);
    if (status) return status;
    lay_out_bits(exec, p, route->side, &product);
    out->bits = product.bits;
    return lac_cuda_launched(lac_cuda_tiles_run(&product, workspace, exec->stream), "tiles");
}

const lac_route_t lac_cuda_route_tiles[] =
    LAC_ROUTE_SIDES(tiles, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue, LAC_ROUTE_ANY_DENSITY);

/* Lists of active k and pieces of a frozen S: made once, in as much memory as they turn out to need. */

#define LEFT 4 /* steps that hold what sets of row groups have beyond whole steps */

static lac_format_t format_of(const lac_sided_t *s)
{
    return s->s_transposed ? LAC_FORMAT_TILES_T : LAC_FORMAT_TILES;
}

bool lac_cuda_tiles_keeps(const lac_problem_t *p, const lac_sided_t *s)
{
    const lac_operand_t *x = s->s;
    return p->settings.may_copy && x->frozen && x->meta && x->buf && x->dt == type_of(s) &&
           lac_cuda_tiles_whole(s->m, s->n, s->k);
}

size_t lac_cuda_tiles_kept_bytes(const lac_sided_t *s, double active)
{
    const lac_format_data_t *format = lac_meta_format(s->s->meta, format_of(s));
    if (format) return format->owned_bytes;
    int64_t steps = (int64_t)ceil(active * (double)s->k / LAC_CUDA_TILES_STEP) + LEFT,
            most = lac_cuda_tiles_room(s->k);
    return (size_t)lac_cuda_tiles_packed_bytes(type_of(s), s->m, s->k, steps < most ? steps : most);
}

/* How many steps the row group with most of them has: packed once as if it had all k, and counted. */
static lac_status_t find_room(lac_exec_t *exec, const lac_sided_t *s, const lac_cuda_tiles_t *product,
                              int64_t *room)
{
    int64_t any = lac_cuda_tiles_room(s->k);
    lac_format_data_t scratch;
    void *memory, *found;
    int most = 0;
    lac_cuda_format_begin(LAC_ORIGIN_SCANNED, &scratch);
    lac_status_t status = lac_cuda_format_own(
        &scratch, 0, (size_t)lac_cuda_tiles_packed_bytes(product->dt, s->m, s->k, any), &memory);
    if (!status) status = lac_cuda_format_own(&scratch, 1, sizeof most, &found);
    if (!status)
        status = lac_cuda_launched(lac_cuda_tiles_pack(product, any, memory, exec->stream), "metadata");
    if (!status)
        status = lac_cuda_launched(
            lac_cuda_tiles_max_room(product->dt, s->m, s->k, any, memory, found, exec->stream), "metadata");
    if (!status)
        status = lac_cuda_check_error(
            cudaMemcpyAsync(&most, found, sizeof most, cudaMemcpyDeviceToHost, exec->stream), "metadata");
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    lac_cuda_format_drop(&scratch);
    *room = most;
    return status;
}

typedef struct made {
    lac_exec_t *exec;
    const lac_sided_t *s;
    const lac_cuda_tiles_t *product;
} made_t;

static lac_status_t make(void *arg, lac_format_data_t *data)
{
    const made_t *made = arg;
    lac_exec_t *exec = made->exec;
    const lac_sided_t *s = made->s;
    const lac_cuda_tiles_t *product = made->product;
    void *memory = NULL;
    lac_cuda_format_begin(LAC_ORIGIN_SCANNED, data);
    lac_status_t status = find_room(exec, s, product, &data->count);
    if (!status)
        status = lac_cuda_format_own(
            data, 0, (size_t)lac_cuda_tiles_packed_bytes(product->dt, s->m, s->k, data->count), &memory);
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
    const lac_format_data_t *format = lac_meta_format(s->s->meta, format_of(s));
    lac_status_t status = LAC_OK;
    if (!format && lac_cuda_capturing(exec)) return LAC_OK;
    if (!format)
        status =
            lac_cuda_format_keep(s->s->meta, format_of(s), 0, make, &(made_t){exec, s, product}, &format);
    product->packed = format ? format->schedule : NULL;
    product->room = format ? format->count : 0;
    return status;
}
