/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a route on a device may use while it runs: stream, workspace, vendor handles, pending samples; its
 * life, and the backend's hooks. */
#ifndef LACUNA_CUDA_RUNTIME_EXEC_H
#define LACUNA_CUDA_RUNTIME_EXEC_H

#include "route/backend.h"
#include "cuda_kernels.h" /* kernels/cuda */
#include "cuda_support.h"

#include <cuda_runtime_api.h>

#define LAC_CUDA_RETIRED 64  /* workspaces that a recording may still use     */
#define LAC_CUDA_SEEN    256 /* buffers whose device is known                 */
#define LAC_CUDA_SAMPLES 64  /* samples that a device may owe at the same time */
#define LAC_CUDA_SPANS   16  /* runs whose time it may owe                     */

/* A sample that was asked for. */
typedef struct lac_cuda_sample {
    const void *tag; /* who asked; NULL: free */
    lac_dim_t rows, cols;
    uint32_t mark;
    int64_t sampled;
} lac_cuda_sample_t;

/* A run between two events, behind a gate. */
typedef struct lac_cuda_span {
    cudaEvent_t begin, end;
    uint32_t ticket; /* of its gate */
    lac_timing_tag_t mark;
} lac_cuda_span_t;

typedef struct lac_cuda_event_timer {
    lac_cuda_span_t span[LAC_CUDA_SPANS];
    uint64_t oldest, newest; /* spans [oldest, newest) are under way, by remainder */
    volatile uint32_t *open; /* pinned: gates up to this ticket are open                        */
    uint32_t *expired;       /* pinned, for each span: the last ticket that the host came too late for */
    uint32_t ticket;         /* of the newest gate                                              */
    unsigned refused, skip;  /* runs in a row that the host queued too slowly; begins to be left out for it */
    int empties;
    double own_us; /* of two events with nothing in between; 0: not known yet */
} lac_cuda_event_timer_t;

#define LAC_CUDA_GATE_WORDS (1 + LAC_CUDA_SPANS) /* of 32 bits */

struct lac_exec {
    int device;
    bool only_device; /* no other can be the current one */
    cudaStream_t stream;
    bool own_stream;
    bool preparing; /* a run lays out and builds what it needs, and returns before the first launch */
    bool late;      /* the run to come depends on nothing of the one before: products of a step */
    const lac_machine_t *machine;
    uint64_t born; /* the driver's number of the device's context; 0: not known */
    char name[256];
    int major, minor;
    bool takes_schedule; /* has what lac_cuda_csr_long and lac_cuda_spmm_staged need */

    char *work; /* the workspace of the run in progress */
    size_t work_bytes;
    void *retired[LAC_CUDA_RETIRED];
    int retired_count;
    size_t retired_bytes;

    uint64_t *lif_state; /* of steps that list their spikes; NULL before the first */

    void *csr_workspace; /* of the caller's, for lac_csr_gemm; NULL: the run's own */
    size_t csr_workspace_bytes;

    uint64_t *bits; /* what is not zero of the output of the last run that was asked for it */
    size_t bits_bytes;

    void *blas, *blas_workspace; /* a cublasHandle_t with an explicit workspace; NULL before its first use */
    int blas_math;               /* the mode that is set in it */

    struct lac_cuda_spmm *sparse; /* cuSPARSE's handle and kept products; NULL before its first use */

    uint64_t *answers; /* pinned: LAC_CUDA_PROBE_WORDS words for each sample */
    uint64_t *bad;     /* pinned: what row slices found too late; behind the answers */
    lac_cuda_sample_t sample[LAC_CUDA_SAMPLES];
    uint32_t mark;

    lac_cuda_event_timer_t clock;

    const void *seen[LAC_CUDA_SEEN]; /* buffers that were found to lie on the device */
};

/* Checks a CUDA error: LAC_OK, or a status with a message that names `what`. */
lac_status_t lac_cuda_check_error(cudaError_t error, const char *what);
/* The same for a launcher's status, which brings no message. */
lac_status_t lac_cuda_launched(lac_status_t status, const char *what);

int lac_cuda_enter(lac_exec_t *exec);
void lac_cuda_leave(lac_exec_t *exec, int token);
lac_status_t lac_cuda_check(lac_exec_t *exec, const char *name, const void *buf);

bool lac_cuda_capturing(const lac_exec_t *exec);
/* A status with a message where the stream is captured, so that `what` cannot be made now. */
lac_status_t lac_cuda_may_allocate(const lac_exec_t *exec, const char *what);

/* At least `bytes` of workspace, 256-byte aligned, whose contents nobody keeps; the run's only one. */
lac_status_t lac_cuda_work(lac_exec_t *exec, size_t bytes, void **memory);

/* Memory of LAC_CUDA_LIF_STATE bytes for the steps of this context alone, 0 to begin with. */
lac_status_t lac_cuda_step_state(lac_exec_t *exec, uint64_t **state);

/* Room for the bits of an output, m rows of whole words, that stays the run's until the next one's; NULL
 * where there is none, which is no error: they are then read from the output. */
uint64_t *lac_cuda_output_bits(lac_exec_t *exec, lac_dim_t m, lac_dim_t n);

/* `bytes` rounded up so that the next piece of a workspace is aligned too. */
static inline size_t lac_cuda_piece(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* The backend's hooks that have files of their own. */
int64_t lac_cuda_sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                        lac_sample_t *out, uint64_t seed, const void *tag, bool first);
bool lac_cuda_operand_fingerprint(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                  const void *tag, bool asks, uint64_t *fingerprint);
uint64_t lac_cuda_allocation(lac_exec_t *exec, const void *buf);
/* The driver's number of the current context: a device that is reset has another one; 0: not known. */
uint64_t lac_cuda_context_number(void);
lac_status_t lac_cuda_scan(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, int threads);
lac_status_t lac_cuda_scan_bits(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, const uint64_t *bits);
/* A branch in the caller's graph: two ways, and a probe of the data that chooses at each launch. */
lac_status_t lac_cuda_branch(lac_exec_t *exec, lac_branch_t *branch);
extern const lac_device_t lac_cuda_device;
extern const lac_memory_t lac_cuda_memory;

/* Life of an exec on a device. */

/* Why cudaGetDeviceCount failed, for people. */
const char *lac_cuda_why_none(cudaError_t error);

lac_status_t lac_cuda_open(lac_exec_t **exec, lac_device_request_t *request, const lac_machine_t *machine);
void lac_cuda_close(lac_exec_t *exec);
const char *lac_cuda_estimate(const lac_exec_t *exec, lac_machine_t *machine);
size_t lac_cuda_bytes(const lac_exec_t *exec);

/* The device's clock for runs. */

extern const lac_event_timer_t lac_cuda_timer_hooks;

void lac_cuda_event_timer_close(lac_exec_t *exec);

/* Measures a device's constants for the cost model. */

/* Fills the device's constants, in some seconds, with 430 MB of its memory; the host's stay. Errors: MEMORY,
 * UNAVAILABLE where the exec has the default stream, which cannot be recorded; VENDOR. */
lac_status_t lac_cuda_tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                           void *arg);

#endif
