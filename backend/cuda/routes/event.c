/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event route on a device: compact the events of S, then gather only the slices of W that they name.

 Left and right side are one route on two views of the problem. Events come from CSR where metadata has it,
 from the dense buffer otherwise; W is gathered by rows, by columns, or, where it is frozen, by the rows of a
 k-major copy made once. A W that is sparse only is read by its entries, where it may be by segments, whose
 pointers are made once of its pattern. */
#include "gather.h"
#include "cuda/formats/dense_view.h"
#include "routes.h"
#include "cuda/formats/formats.h"

#include <math.h>

#define ROWS_MAX  4096  /* of S: beyond, W's slices are read anew too often      */
#define FUSED_MAX 65536 /* elements of S, and                                   */
#define FUSED_MIN                                                                                            \
    0.005                   /* its density, for one launch instead of two: 5.2 us against 6.1 for            \
                               10 x 5000 x 5000 at 1 % (H200, 2026-11-20)           */
#define FUSED_TRIP  8192.0  /* elements of a row that one launch has in flight     */
#define PACKED_TRIP 98304.0 /* the same of a packer, up to 8 slices of k            */
#define TRIP_US     1.75
#define ENTRY_US    0.2 /* one event of a block after the other, sparse W       */
/* A sparse W by segments. Of 22 products from a dense S and from CSR (bench/gpu/segments_bench.cu; H200,
 * 2026-11-27) two take 1.5 times what is predicted, the others 0.80 to 1.22 times: */
#define SEGMENT_TRIPS_US 0.9   /* S, pointers and entries one after the other, and the sum of copies */
#define SEGMENT_BITS_US  0.6   /* bits are listed                                                   */
#define SEGMENT_READ_US  0.5   /* a dense S is read by the blocks themselves, up to                 */
#define SEGMENT_READ     3e5   /* so many bytes; or                                                 */
#define SEGMENT_MADE_US  2.5   /* bits are made of it before                                        */
#define SEGMENT_FEW      3.2e6 /* bytes of entries in short pieces, which come at                   */
#define SEGMENT_FEW_RATE 0.19  /* of what memory gives; the others at                               */
#define SEGMENT_RATE     0.47
#define SEGMENT_SUM_US   7e-6 /* for each element of the output */
/* A sparse W of ones, whose events are counted: */
#define COUNTS_K        (1 << 24) /* ones that a float counts            */
#define COUNTS_ROWS     65535     /* of S                                */
#define COUNTS_SECTORS  3.0       /* of the second cache, for an addition */
#define COUNTS_TRIPS_US 0.3       /* bits and entries one after the other, and the output cleared before */

/* Where the events of S come from. */
typedef enum event_source {
    FROM_CSR,
    FROM_ACTIVE, /* the columns of S that a list names */
    FROM_LISTS,  /* the events of each row, in memory beside the buffer */
    FROM_BITS,   /* the same as bits */
    FROM_BUFFER,
    FROM_EXPANSION,
    FROM_NOWHERE
} event_source_t;

/* The active list of an S that has no buffer, or NULL. Where there is one, its rows are packed sooner than
 * the list's values, which lie column by column: 8.8 us against 14.3 for 50 x 10000 x 10000, 0.1 % (H200,
 * 2026-11-21). */
static const lac_format_data_t *listed_of(const lac_sided_t *s)
{
    return s->s->buf || !lac_sided_has_active(s) ? NULL : lac_meta_format(s->s->meta, LAC_FORMAT_ACTIVE);
}

/* The same where W is dense: a single row is as soon scanned. */
static const lac_format_data_t *active_of(const lac_sided_t *s)
{
    return s->m == 1 ? NULL : listed_of(s);
}

static event_source_t source_of(const lac_sided_t *s)
{
    if (lac_cuda_format_at_hand(s->s, lac_sided_by_rows(s))) return FROM_CSR;
    if (active_of(s)) return FROM_ACTIVE;
    if (s->s->buf) return FROM_BUFFER;
    return s->s->formats & LAC_FORMATS_SPARSE ? FROM_EXPANSION : FROM_NOWHERE;
}

/* S as one dense matrix. */
static event_source_t as_dense(const lac_sided_t *s)
{
    return s->s->buf ? FROM_BUFFER : FROM_EXPANSION;
}

/* How W is read. */
typedef enum gather {
    BY_ROWS,
    BY_COPY,
    BY_COLUMNS,
    BY_ACTIVE,
    BY_STREAM,
    BY_ENTRIES,  /* W is sparse itself, and listed k by k, */
    BY_SEGMENTS, /* with pointers to the entries of each range of columns */
    BY_COUNTS    /* whose sums are numbers of events, added in any order */
} gather_t;

typedef struct how {
    event_source_t source;
    gather_t gather;
} how_t;

/* W by columns. The kernels that read nearly all of W take a dense S: where many events are given, its buffer
 * is the better source of them. machine == NULL: the way that takes the most memory. */
static how_t by_columns(const lac_sided_t *s, event_source_t source, const lac_machine_t *machine)
{
    static const gather_t gathers[] = {[LAC_CUDA_COLUMNS_EVENTS] = BY_COLUMNS,
                                       [LAC_CUDA_COLUMNS_ACTIVE] = BY_ACTIVE,
                                       [LAC_CUDA_COLUMNS_STREAM] = BY_STREAM};
    bool events_only = s->w->dt == LAC_F64;
    gather_t best = events_only ? BY_COLUMNS
                    : machine   ? gathers[lac_cuda_columns_best(s, machine)]
                                : BY_STREAM;
    if (source == FROM_CSR && !(s->s->buf && (!machine || lac_cuda_columns_beat_given(s, machine))))
        return (how_t){FROM_CSR, BY_COLUMNS};
    if (source == FROM_ACTIVE && best == BY_COLUMNS) return (how_t){FROM_ACTIVE, BY_COLUMNS};
    return (how_t){as_dense(s), best};
}

/* Where sums are fixed: a split of k that the columns of W, the rows of S and densities have no part in, so
 * that a shard of W gives the bits that all of W does. Of segments, what finds room with any width of their
 * ranges; of tiles, nearly what is chosen anyway for a few rows of thousands of events and columns. */
static const lac_cuda_segments_cut_t fixed_cut = {
    .warps = 16, .lanes = 32, .copies = -1, .cluster = 1, .bits = 1};

/* Of a single row in one launch. */
static const lac_cuda_tile_t fixed_row = {.vec = 1, .row_warps = 1, .k_warps = 4, .cluster = 4};

static lac_cuda_tile_t fixed_tile(const lac_sided_t *s)
{
    return (lac_cuda_tile_t){.row_warps = s->m < 5 ? (int)s->m : 5, .k_warps = 4, .cluster = 1};
}

/* The format of W that lists its slices W[k, :]. */
static lac_format_t w_by_k(const lac_sided_t *s)
{
    return s->w_transposed ? LAC_FORMAT_CSC : LAC_FORMAT_CSR;
}

/* Entries of a sparse W. */
static int64_t entries_of(const lac_sided_t *s)
{
    const lac_format_data_t *format = lac_operand_format(s->w, w_by_k(s));
    double filled = s->w->density < 0 ? 1.0 : s->w->density;
    return format ? format->count : (int64_t)(filled * (double)s->k * (double)s->n);
}

/* Whether bits of events meet a W of ones, and nothing else becomes of their sums, which are then the same
 * in any order: worth it where there are so many columns that sums by segments are what takes the time. */
static bool counts(const lac_problem_t *p, const lac_sided_t *s)
{
    const lac_format_data_t *w = lac_operand_format(s->w, w_by_k(s));
    bool plain = !p->alpha_at && p->alpha == 1.0 && p->beta == 0.0 && !p->epilogue.any && s->ocs == 1;
    return plain && p->dt == LAC_F32 && w && !w->val && s->k <= COUNTS_K && s->m <= COUNTS_ROWS;
}

/* How much longer it takes than from CSR or lists to find the events of S. */
static double found_us(const lac_sided_t *s, event_source_t source, const lac_machine_t *machine)
{
    double bytes = (s->s->dt == LAC_F32 ? 4.0 : 1.0) * (double)s->m * (double)s->k;
    if (source == FROM_CSR || source == FROM_LISTS) return 0.0;
    if (source == FROM_BITS) return SEGMENT_BITS_US;
    return bytes <= SEGMENT_READ ? SEGMENT_READ_US : SEGMENT_MADE_US + bytes / (machine->cuda_l2_gbps * 1e3);
}

/* The three trips, then what comes through: entries, in short pieces, and the sums of the output's columns.
 */
static double segments_us(const lac_sided_t *s, event_source_t source, const lac_machine_t *machine)
{
    double m = (double)s->m, events = s->s->density * (double)s->k * m, rows = (double)entries_of(s);
    double entries = s->k > 0 ? 8.0 * events * rows / (double)s->k : 0.0,
           few = entries < SEGMENT_FEW ? entries : SEGMENT_FEW, memory = machine->cuda_dram_gbps * 1e3;
    return SEGMENT_TRIPS_US + found_us(s, source, machine) + few / (SEGMENT_FEW_RATE * memory) +
           (entries - few) / (SEGMENT_RATE * memory) + SEGMENT_SUM_US * m * (double)s->n;
}

/* Sums cleared and counted in the second cache, where an addition takes as long as some sectors to read;
 * entries from memory. */
static double counts_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double m = (double)s->m, events = s->s->density * (double)s->k * m, rows = (double)entries_of(s),
           entries = s->k > 0 ? events * rows / (double)s->k : 0.0;
    return COUNTS_TRIPS_US + 4.0 * entries / (machine->cuda_dram_gbps * 1e3) +
           (COUNTS_SECTORS * 32.0 * entries + 4.0 * m * (double)s->n) / (machine->cuda_l2_gbps * 1e3);
}

/* Whether what is known of the events says that these are few enough to be counted: of a row of 40000 neurons
 * with 1000 ones each, up to 1 % (H200, 2026-11-23: 9.2 us each way, 2.7 and 5.3 at 0.1 %, 69 and 35 at 10).
 */
static bool counts_sooner(const lac_sided_t *s, const lac_machine_t *machine)
{
    return s->s->known == LAC_KNOWN_NOT || counts_us(s, machine) <= segments_us(s, FROM_BITS, machine);
}

/* A sparse W. Its segment pointers belong to its pattern: values may change from call to call. */
static how_t by_entries(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine)
{
    event_source_t source = source_of(s);
    bool beside = source == FROM_BUFFER, bits = beside && lac_sided_event_bits(s),
         lists = beside && lac_sided_event_lists(s) && !p->settings.fixed_sums;
    bool segments = p->settings.may_copy && lac_cuda_segments_width(s->k, s->n, entries_of(s)) > 0;
    if (bits && counts(p, s) && (!segments || (machine && counts_sooner(s, machine))))
        return (how_t){FROM_BITS, BY_COUNTS};
    if (segments)
        return (how_t){bits                                 ? FROM_BITS
                       : lists                              ? FROM_LISTS
                       : source != FROM_CSR && listed_of(s) ? FROM_ACTIVE
                                                            : source,
                       BY_SEGMENTS};
    return (how_t){source == FROM_ACTIVE ? as_dense(s) : source, BY_ENTRIES};
}

/* Ways whose order is that of k alone. */
static how_t by_fixed_sums(const lac_sided_t *s, lac_w_layout_t slices)
{
    event_source_t source = source_of(s);
    if (source == FROM_ACTIVE) source = as_dense(s); /* a list is cut by its length, and by W's columns */
    return (how_t){source, slices == LAC_W_PACKED ? BY_COPY : slices == LAC_W_COLS ? BY_COLUMNS : BY_ROWS};
}

static how_t how_of(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine)
{
    lac_w_layout_t slices = lac_sided_w_layout(p, s);
    if (!s->w->buf) return by_entries(p, s, machine);
    if (p->settings.fixed_sums) return by_fixed_sums(s, slices);
    how_t how = {source_of(s), BY_ROWS};
    if (slices == LAC_W_PACKED) how.gather = BY_COPY;
    return slices == LAC_W_COLS ? by_columns(s, how.source, machine) : how;
}

static bool gathers_rows(how_t how)
{
    return how.gather == BY_ROWS || how.gather == BY_COPY;
}

/* Types that one launch reads. */
static bool takes_in_one(const lac_sided_t *s)
{
    return !lac_is_half(s->s->dt) || s->s->dt == s->w->dt;
}

/* Beside an operand of f16 or bf16 W is gathered by rows, whichever of the two it is. */
static bool takes_halves(const lac_problem_t *p, const lac_sided_t *s)
{
    lac_w_layout_t layout = lac_sided_w_layout(p, s);
    return s->w->buf && (layout == LAC_W_ROWS || layout == LAC_W_PACKED);
}

/* Whether one launch multiplies it whose blocks list the events of few rows of dense S (few.cu). What that
 * takes by full rows was measured (gather.c); other gathers of all there is take up to eight times as long as
 * predicted. */
static bool lists_rows_at(const lac_problem_t *p, const lac_sided_t *s, double density)
{
    lac_w_layout_t layout = lac_sided_w_layout(p, s);
    bool copied = layout == LAC_W_PACKED;
    lac_cuda_product_t product = {.m = s->m, .n = s->n, .k = s->k, .order = LAC_CUDA_ROWS};
    product.w_dt = s->w->dt;
    product.w = copied ? NULL : s->w->buf;
    product.ldw = copied ? s->n : s->wrs;
    bool by_rows = s->w->buf && (copied || layout == LAC_W_ROWS) && (s->m == 1 || s->scs == 1);
    bool plain = by_rows && !p->settings.fixed_sums && source_of(s) == FROM_BUFFER && takes_in_one(s);
    return plain && lac_cuda_event_lists_rows(&product, density);
}

static bool lists_rows(const lac_problem_t *p, const lac_sided_t *s)
{
    return lists_rows_at(p, s, s->s->density);
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, LAC_TAKES_SPARSE_W | LAC_TAKES_HALVES);
    bool indices = lac_cuda_fits_index(s.k) && lac_cuda_fits_index(s.n) && lac_cuda_fits_index(s.wrs) &&
                   lac_cuda_fits_index(s.wcs);
    if (refusal != LAC_FITS) return refusal;
    if (!s.w->buf && !lac_cuda_format_at_hand(s.w, w_by_k(&s))) return LAC_REFUSED_W_SPARSE;
    if (p->dt == LAC_F64 && !s.w->buf) return LAC_REFUSED_DOUBLES;
    if (source_of(&s) == FROM_NOWHERE) return LAC_REFUSED_NO_FORMAT;
    if (s.m > ROWS_MAX) return LAC_REFUSED_NOT_SHORT;
    if (!indices) return LAC_REFUSED_INDEX_RANGE;
    if (s.w->buf && (lac_sided_w_layout(p, &s) == LAC_W_STRIDED || s.wrs < 0 || s.wcs < 0))
        return LAC_REFUSED_W_STRIDES;
    if (lac_problem_is_half(p) && !takes_halves(p, &s)) return LAC_REFUSED_HALVES;
    if (p->terms.any_density && !lists_rows(p, &s)) return LAC_REFUSED_DENSITY_UNKNOWN;
    return LAC_FITS;
}

/* Each event names a few entries of W, and the next event of the row waits for it. */
static double entries_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double events = s->s->density * (double)s->k, filled = s->w->density < 0 ? 1.0 : s->w->density;
    double entries = 8.0 * events * (double)s->m * filled * (double)s->n;
    double out = 4.0 * (double)s->m * (double)s->n;
    double shared = ceil(2.0 * machine->cuda_processors / (double)s->m); /* blocks of a row */
    shared = shared > 16.0 ? 16.0 : shared;
    double waves = ceil((double)s->m * shared / (2.0 * machine->cuda_processors));
    return machine->cuda_launch_us + waves * events / shared * ENTRY_US +
           (entries + 2.0 * shared * out) / (machine->cuda_l2_gbps * 1e3);
}

static double gather_us(const lac_problem_t *p, const lac_sided_t *s, how_t how, const lac_machine_t *machine)
{
    switch (how.gather) {
    case BY_COUNTS:
        return counts_us(s, machine);
    case BY_ENTRIES:
        return entries_us(s, machine);
    case BY_SEGMENTS:
        return segments_us(s, how.source, machine);
    case BY_COLUMNS:
        return lac_cuda_columns_us(s, LAC_CUDA_COLUMNS_EVENTS, machine);
    case BY_ACTIVE:
        return lac_cuda_columns_us(s, LAC_CUDA_COLUMNS_ACTIVE, machine);
    case BY_STREAM:
        return lac_cuda_columns_us(s, LAC_CUDA_COLUMNS_STREAM, machine);
    default:
        return lists_rows(p, s) ? lac_cuda_few_us(s, machine) : lac_cuda_gather_us(s, machine);
    }
}

/* One launch scans S again for every 256 columns: worth it while S is small and its rows are contiguous. */
static bool fuses(const lac_problem_t *p, const lac_sided_t *s, how_t how)
{
    if (s->m == 1 || !takes_in_one(s)) return takes_in_one(s);
    if (p->settings.fixed_sums) return false;
    if (lists_rows(p, s)) return true;
    return gathers_rows(how) && s->scs == 1 && s->m * s->k <= FUSED_MAX && s->s->density >= FUSED_MIN;
}

/* A row of S is scanned by the warps that its slices of k go to, whatever the device has besides: 214 ms for
 * one row of 1e9 bytes in one launch (H200, 2026-11-21). Packed first, a row has some 13 times the warps. */
static double scan_us(const lac_problem_t *p, const lac_sided_t *s, how_t how, const lac_machine_t *machine)
{
    double bytes = (double)lac_dt_size(s->s->dt) * (double)s->m * (double)s->k;
    if (lists_rows(p, s)) return 0.0;
    double at_once = fuses(p, s, how) ? FUSED_TRIP : PACKED_TRIP, further = (double)s->k - at_once;
    bool one = how.gather == BY_ACTIVE || how.gather == BY_STREAM;
    double trips = one || further < 0 ? 0.0 : further / at_once;
    double moved = bytes / (machine->cuda_l2_gbps * 1e3);
    return moved > trips * TRIP_US ? moved : trips * TRIP_US;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, machine);
    double elements = (double)s.m * (double)s.k;
    bool given = how.source == FROM_CSR || how.gather == BY_SEGMENTS ||
                 how.gather == BY_COUNTS; /* these count their own scan */
    bool many = s.m > 1 && !lists_rows(p, &s);
    bool chained = !given && (many || how.gather == BY_ACTIVE || how.gather == BY_STREAM);
    double launches = machine->cuda_launch_us + (chained ? machine->cuda_pdl_us : 0.0);
    double scan = given ? 0.0 : scan_us(p, &s, how, machine);
    if (how.source == FROM_EXPANSION)
        scan += 2.0 * machine->cuda_launch_us + 8.0 * elements / (machine->cuda_dram_gbps * 1e3);
    return launches + scan + gather_us(p, &s, how, machine);
}

static size_t expansion_bytes(const lac_sided_t *s, how_t how)
{
    return how.source == FROM_EXPANSION
               ? lac_cuda_piece((size_t)s->m * (size_t)s->k * lac_dt_size(s->s->values))
               : 0;
}

/* Room for each of the products among which the density decides, for a call that is captured may know another
 * one than the call before it: for W by columns, three, and for few rows, two. */
static size_t packed_bytes(const lac_problem_t *p, const lac_sided_t *s, how_t how)
{
    if (how.gather == BY_ENTRIES) return lac_cuda_piece((size_t)lac_cuda_event_pair_bytes(s->m, s->n, s->k));
    if (how.gather == BY_COUNTS || (how.gather == BY_SEGMENTS && how.source == FROM_ACTIVE)) return 0;
    if (how.gather == BY_SEGMENTS) return lac_cuda_piece((size_t)lac_cuda_event_segments_bytes(s->m, s->k));
    double least = p->terms.any_density ? s->s->density : 0.0;
    bool in_one = (s->m == 1 && takes_in_one(s)) || lists_rows_at(p, s, least);
    if (how.source == FROM_CSR || (gathers_rows(how) && in_one)) return 0;
    if (gathers_rows(how) || s->w->dt == LAC_F64)
        return lac_cuda_piece((size_t)lac_cuda_event_slots_bytes(s->m, s->k, s->w->dt));
    int64_t stream = lac_cuda_event_stream_bytes(s->m, s->k), /* never less than the slots */
        active = lac_cuda_event_active_bytes(s->m, s->k);
    return lac_cuda_piece((size_t)(stream > active ? stream : active));
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, NULL);
    size_t w = how.gather == BY_COPY ? lac_cuda_format_bytes(s.w, lac_sided_k_major(&s))
               : !s.w->buf           ? lac_cuda_format_bytes(s.w, w_by_k(&s))
                                     : 0;
    if (how.gather == BY_SEGMENTS)
        w += (size_t)lac_cuda_segments_bytes(s.k, s.n, lac_cuda_segments_width(s.k, s.n, entries_of(&s)));
    size_t events = how.source == FROM_CSR ? lac_cuda_format_bytes(s.s, lac_sided_by_rows(&s)) : 0;
    return packed_bytes(p, &s, how) + expansion_bytes(&s, how) + w + events;
}

/* Segment pointers of a sparse W, kept beside the entries that they were made of. */

static lac_format_t segments_format(const lac_sided_t *s)
{
    return s->w_transposed ? LAC_FORMAT_SEGMENTS_T : LAC_FORMAT_SEGMENTS;
}

static const lac_format_data_t *kept_segments(const lac_sided_t *s, const lac_format_data_t *w)
{
    const lac_format_data_t *format = lac_meta_format(s->w->meta, segments_format(s));
    return format && format->made_of == w->format_id ? format : NULL;
}

typedef struct made_segments {
    lac_exec_t *exec;
    const lac_sided_t *s;
    const lac_format_data_t *w;
} made_segments_t;

static lac_status_t make_segments(void *arg, lac_format_data_t *data)
{
    const made_segments_t *made = arg;
    lac_exec_t *exec = made->exec;
    const lac_sided_t *s = made->s;
    const lac_format_data_t *w = made->w;
    lac_cuda_csr_t csr = {w->ptr, w->idx, w->val, w->count, false};
    void *first;
    lac_cuda_format_begin(w->origin == LAC_ORIGIN_SCANNED ? LAC_ORIGIN_SCANNED : LAC_ORIGIN_DERIVED, data);
    data->count = lac_cuda_segments_width(s->k, s->n, w->count);
    data->made_of = w->format_id;
    lac_status_t status =
        lac_cuda_format_own(data, 0, (size_t)lac_cuda_segments_bytes(s->k, s->n, data->count), &first);
    if (!status)
        status = lac_cuda_launched(
            lac_cuda_segment_pointers(s->k, s->n, data->count, &csr, first, exec->stream), "metadata");
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    if (status) lac_cuda_format_drop(data);
    data->schedule = status ? NULL : first;
    return status;
}

/* Those of W, made now where they are not there; *segments stays NULL where that cannot be, since the stream
 * is captured. */
static lac_status_t segments_now(lac_exec_t *exec, const lac_sided_t *s, const lac_format_data_t *w,
                                 const lac_format_data_t **segments)
{
    *segments = kept_segments(s, w);
    if (*segments || lac_cuda_capturing(exec) || lac_cuda_segments_width(s->k, s->n, w->count) == 0)
        return LAC_OK;
    made_segments_t made = {exec, s, w};
    return lac_cuda_format_keep(s->w->meta, segments_format(s), w->format_id, make_segments, &made, segments);
}

/* The formats of S and W that a call wants. */
typedef struct found {
    const lac_format_data_t *rows, *w, *segments;
} found_t;

/* Finds them. Where one cannot be made now, the buffers serve, or entries without segments. */
static lac_status_t find_formats(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s, how_t *how,
                                 found_t *found)
{
    lac_status_t status = LAC_OK;
    *found = (found_t){0};
    if (how->source == FROM_CSR) {
        status = lac_cuda_format_now(exec, s->s, lac_sided_by_rows(s), &found->rows);
        if (!found->rows) how->source = as_dense(s);
    }
    if (status || (how->gather != BY_COPY && s->w->buf)) return status;
    status =
        lac_cuda_format_now(exec, s->w, how->gather == BY_COPY ? lac_sided_k_major(s) : w_by_k(s), &found->w);
    if (!found->w && how->gather == BY_COPY)
        *how =
            p->settings.fixed_sums ? by_fixed_sums(s, LAC_W_COLS) : by_columns(s, how->source, exec->machine);
    if (how->gather == BY_SEGMENTS && !status && found->w)
        status = segments_now(exec, s, found->w, &found->segments);
    if (how->gather == BY_SEGMENTS && !found->segments && how->source == FROM_BITS && counts(p, s))
        *how = (how_t){FROM_BITS, BY_COUNTS};
    else if (how->gather == BY_SEGMENTS && !found->segments)
        *how = (how_t){how->source == FROM_CSR ? FROM_CSR : as_dense(s), BY_ENTRIES};
    if (how->source == FROM_BUFFER) found->rows = NULL;
    return status;
}

static lac_cuda_product_t describe(const lac_problem_t *p, const lac_sided_t *s, how_t how,
                                   const lac_format_data_t *w)
{
    const lac_format_data_t *copy = how.gather == BY_COPY ? w : NULL;
    lac_cuda_product_t product = {.m = s->m, .n = s->n, .k = s->k, .out = p->c, .rs = s->ors, .cs = s->ocs};
    product.w_dt = s->w->dt, product.out_dt = p->dt;
    product.alpha = lac_cuda_alpha(p);
    product.beta = lac_cuda_beta(p);
    product.epilogue = lac_cuda_epilogue(p, s->s == &p->b ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT);
    product.w = copy ? copy->val : s->w->buf;
    product.order = copy || how.gather == BY_ROWS ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product.ldw = copy ? s->n : how.gather == BY_ROWS ? s->wrs : s->wcs;
    if (s->n == 1 && product.order == LAC_CUDA_COLS) product.ldw = s->k; /* a single column has no next one */
    return product;
}

/* The columns of S that a list names, as a matrix of its own whose nonzeros say which k they are. */
static lac_cuda_dense_t listed_columns(const lac_sided_t *s, const lac_format_data_t *active)
{
    double density = active->count ? s->s->density * (double)s->k / (double)active->count : 0.0;
    return (lac_cuda_dense_t){s->s->values, active->val, 1, s->m, density < 1.0 ? density : 1.0};
}

static lac_status_t multiply_list(lac_exec_t *exec, const lac_sided_t *s, const lac_cuda_product_t *product,
                                  char *memory)
{
    const lac_format_data_t *active = active_of(s);
    lac_cuda_dense_t dense = listed_columns(s, active);
    lac_cuda_product_t listed = *product;
    listed.k = active->count;
    return lac_cuda_event_listed(&listed, &dense, active->idx, memory, exec->stream);
}

static lac_cuda_event_lists_t event_lists_of(const lac_sided_t *s)
{
    const lac_format_data_t *lists = lac_sided_event_lists(s);
    return (lac_cuda_event_lists_t){lists->idx, lists->counts, lists->count, lists->first, s->s->density};
}

static lac_cuda_event_bits_t event_bits_of(const lac_sided_t *s)
{
    const lac_format_data_t *bits = lac_sided_event_bits(s);
    return (lac_cuda_event_bits_t){(const uint32_t *)bits->bits, 2 * bits->count, bits->first, s->s->density};
}

static lac_status_t multiply_counts(lac_exec_t *exec, const lac_sided_t *s, const lac_cuda_product_t *product,
                                    const lac_cuda_csr_t *w, const lac_format_data_t *format)
{
    lac_cuda_event_bits_t bits = event_bits_of(s);
    int64_t each = format->even && s->k > 0 ? format->count / s->k : 0;
    return lac_cuda_event_counts(product, &bits, w, each, exec->late, exec->stream);
}

static lac_status_t multiply_segments(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s,
                                      how_t how, const lac_cuda_product_t *product,
                                      const lac_cuda_dense_t *dense, const lac_cuda_csr_t *rows,
                                      const lac_cuda_csr_t *w, const lac_format_data_t *kept, char *memory)
{
    const lac_format_data_t *active = how.source == FROM_ACTIVE ? listed_of(s) : NULL;
    lac_cuda_segments_t segments = {s->k, kept->count, kept->schedule};
    lac_cuda_product_t listed = *product;
    lac_cuda_dense_t columns;
    if (active) columns = listed_columns(s, active), dense = &columns, listed.k = active->count;
    /* Where W's pointers had to be made the stream was waited for; an S that is made of another format was
     * not. */
    lac_cuda_segments_cut_t cut = p->settings.fixed_sums ? fixed_cut : (lac_cuda_segments_cut_t){0};
    bool as_it_is = how.source == FROM_BUFFER || how.source == FROM_LISTS || how.source == FROM_BITS;
    cut.late = as_it_is && exec->late;
    if (how.source == FROM_BITS) {
        lac_cuda_event_bits_t bits = event_bits_of(s);
        return lac_cuda_event_segments(product, &(lac_cuda_event_source_t){.bits = &bits}, w, &segments, &cut,
                                       memory, exec->stream);
    }
    if (how.source == FROM_LISTS) {
        lac_cuda_event_lists_t lists = event_lists_of(s);
        return lac_cuda_event_segments(product, &(lac_cuda_event_source_t){.lists = &lists}, w, &segments,
                                       &cut, memory, exec->stream);
    }
    const lac_cuda_event_source_t source = {
        .dense = rows ? NULL : dense, .list = active ? active->idx : NULL, .rows = rows};
    return lac_cuda_event_segments(&listed, &source, w, &segments, &cut, memory, exec->stream);
}

static lac_status_t multiply(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s, how_t how,
                             const lac_cuda_product_t *product, const found_t *found, char *memory)
{
    const lac_cuda_tile_t fixed = fixed_tile(s), *tile = p->settings.fixed_sums ? &fixed : NULL;
    const lac_format_data_t *rows = found->rows, *w = found->w;
    lac_cuda_csr_t csr = {0}, entries = {0};
    if (rows) csr = (lac_cuda_csr_t){rows->ptr, rows->idx, rows->val, rows->count, false};
    if (w && how.gather != BY_COPY) entries = (lac_cuda_csr_t){w->ptr, w->idx, w->val, w->count, false};
    if (how.gather == BY_COUNTS) return multiply_counts(exec, s, product, &entries, w);
    if (found->segments &&
        (rows || how.source == FROM_ACTIVE || how.source == FROM_LISTS || how.source == FROM_BITS))
        return multiply_segments(exec, p, s, how, product, NULL, rows ? &csr : NULL, &entries,
                                 found->segments, memory);
    if (rows && how.gather == BY_ENTRIES)
        return lac_cuda_event_pair(product, NULL, &csr, &entries, memory, exec->stream);
    if (rows) return lac_cuda_event_csr(product, &csr, tile, exec->stream);
    if (how.source == FROM_ACTIVE) return multiply_list(exec, s, product, memory);
    lac_cuda_dense_t dense = {s->s->dt, s->s->buf, s->srs, s->scs, s->s->density};
    if (how.source == FROM_EXPANSION) {
        lac_operand_t sided = *s->s; /* as the sided view has it */
        lac_cuda_dense_view_t contents;
        sided.transposed = s->s_transposed;
        lac_status_t status = lac_cuda_dense_view(exec, &sided, s->m, s->k, false, &memory, &contents);
        if (status) return status;
        dense = (lac_cuda_dense_t){s->s->values, contents.buf, contents.rs, contents.cs, s->s->density};
    }
    if (how.gather == BY_STREAM) return lac_cuda_event_stream(product, &dense, memory, exec->stream);
    if (how.gather == BY_ACTIVE) return lac_cuda_event_active(product, &dense, memory, exec->stream);
    if (found->segments)
        return multiply_segments(exec, p, s, how, product, &dense, NULL, &entries, found->segments, memory);
    if (how.gather == BY_ENTRIES)
        return lac_cuda_event_pair(product, &dense, NULL, &entries, memory, exec->stream);
    if (fuses(p, s, how))
        return lac_cuda_event_fused(product, &dense, p->settings.fixed_sums ? &fixed_row : NULL,
                                    exec->stream);
    return lac_cuda_event_slots(product, &dense, tile, memory, exec->stream);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    how_t how = how_of(p, &s, exec->machine);
    found_t found;
    char *memory;
    lac_status_t status = find_formats(exec, p, &s, &how, &found);
    out->declined =
        (!s.w->buf && !found.w) || (lac_problem_is_half(p) && how.gather != BY_ROWS && how.gather != BY_COPY);
    if (status || out->declined) return status;
    status = lac_cuda_work(exec, packed_bytes(p, &s, how) + expansion_bytes(&s, how), (void **)&memory);
    if (status || exec->preparing) return status;
    lac_cuda_product_t product = describe(p, &s, how, found.w);
    return lac_cuda_launched(multiply(exec, p, &s, how, &product, &found, memory), "event");
}

const lac_route_t lac_cuda_route_event[] =
    LAC_ROUTE_SIDES(event, applicable, cost_us, bytes, run, lac_cuda_fuses_epilogue, LAC_ROUTE_FINDS_ZEROS);
