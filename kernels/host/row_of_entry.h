/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where the work is cut by entries: the row that an entry of a CSR matrix lies in. */

/* The last row that begins at or before entry e. */
static int64_t row_of_entry(const lac_rows_t *s, int64_t e)
{
    int64_t low = 0;
    int64_t high = s->rows;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (s->ptr[middle] <= e)
            low = middle;
        else
            high = middle;
    }
    return low;
}
