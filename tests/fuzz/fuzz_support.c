/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Files in memory, and silence. */
#include "fuzz_target.h"

#include <sys/mman.h>
#include <unistd.h>

int fuzz_file(const uint8_t *data, size_t size, char *name, size_t room)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    fuzz_promise(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file in memory");
    snprintf(name, room, "/proc/self/fd/%d", fd);
    return fd;
}

void fuzz_file_close(int fd)
{
    close(fd);
}

void fuzz_quiet(void)
{
    static int done;
    if (done) return;
    done = 1;
    setenv("LACUNA_LOG", "/dev/null", 1);
    setenv("LACUNA_THREADS", "1", 1);
    setenv("LACUNA_BLAS", "none", 1);
    setenv("HOME", "/nonexistent", 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_CACHE_HOME");
}
