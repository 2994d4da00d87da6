/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The core of the fake libraries, included once by each: its record, and what it exports to read it. */
#ifndef LACUNA_FAKE_LIBRARY_H
#define LACUNA_FAKE_LIBRARY_H

#include "fake_calls.h"

#include <string.h>

#define EXPORT     __attribute__((visibility("default")))
#define CALLER     __builtin_return_address(0)
#define ADDRESS(x) (int64_t)(x)
#define SLOTS(...) ((const int64_t[FAKE_SLOTS]){__VA_ARGS__})

static _Thread_local fake_record_t record;

EXPORT fake_take_fn fake_take;
fake_record_t fake_take(void)
{
    fake_record_t taken = record;
    memset(&record, 0, sizeof record);
    return taken;
}

static int note(const char *name, const void *caller, const int64_t *slot)
{
    Dl_info info;
    if (record.calls++ == 0) record.first = name;
    record.last = name;
    record.through_plugin =
        dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "liblacuna_") != NULL;
    memcpy(record.slot, slot, sizeof record.slot);
    return FAKE_STATUS;
}

#endif
