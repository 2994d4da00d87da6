/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The rows that the host backend offers to the route table. */
#ifndef LACUNA_HOST_ROUTES_ROUTES_H
#define LACUNA_HOST_ROUTES_ROUTES_H

#include "route/route.h"

extern const lac_route_t lac_route_trivial;
extern const lac_route_t lac_route_event_left, lac_route_event_right;
extern const lac_route_t lac_route_csr_left, lac_route_csr_right;
extern const lac_route_t lac_route_bitmask_left, lac_route_bitmask_right;
extern const lac_route_t lac_route_dense;
extern const lac_route_t lac_route_native;
extern const lac_route_t lac_route_reference;

#endif
