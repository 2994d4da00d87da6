/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bindings told apart by where they come from and where they lead. */
#include "doctor_report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "child_program.h"
#include "elf_symbols.h"
#include "text_table.h"
#include "lacuna/interpose.h"

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

/* Local functions come with the exported ones where a library was not stripped: only a BLAS's names count. */
static void take_product(const elf_function_t *function, void *arg)
{
    const char *name = function->name;
    bool named = strstr(name, "gemm") || strstr(name, "gemv") || strstr(name, "Gemm") ||
                 strstr(name, "cublasLt") || strstr(name, "SpMM");
    bool vendor = !strncmp(name, "cublas", 6) || !strncmp(name, "cusparse", 8) ||
                  !strncmp(name, "cblas_", 6) || !strncmp(name, "scipy_", 6) || !strncmp(name, "sgem", 4);
    if (named && vendor && !is_taken(arg, name)) take_name(name, arg);
}

void taken_read(taken_calls_t *taken)
{
    static const char *const names[] = {"liblacuna_blas.so", "liblacuna_cublas.so"};
    *taken = (taken_calls_t){0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        if (child_library(names[i], path, sizeof path)) elf_functions(path, take_product, taken);
    }
}

void taken_free(taken_calls_t *taken)
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

/* Libraries that multiply within algorithms of their own: what they call is left alone, and so are parts of a
 * BLAS that call each other. */
static bool is_vendor(const char *path)
{
    static const char *const stems[] = {"libcublas", "libcusolver", "libcusparse", "libnvblas", "libmkl"};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (begins(path, stems[i])) return true;
    return lac_is_blas(path);
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

bool doctor_has_news(const doctor_log_t *log, const taken_calls_t *taken)
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

void doctor_print(const doctor_log_t *log, const taken_calls_t *taken, FILE *file)
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
