/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Everything public at once. */
#ifndef LACUNA_LACUNA_H
#define LACUNA_LACUNA_H

#include "lacuna/types.h"
#include "lacuna/context.h"
#include "lacuna/meta.h"
#include "lacuna/convert.h"
#include "lacuna/csr.h"
#include "lacuna/gemm.h"
#include "lacuna/batch.h"
#include "lacuna/layer.h"
#include "lacuna/slice.h"
#include "lacuna/sddmm.h"
#include "lacuna/lif.h"
#include "lacuna/register.h"
#include "lacuna/device.h"
#include "lacuna/comm.h"

#endif
