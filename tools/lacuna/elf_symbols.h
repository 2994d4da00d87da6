/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The functions that an ELF file defines, and which functions of others their code calls. */
#ifndef TOOL_ELF_SYMBOLS_H
#define TOOL_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct elf_function {
    const char *name;
    const struct elf_image *image;
    uint64_t address, bytes; /* of its code, as the file counts */
    bool exported;           /* to other objects: it is in the dynamic symbol table */
} elf_function_t;

/* Calls visit with every function that a 64-bit ELF file of this machine defines, exported or, as far as it
 * was not stripped, not. What is passed is valid during the call. A file that is none, or is damaged, has
 * none. */
void elf_functions(const char *path, void (*visit)(const elf_function_t *function, void *arg), void *arg);

/* True where the function's code calls, or jumps to, a function of another object whose name `matches`: by
 * way of the object's linkage table, so that the dynamic linker decides where it leads. Reads x86-64 code;
 * elf_reads_code is false for files of other processors, of which it is never true. */
bool elf_calls_other(const elf_function_t *function, bool (*matches)(const char *name, void *arg), void *arg);
bool elf_reads_code(const elf_function_t *function);

#endif
