/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The core's callbacks for this library: lac_fail, lac_log and what defers forks here speak through them. */
#ifndef LACUNA_CUDA_HOST_CALLBACKS_H
#define LACUNA_CUDA_HOST_CALLBACKS_H

#include "../model/backend.h"

void lac_host_callbacks_take(const lac_host_callbacks_t *callbacks);

#endif
