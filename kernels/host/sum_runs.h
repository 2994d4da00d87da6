/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How many terms are added straight up: a run; so that rounding errors do not grow with the number of terms.
 *
 * RUN terms are added straight up, RUN such sums again, and so on: the terms of a sum count in base RUN, and
 * digit l of their number is the number of sums of RUN^l terms that stand in level l. Level 0 is the sum that
 * a kernel adds to. The term after a whole run carries it into level 1, which is carried as a digit is.
 *
 * Error     RUN roundings a level, so at most RUN_LEVELS * (RUN + 1) units of |A||B| up to RUN^RUN_LEVELS =
 *           2^20 terms, where a straight sum has one a term. A BLAS adds up blocks of 256 to 512 k, in which
 *           sparse data have few terms, so that it errs as short sums do: N terms in B blocks by about
 *           sqrt(N / B^2 + B) units. Over all N and B, runs of 16 err at most 1.6 times as much, runs of 32
 *           2.1 times; the contract allows 2.
 * Order     of the terms of an element alone: the same for every vector, range, and cut into fragments.
 * Lanes     sums spread over CHUNK lanes have a level in their lanes, and those are added up after LANE_RUN
 *           steps; so are other sums that pass once through memory for many terms.
 * Cost      one addition for RUN multiply-adds, and of the levels each 1 / RUN of the one before. */
#ifndef LACUNA_SUM_RUNS_H
#define LACUNA_SUM_RUNS_H

enum {
    RUN = 16,            /* terms of a run, runs of the next level, ..: a power of two */
    RUN_LEVELS = 5,      /* the last one takes what comes                              */
    LANE_RUN = RUN * RUN /* terms                                                      */
};

#endif
