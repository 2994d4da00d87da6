/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The inside of lac_meta_t: the formats of one operand's zeros, each with its generation. */
#ifndef LACUNA_OPERAND_METADATA_H
#define LACUNA_OPERAND_METADATA_H

#include "lacuna/meta.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Where a format came from. */
typedef enum lac_origin {
    LAC_ORIGIN_NONE = 0,
    LAC_ORIGIN_SCANNED,  /* from the operand's buffer                                              */
    LAC_ORIGIN_ATTACHED, /* the caller's                                                           */
    LAC_ORIGIN_DERIVED   /* from an attached format: as true as that one, dropped when one is attached */
} lac_origin_t;

/* The formats a metadata object can hold, as an index into lac_meta.format[] and a bit (1 << format) in a
 * set. */
typedef enum lac_format {
    LAC_FORMAT_CSR,         /* compressed rows of the stored matrix                              */
    LAC_FORMAT_CSC,         /* compressed columns                                                */
    LAC_FORMAT_BITS,        /* bits along the stored rows, values packed by rows                 */
    LAC_FORMAT_BITS_T,      /* the same for the transposed matrix (derived; never attached)      */
    LAC_FORMAT_ACTIVE,      /* active columns with their values                                  */
    LAC_FORMAT_PACKED,      /* the dense contents by rows, without padding: [m][n] (derived)     */
    LAC_FORMAT_PACKED_T,    /* the same of the transposed matrix: [n][m] (derived)               */
    LAC_FORMAT_SCHEDULE,    /* compressed rows as a device's product of long sides takes them (derived) */
    LAC_FORMAT_SCHEDULE_T,  /* the same of the columns (derived)                                       */
    LAC_FORMAT_TILES,       /* the rows as a device's product by tiles takes them (derived)          */
    LAC_FORMAT_TILES_T,     /* the same of the columns (derived)                                       */
    LAC_FORMAT_SEGMENTS,    /* segment pointers of the compressed rows, on a device (derived)          */
    LAC_FORMAT_SEGMENTS_T,  /* the same of the columns (derived)                                       */
    LAC_FORMAT_EVENT_LISTS, /* each row's events beside a buffer, which change from call to call (attached) */
    LAC_FORMAT_EVENT_BITS,  /* the same as bits (attached)                                          */
    LAC_FORMAT_COUNT
} lac_format_t;

/* Formats from which the contents can be had without the operand's buffer. */
#define LAC_FORMATS_SPARSE                                                                                   \
    (1u << LAC_FORMAT_CSR | 1u << LAC_FORMAT_CSC | 1u << LAC_FORMAT_BITS | 1u << LAC_FORMAT_BITS_T |         \
     1u << LAC_FORMAT_ACTIVE)

/* Memory in another space than the program's own. Each waits for what the device has to do before it. */
typedef struct lac_memory {
    lac_status_t (*fetch)(int device, void *to, const void *from, size_t bytes); /* into the program's own  */
    lac_status_t (*upload_new)(int device, void **to, const void *from,
                               size_t bytes); /* into a new allocation */
    void (*release)(void *memory);
} lac_memory_t;

/* One format. Which pointers are set depends on the format; all belong to the caller (attached) or to owned.
 */
typedef struct lac_format_data {
    lac_origin_t origin;
    uint64_t generation;           /* in which it was made; of use only while it is the metadata's       */
    uint64_t format_id;            /* no other format of this metadata has it, or ever had                 */
    int64_t count;                 /* nonzeros (CSR, CSC, bits) or active columns; tiles: their room;
                                      segments: the width of their ranges; event lists, event bits:
                                      from one row's to the next, in words                             */
    int64_t nonzeros;              /* active, where it was scanned on the host: those among its values   */
    int64_t longest;               /* CSR, CSC, attached: entries of the longest major; 0: not known */
    bool even;                     /* CSR, CSC: every major is known to have as many entries         */
    const int64_t *ptr;            /* CSR, CSC: [majors + 1]; bits: [majors] first value of each         */
    const int32_t *idx;            /* CSR, CSC: [count]; active: [count]; event lists: [m][count]        */
    const int32_t *counts;         /* event lists: [m]                                                   */
    int64_t first;                 /* event lists, event bits: the index of column 0                     */
    const void *val;               /* values; NULL in CSR and CSC: all ones; the copy itself    */
    const uint64_t *bits;          /* bits, event bits                                                   */
    const void *schedule;          /* steps, tiles and segments only                                     */
    uint64_t made_of;              /* steps and segments: the stamp of the rows that they were made of   */
    void *owned[4];                /* what lac_meta_free must free                                       */
    size_t room[4];                /* bytes of each; 0: not known, and of use to nobody else             */
    void (*release)(void *memory); /* frees what is owned; NULL: the program's own memory          */
    size_t owned_bytes;
} lac_format_data_t;

/* Where operands and their arrays lie. */
typedef struct lac_location {
    lac_space_t space;
    int device; /* its ordinal; -1 on the host */
} lac_location_t;

#define LAC_LOCATION_HOST                                                                                    \
    (lac_location_t)                                                                                         \
    {                                                                                                        \
        LAC_HOST, -1                                                                                         \
    }

/* Where the arrays of metadata lie: settled by the first use, and then for ever. Device d is
 * LAC_RESIDENCY_DEVICE + d. */
typedef enum lac_residency {
    LAC_RESIDENCY_OPEN = 0,
    LAC_RESIDENCY_HOST,
    LAC_RESIDENCY_DEVICE
} lac_residency_t;

struct lac_meta {
    lac_dim_t m, n;             /* of the stored matrix                                     */
    uint64_t serial;            /* no other metadata of this process has it, or ever had    */
    uint64_t format_ids;        /* formats installed so far                                   */
    _Atomic int residency;      /* a lac_residency_t, or that of a device beyond the first   */
    _Atomic int values;         /* the type of the formats' values: a lac_dt_t + 1; 0: open      */
    int device;                 /* of memory                                                */
    const lac_memory_t *memory; /* of what a caller attaches; NULL: the program's own       */
    uint64_t generation;        /* from 1 on                                                */
    bool frozen;
    _Atomic lac_origin_t density_origin; /* none: of an older generation                             */
    _Atomic int64_t nnz;                 /* as last measured or attached; negative: unknown          */
    _Atomic unsigned ready;              /* set of formats that are complete and of this generation    */
    pthread_mutex_t build;               /* held while a format is built or replaced                   */
    lac_format_data_t format[LAC_FORMAT_COUNT];
};

/* Takes and gives back `build`; a fork waits meanwhile. */
void lac_meta_lock(lac_meta_t *meta);
void lac_meta_unlock(lac_meta_t *meta);

/* The format, or NULL where it is absent or of an older generation. Safe beside a concurrent build. */
const lac_format_data_t *lac_meta_format(const lac_meta_t *meta, lac_format_t format);

/* The set of formats that may stand for the contents now: attached ones and what was derived from them, and
 * scanned ones while frozen. */
unsigned lac_meta_trusted(const lac_meta_t *meta);

/* Begins a new generation, as lac_meta_touch does. Formats of the set `keep` leave their memory to those that
 * are made of the same kind next. */
void lac_meta_renew(lac_meta_t *meta, unsigned keep);

/* Settles where the arrays lie; false where they lie elsewhere already, on another device too. */
bool lac_meta_settle(lac_meta_t *meta, lac_location_t location);

/* Settles the type of the values of all formats, LAC_F32 or LAC_F64; false where they are of another. */
bool lac_meta_settle_values(lac_meta_t *meta, lac_dt_t dt);

/* That type; LAC_F32 where nothing has settled it yet, and of no metadata. */
lac_dt_t lac_meta_values(const lac_meta_t *meta);

/* Puts a complete format in place, taking over `data->owned`; call with meta->build held. */
void lac_meta_install(lac_meta_t *meta, lac_format_t format, const lac_format_data_t *data);

/* Finds a format that is kept, or has it made and puts it in place; whoever comes meanwhile waits, and
 * nothing is made twice. One that was made of other rows does not count, and is replaced: made_of is their
 * stamp, or 0 where it is not made of any. *format is NULL where `make` fails. */
typedef lac_status_t (*lac_meta_make_fn)(void *arg, lac_format_data_t *data);
lac_status_t lac_meta_ensure(lac_meta_t *meta, lac_format_t which, uint64_t made_of, lac_meta_make_fn make,
                             void *arg, const lac_format_data_t **format);

#endif
