/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna doctor: runs a program, reads the log of each of its processes, and reports what Lacuna did for it
 * or why it could not. */
#define _GNU_SOURCE
#include "run.h"
#include "elf_symbols.h"
#include "output.h"
#include "api/interpose.h"
#include "command.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

/* Who called what, and where that leads. The texts belong to the log. */
typedef struct binding {
    const char *symbol, *from, *to; /* paths */
    bool by_dlsym;
} binding_t;

typedef struct doctor_log {
    char *text;
    char **object; /* paths; the program is the first */
    int objects;
    char **opened; /* paths of those that Lacuna itself opened */
    int opens;
    binding_t *binding; /* each once */
    int bindings;
    char **said; /* every other line */
    int lines;
} doctor_log_t;

/* A log read whole and cut into its lines and fields. */

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0, used = 0;
    while (file) {
        if (size - used < 2) {
            size = size ? 2 * size : 65536;
            char *grown = realloc(text, size);
            if (!grown) break;
            text = grown;
        }
        size_t got = fread(text + used, 1, size - used - 1, file);
        used += got;
        if (!got) {
            fclose(file);
            text[used] = '\0';
            return text;
        }
    }
    if (file) fclose(file);
    free(text);
    return NULL;
}

static bool same_binding(const binding_t *x, const binding_t *y)
{
    return x->symbol && x->by_dlsym == y->by_dlsym && !strcmp(x->symbol, y->symbol) &&
           !strcmp(x->from, y->from) && !strcmp(x->to, y->to);
}

/* "symbol,from,to,how" */
static void take_binding(doctor_log_t *log, char *line)
{
    char *rest = line;
    const char *symbol = strsep(&rest, ","), *from = strsep(&rest, ","), *to = strsep(&rest, ",");
    if (!symbol || !from || !to || !rest || !strcmp(from, to)) return; /* to itself: its own affair */
    binding_t b = {symbol, from, to, !strcmp(rest, "dlsym")};
    int known = 0;
    while (known < log->bindings && !same_binding(&log->binding[known], &b)) known++;
    if (known == log->bindings) log->binding[log->bindings++] = b;
}

static void take_line(doctor_log_t *log, char *line)
{
    static const char object[] = "lacuna,1,object,", bind[] = "lacuna,1,bind,", opened[] = "lacuna,1,opened,";
    if (!strncmp(line, object, sizeof object - 1))
        log->object[log->objects++] = line + sizeof object - 1;
    else if (!strncmp(line, opened, sizeof opened - 1))
        log->opened[log->opens++] = line + sizeof opened - 1;
    else if (!strncmp(line, bind, sizeof bind - 1))
        take_binding(log, line + sizeof bind - 1);
    else if (*line)
        log->said[log->lines++] = line;
}

static void doctor_log_free(doctor_log_t *log)
{
    free(log->text);
    free(log->object);
    free(log->opened);
    free(log->binding);
    free(log->said);
    *log = (doctor_log_t){0};
}

/* Reads a log; false where it cannot be read or there is no memory. Free with doctor_log_free. */
static bool doctor_log_read(doctor_log_t *log, const char *path)
{
    *log = (doctor_log_t){.text = read_whole(path)};
    if (!log->text) return false;
    size_t lines = 1;
    for (const char *at = log->text; *at; at++) lines += *at == '\n';
    log->object = calloc(lines, sizeof *log->object);
    log->opened = calloc(lines, sizeof *log->opened);
    log->binding = calloc(lines, sizeof *log->binding);
    log->said = calloc(lines, sizeof *log->said);
    if (!log->object || !log->opened || !log->binding || !log->said) {
        doctor_log_free(log);
        return false;
    }
    char *rest = log->text;
    for (char *line; (line = strsep(&rest, "\n"));) take_line(log, line);
    return true;
}

/* The report on one process. */

/* The calls that the drop-in libraries stand in front of: what they export. */
typedef struct taken_calls {
    char **name;
    int count;
} taken_calls_t;

/* Bindings, distinguished by where they come from and where they lead. */

static void take_name(const char *name, void *arg)
{
    taken_calls_t *taken = arg;
    char **grown = realloc(taken->name, (size_t)(taken->count + 1) * sizeof *grown);
    if (!grown) return;
    taken->name = grown;
    char *copy = strdup(name);
    if (copy) taken->name[taken->count++] = copy;
}

static bool is_taken(const taken_calls_t *taken, const char *name)
{
    for (int i = 0; i < taken->count; i++)
        if (!strcmp(taken->name[i], name)) return true;
    return false;
}

/* Every function that a drop-in library exports is one that it stands in front of, its marker aside. */
static void take_exported(const elf_function_t *function, void *arg)
{
    if (function->exported && strncmp(function->name, "lacuna_", 7) != 0 && !is_taken(arg, function->name))
        take_name(function->name, arg);
}

/* Reads them from the libraries beside liblacuna.so; none where they cannot be read. Free with taken_free. */
static void taken_read(taken_calls_t *taken)
{
    static const char *const names[] = {"liblacuna_blas.so", "liblacuna_cublas.so"};
    *taken = (taken_calls_t){0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        if (child_library(names[i], path, sizeof path)) elf_functions(path, take_exported, taken);
    }
}

static void taken_free(taken_calls_t *taken)
{
    for (int i = 0; i < taken->count; i++) free(taken->name[i]);
    free(taken->name);
    *taken = (taken_calls_t){0};
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins(const char *path, const char *stem)
{
    return strncmp(file_of(path), stem, strlen(stem)) == 0;
}

static bool is_ours(const char *path)
{
    return begins(path, "liblacuna");
}

/* What these libraries call is left alone, and so are parts of a BLAS that call each other. */
static bool is_vendor(const char *path)
{
    return lac_is_vendor(path) || lac_is_blas(path);
}

/* NULL: no call of ours, whoever made it. */
static const char *verdict(const binding_t *b, const taken_calls_t *taken)
{
    if (is_ours(b->to)) return is_vendor(b->from) ? "passed on: the vendor's own call" : "intercepted";
    if (!is_taken(taken, b->symbol)) return NULL;
    return b->by_dlsym ? "BYPASSED: fetched with dlsym (--dlsym)"
                       : "BYPASSED: bound past the preload (deep-bind, or a scope of its own)";
}

static bool is_opened(const doctor_log_t *log, const char *path)
{
    for (int i = 0; i < log->opens; i++)
        if (!strcmp(log->opened[i], path)) return true;
    return false;
}

/* Looked up by us or by a library that we opened, or by a BLAS in itself. */
static bool is_noise(const doctor_log_t *log, const binding_t *b)
{
    return is_ours(b->from) || is_opened(log, b->from) || (is_vendor(b->from) && !is_ours(b->to)) ||
           !strncmp(b->symbol, "lac_", 4);
}

static void print_bindings(const doctor_log_t *log, const taken_calls_t *taken, FILE *file)
{
    static const char *const heads[] = {"call", "from", "leads to", ""};
    text_table_t *table = text_table_new(4, heads);
    int rows = 0;
    for (int i = 0; table && i < log->bindings; i++) {
        const binding_t *b = &log->binding[i];
        if (is_noise(log, b) || !verdict(b, taken)) continue;
        text_table_cell(table, "%s", b->symbol);
        text_table_cell(table, "%s", file_of(b->from));
        text_table_cell(table, "%s", file_of(b->to));
        text_table_cell(table, "%s", verdict(b, taken));
        rows++;
    }
    if (rows) text_table_print(table, file, 2);
    if (!log->objects)
        fprintf(file, "  where calls lead was not recorded: liblacuna_audit.so was not there\n");
    else if (!rows && log->lines)
        fprintf(file, "  the calls below were bound in a way that the dynamic linker does not report\n");
    else if (!rows)
        fprintf(file, "  no product that Lacuna takes was bound by the dynamic linker\n");
    text_table_free(table);
}

/* The names of other products, each once. */
static void print_others(const doctor_log_t *log, const taken_calls_t *taken, FILE *file)
{
    int printed = 0;
    for (int i = 0; i < log->bindings; i++) {
        const binding_t *b = &log->binding[i];
        bool fresh = !is_noise(log, b) && !verdict(b, taken);
        for (int j = 0; fresh && j < i; j++) fresh = strcmp(log->binding[j].symbol, b->symbol) != 0;
        if (fresh) fprintf(file, "%s%s", printed++ ? " " : "  not Lacuna's: ", b->symbol);
    }
    if (printed) fprintf(file, "\n");
}

typedef struct own_calls {
    const taken_calls_t *taken;
    const doctor_log_t *log;
    const char *path;
    char text[160];
    size_t used;
    bool certain; /* what their code calls could be read */
} own_calls_t;

/* Exported, and found in front of the object's own all the same. */
static bool is_intercepted(const own_calls_t *own, const char *name)
{
    for (int i = 0; i < own->log->bindings; i++) {
        const binding_t *b = &own->log->binding[i];
        if (!strcmp(b->symbol, name) && !strcmp(b->from, own->path) && is_ours(b->to)) return true;
    }
    return false;
}

static bool is_other_taken(const char *name, void *arg)
{
    return is_taken(arg, name);
}

/* A function that only leads on to a call that the dynamic linker binds (SciPy's sgemm_ to scipy_sgemm_) goes
 * where that one goes. */
static void note_own(const elf_function_t *function, void *arg)
{
    own_calls_t *own = arg;
    const char *name = function->name;
    if (!is_taken(own->taken, name) || own->used + strlen(name) + 3 > sizeof own->text) return;
    if (strstr(own->text, name) || is_intercepted(own, name)) return;
    if (elf_calls_other(function, is_other_taken, (void *)(uintptr_t)own->taken)) return;
    own->certain &= elf_reads_code(function);
    own->used += (size_t)snprintf(own->text + own->used, sizeof own->text - own->used, "%s%s",
                                  own->used ? ", " : "", name);
}

/* The calls that an object other than a BLAS holds itself: its own calls of them never come out. */
static bool brings_own(const doctor_log_t *log, const char *path, const taken_calls_t *taken,
                       own_calls_t *own)
{
    *own = (own_calls_t){.taken = taken, .log = log, .path = path, .certain = true};
    if (!is_ours(path) && !is_vendor(path)) elf_functions(path, note_own, own);
    return own->used > 0;
}

/* True where the process is worth reporting: it multiplied, or could have. */
static bool doctor_has_news(const doctor_log_t *log, const taken_calls_t *taken)
{
    own_calls_t own;
    for (int i = 0; i < log->bindings; i++)
        if (!is_noise(log, &log->binding[i])) return true;
    for (int i = 0; i < log->objects; i++)
        if (brings_own(log, log->object[i], taken, &own)) return true;
    return log->lines > 0;
}

/* A binding or an object that leads past Lacuna. */
static bool bypassed(const doctor_log_t *log, const taken_calls_t *taken)
{
    own_calls_t own;
    for (int i = 0; i < log->bindings; i++) {
        const binding_t *b = &log->binding[i];
        if (!is_noise(log, b) && !is_ours(b->to) && is_taken(taken, b->symbol)) return true;
    }
    for (int i = 0; i < log->objects; i++)
        if (brings_own(log, log->object[i], taken, &own)) return true;
    return false;
}

/* Which calls were intercepted, which went past and why, and the table of what became of them. */
static void doctor_print(const doctor_log_t *log, const taken_calls_t *taken, FILE *file)
{
    own_calls_t own;
    if (log->objects) fprintf(file, "  %s\n", log->object[0]);
    print_bindings(log, taken, file);
    print_others(log, taken, file);
    for (int i = 0; i < log->objects; i++)
        if (brings_own(log, log->object[i], taken, &own))
            fprintf(file, "  %s brings %s itself: calls within it %s past\n", file_of(log->object[i]),
                    own.text, own.certain ? "go" : "may go");
    for (int i = 0; i < log->opens; i++)
        fprintf(file, "  %s was opened by Lacuna for itself: the program did not load it\n",
                file_of(log->opened[i]));
    for (int i = 0; i < log->lines; i++) fprintf(file, "  %s\n", log->said[i]);
    if (!log->lines)
        fprintf(file, "  no call came to Lacuna: %s\n",
                bypassed(log, taken) ? "what was multiplied in f32 went past it, as listed above"
                                     : "nothing was multiplied in f32 through a call that it takes");
}

/* lacuna doctor: runs a program, and reports what Lacuna did for it or why it could not. */

static error_t parse_doctor(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

/* Every process writes a log of its own into the folder. */
static bool listen_in(const char *folder)
{
    char log[PATH_MAX];
    snprintf(log, sizeof log, "%s/%%p", folder);
    return child_set("log", log) && child_set("stats", "1");
}

static int is_log(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Prints and removes the logs; returns how many processes had something to report. */
static int report(const char *folder, const taken_calls_t *taken)
{
    struct dirent **entry = NULL;
    int count = scandir(folder, &entry, is_log, versionsort), reported = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        doctor_log_t log;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (length > 0 && (size_t)length < sizeof path && doctor_log_read(&log, path)) {
            if (doctor_has_news(&log, taken)) {
                fprintf(stderr, "\nprocess %s\n", entry[i]->d_name);
                doctor_print(&log, taken, stderr);
                reported++;
            }
            doctor_log_free(&log);
        }
        remove(path);
        free(entry[i]);
    }
    free(entry);
    return reported;
}

int command_doctor(int argc, char **argv)
{
    static const struct argp_child children[] = {{&program_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .parser = parse_doctor,
        .args_doc = "[--] PROGRAM [ARGUMENT...]",
        .doc = "Runs a program as lacuna run does, and then prints on standard error, for each of its "
               "processes, which "
               "matrix products came to Lacuna, which went past it and why, and what became of those that "
               "came.\vThe exit code is the program's; 3 where it cannot be started, 2 for "
               "usage.\n" EXIT_CODES_TEXT,
        .children = children,
    };
    program_options_t options = {0};
    char audit[PATH_MAX], folder[] = "/tmp/lacuna-doctor-XXXXXX";
    taken_calls_t taken;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options);
    if (!mkdtemp(folder)) {
        complain(argv[0], "%s: no folder can be made there", folder);
        return EXIT_UNAVAILABLE;
    }
    taken_read(&taken);
    int code = program_prepare(&options, argv[0], true), status = -1;
    if (code == EXIT_OK && listen_in(folder)) status = child_run(argv[0], options.program);
    if (status >= 0 && !report(folder, &taken))
        fprintf(
            stderr, "\nNo process multiplied matrices through a call that Lacuna could see: %s.\n",
            child_library("liblacuna_audit.so", audit, sizeof audit)
                ? "a BLAS that is linked statically leaves no trace, nor does a program with another user's "
                  "rights"
                : "whether any went past it is not known without liblacuna_audit.so");
    rmdir(folder);
    taken_free(&taken);
    if (code != EXIT_OK) return code;
    return status < 0 ? EXIT_UNAVAILABLE : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
