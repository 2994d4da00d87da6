/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Texts of the refusals. */
#include "route.h"

const char *lac_refusal_text(lac_refusal_t refusal)
{
    static const char *const texts[] = {
        "fits",
#define LAC_REFUSAL(name, text) text,
#include "refusal.def"
#undef LAC_REFUSAL
    };
    return texts[refusal];
}
