/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The context: where calls run, with which policy, and what was learned of the sites they come from.
 *
 * One context serves one thread at a time (make one per thread; they are small). Metadata may be shared
 * between contexts and threads. */
#ifndef LACUNA_CONTEXT_H
#define LACUNA_CONTEXT_H

#include "lacuna/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A host context. Reads the environment and the config file once. *ctx is NULL on failure.
 * Errors: NULL, MEMORY. Free with lac_ctx_free. */
LAC_API lac_status_t lac_ctx_create(lac_ctx_t **ctx);

/* In place of a stream: one of the context's own. */
#define LAC_STREAM_NEW ((void *)-1)

/* A context on CUDA device `device` (its ordinal; -1: the thread's current one). Operands are LAC_DEVICE,
 * work is queued on `stream` (a cudaStream_t; NULL: the default stream; LAC_STREAM_NEW: one of the context's
 * own) and the calls return before it is done. In steady state they neither allocate nor wait, so that they
 * may be captured into a graph; a call that would have to allocate while its stream is captured fails and
 * says so. *ctx is NULL on failure. Errors: NULL, MEMORY; UNAVAILABLE, with the reason: the library was built
 * without CUDA, its CUDA part is not found, or there is no driver or no such device. */
LAC_API lac_status_t lac_ctx_create_cuda(lac_ctx_t **ctx, int device, void *stream);

/* NULL is accepted. Metadata and plans outlive the context; a plan may no longer be run. */
LAC_API void lac_ctx_free(lac_ctx_t *ctx);

/* Sets one option by its name: "backend", "detect", "sparse_margin", "math", "nan", "skip", "sums",
 * "compare", "verbose", "threads", "prepack". Names and values are those of the environment
 * (LACUNA_BACKEND=event is lac_ctx_set(ctx, "backend", "event")) and of the config file; docs/user/tuning.md
 * lists them. A function setting wins over the environment, unless the environment's backend ends in '!'.
 * Errors: NULL; VALUE for an unknown name or value (the message names the accepted ones; nothing changes). */
LAC_API lac_status_t lac_ctx_set(lac_ctx_t *ctx, const char *option, const char *value);

/* Callback that receives one item of information as a key and a value, valid during the call only. */
typedef void (*lac_info_fn)(void *arg, const char *key, const char *value);

/* The facts of a context, in reading order: version, processor, instruction set, threads, the BLAS found
 * and where (or why none), each backend and why it is missing, options in force, machine constants and
 * where they come from. */
LAC_API lac_status_t lac_ctx_info(lac_ctx_t *ctx, lac_info_fn fact, void *arg);

/* Bytes this context holds for its work (workspace and site table); derived formats belong to lac_meta_t. */
LAC_API size_t lac_ctx_bytes(const lac_ctx_t *ctx);

/* Measures the machine constants of the cost model on this machine, or on the context's device (some
 * seconds), uses them from now on and stores them in `path`, or in the user's cache folder when path is NULL.
 * progress may be NULL; it receives the step's name and "done/total". On a device the context's stream is
 * waited for, and may not be the default stream. Errors: NULL, MEMORY, IO, UNAVAILABLE, VENDOR. */
LAC_API lac_status_t lac_tune(lac_ctx_t *ctx, const char *path, lac_info_fn progress, void *arg);

/* "major.minor.patch" of the library that is loaded. */
LAC_API const char *lac_version(void);

#ifdef __cplusplus
}
#endif
#endif
