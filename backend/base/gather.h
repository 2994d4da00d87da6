/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A gather of bytes by a program's callbacks, with a deadline. */
#ifndef LACUNA_BASE_GATHER_H
#define LACUNA_BASE_GATHER_H

#include "lacuna/comm.h"

#include <stdatomic.h>

/* all[ranks * bytes], in the order of the ranks. Errors: VENDOR where the callbacks failed; TIMEOUT, after
 * which they may still use both arrays; ABORTED, the same, once *stop is set. */
lac_status_t lac_gather(const lac_comm_callbacks_t *by, const void *mine, void *all, size_t bytes,
                        double timeout_s, const atomic_bool *stop);

/* Memory that a gather that was given up may still use: it stays until the process ends. NULL is accepted. */
void lac_gather_abandon(void *memory);

/* Gives others a turn, the longer the more looks there were. */
void lac_gather_pause(unsigned looks);

#endif
