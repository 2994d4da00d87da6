/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A child writes what it found into a pipe, as it lies in memory: both are the same program. */
#include "regret_again.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64 };

bool regret_hand_to(int fd, const regret_t *found)
{
    const char *from = (const char *)found;
    for (size_t at = 0; at < sizeof *found;) {
        ssize_t wrote = write(fd, from + at, sizeof *found - at);
        if (wrote <= 0) return false;
        at += (size_t)wrote;
    }
    return true;
}

static bool receive(int fd, regret_t *found)
{
    char *to = (char *)found;
    size_t at = 0;
    for (ssize_t got; at < sizeof *found && (got = read(fd, to + at, sizeof *found - at)) > 0;)
        at += (size_t)got;
    return at == sizeof *found;
}

/* "apitest regret" with the words of both; false where they are too many. */
static bool join(char **argv, char *const *last, char **words)
{
    static char program[] = "apitest", command[] = "regret";
    int count = 0;
    words[count++] = program;
    words[count++] = command;
    for (char **word = argv + 1; *word && count < WORDS; word++) words[count++] = *word;
    for (char *const *word = last; *word && count < WORDS; word++) words[count++] = *word;
    if (count == WORDS) return false;
    words[count] = NULL;
    return true;
}

static bool run_once(char **argv, char *const *last, regret_t *found)
{
    char *words[WORDS + 3], fd[32];
    static char option[] = "--hand-to";
    int ends[2], status = -1, count = 0;
    if (!join(argv, last, words) || pipe(ends)) return false;
    while (words[count]) count++;
    snprintf(fd, sizeof fd, "%d", ends[1]);
    words[count] = option, words[count + 1] = fd, words[count + 2] = NULL;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        execv("/proc/self/exe", words);
        _exit(127);
    }
    close(ends[1]);
    bool got = child > 0 && receive(ends[0], found);
    close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child && got && status == 0;
}

bool regret_run_again(char **argv, char *const *last, regret_t *found)
{
    for (int i = 0; i < REGRET_AGAIN; i++)
        if (!run_once(argv, last, &found[i])) return false;
    return true;
}
