/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Status texts and the thread's last error message. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[512];

lac_status_t lac_fail(lac_status_t status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

void lac_clear_error(void)
{
    last_error[0] = '\0';
}

const char *lac_last_error(void)
{
    return last_error;
}

const char *lac_status_text(lac_status_t status)
{
    switch (status) {
    case LAC_OK:
        return "success";
    case LAC_ERR_NULL:
        return "a pointer argument is NULL";
    case LAC_ERR_EXTENT:
        return "an extent is negative, overflows, or does not fit W";
    case LAC_ERR_STRIDE:
        return "a stride or leading dimension makes elements overlap";
    case LAC_ERR_ALIAS:
        return "memory is shared that must not be: the output with an input, or an operand with a registered "
               "one";
    case LAC_ERR_TYPE:
        return "an element type is not supported here";
    case LAC_ERR_VALUE:
        return "an argument is outside its accepted values";
    case LAC_ERR_SPACE:
        return "an operand lies in the wrong memory space";
    case LAC_ERR_SPARSE:
        return "attached indices break the rules of their format";
    case LAC_ERR_STALE:
        return "a sparse-only operand was touched and not attached again";
    case LAC_ERR_EMPTY:
        return "an operand has neither a buffer nor metadata that can stand for it";
    case LAC_ERR_MEMORY:
        return "out of memory";
    case LAC_ERR_UNAVAILABLE:
        return "a device or vendor library is not available";
    case LAC_ERR_VENDOR:
        return "a vendor library or driver failed";
    case LAC_ERR_TIMEOUT:
        return "another rank did not answer in time";
    case LAC_ERR_ABORTED:
        return "the communicator was aborted";
    case LAC_ERR_IO:
        return "a file could not be read or written";
    case LAC_ERR_INTERNAL:
        return "an internal promise was broken: please report it";
    }
    return "unknown status";
}
