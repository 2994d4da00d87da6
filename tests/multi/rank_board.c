/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Each rank counts its gathers. Two sets of places are enough: nobody can be two gathers ahead. */
#include "rank_board.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct rank_board {
    int ranks;
    _Atomic unsigned posted[BOARD_RANKS];
    unsigned char data[2][BOARD_RANKS][BOARD_BYTES];
};

typedef struct end {
    rank_board_t *board;
    int rank, fail_begin, fail_test;
    unsigned count;
    unsigned char *all;
    size_t bytes;
} end_t;

rank_board_t *rank_board_new(int ranks)
{
    rank_board_t *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED || ranks > BOARD_RANKS) return NULL;
    board->ranks = ranks;
    return board;
}

static int gather(void *arg, const void *mine, void *all, size_t bytes, void **request)
{
    end_t *end = arg;
    if (bytes > BOARD_BYTES || (end->fail_begin && --end->fail_begin == 0)) return 1;
    memcpy(end->board->data[end->count % 2][end->rank], mine, bytes);
    end->all = all, end->bytes = bytes;
    atomic_store(&end->board->posted[end->rank], ++end->count);
    *request = end;
    return 0;
}

static int test(void *arg, void *request)
{
    end_t *end = arg;
    (void)request;
    if (end->fail_test && --end->fail_test == 0) return -1;
    for (int r = 0; r < end->board->ranks; r++)
        if (atomic_load(&end->board->posted[r]) < end->count) return 0;
    for (int r = 0; r < end->board->ranks; r++)
        memcpy(end->all + (size_t)r * end->bytes, end->board->data[(end->count - 1) % 2][r], end->bytes);
    return 1;
}

lac_comm_callbacks_t rank_board_callbacks(rank_board_t *board, int rank)
{
    static end_t ends[4096];
    static atomic_int used;
    end_t *end = &ends[atomic_fetch_add(&used, 1) % 4096];
    *end = (end_t){.board = board, .rank = rank};
    return (lac_comm_callbacks_t){.size = sizeof(lac_comm_callbacks_t),
                                  .rank = rank,
                                  .ranks = board->ranks,
                                  .arg = end,
                                  .gather = gather,
                                  .test = test};
}

void rank_board_fail(const lac_comm_callbacks_t *callbacks, int begin, int test_)
{
    end_t *end = callbacks->arg;
    end->fail_begin = begin, end->fail_test = test_;
}
