/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Callbacks for ranks that are threads of one process, or its children: bytes meet on a board in shared
 * memory. */
#ifndef RANK_BOARD_H
#define RANK_BOARD_H

#include "lacuna/comm.h"

enum { BOARD_RANKS = 8, BOARD_BYTES = 1 << 16 };

typedef struct rank_board rank_board_t;

/* Shared with children that are forked later; never freed. NULL: no memory. */
rank_board_t *rank_board_new(int ranks);

/* The callbacks of a rank, for lac_comm_from_callbacks; they live as long as the process. */
lac_comm_callbacks_t rank_board_callbacks(rank_board_t *board, int rank);

/* The rank's n-th gather from now on (from 1) fails to begin, or fails once begun; 0: none. */
void rank_board_fail(const lac_comm_callbacks_t *callbacks, int begin, int test);

#endif
