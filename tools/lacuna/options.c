/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What every sub-command shares: --device, --set, --quiet, the context, complaints. */
#include "command.h"
#include "output.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define ORDINAL_MAX 1023

/* "host", "cuda", or "cuda:N". */
static void parse_device(common_options_t *options, const char *text, struct argp_state *state)
{
    options->on_device = strncmp(text, "cuda", 4) == 0;
    options->device = 0;
    if (strcmp(text, "host") == 0 || strcmp(text, "cuda") == 0) return;
    if (!options->on_device || text[4] != ':')
        argp_error(state, "--device: expected host, cuda or cuda:N, found '%s'", text);
    options->device = (int)parse_integer(state, "--device cuda", text + 5, 0, ORDINAL_MAX);
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    common_options_t *options = state->input;
    switch (key) {
    case 'd':
        parse_device(options, arg, state);
        return 0;
    case 'S':
        if (!strchr(arg, '=')) argp_error(state, "--set: expected OPTION=VALUE, found '%s'", arg);
        if (options->settings == COMMON_SETTINGS) argp_error(state, "--set: at most %d", COMMON_SETTINGS);
        options->setting[options->settings++] = arg;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common_table[] = {
    {"device", 'd', "DEVICE", 0, "where to compute: host (default), cuda, or cuda:N for device N", 89},
    {"set", 'S', "OPTION=VALUE", 0,
     "set an option of the library, as LACUNA_OPTION=VALUE in the environment would (threads=1, nan=strict)",
     90},
    {"quiet", 'q', NULL, 0, "no progress; only what went wrong and the summary", 91},
    {0},
};

const struct argp common_argp = {.options = common_table, .parser = parse_common};

void complain(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    progress_clear();
    fprintf(stderr, "%s: ", command);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

int common_context(const common_options_t *options, const char *command, lac_ctx_t **ctx)
{
    lac_status_t status =
        options->on_device ? lac_ctx_create_cuda(ctx, options->device, LAC_STREAM_NEW) : lac_ctx_create(ctx);
    if (status != LAC_OK && options->on_device) {
        complain(command, "--device cuda:%d: %s", options->device, lac_last_error());
        return EXIT_UNAVAILABLE;
    }
    if (status != LAC_OK) {
        complain(command, "no context: %s: %s", lac_status_text(status), lac_last_error());
        return EXIT_UNAVAILABLE;
    }
    for (int i = 0; i < options->settings; i++) {
        char option[64];
        size_t length = strcspn(options->setting[i], "=");
        snprintf(option, sizeof option, "%.*s", (int)length, options->setting[i]);
        if (lac_ctx_set(*ctx, option, options->setting[i] + length + 1) == LAC_OK) continue;
        complain(command, "--set %s: %s", options->setting[i], lac_last_error());
        lac_ctx_free(*ctx);
        *ctx = NULL;
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* Numbers on the command line. */

int64_t parse_integer(struct argp_state *state, const char *option, const char *text, int64_t least,
                      int64_t most)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        argp_error(state, "%s: expected a whole number in %" PRId64 " .. %" PRId64 ", found '%s'", option,
                   least, most, text);
    return value;
}

double parse_real(struct argp_state *state, const char *option, const char *text, double least, double most)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(value >= least && value <= most))
        argp_error(state, "%s: expected a number in %g .. %g, found '%s'", option, least, most, text);
    return value;
}
