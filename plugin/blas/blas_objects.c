/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * BLASes among the loaded objects, told by their names. */
#include "blas_objects.h"

#include "lacuna/interpose.h"

#include <stddef.h>
#include <string.h>

__attribute__((visibility("default"))) void lacuna_blas_marker(void) {}

bool object_is_blas(const object_t *object)
{
    return lac_is_blas(object->path);
}

bool object_is_lacuna(const object_t *object)
{
    return object_defines(object, "lacuna_blas_marker");
}

bool object_is_wide_blas(const object_t *object)
{
    if (!object_is_blas(object)) return false;
    const char *name = object_file_name(object);
    size_t stem = strcspn(name, "-."); /* what follows is a version, or a wheel's checksum */
    for (size_t i = 3; i + 2 <= stem; i++) {
        if (strncmp(name + i, "64", 2) != 0) continue;
        bool lp64 = strncmp(name + i - 2, "lp", 2) == 0 && name[i - 3] != 'i';
        bool processor = strncmp(name + i - 2, "6_", 2) == 0 || strncmp(name + i - 2, "ch", 2) == 0;
        if (!lp64 && !processor) return true;
    }
    return false;
}
