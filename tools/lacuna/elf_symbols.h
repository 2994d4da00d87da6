/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The functions that an ELF file defines. */
#ifndef TOOL_ELF_SYMBOLS_H
#define TOOL_ELF_SYMBOLS_H

/* Calls visit with the name of every function that a 64-bit ELF file of this machine defines, exported or, as
 * far as it was not stripped, not. The names are valid during the call. A file that is none, or is damaged,
 * has none. */
void elf_functions(const char *path, void (*visit)(const char *name, void *arg), void *arg);

#endif
