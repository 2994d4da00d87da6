/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Timing where calls return before their work is done: some runs are clocked on the device, and what they
 * took is learned by later calls. */
#ifndef LACUNA_PLANNER_DEVICE_TIMING_H
#define LACUNA_PLANNER_DEVICE_TIMING_H

#include "context.h"
#include "select.h"

/* Starts the device's clock for a run of `choice`, if its time is worth knowing. Returns true where
 * lac_device_timing_end has to follow; otherwise the site is charged what was predicted. */
bool lac_device_timing_begin(lac_ctx_t *ctx, lac_site_t *site, const lac_choice_t *choice);

/* The run is queued. A run that gave up (its site is NULL) teaches nothing. */
void lac_device_timing_end(lac_ctx_t *ctx, const lac_site_t *site, const lac_problem_t *p,
                           const lac_choice_t *choice);

/* Teaches the sites what has been measured since. */
void lac_device_timing_collect(lac_ctx_t *ctx);

#endif
