/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The stream route: a dense product with a short side, at about the rate that memory brings the long operand,
 * or with a short k.
 *
 * S is the operand on the short side, whatever it holds: nothing is skipped, so that its time does not depend
 * on the data, and the result is a dense product's for Inf and NaN too. */
#include "gather.h"
#include "routes.h"

#include <math.h>

#define ROWS_MAX    1024                 /* of S: W is read again for every 128, */
#define THIN_MAX    512                  /* but where k is no longer than this, W is little */
#define THIN_ROWS   131072               /* of S then: its splits lie in the workspace */
#define DEPTH_MIN   16                   /* of k, where it is cut, and */
#define DEPTH_MAX   ((lac_dim_t)1 << 18) /* as for tiles: what tensor cores sum at the contract's accuracy */
#define START_US    4.0                  /* until the first step is there, and behind the last one */
#define PACK_BYTES  10.0                 /* an element of S is read, and its splits are written */
#define STEP_US     0.55                 /* a step of a block that waits for nobody */
#define DRAM_SHARE  0.83                 /* of the rate of memory that W comes at; H200, 2026-11-23 */
#define OFF_SHARE   0.6                  /* ... of that, where W's rows begin off 16 bytes; 2026-11-27 */
#define CLUSTER_US  6.3                  /* around the steps of a cluster, whose sums meet, and */
#define SPLIT_US    1.1                  /* ... a step of it; H200, 2026-11-29 */
#define WRITE_US    1.9                  /* the output of an item of a short k, which is not cut, */
#define PIECES_US   8.0                  /* where its rows are no pieces of 16 bytes: 74 to 89 us for 42, */
#define APART_US    17.0                 /* and where that is written element by element: 147 us for 44 */
#define PRODUCT_US  0.37                 /* a step whose products count, and */
#define PRODUCTS_US 2.53e-9              /* ... for each byte of S and byte of W; H200, 2026-11-29 */
/* Small products, fitted on an H200 to the random products of regret.json, 2026-11-27: */
#define FEW_ROWS    8      /* up to so many rows of S it takes */
#define FEW_US      0.3    /* ... from the launch on, and behind the last element, */
#define GROUP_US    0.8    /* ... with more rows, and */
#define BLOCK_US    2.0e-3 /* ... a block that takes another one's place, and */
#define CHUNK_US    0.045  /* ... for each piece of k, of which there are */
#define CHUNKS_MOST 64.0   /* ... so many that are one behind the other; */
#define PIECE_US    0.5e-3 /* a piece, spread over so many */
#define PROCESSORS  132.0  /* ... multiprocessors; or memory: */
#define FEW_SHARE   0.80   /* W from memory, so much of its rate, */
#define ALONG_SHARE 0.94   /* ... along k so much of that, */
#define MORE_SHARE  0.85   /* ... and of more rows */
/* Up to eight rows by a W along k, fitted on an H200 to 76 products, 2026-11-28: */
#define ROUND_US     0.3    /* a round of loads, one behind the other, */
#define ROUND_ROW_US 0.08   /* ... and each row of S in it; */
#define ROW_SQUARE   2.5e-3 /* the rows squared, for which W comes so much more slowly; */
#define SHORTER      0.3    /* of the shorter of both, that is not hidden behind the longer */
/* A short k, by rank_k.cu, fitted on an H200 to 30 cold products, 2026-11-28: */
#define RANK_US       3.0   /* until the first tile is multiplied, and behind the last one, and */
#define RANK_K_US     0.275 /* ... for each sixteen k of the kernel; */
#define TILE_US       0.75  /* a tile of a block, and */
#define TILE_K_US     0.25  /* ... each sixteen k of it, and */
#define TILE_ADD_US   0.26  /* ... where it is added to what is there, and */
#define TILE_APART_US 7.0   /* ... where its rows are no pieces of 16 bytes */

static bool is_matrix(const lac_sided_t *s)
{
    return (s->wcs == 1 && s->wrs >= s->n) || (s->wrs == 1 && s->wcs >= s->k);
}

/* The call as the kernels take it, without pointers to write to. */
static lac_cuda_product_t describe(const lac_problem_t *p, const lac_sided_t *s)
{
    bool by_rows = s->wcs == 1 && s->wrs >= s->n;
    lac_cuda_product_t product = {
        .m = s->m, .n = s->n, .k = s->k, .rs = s->ors, .cs = s->ocs, .w = s->w->buf};
    product.order = by_rows ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product.ldw = by_rows ? s->wrs : s->wcs;
    product.alpha = lac_cuda_alpha(p);
    product.beta = lac_cuda_beta(p);
    product.epilogue = lac_cuda_epilogue(p, s->s == &p->b ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT);
    return product;
}

static lac_cuda_dense_t dense_of(const lac_sided_t *s)
{
    return (lac_cuda_dense_t){s->s->dt, s->s->buf, s->srs, s->scs, 1.0};
}

static bool is_cluster(const lac_problem_t *p, const lac_sided_t *s)
{
    lac_cuda_product_t product = describe(p, s);
    lac_cuda_dense_t dense = dense_of(s);
    return s->m <= ROWS_MAX && lac_cuda_stream_is_cluster(&product, &dense);
}

/* Where both sides are long, k is short, or clusters make it, W is the operand along whose columns the output
 * lies together. */
static lac_sided_t sided(const lac_problem_t *p)
{
    lac_side_t shorter = p->m <= p->n ? LAC_SIDE_LEFT : LAC_SIDE_RIGHT;
    lac_sided_t s = lac_sided(p, shorter);
    if (s.ocs == 1) return s;
    lac_sided_t other = lac_sided(p, shorter == LAC_SIDE_LEFT ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT);
    if (other.ocs != 1 || !is_matrix(&other)) return s;
    bool turns =
        s.m > ROWS_MAX || (other.m <= THIN_ROWS && lac_cuda_stream_is_rank_k(other.m, other.n, other.k));
    return turns || is_cluster(p, &other) ? other : s;
}

lac_side_t lac_cuda_stream_side(const lac_problem_t *p)
{
    return sided(p).s == &p->b ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT;
}

lac_cuda_product_t lac_cuda_stream_product(const lac_problem_t *p)
{
    lac_sided_t s = sided(p);
    lac_cuda_product_t product = describe(p, &s);
    product.out = p->c;
    return product;
}

lac_refusal_t lac_cuda_stream_refusal(const lac_problem_t *p)
{
    if (lac_problem_is_trivial(p)) return LAC_REFUSED_TRIVIAL;
    if (lac_problem_guarantees(p)) return LAC_REFUSED_SKIP_GUARANTEED;
    lac_sided_t s = sided(p);
    if (!s.s->buf) return LAC_REFUSED_NO_FORMAT;
    if (!s.w->buf) return LAC_REFUSED_W_SPARSE;
    if (lac_problem_is_half(p)) return LAC_REFUSED_HALVES;
    if (p->dt == LAC_F64) return LAC_REFUSED_DOUBLES;
    if (s.w->dt != LAC_F32) return LAC_REFUSED_W_TYPE;
    if (p->settings.math == LAC_MATH_PEDANTIC) return LAC_REFUSED_PEDANTIC;
    if (p->settings.math == LAC_MATH_TF32 && !p->terms.named) return LAC_REFUSED_TF32;
    bool thin = s.m > ROWS_MAX;
    if (thin && (s.k > THIN_MAX || s.m > THIN_ROWS)) return LAC_REFUSED_NOT_SHORT;
    if (!thin && s.k < DEPTH_MIN) return LAC_REFUSED_SHALLOW;
    if (s.k > DEPTH_MAX) return LAC_REFUSED_DEEP;
    if (!lac_cuda_fits_index(s.n) || !lac_cuda_fits_index(s.wrs) || !lac_cuda_fits_index(s.wcs))
        return LAC_REFUSED_INDEX_RANGE;
    if (!is_matrix(&s)) return LAC_REFUSED_W_STRIDES;
    lac_cuda_product_t product = describe(p, &s);
    return lac_cuda_stream_aligned(&product) ? LAC_FITS : LAC_REFUSED_W_ALIGNMENT;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_cuda_stream_refusal(p);
}

/* An item of a product whose sums are the output. */
static double write_us(const lac_problem_t *p)
{
    lac_cuda_product_t product = lac_cuda_stream_product(p);
    lac_cuda_writes_t writes = p->beta == 0.0 ? lac_cuda_stream_writes(&product) : LAC_CUDA_WRITES_SINGLES;
    if (writes == LAC_CUDA_WRITES_SINGLES) return APART_US;
    return writes == LAC_CUDA_WRITES_PIECES ? PIECES_US : WRITE_US;
}

static double gemv_us(const lac_cuda_product_t *p, const lac_cuda_stream_shape_t *cut,
                      const lac_machine_t *machine)
{
    double m = (double)p->m, rounds = (ROUND_US + ROUND_ROW_US * m) * (double)cut->steps;
    double memory = (double)cut->w_bytes / (machine->cuda_dram_gbps * 1e3) * (1.0 + ROW_SQUARE * m * m);
    return machine->cuda_launch_us + fmax(memory, rounds) + SHORTER * fmin(memory, rounds);
}

/* As the event route's of full rows. */
static double few_us(lac_sided_t s, const lac_machine_t *machine)
{
    lac_operand_t full = *s.s;
    full.density = 1.0, full.k_active = -1.0;
    s.s = &full;
    return machine->cuda_launch_us + lac_cuda_few_us(&s, machine);
}

static double rank_k_us(const lac_problem_t *p, const lac_cuda_stream_shape_t *cut,
                        const lac_machine_t *machine)
{
    lac_cuda_product_t product = lac_cuda_stream_product(p);
    double pieces = cut->steps <= 2 ? 2.0 : cut->steps <= 4 ? 4.0 : 8.0; /* there is a kernel for each */
    double tile = TILE_US + TILE_K_US * pieces;
    if (lac_cuda_stream_writes(&product) != LAC_CUDA_WRITES_WHOLE)
        tile += TILE_APART_US;
    else if (p->beta != 0.0)
        tile += TILE_ADD_US * pieces;
    return machine->cuda_launch_us + RANK_US + RANK_K_US * pieces + tile * (double)cut->items;
}

static double small_us(const lac_cuda_product_t *p, const lac_cuda_stream_shape_t *cut,
                       const lac_machine_t *machine)
{
    double rate = FEW_SHARE * machine->cuda_dram_gbps * 1e3, spread = PROCESSORS / machine->cuda_processors;
    if (p->order == LAC_CUDA_COLS) rate *= ALONG_SHARE;
    if (p->m > FEW_ROWS) rate *= MORE_SHARE;
    double around = p->m > FEW_ROWS ? GROUP_US + BLOCK_US * spread * (double)cut->blocks : FEW_US;
    return machine->cuda_launch_us + around + CHUNK_US * fmin((double)cut->steps, CHUNKS_MOST) +
           fmax(PIECE_US * spread * (double)cut->items, (double)cut->w_bytes / rate);
}

/* Blocks make as many steps each, side by side; what they wait for is memory, the cache, or the tensor cores.
 */
double lac_cuda_stream_us(const lac_problem_t *p, bool gated, const lac_machine_t *machine)
{
    lac_sided_t s = sided(p);
    lac_cuda_product_t product = describe(p, &s);
    lac_cuda_dense_t dense = dense_of(&s);
    lac_cuda_stream_shape_t cut = lac_cuda_stream_cut(&product, &dense, gated, (int)machine->cuda_processors);
    if (cut.kernel == LAC_CUDA_STREAM_FEW) return few_us(s, machine);
    if (cut.kernel == LAC_CUDA_STREAM_GEMV) return gemv_us(&product, &cut, machine);
    if (cut.kernel == LAC_CUDA_STREAM_RANK_K) return rank_k_us(p, &cut, machine);
    if (cut.kernel == LAC_CUDA_STREAM_SMALL) return small_us(&product, &cut, machine);
    double share = DRAM_SHARE * (cut.apart ? OFF_SHARE : 1.0);
    double dram = (double)(cut.blocks * cut.w_bytes) / (share * machine->cuda_dram_gbps * 1e3);
    double cache = (double)(cut.blocks * cut.s_bytes) / (machine->cuda_l2_gbps * 1e3);
    double products = PRODUCT_US + PRODUCTS_US * (double)cut.s_bytes * (double)cut.w_bytes,
           step = fmax(fmax(dram + cache, products), STEP_US);
    if (cut.kernel == LAC_CUDA_STREAM_CLUSTER)
        return machine->cuda_launch_us + CLUSTER_US + fmax(step, SPLIT_US) * (double)cut.steps;
    double packed = PACK_BYTES * (double)product.m * (double)product.k / (machine->cuda_dram_gbps * 1e3);
    double began = machine->cuda_launch_us + machine->cuda_pdl_us + START_US,
           stepped = step * (double)cut.steps;
    if (cut.sums_bytes == 0) return began + stepped + write_us(p) * (double)cut.items;
    return began + machine->cuda_pdl_us + packed + stepped +
           2.0 * (double)cut.sums_bytes / (machine->cuda_l2_gbps * 1e3);
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    return lac_cuda_stream_us(p, false, machine);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    lac_sided_t s = sided(p);
    lac_cuda_product_t product = describe(p, &s);
    return lac_cuda_piece((size_t)lac_cuda_stream_bytes(&product));
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)out;
    lac_sided_t s = sided(p);
    void *memory;
    lac_status_t status = lac_cuda_work(exec, bytes(route, p), &memory);
    if (status || exec->preparing) return status;
    lac_cuda_product_t product = lac_cuda_stream_product(p);
    lac_cuda_dense_t dense = dense_of(&s);
    return lac_cuda_launched(lac_cuda_stream(&product, &dense, memory, exec->stream), route->name);
}

const lac_route_t lac_cuda_route_stream[] =
    LAC_ROUTE_ONE(stream, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue, 0);
