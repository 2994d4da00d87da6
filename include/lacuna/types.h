/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Types that every other header uses: status codes, extents, element types, operands. */
#ifndef LACUNA_TYPES_H
#define LACUNA_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#    define LAC_API __attribute__((visibility("default")))
#else
#    define LAC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Pinned for ever; the gaps are for later neighbours. A refusal of a route is never a status. */
typedef enum lac_status {
    LAC_OK = 0,
    LAC_ERR_NULL = 10,        /* a pointer argument is NULL that may not be                       */
    LAC_ERR_EXTENT = 11,      /* an extent is negative, overflows, or does not fit the other one    */
    LAC_ERR_STRIDE = 12,      /* a stride or leading dimension makes elements overlap             */
    LAC_ERR_ALIAS = 13,       /* c overlaps a or b; memory that is registered already             */
    LAC_ERR_TYPE = 14,        /* an element type, or a combination of them, is not supported      */
    LAC_ERR_VALUE = 15,       /* an argument is outside its enumeration, or a text is not understood */
    LAC_ERR_SPACE = 16,       /* a host pointer in a device context, or the reverse               */
    LAC_ERR_SPARSE = 20,      /* attached row pointers or indices break the format's rules        */
    LAC_ERR_STALE = 21,       /* a sparse-only operand was touched and not attached again         */
    LAC_ERR_EMPTY = 22,       /* the operand has neither a buffer nor metadata that can stand for it */
    LAC_ERR_MEMORY = 30,      /* out of memory, host or device                                    */
    LAC_ERR_UNAVAILABLE = 40, /* no device, or a vendor library that cannot be found             */
    LAC_ERR_VENDOR = 41,      /* a vendor library or the driver failed                            */
    LAC_ERR_TIMEOUT = 42,     /* another rank did not answer in time                              */
    LAC_ERR_ABORTED = 43,     /* the communicator was aborted                                     */
    LAC_ERR_IO = 50,          /* a file could not be read or written                              */
    LAC_ERR_INTERNAL = 90     /* a promise of this library was broken: please report it           */
} lac_status_t;

typedef int64_t lac_dim_t; /* an extent, in elements */
typedef int64_t lac_inc_t; /* a stride, in elements  */

typedef enum lac_dt {
    LAC_F32 = 0, /* IEEE binary32                                                            */
    LAC_U8 = 1,  /* binary events: 0 is no event, any other byte is an event of value 1      */
    LAC_F64 = 2, /* IEEE binary64: on a device for products alone                            */
    LAC_F16 = 3, /* IEEE binary16: products on a device, whose sums and scalars are f32      */
    LAC_BF16 = 4 /* bfloat16, the upper half of an f32: the same                             */
} lac_dt_t;

/* Bytes of an element. */
static inline size_t lac_dt_size(lac_dt_t dt)
{
    return dt == LAC_U8 ? 1 : dt == LAC_F64 ? 8 : dt == LAC_F32 ? 4 : 2;
}

typedef enum lac_space { LAC_HOST = 0, LAC_DEVICE = 1 } lac_space_t;
typedef enum lac_trans { LAC_NO_TRANS = 0, LAC_TRANS = 1 } lac_trans_t;

typedef struct lac_ctx lac_ctx_t;   /* opaque: device, stream, workspace, policy, history     */
typedef struct lac_meta lac_meta_t; /* opaque: metadata of an operand's zeros            */
typedef struct lac_plan lac_plan_t; /* opaque: a decision that can be run again               */

/* An operand: element (i, j) of the stored m x n matrix lies at buf[i * rs + j * cs].
 * With trans = LAC_TRANS the call reads the stored matrix transposed.
 * buf may be NULL when meta holds a complete sparse format (CSR, CSC, bitmask with values, active list).
 * The view owns nothing: buf and meta belong to the caller. */
typedef struct lac_obj {
    lac_dt_t dt;
    lac_space_t space;
    lac_trans_t trans;
    lac_dim_t m, n;
    lac_inc_t rs, cs;
    void *buf;
    lac_meta_t *meta; /* or NULL: nothing is known */
} lac_obj_t;

/* A short English text for a status; never NULL. */
LAC_API const char *lac_status_text(lac_status_t status);

/* What went wrong in this thread's last failing call, naming the argument; "" when nothing did.
 * Valid until this thread's next call into the library. */
LAC_API const char *lac_last_error(void);

/* Views of host matrices, for the two usual layouts. ld is the leading dimension in elements. */
static inline lac_obj_t lac_obj_rowmajor(lac_dt_t dt, lac_dim_t m, lac_dim_t n, void *buf, lac_inc_t ld)
{
    lac_obj_t o = {dt, LAC_HOST, LAC_NO_TRANS, m, n, ld, 1, buf, NULL};
    return o;
}

static inline lac_obj_t lac_obj_colmajor(lac_dt_t dt, lac_dim_t m, lac_dim_t n, void *buf, lac_inc_t ld)
{
    lac_obj_t o = {dt, LAC_HOST, LAC_NO_TRANS, m, n, 1, ld, buf, NULL};
    return o;
}

#ifdef __cplusplus
}
#endif
#endif
