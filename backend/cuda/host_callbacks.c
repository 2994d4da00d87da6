/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the objects shared with the core call for messages goes to the core, whose thread-local text it is,
 * and so do their locks' announcements to forks. */
#include "host_callbacks.h"
#include "../base/log.h"
#include "../base/status.h"
#include "../base/threads.h"

#include <stdarg.h>
#include <stdio.h>

static const lac_host_callbacks_t *core;

void lac_host_callbacks_take(const lac_host_callbacks_t *callbacks)
{
    core = callbacks;
}

lac_status_t lac_fail(lac_status_t status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return core->fail(status, "%s", text);
}

void lac_log(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    core->log("%s", text);
}

void lac_defer_forks(void)
{
    core->defer_forks();
}

void lac_allow_forks(void)
{
    core->allow_forks();
}

/* Public entry points clear the message, and they are all in the core. */
void lac_clear_error(void) {}
