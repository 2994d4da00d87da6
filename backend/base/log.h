/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The log sink: standard error, or the file that LACUNA_LOG names. */
#ifndef LACUNA_BASE_LOG_H
#define LACUNA_BASE_LOG_H

/* Writes one line (the newline is added) with a single write, so that lines of several threads or processes
 * do not mix. Only called where the user asked for output, or for a warning that is said once. */
void lac_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with "lacuna: " in front: for warnings. A warning is said once in a process, however many contexts
 * come upon its reason. */
void lac_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
