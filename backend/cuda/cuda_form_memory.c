/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device memory that a form owns. */
#include "cuda_form_memory.h"

void lac_cuda_form_begin(lac_origin_t origin, lac_form_data_t *data)
{
    *data = (lac_form_data_t){.origin = origin, .release = lac_cuda_memory.release};
}

void lac_cuda_form_drop(lac_form_data_t *data)
{
    for (int i = 0; i < 4; i++)
        if (data->owned[i]) cudaFree(data->owned[i]);
    *data = (lac_form_data_t){0};
}

lac_status_t lac_cuda_form_own(lac_form_data_t *data, int slot, size_t bytes, void **memory)
{
    lac_status_t status = lac_cuda_told(cudaMalloc(memory, bytes ? bytes : 1), "metadata");
    data->owned[slot] = status ? NULL : *memory;
    data->owned_bytes += bytes;
    return status;
}
