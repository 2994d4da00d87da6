/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reads and writes the store. Its contents are data of unknown origin: bounded, checked, never trusted. */
#include "tune_file.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER    "# lacuna tuning 2"
#define LINES_MAX 200
#define PATH_ROOM 4096
/* A constant outside these bounds is no measurement of any machine. */
#define VALUE_MIN 1e-4
#define VALUE_MAX 1e7

void lac_processor_name(char *name, size_t size)
{
    char line[512];
    snprintf(name, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        break;
    }
    fclose(file);
}

/* A letter or a digit in every locale: the Turkish one has another small I. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "Xeon Processor", 2 threads -> "xeon-processor-2.tune" under the cache folder; a device ->
 * "nvidia-h200.tune".
 */
static bool default_path(const lac_tune_key_t *key, char *path, size_t size)
{
    char name[256], slug[128], file[160];
    const char *named = lac_env("LACUNA_TUNE_CACHE");
    size_t used = 0;
    if (named) return (size_t)snprintf(path, size, "%s", named) < size;
    if (key->device)
        snprintf(name, sizeof name, "%s", key->device);
    else
        lac_processor_name(name, sizeof name);
    for (const char *c = name; *c && used < sizeof slug - 1; c++)
        if (is_plain(*c))
            slug[used++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        else if (used && slug[used - 1] != '-')
            slug[used++] = '-';
    slug[used] = '\0';
    if (key->device)
        snprintf(file, sizeof file, "%s.tune", slug);
    else
        snprintf(file, sizeof file, "%s-%d.tune", slug, key->threads);
    return lac_settings_path("XDG_CACHE_HOME", ".cache", file, path, size);
}

void lac_tune_shown_path(const char *path, char *text, size_t size)
{
    const char *home = lac_env("HOME");
    size_t length = home ? strlen(home) : 0;
    bool inside = length > 1 && !strncmp(path, home, length) && path[length] == '/';
    snprintf(text, size, "%s%s", inside ? "~" : "", inside ? path + length : path);
}

static int constant_named(const char *name)
{
    for (int i = 0; i < lac_constant_count; i++)
        if (!strcmp(name, lac_constants[i].name)) return i;
    return -1;
}

/* Fills `machine` from an open file, or its device constants only, and counts them; returns NULL or what is
 * wrong with it. Unknown names are left out: they come from a newer or older version. */
static const char *read_constants(FILE *file, lac_machine_t *machine, bool of_device, int *taken)
{
    char line[256], name[64];
    double value;
    if (!fgets(line, sizeof line, file) || strcmp(line, HEADER "\n"))
        return "not a tuning file of this version";
    for (int count = 0; fgets(line, sizeof line, file); count++) {
        if (count > LINES_MAX) return "too long";
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0') continue;
        int used = 0;
        if (sscanf(line, " %63[a-z0-9_] = %lf %n", name, &value, &used) != 2 || line[used])
            return "a line is not 'name = value'";
        if (!(value >= VALUE_MIN && value <= VALUE_MAX)) return "a value is out of range";
        int i = constant_named(name);
        if (i < 0 || (of_device && !lac_constant_of_device(i))) continue;
        *lac_machine_value(machine, i) = value;
        ++*taken;
    }
    return NULL;
}

static void load(lac_machine_t *machine, const lac_tune_key_t *key, char *source, size_t size)
{
    char path[4096];
    int taken = 0;
    if (!default_path(key, path, sizeof path)) return;
    FILE *file = lac_settings_open(path);
    if (!file) return;
    lac_machine_t stored = *machine;
    locale_t before = lac_enter_c_locale();
    const char *wrong = read_constants(file, &stored, key->device, &taken);
    lac_leave_c_locale(before);
    fclose(file);
    if (wrong) {
        lac_warn("%s: %s; the default constants are used", path, wrong);
        return;
    }
    if (key->device && !taken) return; /* a named file, with the host's alone */
    *machine = stored;
    snprintf(source, size, "%s", path);
}

void lac_tune_load(lac_machine_t *machine, int threads, char *source, size_t size)
{
    lac_machine_default(machine);
    snprintf(source, size, "defaults; run 'lacuna tune' to measure this machine");
    load(machine, &(lac_tune_key_t){threads, NULL}, source, size);
}

void lac_tune_load_device(lac_machine_t *machine, const char *device, char *source, size_t size)
{
    load(machine, &(lac_tune_key_t){0, device}, source, size);
}

/* Creates the folders above a file, private to the user. */
static void make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
}

static bool write_constants(int fd, const lac_machine_t *machine, const lac_tune_key_t *key, bool shared)
{
    char name[256];
    lac_machine_t copy = *machine;
    lac_processor_name(name, sizeof name);
    bool good = key->device ? dprintf(fd, HEADER "\n# %s\n", key->device) > 0
                            : dprintf(fd, HEADER "\n# %s, %d threads\n", name, key->threads) > 0;
    for (int i = 0; i < lac_constant_count; i++) {
        double value = *lac_machine_value(&copy, i);
        bool own = lac_constant_of_device(i) == (key->device != NULL);
        if (!own && !(shared && value != lac_constants[i].value)) continue;
        good = good && dprintf(fd, "%s = %.6g\n", lac_constants[i].name, value) > 0;
    }
    return good;
}

/* Opens a new file beside the one that it will replace; negative, with the thread's error, where it cannot.
 */
static int open_beside(const lac_tune_key_t *key, const char *path, char *target, char *temporary)
{
    if (path ? (size_t)snprintf(target, PATH_ROOM, "%s", path) >= PATH_ROOM
             : !default_path(key, target, PATH_ROOM)) {
        lac_fail(LAC_ERR_IO, "path: no place for the tuning file (set LACUNA_TUNE_CACHE or HOME)");
        return -1;
    }
    struct stat there;
    if (!stat(target, &there) && !S_ISREG(there.st_mode)) { /* /dev/null would be no more */
        lac_fail(LAC_ERR_IO, "path: cannot write %.400s: no regular file", target);
        return -1;
    }
    if (!path) make_folders(target);
    snprintf(temporary, PATH_ROOM + 32, "%s.XXXXXX", target);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) lac_fail(LAC_ERR_IO, "path: cannot write %.400s: %s", temporary, strerror(errno));
    return fd;
}

lac_status_t lac_tune_try(const lac_tune_key_t *key, const char *path)
{
    char target[PATH_ROOM], temporary[PATH_ROOM + 32];
    int fd = open_beside(key, path, target, temporary);
    if (fd < 0) return LAC_ERR_IO;
    close(fd);
    unlink(temporary);
    return LAC_OK;
}

lac_status_t lac_tune_save(const lac_machine_t *machine, const lac_tune_key_t *key, const char *path,
                           char *written, size_t size)
{
    char target[PATH_ROOM], temporary[PATH_ROOM + 32];
    int fd = open_beside(key, path, target, temporary);
    if (fd < 0) return LAC_ERR_IO;
    bool shared = path || lac_env("LACUNA_TUNE_CACHE");
    locale_t before = lac_enter_c_locale();
    bool good = write_constants(fd, machine, key, shared) && !fsync(fd);
    lac_leave_c_locale(before);
    good = !close(fd) && good;
    if (!good || rename(temporary, target)) {
        lac_status_t status = lac_fail(LAC_ERR_IO, "path: cannot write %.400s: %s", target, strerror(errno));
        unlink(temporary);
        return status;
    }
    snprintf(written, size, "%s", target);
    return LAC_OK;
}
