/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A CUDA runtime and kernels that compute nothing: what the backend's host code asked of them, as tests read
 * it, and what they answer, as tests set it.
 *
 * Memory is the host's, allocated and copied, never computed. Every launch is recorded with its arguments,
 * members of structures by their path ("p.m", "s.data"). The stand-in holds the host code to CUDA's rules:
 * memory that a kernel is given lies in one live allocation, nothing unsafe is called while a stream is
 * captured, no handle is used after its end. A breach is counted, and printed. */
#ifndef LACUNA_CUDA_STANDIN_H
#define LACUNA_CUDA_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STANDIN_ARGS = 64, STANDIN_LAUNCHES = 2048 };

typedef enum standin_kind { STANDIN_INTEGER, STANDIN_REAL, STANDIN_POINTER } standin_kind_t;

typedef struct standin_arg {
    const char *key;
    standin_kind_t kind;
    int64_t integer;
    double real;
    const void *pointer;
} standin_arg_t;

typedef struct standin_launch {
    const char *name;
    void *stream;
    bool captured;
    int count;
    standin_arg_t arg[STANDIN_ARGS];
} standin_launch_t;

typedef struct standin {
    /* What it answers. */
    int devices, current; /* how many there are; the current one                              */
    const char *name;     /* of the device                                                    */
    int major, minor, processors, clock_khz, memory_khz, bus_bits, driver;
    size_t shared;
    int64_t nnz, active; /* what a count, an active list finds                                 */
    int room;            /* what packed tiles need                                             */
    int sampled;         /* nonzeros that each block of a sample sees; negative: never answers  */
    int sampled_lines;   /* and how many of its lines of k have any                             */
    int sampled_pieces;  /* and of its pieces                                                   */
    bool busy;           /* events are not done                                                */
    double clock_us;     /* events are stamped with it, and each launch adds launch_us         */
    double launch_us;
    double tick_us;   /* and each record of an event adds this */
    int fails;        /* the n-th call of the runtime from here on fails; 0: none            */
    int launch_fails; /* the n-th launch from here on fails; 0: none                         */
    int resets;       /* of the device so far                                                 */
    bool apart;       /* devices do not reach each other's memory                              */
    bool unshared;    /* nor do processes                                                      */
    int nccl_state;   /* of NCCL's communicators; 0: in order                                  */
    int nccl_busy;    /* so many answers of theirs say that they are not done                  */
    int vendor_fails; /* the n-th call of cuBLAS or cuSPARSE from here on fails; 0: none      */
    size_t largest;   /* allocations beyond it fail; 0: none                                */
    /* What was asked of it. */
    int calls;    /* of the runtime that may fail                                              */
    int breaches; /* of CUDA's rules                                                           */
    int mallocs;  /* successful ones                                                           */
    int memsets;
    int mapped; /* memory of other processes that is mapped now                                */
    int launches;
    standin_launch_t launch[STANDIN_LAUNCHES];
} standin_t;

extern standin_t standin;

/* A device as at the start: an H200; forgets launches and counts. Memory, streams and events stay. */
void standin_reset(void);
/* Forgets launches and counts alone. */
void standin_forget(void);

/* All that is held is gone, as after cudaDeviceReset. */
void standin_reset_device(void);

/* What is held: device and pinned memory, streams, events, graphs, their executables, vendor handles and
 * descriptors. */
typedef struct standin_held {
    int memory, pinned, streams, events, graphs, executables, objects, vendor;
    size_t bytes; /* of device memory */
} standin_held_t;
standin_held_t standin_held(void);
/* The number of all that, bytes left out. */
int standin_held_count(void);

/* The error that the next cudaGetLastError returns, which stays. */
int standin_last_error(void);

/* The launch of that name, or the n-th of it from 0; a failed test where there is none. */
const standin_launch_t *standin_find(const char *name, int nth);
int standin_count(const char *name);

/* An argument; a failed test where there is none of that name and kind. */
int64_t standin_integer(const standin_launch_t *launch, const char *key);
double standin_real(const standin_launch_t *launch, const char *key);
const void *standin_pointer(const standin_launch_t *launch, const char *key);

/* Where a pointer lies in its allocation, in bytes; -1: in none. And how large that is. */
int64_t standin_offset(const void *pointer);
size_t standin_extent(const void *pointer);
/* The device that it was allocated on; -1: on none. */
int standin_device(const void *pointer);

/* Begins and ends the capture of a stream, as the owner of a stream may. */
void standin_capture(void *stream, bool on);

/* For the kernels and the vendors' stand-ins: notes an argument of the launch that is being recorded. */
void standin_begin(const char *name, void *stream);
void standin_note_integer(const char *key, int64_t x);
void standin_note_real(const char *key, double x);
void standin_note_pointer(const char *key, const void *x);
/* Checks it, does what the host reads back; 0, or LAC_ERR_VENDOR where the launch fails. */
int standin_end(void);
/* The same for a call of a vendor's library: 0, or a vendor's status. */
int standin_end_vendor(void);
void standin_vendor_holds(int more);
/* What a function of sizes returns for which there is no emulated kernel: other arguments, other bytes. */
int64_t standin_size(const char *name, int count, const int64_t *args);

/* standin_checks.c: what standin_end does with a launch. */
void standin_check(const standin_launch_t *launch);
void standin_compute(const standin_launch_t *launch);

void standin_breach(const char *format, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif
