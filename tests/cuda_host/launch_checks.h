/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What tests of launches share: a context on the stand-in, and checks of what a launch was given. */
#ifndef LAUNCH_CHECKS_H
#define LAUNCH_CHECKS_H

#include "cuda_host_support.h"

extern lac_ctx_t *ctx; /* of the test that runs */

int launch_setup(void **state);
int launch_teardown(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, launch_setup, launch_teardown)

/* Another context: one remembers what it saw of a shape. */
void renew(void);

/* What metadata holds beside an empty one. */
int64_t meta_bytes(const lac_obj_t *x);

int64_t integer(const standin_launch_t *l, const char *key);

void expect_integers(const standin_launch_t *l, const char *keys, const int64_t *values);
#define EXPECT(l, keys, ...) expect_integers(l, keys, (const int64_t[]){__VA_ARGS__})

void expect_pointer(const standin_launch_t *l, const char *key, const void *want);

/* The product's stream is the context's. */
void expect_stream(const standin_launch_t *l);

/* The memory that a route says that it needs. */
void expect_bytes(const char *route, const char *side, const lac_obj_t *a, const lac_obj_t *b,
                  const lac_obj_t *c, int64_t want);

#endif
