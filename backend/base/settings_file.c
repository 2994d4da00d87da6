/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Places of settings, and opening what may be anything. */
#include "settings_file.h"
#include "env.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
