/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Formats of metadata on the device: built by kernels, made of other formats, kept with the operand. */
#ifndef LACUNA_CUDA_FORMATS_FORMATS_H
#define LACUNA_CUDA_FORMATS_FORMATS_H

#include "cuda/runtime/exec.h"

/* True where lac_cuda_format_ensure would find or build it. Pure. */
bool lac_cuda_format_at_hand(const lac_operand_t *x, lac_format_t which);

/* lac_meta_ensure where `make` allocates, also beside a capture by another thread. */
lac_status_t lac_cuda_format_keep(lac_meta_t *meta, lac_format_t which, uint64_t made_of,
                                  lac_meta_make_fn make, void *arg, const lac_format_data_t **format);

/* The format that may stand for an operand's contents: the one that is there, or one made now and kept, of
 * another compressed format or bitmask, or of a frozen operand's buffer; *format is NULL where there is none
 * of them. Building waits for the stream, uses the workspace, and is not possible while the stream is
 * captured. Errors: MEMORY, VENDOR. */
lac_status_t lac_cuda_format_ensure(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                    const lac_format_data_t **format);

/* The same, but *format stays NULL where the format is not there and cannot be made, since the stream is
 * captured. */
lac_status_t lac_cuda_format_now(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                 const lac_format_data_t **format);

/* Device memory that a format takes beyond what its caller attached: held already, or expected once it is
 * made. Pure. */
size_t lac_cuda_format_bytes(const lac_operand_t *x, lac_format_t which);

/* A compressed format from an operand's other sparse formats. */

/* Whether that can be, and doing it. */
bool lac_cuda_format_converts(const lac_operand_t *x, lac_format_t which);
lac_status_t lac_cuda_format_convert(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                     lac_format_data_t *data);

/* What makers of formats share: an empty format, memory of a stale one, one more allocation, and giving up.
 */

void lac_cuda_format_begin(lac_origin_t origin, lac_format_data_t *data);
/* Takes over the memory that lac_meta_renew kept: lac_cuda_format_own finds a piece large enough, or replaces
 * it. Nobody uses it any more: whoever did is done before the operand is written anew. With meta->build held.
 */
void lac_cuda_format_inherit(lac_meta_t *meta, lac_format_t format, lac_format_data_t *data);
lac_status_t lac_cuda_format_own(lac_format_data_t *data, int slot, size_t bytes, void **memory);
void lac_cuda_format_drop(lac_format_data_t *data);

#endif
