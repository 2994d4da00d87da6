/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A device that is none: the host's routes behind the face of one whose memory nobody can touch but its own
 * calls. A host address that is given for a device's is refused, a device's that the host reads is a fault.
 * Built as liblacuna_cuda.so; it computes at once, and records nothing. */
#include "reference_loops.h"
#include "base/status.h"
#include "host/runtime/backend.h"
#include "route/backend.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STRING(x)  #x
#define TEXT_OF(x) STRING(x)

enum { PIECES_MAX = 1 << 16, PAGE = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the variables below */
static struct {
    char *at; /* NULL: a free slot */
    size_t bytes;
} piece[PIECES_MAX];
static int pieces, inside;

static const lac_host_callbacks_t *core;

/* The host's routes say what went wrong to the core, not to the copy of it that they are linked with. */
lac_status_t lac_fail(lac_status_t status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return core->fail(status, "%s", text);
}

void lac_clear_error(void) {}

const char *lac_last_error(void)
{
    return "";
}

/* Memory ----------------------------------------------------------------------------------------------- */

static void protect(int rights)
{
    for (int i = 0; i < pieces; i++)
        if (piece[i].at && mprotect(piece[i].at, piece[i].bytes, rights)) abort();
}

/* Open while anybody is inside a call. */
static int enter(lac_exec_t *exec)
{
    (void)exec;
    pthread_mutex_lock(&lock);
    if (inside++ == 0) protect(PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&lock);
    return 0;
}

static void leave(lac_exec_t *exec, int token)
{
    (void)exec, (void)token;
    pthread_mutex_lock(&lock);
    if (--inside == 0) protect(PROT_NONE);
    pthread_mutex_unlock(&lock);
}

static lac_status_t alloc(lac_exec_t *exec, size_t bytes, void **memory)
{
    (void)exec;
    size_t whole = (bytes / PAGE + 1) * PAGE;
    int i = 0;
    pthread_mutex_lock(&lock);
    int rights = inside ? PROT_READ | PROT_WRITE : PROT_NONE;
    *memory = mmap(NULL, whole, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (i < pieces && piece[i].at) i++;
    if (*memory == MAP_FAILED || i == PIECES_MAX) abort();
    piece[i].at = *memory;
    piece[i].bytes = whole;
    if (i == pieces) pieces++;
    pthread_mutex_unlock(&lock);
    return LAC_OK;
}

static void drop(void *memory)
{
    int i = 0;
    if (!memory) return;
    pthread_mutex_lock(&lock);
    while (i < pieces && piece[i].at != memory) i++;
    if (i == pieces) abort(); /* it is none of ours */
    munmap(piece[i].at, piece[i].bytes);
    piece[i].at = NULL;
    pthread_mutex_unlock(&lock);
}

static lac_status_t release(lac_exec_t *exec, void *memory)
{
    (void)exec;
    drop(memory);
    return LAC_OK;
}

static lac_status_t copy(lac_exec_t *exec, void *to, const void *from, size_t bytes)
{
    enter(exec);
    memcpy(to, from, bytes);
    leave(exec, 0);
    return LAC_OK;
}

static lac_status_t fetch(int device, void *to, const void *from, size_t bytes)
{
    (void)device;
    return copy(NULL, to, from, bytes);
}

static lac_status_t place(int device, void **to, const void *from, size_t bytes)
{
    (void)device;
    alloc(NULL, bytes, to);
    return copy(NULL, *to, from, bytes);
}

/* The values of a format that the host's routes have made lie in memory of theirs. */
static lac_status_t check(lac_exec_t *exec, const char *name, const void *buf)
{
    (void)exec;
    const char *at = buf;
    bool here = !buf || strcmp(name, "options.val") == 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; !here && i < pieces; i++)
        here = piece[i].at && at >= piece[i].at && at < piece[i].at + piece[i].bytes;
    pthread_mutex_unlock(&lock);
    return here ? LAC_OK : core->fail(LAC_ERR_SPACE, "%s: does not lie on the device", name);
}

/* Streams ---------------------------------------------------------------------------------------------- */

static lac_status_t wait(lac_exec_t *exec)
{
    (void)exec;
    return LAC_OK;
}

static void *stream(const lac_exec_t *exec)
{
    return (void *)(uintptr_t)exec;
}

static bool capturing(const lac_exec_t *exec)
{
    (void)exec;
    return false;
}

/* Routes ------------------------------------------------------------------------------------------------

 The host's; and where GUARDED_FAULT names a breach of a route's contract, each sparse one commits it. */

static lac_route_t faulty[LAC_ROUTES_MAX];
static const lac_route_t *faulty_table[LAC_ROUTES_MAX];
static const lac_route_t *const *real;
static const char *fault = "";

static const lac_route_t *real_of(const lac_route_t *route)
{
    return real[route - faulty];
}

static double faulty_cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    double us = real_of(route)->cost_us(real_of(route), p, machine);
    if (!strcmp(fault, "cheap")) return us / 1000.0;
    if (!strcmp(fault, "endless")) return us / 0.0;
    return !strcmp(fault, "falling") ? 1e6 / (double)p->m : us;
}

static lac_status_t faulty_run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                               lac_outcome_t *out)
{
    lac_problem_t without = *p;
    bool unlimited = !strcmp(fault, "never declines") || !strcmp(fault, "writes first");
    if (unlimited) without.terms.density_limit = -1.0;
    lac_status_t status = real_of(route)->run(real_of(route), exec, &without, out);
    double limit = p->terms.density_limit;
    if (!strcmp(fault, "writes first")) out->declined = limit >= 0.0 && out->density > limit;
    if (!strcmp(fault, "no density") && !out->declined) out->density = 0.0;
    return status;
}

static const lac_route_t *const *routes(int *count)
{
    const char *named = getenv("GUARDED_FAULT");
    real = lac_backend_host.routes(count);
    if (!named) return real;
    fault = named;
    for (int i = 0; i < *count; i++) {
        faulty[i] = *real[i];
        faulty_table[i] = &faulty[i];
        if (faulty[i].role != LAC_ROLE_SPARSE) continue;
        faulty[i].cost_us = faulty_cost_us;
        faulty[i].run = faulty_run;
    }
    return faulty_table;
}

/* The backend ------------------------------------------------------------------------------------------ */

static lac_status_t open_device(lac_exec_t **exec, lac_device_request_t *where, const lac_machine_t *machine)
{
    lac_status_t status = lac_backend_host.open(exec, where, machine);
    where->device = 0;
    where->name = "A Guarded Device";
    return status;
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "loaded, guards its memory");
}

static void info(const lac_exec_t *exec, lac_info_fn fact, void *arg)
{
    (void)exec;
    fact(arg, "device", "guarded");
}

__attribute__((visibility("default"))) const lac_backend_t *
lac_cuda_backend(const lac_host_callbacks_t *callbacks);

const lac_backend_t *lac_cuda_backend(const lac_host_callbacks_t *callbacks)
{
    static const lac_memory_t memory = {fetch, place, drop};
    static const lac_device_t device = {.alloc = alloc,
                                        .release = release,
                                        .upload = copy,
                                        .download = copy,
                                        .wait = wait,
                                        .add = reference_loops_add,
                                        .stream = stream,
                                        .capturing = capturing};
    static lac_backend_t backend;
    core = callbacks;
    backend = lac_backend_host;
    backend.name = "cuda";
    backend.space = LAC_DEVICE;
    backend.version = TEXT_OF(LACUNA_VERSION);
    backend.memory = &memory;
    backend.device = &device;
    backend.enter = enter;
    backend.leave = leave;
    backend.check = check;
    backend.spmm = reference_loops_spmm;
    backend.open = open_device;
    backend.routes = routes;
    backend.describe = describe;
    backend.info = info;
    return &backend;
}
