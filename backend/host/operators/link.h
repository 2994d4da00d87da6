/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Ranks on the host, connected by a program's callbacks. */
#ifndef LACUNA_HOST_OPERATORS_LINK_H
#define LACUNA_HOST_OPERATORS_LINK_H

#include "route/link.h"

extern const lac_link_hooks_t lac_host_link;

#endif
