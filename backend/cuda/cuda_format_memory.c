/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device memory that a format owns. */
#include "cuda_format_memory.h"

#define SPARE 8 /* one part in so many */

void lac_cuda_format_begin(lac_origin_t origin, lac_format_data_t *data)
{
    *data = (lac_format_data_t){.origin = origin, .release = lac_cuda_memory.release};
}

void lac_cuda_format_drop(lac_format_data_t *data)
{
    for (int i = 0; i < 4; i++)
        if (data->owned[i]) cudaFree(data->owned[i]);
    *data = (lac_format_data_t){0};
}

void lac_cuda_format_inherit(lac_meta_t *meta, lac_format_t format, lac_format_data_t *data)
{
    lac_format_data_t *old = &meta->format[format];
    if (old->origin != LAC_ORIGIN_NONE || old->release != data->release) return;
    for (int i = 0; i < 4; i++) {
        data->owned[i] = old->owned[i];
        data->room[i] = old->room[i];
    }
    data->owned_bytes = old->owned_bytes;
    *old = (lac_format_data_t){0};
}

/* A piece that was too small once is made with some to spare: counts go up and down. */
lac_status_t lac_cuda_format_own(lac_format_data_t *data, int slot, size_t bytes, void **memory)
{
    size_t before = data->room[slot], wanted = before ? bytes + bytes / SPARE : bytes ? bytes : 1;
    *memory = data->owned[slot];
    if (data->owned[slot] && before >= bytes) return LAC_OK;
    if (data->owned[slot]) cudaFree(data->owned[slot]);
    data->owned[slot] = NULL;
    data->room[slot] = 0;
    data->owned_bytes -= before;
    lac_status_t status = lac_cuda_check_error(cudaMalloc(memory, wanted), "metadata");
    if (status) return status;
    data->owned[slot] = *memory;
    data->room[slot] = bytes ? wanted : 0;
    data->owned_bytes += data->room[slot];
    return LAC_OK;
}
