/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of one line of an output. */

/* out[j * stride] := x where x or, of magnitudes, |x| is above limit or NaN, else 0; x = out[j * stride] plus
 * add[0], or add[j] where `each` has its own. add may be NULL; a limit of NaN leaves all. j < count. */
LAC_KERNEL(epilogue_line, void,
           (void *out, int64_t count, int64_t stride, const void *add, bool each, bool magnitude,
            double limit))

#ifdef LAC_KERNEL_BODIES

static void epilogue_line(void *out, int64_t count, int64_t stride, const void *add, bool each,
                          bool magnitude, double limit)
{
    const real_t *bias = add, above = (real_t)limit;
    real_t *line = out;
    for (int64_t j = 0; j < count; j++) {
        real_t x = line[j * stride] + (bias ? bias[each ? j : 0] : 0);
        line[j * stride] = (magnitude && x < 0 ? -x : x) <= above ? 0 : x;
    }
}

#endif
