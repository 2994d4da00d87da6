/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A route: one complete way to compute a problem, as a row of the route table. */
#ifndef LACUNA_ROUTE_ROUTE_H
#define LACUNA_ROUTE_ROUTE_H

#include "machine.h"
#include "sided.h"

#include <stddef.h>

/* Why a route does not apply; LAC_FITS where it does. */
typedef enum lac_refusal {
    LAC_FITS = 0,
#define LAC_REFUSAL(name, text) LAC_REFUSED_##name,
#include "refusal.def"
#undef LAC_REFUSAL
} lac_refusal_t;

const char *lac_refusal_text(lac_refusal_t refusal);

/* What a run saw on its way. */
typedef struct lac_outcome {
    bool declined;        /* the route gave up before it wrote to c: another must serve    */
    double density;       /* of the operand it took as sparse, counted; negative: not seen */
    double k_active;      /* fraction of k with any event; negative: not seen              */
    const uint64_t *bits; /* in the backend's space until its next run: what is not zero of the c that was
                             written, as p->epilogue asks for it; NULL: not seen */
} lac_outcome_t;

/* What a route is for: policy rests on this, never on a name. */
typedef enum lac_role {
    LAC_ROLE_SPARSE,  /* skips zeros of the operand on its side                            */
    LAC_ROLE_TRIVIAL, /* there is nothing to sum                                           */
    LAC_ROLE_DENSE,   /* the vendor's dense call                                           */
    LAC_ROLE_FAST,    /* our own dense kernel where it is faster than the vendor's: skips nothing  */
    LAC_ROLE_EITHER,  /* skips the zeros of the shorter side's operand, or not, as the device counts them  */
    LAC_ROLE_NATIVE,  /* our own dense kernel: where there is no vendor, or was seen faster */
    LAC_ROLE_ORACLE   /* a second opinion: runs only when forced                           */
} lac_role_t;

typedef struct lac_exec lac_exec_t; /* what a run may use; each backend knows its own */
typedef struct lac_route lac_route_t;

/* Density of an operand of which nothing is known, where it is a sparse one: a route that finds out counts
 * for the mean of what such an operand takes and a full one. */
#define LAC_SPARSE_DENSITY 0.01

/* What is to be known of a row beside its role. Any density: it may pay where nothing is zero, too. Few
 * terms: of the role NATIVE; it serves beside a vendor's product by predictions alone where sums have few
 * terms. Finds zeros: of the role SPARSE; each run finds them anew, however many there are, so that a
 * recording of one stays right, and it is asked whether it knows what any share takes (terms.any_density). */
enum { LAC_ROUTE_ANY_DENSITY = 1, LAC_ROUTE_FEW_TERMS = 2, LAC_ROUTE_FINDS_ZEROS = 4 };

/* One row of the table. The functions take the row itself, so that one file can serve both sides. */
struct lac_route {
    const char *name; /* the backend name that forces it */
    lac_role_t role;
    lac_side_t side;
    lac_refusal_t (*applicable)(const lac_route_t *route, const lac_problem_t *p);
    double (*cost_us)(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine);
    size_t (*bytes)(const lac_route_t *route, const lac_problem_t *p); /* beyond the operands */
    lac_status_t (*run)(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out);
    /* True where run does what p->epilogue says on its way; NULL: never. */
    bool (*fuses_epilogue)(const lac_route_t *route, const lac_problem_t *p);
    unsigned traits; /* LAC_ROUTE_...: 0, or those that hold */
};

/* Rows that a route table has at most: as many a site can learn, and a decision's record can list. Each table
 * asserts it. */
#define LAC_ROUTES_MAX 16

/* What a line of routes.def says of a route: its role, and, of one backend, how many rows it has. */
enum {
#define LAC_ROUTE(name, role, host, cuda, text) LAC_ROLE_OF_##name = LAC_ROLE_##role,
#include "routes.def"
#undef LAC_ROUTE
};

/* The rows of a route: name, role and side are filled in, the functions are given in order or by name. The
 * sparse operand of the one is A, of the other B. */
/* clang-format off */
#define LAC_ROUTE_ROW(name, side, ...)  {#name, (lac_role_t)LAC_ROLE_OF_##name, side, __VA_ARGS__}
#define LAC_ROUTE_ONE(name, ...)        {LAC_ROUTE_ROW(name, LAC_SIDE_NONE, __VA_ARGS__)}
#define LAC_ROUTE_SIDES(name, ...) \
    {LAC_ROUTE_ROW(name, LAC_SIDE_LEFT, __VA_ARGS__), LAC_ROUTE_ROW(name, LAC_SIDE_RIGHT, __VA_ARGS__)}
/* clang-format on */

/* For the tables: declares the rows, and lists them. */
#define LAC_DECLARE_NONE(rows)
#define LAC_DECLARE_ONE(rows)   extern const lac_route_t rows[1];
#define LAC_DECLARE_SIDES(rows) extern const lac_route_t rows[2];
#define LAC_LIST_NONE(rows)
#define LAC_LIST_ONE(rows)   rows,
#define LAC_LIST_SIDES(rows) (rows), (rows) + 1,

/* A line of routes.def, for people. */
typedef struct lac_route_entry {
    const char *name, *text;
    lac_role_t role;
} lac_route_entry_t;

/* Line i, of all backends; NULL behind the last. */
const lac_route_entry_t *lac_route_entry(int i);
/* The same by name; NULL where it is none. */
const lac_route_entry_t *lac_route_named(const char *name);
/* "sparse", "dense", ... */
const char *lac_role_name(lac_role_t role);

/* W that a route can take beside an f32 matrix in a buffer. */
#define LAC_TAKES_U8_W     1u
#define LAC_TAKES_SPARSE_W 2u /* without a buffer; the route looks after its formats */
#define LAC_TAKES_HALVES   4u /* f16 and bf16, in a buffer                              */
/* And a symmetric operand of which one triangle is given, or a C of which one triangle is asked for. */
#define LAC_TAKES_TRIANGLE 8u

/* The conditions that every sparse route begins with: something to sum, zeros that may be skipped, a W that
 * it can take (`takes`: beside f32 in a buffer), a density. LAC_FITS where they hold; then the route's own
 * follow. */
lac_refusal_t lac_sparse_refusal(const lac_problem_t *p, const lac_sided_t *s, unsigned takes);

/* True where nothing is left to be done of p->epilogue once the route has run. */
bool lac_route_fuses_epilogue(const lac_route_t *route, const lac_problem_t *p);
/* The density up to which `wins` holds, which does up to some density and not beyond. */
double lac_density_below(bool (*wins)(const void *arg, double density), const void *arg);
/* Of a route of the role EITHER: that of the shorter side's operand up to which it takes less than where that
 * is full. */
double lac_route_break_even(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine);

/* What the call adds to the route's own cost. */
double lac_route_extra_us(const lac_route_t *route, const lac_problem_t *p);

#endif
