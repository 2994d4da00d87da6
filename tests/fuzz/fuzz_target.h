/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A fuzz target: libFuzzer drives it by coverage (preset `fuzz`), fuzz_replay.c from a corpus and at random.
 */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Takes any bytes; returns 0. A breach of a promise ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process where a promise is broken. */
static inline void fuzz_promise(int kept, const char *what)
{
    if (kept) return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

/* The data as a file that has a name, "/proc/self/fd/N"; returns its descriptor, for fuzz_file_close. */
int fuzz_file(const uint8_t *data, size_t size, char *name, size_t room);
void fuzz_file_close(int fd);

/* No settings but those of the target, and no line on the screen. Call first; does its work once. */
void fuzz_quiet(void);

#endif
