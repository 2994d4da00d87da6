/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The folder, the log and the children of a unit test. */
#include "unit_support.h"

#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char folder[256];
static pid_t founder;
static long log_read;

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    if (getpid() == founder) nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void forget_settings(void)
{
    char name[128];
    for (char **at = environ; *at;) {
        size_t length = strcspn(*at, "=");
        if (strncmp(*at, "LACUNA_", 7) || !strncmp(*at, "LACUNA_TEST_", 12) || length >= sizeof name) {
            at++;
            continue;
        }
        memcpy(name, *at, length);
        name[length] = '\0';
        unsetenv(name);
    }
    unsetenv("OMP_NUM_THREADS");
}

void unit_begin(void)
{
    const char *given = getenv("LACUNA_TEST_FOLDER");
    if (given) { /* a child lives in its parent's folder, with the settings it was given */
        snprintf(folder, sizeof folder, "%s", given);
        return;
    }
    forget_settings();
    snprintf(folder, sizeof folder, "/tmp/lacuna-unit-XXXXXX");
    if (!mkdtemp(folder)) abort();
    founder = getpid();
    atexit(remove_folder);
    setenv("LACUNA_TEST_FOLDER", folder, 1);
    setenv("HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("LACUNA_LOG", unit_path("log"), 1);
}

const char *unit_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *read_from(int fd)
{
    static char text[1 << 18];
    size_t used = 0;
    ssize_t got;
    while (used < sizeof text - 1 && (got = read(fd, text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    return text;
}

const char *unit_log(void)
{
    int fd = open(unit_path("log"), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return "";
    lseek(fd, log_read, SEEK_SET);
    const char *text = read_from(fd);
    log_read += (long)strlen(text);
    close(fd);
    return text;
}

int unit_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

void unit_expect_text(const char *text, const char *word)
{
    if (!strstr(text, word)) fail_msg("'%s' is not in: %s", word, text);
}

void unit_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The settings come first: the first of two definitions of a name is the one that getenv finds. */
static char **child_environment(const char *const *settings)
{
    static char *list[512];
    size_t used = 0, given;
    for (; settings[used]; used++) list[used] = (char *)(uintptr_t)settings[used];
    given = used;
    for (char **at = environ; *at && used < 511; at++) {
        bool replaced = false;
        for (size_t i = 0; i < given; i++)
            replaced |= !strncmp(*at, settings[i], strcspn(settings[i], "=") + 1);
        if (!replaced && strncmp(*at, "LACUNA_LOG=", 11)) list[used++] = *at;
    }
    list[used] = NULL;
    return list;
}

const char *unit_child(const char *scenario, const char *const *settings)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int ends[2], status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    char option[] = "--child", *name = (char *)(uintptr_t)scenario, *argv[] = {self, option, name, NULL};
    assert_true(length > 0);
    self[length] = '\0';
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    assert_int_equal(posix_spawn(&pid, self, &actions, NULL, argv, child_environment(settings)), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    const char *text = read_from(ends[0]);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("child '%s' ended with %x: %s", scenario, (unsigned)status, text);
    return text;
}

const char *unit_scenario(int argc, char **argv)
{
    return argc == 3 && !strcmp(argv[1], "--child") ? argv[2] : NULL;
}

bool unit_quick(void)
{
    return getenv("LACUNA_TEST_QUICK") != NULL;
}

void unit_expect(lac_status_t got, lac_status_t want, const char *what)
{
    if (got != want)
        fail_msg("%s: status %d (%s), expected %d (%s); message: '%s'", what, (int)got, lac_status_text(got),
                 (int)want, lac_status_text(want), lac_last_error());
}

lac_ctx_t *unit_ctx(void)
{
    lac_ctx_t *ctx;
    unit_expect(lac_ctx_create(&ctx), LAC_OK, "lac_ctx_create");
    return ctx;
}

int unit_setup(void **state)
{
    *state = unit_ctx();
    return 0;
}

int unit_teardown(void **state)
{
    lac_ctx_free(*state);
    return 0;
}
