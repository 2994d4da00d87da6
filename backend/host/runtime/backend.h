/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The host backend's hooks. */
#ifndef LACUNA_HOST_RUNTIME_BACKEND_H
#define LACUNA_HOST_RUNTIME_BACKEND_H

#include "route/backend.h"

extern const lac_backend_t lac_backend_host;

#endif
