/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The core's services for this library: lac_fail, lac_log and what defers forks here speak through them. */
#ifndef LACUNA_CUDA_CORE_SERVICES_H
#define LACUNA_CUDA_CORE_SERVICES_H

#include "../model/backend.h"

void lac_services_take(const lac_services_t *services);

#endif
