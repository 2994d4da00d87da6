/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The two parts of the preparation of a for the product by tiles: lists, then pieces. */
#ifndef LACUNA_TILES_PACK_CUH
#define LACUNA_TILES_PACK_CUH

#include "tiles.cuh"

namespace lacuna
{

struct PackArgs {
    const float *a;
    int64_t ars, acs;
    int m;
    int64_t k;
    TilesPacked s;
};

/* The steps of each tile: all of TilesPacked but pieces. */
lac_status_t list_tiles(const PackArgs &g, cudaStream_t stream);

} // namespace lacuna
#endif
