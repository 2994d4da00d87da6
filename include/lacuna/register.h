/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands that drop-in calls know by their address: a weight whose zeros are known, multiplied through plain
 * sgemm or cublasSgemm.
 *
 * The list is one for the process: those calls bring addresses and nothing else, and the contexts that serve
 * them are the library's own. It is read by the calls of backend/api/interpose.h, and so by both drop-in
 * libraries.
 */
#ifndef LACUNA_REGISTER_H
#define LACUNA_REGISTER_H

#include "lacuna/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on a drop-in call whose A or B begins at obj->buf, with the same extents and strides or those of
 * its transpose, takes obj->meta for what is known of it. The metadata is frozen or attached; it stays the
 * caller's and lives until lac_unregister. obj is the stored matrix: its trans does not matter.
 *
 * Unregister before the memory is changed or freed. Missed unregistrations are detected on a best-effort
 * basis: the registration ends by itself where a drop-in product is written into the matrix; on a device,
 * where the driver says that the memory is another allocation than it was, and some calls after the contents
 * changed; on the host, where one of 16 elements that were remembered has. Until a change is seen, products
 * may be those of the old contents.
 *
 * ctx says where the matrix lies. Errors: NULL (obj.meta too), EMPTY (obj.buf), EXTENT, STRIDE, TYPE (not
 * a number type), SPACE, VALUE (obj.meta is neither frozen nor attached), ALIAS (the memory is registered
 * already), MEMORY. */
LAC_API lac_status_t lac_register(lac_ctx_t *ctx, const lac_obj_t *obj);

/* Takes back what was registered at this address, ended or not, after the calls that are just using it. Work
 * that they queued on a device may still read the metadata: wait for it before you free an attached format;
 * and so may CUDA graphs that captured them, as long as they are replayed. Errors: NULL; VALUE where nothing
 * was registered there. */
LAC_API lac_status_t lac_unregister(const void *buf);

#ifdef __cplusplus
}
#endif
#endif
