/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reads the environment, and refuses to in a program that runs with another's rights; paths and opening of
 * settings files; one C locale for the process. */
#include "environment.h"

#include <stddef.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pthread.h>

const char *lac_env(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* Paths of settings files, and opening a file that may be of any kind. */

static const char *absolute(const char *folder)
{
    return folder && *folder == '/' ? folder : NULL;
}

bool lac_settings_path(const char *xdg, const char *below_home, const char *name, char *path, size_t size)
{
    const char *folder = absolute(lac_env(xdg)), *home = absolute(lac_env("HOME"));
    if (folder) return (size_t)snprintf(path, size, "%s/lacuna/%s", folder, name) < size;
    return home && (size_t)snprintf(path, size, "%s/%s/lacuna/%s", home, below_home, name) < size;
}

/* Character devices are let through for /dev/null, which is how people say "none". */
FILE *lac_settings_open(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return NULL;
    bool file = !fstat(fd, &status) && (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode));
    FILE *opened = file ? fdopen(fd, "r") : NULL;
    if (!opened) close(fd);
    return opened;
}

/* One C locale for the process, made on first use. */

static pthread_once_t made = PTHREAD_ONCE_INIT;
static locale_t plain;

static void make(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t lac_enter_c_locale(void)
{
    pthread_once(&made, make);
    return uselocale(plain); /* changes nothing where there is none */
}

void lac_leave_c_locale(locale_t before)
{
    uselocale(before);
}
