/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The sub-commands of apitest. */
#ifndef APITEST_H
#define APITEST_H

/* Each runs one sub-command: argv[0] is its full name ("apitest check"). Returns an exit code of command.h.
 */
int apitest_check(int argc, char **argv);
int apitest_regret(int argc, char **argv);

#endif
