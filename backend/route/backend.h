/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A backend: where routes run, slices are cut and batches are served. The host's is built in, a device's is
 * loaded; the planner knows this alone. */
#ifndef LACUNA_ROUTE_BACKEND_H
#define LACUNA_ROUTE_BACKEND_H

#include "link.h"
#include "route.h"
#include "operand/problem.h"
#include "lacuna/context.h"
#include "lacuna/csr.h"
#include "lacuna/device.h"
#include "lacuna/lif.h"
#include "operand/gemm_args.h"

#define LAC_BATCH_SET 128 /* matrices that are named one by one */

/* Of count products; what they have in common is the problem of the first. Each matrix begins a step behind
 * the one before, in elements, or, where `each` is set, at each[q]: then all three are, and count is
 * LAC_BATCH_SET at most. */
typedef struct lac_batch {
    lac_dim_t count;
    lac_inc_t a_step, b_step, c_step;
    const void *const *a_each, *const *b_each;
    void *const *c_each;
    const lac_route_t *single; /* that one product alone would take, by one thread */
    double single_us;          /* and its predicted time                          */
} lac_batch_t;

/* What served a batch as a whole. */
typedef struct lac_batch_outcome {
    bool served;
    lac_role_t role; /* sparse or dense                  */
    lac_side_t side; /* that was taken as sparse         */
} lac_batch_outcome_t;

/* Rows picked out of a compressed operand: one call as plain data, and what a backend offers for it. */

/* A checked call, every transpose folded in. Its arrays lie in the backend's space. */
typedef struct lac_slicing {
    lac_operand_t a;                 /* op(A), m x n                                                    */
    lac_format_t which;              /* CSR, or CSC where op(A) is the transpose of what metadata says  */
    const lac_format_data_t *format; /* the compressed rows of op(A)                                    */
    lac_dim_t m, n, count;
    lac_index_t it;
    const void *rows; /* [count] of type it                                                */
    const void *val;  /* [format->count], or [1]; NULL: every entry is 1                       */
    bool homogeneous; /* val is [1]                                                        */
    bool zero_rows;   /* a row outside [0, m) picks zeros; otherwise it is an error, to be found here */
    int threads;
} lac_slicing_t;

#define LAC_ENTRIES_UNKNOWN (-1) /* the row pointers are where the host would have to wait for them */

/* What lacuna/slice.h offers, in a backend's space. Each but csr checks the rows before it writes anything,
 * where the host can read them.
 */
typedef struct lac_slicer {
    /* The format `s->which` of the operand: the one that stands, or one built now and kept where it is
     * frozen; *format is NULL where there is neither. s->format and s->val are not set yet. */
    lac_status_t (*format)(lac_exec_t *exec, const lac_slicing_t *s, const lac_format_data_t **format);
    lac_status_t (*rows)(lac_exec_t *exec, const lac_slicing_t *s, void *out, lac_inc_t rs, lac_inc_t cs);
    lac_status_t (*grad)(lac_exec_t *exec, const lac_slicing_t *s, const void *grad_out, lac_inc_t rs,
                         lac_inc_t cs, void *grad_val);
    lac_status_t (*count)(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, void *ptr);
    /* Checks the row pointers that came back from the caller; *entries is how many idx and val must hold, or
     * LAC_ENTRIES_UNKNOWN. */
    lac_status_t (*entries)(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                            int64_t *entries);
    lac_status_t (*csr)(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr, void *idx,
                        void *val);
} lac_slicer_t;

/* Operators on compressed rows that a call brings along: one checked call as plain data. */
typedef struct lac_csr_call {
    const lac_csr_t *a; /* read without trans, or transposed; its values only where `values` says so */
    bool transposed, values;
    lac_obj_t x, y; /* dense operands without trans                                      */
    bool binary;
    lac_dim_t columns, depth; /* of the product, and of a sampled one                              */
    lac_index_t it;           /* of rows                                                           */
    lac_dim_t count;
    const void *rows; /* [count]                                                           */
    float *out;       /* element (i, j) at out[i * rs + j * cs], or one value for each entry */
    lac_inc_t rs, cs;
    int32_t *counts; /* [rows][columns]                                                   */
    int threads;
} lac_csr_call_t;

/* What lacuna/csr.h offers, in a backend's space. */
typedef struct lac_csr_operators {
    lac_status_t (*gemm)(lac_exec_t *exec, const lac_csr_call_t *call);
    lac_status_t (*count)(lac_exec_t *exec, const lac_csr_call_t *call);
    lac_status_t (*slice_rows)(lac_exec_t *exec, const lac_csr_call_t *call);
    lac_status_t (*slice_rows_grad)(lac_exec_t *exec, const lac_csr_call_t *call);
    lac_status_t (*sddmm)(lac_exec_t *exec, const lac_csr_call_t *call);
    lac_status_t (*workspace)(lac_exec_t *exec, void *memory, size_t bytes);
} lac_csr_operators_t;

/* What a loaded backend borrows from the core, so that messages reach lac_last_error, and forks wait. */
typedef struct lac_host_callbacks {
    lac_status_t (*fail)(lac_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));
    void (*log)(const char *format, ...) __attribute__((format(printf, 1, 2)));
    void (*defer_forks)(void), (*allow_forks)(void);
} lac_host_callbacks_t;

/* Two ways in a recording that somebody else is making on `stream`, and what chooses between them. */
typedef struct lac_branch {
    void *stream;
    const lac_operand_t *x; /* rows x cols: `few` serves where less than `limit` of its elements is nonzero */
    lac_dim_t rows, cols;
    double limit;
    lac_work_fn prepare;                 /* makes room for both ways, on the exec's own stream */
    lac_work_fn sparse_path, dense_path; /* queue each way there, where it is captured; sparse_path
                                            NULL: the other one is recorded alone               */
    void *arg;
    void (*on_release)(void *owner); /* called once, also on failure: nothing holds the recording any more. On
                                  any thread; may not call the device */
    void *owner;
    bool touched; /* out: the recording is not what it was */
} lac_branch_t;

/* Tiles of rows x cols, and where it is written which of them hold a nonzero: `words` words of bits for each
 * row of tiles, and their number (NULL: not wanted). */
typedef struct lac_tiling {
    lac_dim_t rows, cols, words;
    uint64_t *bits;
    int64_t *count;
} lac_tiling_t;

/* Device memory and timing, for those who have no other way to them: what lacuna/device.h offers. */
typedef struct lac_device {
    lac_status_t (*alloc)(lac_exec_t *exec, size_t bytes, void **memory);
    lac_status_t (*release)(lac_exec_t *exec, void *memory);
    lac_status_t (*upload)(lac_exec_t *exec, void *to, const void *from, size_t bytes);
    lac_status_t (*download)(lac_exec_t *exec, void *to, const void *from, size_t bytes);
    lac_status_t (*wait)(lac_exec_t *exec);
    /* to[i * rs + j * cs] := beta to[i * rs + j * cs] + x[i * xrs + j * xcs], queued. */
    lac_status_t (*add)(lac_exec_t *exec, lac_dim_t m, lac_dim_t n, const float *x, lac_inc_t xrs,
                        lac_inc_t xcs, float beta, float *to, lac_inc_t rs, lac_inc_t cs);
    /* Adds them. NULL: cannot. */
    lac_status_t (*branch)(lac_exec_t *exec, lac_branch_t *branch);
    void *(*stream)(const lac_exec_t *exec);
    bool (*capturing)(const lac_exec_t *exec); /* its stream is being recorded: nothing may wait */
    lac_status_t (*time)(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, double *us);
    lac_status_t (*record)(lac_exec_t *exec, lac_work_fn work, void *arg, int calls, void **recording);
    lac_status_t (*replay)(lac_exec_t *exec, void *recording, int times, double *us);
    void (*forget)(void *recording);
} lac_device_t;

/* Who wants to know what a run took. */
typedef struct lac_timing_tag {
    uint64_t site; /* its number in the context; 0: nobody any more */
    int row;
    double predicted_us;
    bool late; /* kernels that may not begin before what is ahead of them has ended */
} lac_timing_tag_t;

/* What runs take where they return before they are done. */
typedef struct lac_event_timer {
    bool (*begin)(lac_exec_t *exec); /* before a run; false: not now, and no end follows */
    void (*end)(lac_exec_t *exec, const lac_timing_tag_t *mark);
    bool (*done)(lac_exec_t *exec, lac_timing_tag_t *mark, double *us); /* the next that is; false: none */
} lac_event_timer_t;

/* What a context asks for when it opens a backend. */
typedef struct lac_device_request {
    int device;   /* ordinal; -1 on the host       */
    void *stream; /* the caller's stream, or NULL   */
    int threads;  /* of the host, for measuring     */
    /* Out: what the device is called, under which its constants are kept; NULL on the host. It lives as long
     * as the exec. */
    const char *name;
} lac_device_request_t;

/* What a sample is asked for, and what it answers. */
typedef struct lac_sample {
    int64_t looked; /* about how many elements; out: how many there were, 0: the answer is not there yet */
    bool k_by_rows; /* k runs along op(X)'s rows, as in B */
    /* Out: of some k, the fraction with any nonzero among `each` elements; negative: nobody looked. */
    double lines;
    int each;
    /* ... and of some blocks of LAC_BLOCK_ACROSS x LAC_BLOCK_K, among `each_block`; 0: nobody looked. */
    double blocks;
    int each_block;
} lac_sample_t;

typedef struct lac_backend {
    const char *name; /* "host", "cuda" */
    lac_space_t space;
    /* Runs return before they are done: the time of a call says nothing, and a scan cannot give up. */
    bool asynchronous;
    const char *version;                       /* of the library that holds it: the core takes its own only */
    const lac_memory_t *memory;                /* of its space; NULL: the program's own                     */
    const lac_device_t *device;                /* what lacuna/device.h offers; NULL: it is no device        */
    const lac_event_timer_t *clock;            /* NULL: runs are done when they return                      */
    const lac_link_hooks_t *link;              /* what connects ranks; NULL: nothing                        */
    const lac_slicer_t *slicer;                /* what lacuna/slice.h offers; NULL: nothing yet             */
    const lac_csr_operators_t *csr;            /* what lacuna/csr.h offers; NULL: nothing yet               */
    void (*describe)(char *text, size_t size); /* what it finds here, for people; NULL: nothing to tell  */
    const lac_route_t *const *(*routes)(
        int *count); /* in the order of a tie, the fallback last; *count is how many */

    /* Opens what runs need, and closes it. `machine` outlives the exec; a device that was left open (-1) is
     * set in `place`. */
    lac_status_t (*open)(lac_exec_t **exec, lac_device_request_t *request, const lac_machine_t *machine);
    void (*close)(lac_exec_t *exec);

    /* Constants that nobody measured, as far as the device's own description tells. Returns where they come
     * from, for people. NULL: as they are. */
    const char *(*estimate)(const lac_exec_t *exec, lac_machine_t *machine);

    /* A public call begins and ends on this thread: the device is made current, and what was is put back.
     * NULL where there is nothing to do. */
    int (*enter)(lac_exec_t *exec);
    void (*leave)(lac_exec_t *exec, int token);

    /* That a buffer lies in the backend's space, as far as that can be known at no cost. NULL: it does. */
    lac_status_t (*check)(lac_exec_t *exec, const char *name, const void *buf);

    /* The driver's number for the allocation that an address lies in: no two ever have the same; 0: none.
     * NULL: nobody counts them. */
    uint64_t (*allocation)(lac_exec_t *exec, const void *buf);

    /* A number made of up to 65536 elements of op(X), always the same ones: true where it is there. `asks`:
     * the device is asked for it where it is not owing one for this tag; a later call finds it. NULL: no
     * such. */
    bool (*fingerprint)(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                        const void *tag, bool asks, uint64_t *fingerprint);

    /* Grows the workspace and builds the derived formats that a run will need, and runs nothing. NULL: a run
     * does so itself. */
    lac_status_t (*prepare)(lac_exec_t *exec, const lac_route_t *route, const lac_problem_t *p);

    /* Nonzeros among some elements of op(X), which is rows x cols. A device may answer later: to a call with
     * the same tag. `first` permits a short wait. */
    int64_t (*sample)(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      lac_sample_t *sample, uint64_t seed, const void *tag, bool first);

    /* Measures formats of a stored operand into its metadata; obj is checked, its metadata's build lock held.
     */
    lac_status_t (*scan)(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, int threads);

    /* The same of an output, of which the run that wrote it told the bits. NULL: none does. */
    lac_status_t (*scan_bits)(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, const uint64_t *bits);

    /* values[e] := beta values[e] + alpha (a b)[i, j] at the entries e = (i, j) of the compressed rows of an
     * m x n pattern; p->c and its strides are not set. NULL: it has no sampled products. */
    lac_status_t (*sddmm)(lac_exec_t *exec, const lac_problem_t *p, const lac_format_data_t *pattern,
                          void *values);

    /* A product with CSR arrays of the caller's, queued; their entries are not in order. NULL: never. */
    lac_status_t (*spmm)(lac_exec_t *exec, const lac_spmm_t *call);

    /* op(X), rows x cols, as a dense matrix in memory of the caller's; the number of its nonzeros, and
     * which tiles of it hold any, written in the backend's space. */
    lac_status_t (*densify)(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            void *out, lac_inc_t rs, lac_inc_t cs, int threads);
    lac_status_t (*count)(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                          int64_t *count, int threads);
    lac_status_t (*occupancy)(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              const lac_tiling_t *tiling);

    /* The products of a step depend on nothing but what was queued before the first: the next run comes after
     * others of them, until this is called anew. NULL: nothing to gain. */
    void (*chain)(lac_exec_t *exec, bool follows);

    /* The neurons of a step, once what they receive is queued. NULL: it has none. */
    lac_status_t (*lif)(lac_exec_t *exec, const lac_lif_t *lif, int threads);

    /* p->epilogue, in a pass over a p->c that the backend's runs wrote. NULL: it has none. */
    lac_status_t (*apply_epilogue)(lac_exec_t *exec, const lac_problem_t *p);

    /* Serves a batch as a whole, or leaves all of it (out->served). p is the first product, with densities.
     * NULL: it never does. */
    lac_status_t (*batched)(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                            lac_batch_outcome_t *out);

    /* Measures the backend's machine constants; another backend's stay. */
    lac_status_t (*tune)(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                         void *arg);

    size_t (*bytes)(const lac_exec_t *exec); /* of workspace */
    void (*info)(const lac_exec_t *exec, lac_info_fn fact, void *arg);
} lac_backend_t;

/* The one symbol of a loaded backend, by this type. NULL with the message set where it cannot serve. */
typedef const lac_backend_t *(*lac_backend_entry_t)(const lac_host_callbacks_t *core);

#endif
