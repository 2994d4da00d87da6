/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the event products keep in scratch; shared with lac_event_scratch. */
#ifndef LACUNA_EVENT_PANEL_H
#define LACUNA_EVENT_PANEL_H

#include <stdint.h>

#include "sum_runs.h"

enum {
    EVENT_PANEL_FLOATS = 65536, /* m x panel accumulators: 256 KiB, beside the slices of W in L2 */
    EVENT_PANEL_MIN = 64,
    EVENT_PANEL_MAX = 4096,
    ACTIVE_BLOCK = 16 /* slices of W that are read side by side: as many streams as the prefetchers follow */
};

/* Columns of out that event_rows sums at a time for m rows of S: a multiple of EVENT_PANEL_MIN. */
static inline int64_t event_panel(int64_t m)
{
    int64_t width = EVENT_PANEL_FLOATS / (m > 0 ? m : 1) / EVENT_PANEL_MIN * EVENT_PANEL_MIN;
    if (width < EVENT_PANEL_MIN) return EVENT_PANEL_MIN;
    return width < EVENT_PANEL_MAX ? width : EVENT_PANEL_MAX;
}

/* Floats: the levels of a panel; then, as 32-bit integers, how many events each row had, and for each event
 * of a block the run that it begins. Levels that no row has enough events for are never touched. */
static inline int64_t event_scratch(int64_t m)
{
    return m * (event_panel(m) * RUN_LEVELS + 1 + ACTIVE_BLOCK);
}

#endif
