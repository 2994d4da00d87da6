/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of a regret run timed again, each time by a process of its own: where memory lies, what a
 * context has learned and what else the machine did are another time's. */
#ifndef APITEST_REGRET_AGAIN_H
#define APITEST_REGRET_AGAIN_H

#include "regret_judge.h"

/* Runs this program with the words of `argv` after its name, and with `last` after those, REGRET_AGAIN times,
 * one after the other; each has to write a regret_t to the file descriptor that stands behind --hand-to.
 * False where one of them did not. */
bool regret_run_again(char **argv, char *const *last, regret_t *found);

/* Writes it for whoever began this process. */
bool regret_hand_to(int fd, const regret_t *found);

#endif
