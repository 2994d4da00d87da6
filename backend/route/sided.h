/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem for every sparse route: S times W, whichever side the sparse operand is on.

 A right-hand sparse operand is the left-hand one of the transposed product, C' = B' A', so that a route and
 its kernels are written once. */
#ifndef LACUNA_ROUTE_SIDED_H
#define LACUNA_ROUTE_SIDED_H

#include "machine.h"
#include "operand/problem.h"

typedef enum lac_side { LAC_SIDE_NONE = 0, LAC_SIDE_LEFT, LAC_SIDE_RIGHT } lac_side_t;

const char *lac_side_name(lac_side_t side);

/* out[i, j] := beta out[i, j] + alpha sum over k of S[i, k] W[k, j], with i < m, j < n:
 * element (r, c) of S, W, out lies at base[r * rs + c * cs] with their own strides below. */
typedef struct lac_sided {
    lac_dim_t m, n, k; /* rows of S, columns of W, and the summed extent */
    const lac_operand_t *s, *w;
    bool s_transposed, w_transposed; /* S, W is the transpose of the matrix its metadata describes */
    lac_inc_t srs, scs, wrs, wcs, ors, ocs;
    double size, line; /* bytes of a value, and values of a cache line */
} lac_sided_t;

lac_sided_t lac_sided(const lac_problem_t *p, lac_side_t side);

/* Nonzeros of S beyond which a run gives up before it writes to c; negative: none. */
int64_t lac_sided_limit(const lac_problem_t *p, const lac_sided_t *s);

/* True, once so many were counted, where that is beyond such a limit: the run sets out->declined and returns.
 */
static inline bool lac_exceeds(int64_t limit, int64_t nonzeros)
{
    return limit >= 0 && nonzeros > limit;
}

/* How W's slices lie in memory. */
typedef enum lac_w_layout {
    LAC_W_ROWS,   /* W[k, :] is contiguous: row gather                                   */
    LAC_W_PACKED, /* W[:, j] is contiguous, and a k-major copy stands or may be made     */
    LAC_W_COLS,   /* W[:, j] is contiguous: column gather                                */
    LAC_W_STRIDED /* no unit stride                                                      */
} lac_w_layout_t;

lac_w_layout_t lac_sided_w_layout(const lac_problem_t *p, const lac_sided_t *s);

/* True where so many bytes stay in one thread's caches from one call to the next. */
bool lac_is_near(double bytes, const lac_machine_t *machine);

/* The part of so many bytes, read once a call in order, that caches have lost when they come again: none up
 * to half of what one thread's caches hold, which is the second level; all beyond the whole. */
double lac_far_share(double bytes, const lac_machine_t *machine);

/* Microseconds of one thread to read so many bytes of a dense operand for its nonzeros. */
double lac_scan_us(double bytes, const lac_machine_t *machine);

/* Microseconds of one thread to write the output. */
double lac_sided_out_us(const lac_sided_t *s, const lac_machine_t *machine);

/* The metadata format that lists S by rows (CSR of S), or k by k (CSC of S). */
lac_format_t lac_sided_by_rows(const lac_sided_t *s);
lac_format_t lac_sided_by_k(const lac_sided_t *s);
/* The dense format of W whose rows are its slices W[k, :]. */
lac_format_t lac_sided_k_major(const lac_sided_t *s);
/* True where an attached active list describes S's k (and not its rows). */
bool lac_sided_has_active(const lac_sided_t *s);
/* Lists of the events of S's rows, beside its buffer; or NULL. */
const lac_format_data_t *lac_sided_event_lists(const lac_sided_t *s);
/* The same as bits. */
const lac_format_data_t *lac_sided_event_bits(const lac_sided_t *s);

#endif
