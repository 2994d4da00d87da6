/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The device's clock for runs. */
#ifndef LACUNA_CUDA_EVENT_TIMER_H
#define LACUNA_CUDA_EVENT_TIMER_H

#include "cuda_exec.h"

extern const lac_event_timer_t lac_cuda_timer_hooks;

void lac_cuda_event_timer_close(lac_exec_t *exec);

#endif
