/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Runs the tests of a program, counts what fails. */
#include "gpu_support.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SKIPPED = 77, SHOWN = 30 }; /* failures that are printed; the rest are counted */

extern char **environ;

static const char *program = "", *current = "";
static atomic_int failures;

void gpu_fail(const char *format, ...)
{
    char text[1024];
    va_list list;
    if (atomic_fetch_add(&failures, 1) >= SHOWN) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("FAIL %s %s: %s\n", program, current, text);
    fflush(stdout);
}

bool gpu_expect(lac_status_t got, lac_status_t want, const char *what)
{
    if (got == want) return true;
    gpu_fail("%s: status %d (%s), expected %d (%s); message: '%s'", what, (int)got, lac_status_text(got),
             (int)want, lac_status_text(want), lac_last_error());
    return false;
}

bool gpu_expect_error(lac_status_t got, lac_status_t want, const char *word, const char *what)
{
    char reported[512];
    snprintf(reported, sizeof reported, "%s", lac_last_error());
    if (!gpu_expect(got, want, what)) return false;
    if (strstr(reported, word)) return true;
    gpu_fail("%s: the message does not say '%s': '%s'", what, word, reported);
    return false;
}

bool gpu_quick(void)
{
    return getenv("LACUNA_TEST_QUICK") != NULL;
}

/* A user's settings and tuned constants are not what is tested here. */
static void forget_settings(void)
{
    char name[128];
    for (char **at = environ; *at;) {
        size_t length = strcspn(*at, "=");
        if (strncmp(*at, "LACUNA_", 7) || !strncmp(*at, "LACUNA_TEST_", 12) || length >= sizeof name) {
            at++;
            continue;
        }
        memcpy(name, *at, length);
        name[length] = '\0';
        unsetenv(name);
    }
    setenv("LACUNA_CONFIG", "/dev/null", 1);
    setenv("LACUNA_TUNE_CACHE", "/dev/null/none", 1);
}

static void keep_backend(void *arg, const char *key, const char *value)
{
    if (!strcmp(key, "backend cuda")) snprintf(arg, 256, "%s", value);
}

/* A backend that cannot be loaded is a failure; a machine without a device is not, unless the caller said
 * that there is one. */
static int without_device(void)
{
    char reported[256] = "", why[512];
    lac_ctx_t *host;
    snprintf(why, sizeof why, "%s", lac_last_error());
    if (lac_ctx_create(&host) == LAC_OK) {
        lac_ctx_info(host, keep_backend, reported);
        lac_ctx_free(host);
    }
    bool loaded = !strncmp(reported, "loaded", 6), promised = getenv("LACUNA_TEST_DEVICE") != NULL;
    printf("%s: %s\n", loaded && !promised ? "skipped" : "FAIL", why);
    return loaded && !promised ? SKIPPED : 1;
}

lac_ctx_t *gpu_ctx(void)
{
    lac_ctx_t *ctx;
    if (!gpu_expect(lac_ctx_create_cuda(&ctx, 0, LAC_STREAM_NEW), LAC_OK, "lac_ctx_create_cuda") ||
        !gpu_expect(lac_ctx_set(ctx, "learn", "off"), LAC_OK, "learn"))
        exit(1);
    return ctx;
}

void *gpu_upload(lac_ctx_t *ctx, const void *from, size_t bytes)
{
    void *memory;
    if (!gpu_expect(lac_device_alloc(ctx, bytes, &memory), LAC_OK, "lac_device_alloc") ||
        !gpu_expect(lac_device_upload(ctx, memory, from, bytes), LAC_OK, "lac_device_upload"))
        exit(1);
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_one(const gpu_test_t *test)
{
    int before = atomic_load(&failures);
    double begin = now();
    current = test->name;
    lac_ctx_t *ctx = gpu_ctx();
    test->run(ctx);
    gpu_expect(lac_device_wait(ctx), LAC_OK, "the device after the test");
    lac_ctx_free(ctx);
    printf("%-4s %s %.1f s\n", atomic_load(&failures) == before ? "ok" : "FAIL", test->name, now() - begin);
    fflush(stdout);
}

static bool chosen(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name)) return true;
    return argc <= 1;
}

int gpu_run(const gpu_test_t *tests, size_t count, int argc, char **argv)
{
    lac_ctx_t *ctx;
    size_t ran = 0;
    const char *slash = strrchr(argv[0], '/');
    program = slash ? slash + 1 : argv[0];
    forget_settings();
    lac_status_t status = lac_ctx_create_cuda(&ctx, 0, LAC_STREAM_NEW);
    if (status == LAC_ERR_UNAVAILABLE) return without_device();
    if (!gpu_expect(status, LAC_OK, "lac_ctx_create_cuda")) return 1;
    lac_ctx_free(ctx);
    for (size_t i = 0; i < count; i++) {
        if (!chosen(tests[i].name, argc, argv)) continue;
        run_one(&tests[i]);
        ran++;
    }
    printf("%s: %zu tests, %d failures\n", program, ran, atomic_load(&failures));
    return atomic_load(&failures) || !ran;
}

/* "route NAME" and "ROLE: what it does" */
static void add_route(void *arg, const char *key, const char *value)
{
    gpu_routes_t *routes = arg;
    char role[16], name[24];
    if (sscanf(key, "route %23s", name) != 1 || sscanf(value, "%15[a-z]:", role) != 1) return;
    if (strstr(routes->roles, role) && routes->count < LAC_CANDIDATES_MAX)
        strcpy(routes->name[routes->count++], name);
}

gpu_routes_t gpu_routes_of(lac_ctx_t *ctx, const char *roles)
{
    gpu_routes_t routes = {.name = {"auto"}, .count = 1, .roles = roles};
    lac_ctx_info(ctx, add_route, &routes);
    if (routes.count > 3) return routes;
    fprintf(stderr, "lac_ctx_info names hardly any route\n"); /* a loop over nothing would pass */
    exit(1);
}
