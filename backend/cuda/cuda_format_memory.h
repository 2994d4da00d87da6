/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What makers of formats share: an empty format, memory of a stale one, one more allocation, and giving up.
 */
#ifndef LACUNA_CUDA_FORMAT_MEMORY_H
#define LACUNA_CUDA_FORMAT_MEMORY_H

#include "cuda_exec.h"

void lac_cuda_format_begin(lac_origin_t origin, lac_format_data_t *data);
/* Takes over the memory that lac_meta_renew kept: lac_cuda_format_own finds a piece large enough, or replaces
 * it. Nobody uses it any more: whoever did is done before the operand is written anew. With meta->build held.
 */
void lac_cuda_format_inherit(lac_meta_t *meta, lac_format_t format, lac_format_data_t *data);
lac_status_t lac_cuda_format_own(lac_format_data_t *data, int slot, size_t bytes, void **memory);
void lac_cuda_format_drop(lac_format_data_t *data);

#endif
