/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What tests of launches share. */
#include "launch_checks.h"

#include <stdio.h>
#include <string.h>

lac_ctx_t *ctx;

int launch_setup(void **state)
{
    (void)state;
    ctx = cuda_host_ctx();
    return 0;
}

int launch_teardown(void **state)
{
    (void)state;
    cuda_host_close(ctx);
    return 0;
}

void renew(void)
{
    cuda_host_close(ctx);
    ctx = cuda_host_ctx();
}

int64_t meta_bytes(const lac_obj_t *x)
{
    lac_meta_t *empty;
    unit_expect(lac_meta_create_for(ctx, &empty, x->m, x->n), LAC_OK, "meta");
    int64_t bytes = (int64_t)(lac_meta_bytes(x->meta) - lac_meta_bytes(empty));
    lac_meta_free(empty);
    return bytes;
}

int64_t integer(const standin_launch_t *l, const char *key)
{
    return standin_integer(l, key);
}

void expect_integers(const standin_launch_t *l, const char *keys, const int64_t *values)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", keys);
    for (char *key; (key = strtok_r(rest, " ", &rest)); values++)
        if (integer(l, key) != *values)
            fail_msg("%s: %s is %lld, expected %lld", l->name, key, (long long)integer(l, key),
                     (long long)*values);
}

void expect_pointer(const standin_launch_t *l, const char *key, const void *want)
{
    if (standin_pointer(l, key) != want)
        fail_msg("%s: %s is %p, expected %p", l->name, key, standin_pointer(l, key), want);
}

void expect_stream(const standin_launch_t *l)
{
    assert_ptr_equal(l->stream, lac_device_stream(ctx));
}

void expect_bytes(const char *route, const char *side, const lac_obj_t *a, const lac_obj_t *b,
                  const lac_obj_t *c, int64_t want)
{
    int64_t got = cuda_host_bytes(ctx, route, side, a, b, c);
    if (got != want)
        fail_msg("%s %s: %lld bytes, expected %lld", route, side, (long long)got, (long long)want);
}
