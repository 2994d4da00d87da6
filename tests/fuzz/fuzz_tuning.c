/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The tuning file: constants are within their bounds, and all of them the defaults unless the file is whole.
 */
#include "fuzz_target.h"

#include "planner/tune_file.h"

#include <stdbool.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[64], source[512];
    lac_machine_t machine, plain;
    fuzz_quiet();
    int fd = fuzz_file(data, size, name, sizeof name);
    setenv("LACUNA_TUNE_CACHE", name, 1);
    lac_tune_load(&machine, 2, source, sizeof source);
    fuzz_file_close(fd);
    lac_machine_default(&plain);
    bool used = !strcmp(source, name);
    for (int i = 0; i < lac_constant_count; i++) {
        double value = *lac_machine_value(&machine, i), usual = *lac_machine_value(&plain, i);
        fuzz_promise(value == usual || (used && value >= 1e-4 && value <= 1e7), lac_constants[i].name);
    }
    return 0;
}
