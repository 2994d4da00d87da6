/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The checks, each with a message that names the argument. */
#include "check.h"
#include "gemm_args.h"
#include "metadata.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

lac_dim_t lac_obj_rows(const lac_obj_t *obj)
{
    return obj->trans == LAC_TRANS ? obj->n : obj->m;
}
lac_dim_t lac_obj_cols(const lac_obj_t *obj)
{
    return obj->trans == LAC_TRANS ? obj->m : obj->n;
}

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* More than any address space holds, and small enough to be added to any address. */
#define BYTES_MAX (INT64_C(1) << 60)

/* Bytes from the first element to one past the last; false where that overflows. */
static bool span_bytes(const lac_obj_t *obj, int64_t *low, int64_t *high)
{
    int64_t size = (int64_t)lac_dt_size(obj->dt), down, right;
    if (obj->rs == INT64_MIN || obj->cs == INT64_MIN) return false;
    if (__builtin_mul_overflow(obj->m - 1, obj->rs, &down)) return false;
    if (__builtin_mul_overflow(obj->n - 1, obj->cs, &right)) return false;
    int64_t lowest = (down < 0 ? down : 0), highest = (down > 0 ? down : 0);
    if (__builtin_add_overflow(lowest, right < 0 ? right : 0, &lowest)) return false;
    if (__builtin_add_overflow(highest, right > 0 ? right : 0, &highest)) return false;
    if (__builtin_add_overflow(highest, 1, &highest)) return false;
    if (__builtin_mul_overflow(lowest, size, low) || __builtin_mul_overflow(highest, size, high))
        return false;
    return *low >= -BYTES_MAX && *high <= BYTES_MAX;
}

void lac_obj_span(const lac_obj_t *obj, uintptr_t *low, uintptr_t *high)
{
    int64_t down = 0, up = 0;
    span_bytes(obj, &down, &up);
    *low = (uintptr_t)obj->buf + (uintptr_t)down;
    *high = (uintptr_t)obj->buf + (uintptr_t)up;
}

/* True where two elements of the matrix may share an address: lines along the shorter stride must end before
 * the next one begins. Their span is known not to overflow. */
static bool elements_overlap(const lac_obj_t *obj)
{
    int64_t rs = magnitude(obj->rs), cs = magnitude(obj->cs);
    if (obj->m <= 1) return obj->n > 1 && cs == 0;
    if (obj->n <= 1) return rs == 0;
    return rs < cs ? rs == 0 || (obj->m - 1) * rs >= cs : cs == 0 || (obj->n - 1) * cs >= rs;
}

static const char *type_name(lac_dt_t dt)
{
    static const char *const names[] = {[LAC_F32] = "LAC_F32",
                                        [LAC_U8] = "LAC_U8",
                                        [LAC_F64] = "LAC_F64",
                                        [LAC_F16] = "LAC_F16",
                                        [LAC_BF16] = "LAC_BF16"};
    return names[dt];
}

static lac_status_t fail_elsewhere(const char *name, const lac_meta_t *meta, lac_location_t location)
{
    int there = meta->residency - (int)LAC_RESIDENCY_DEVICE;
    if (there >= 0 && location.space == LAC_DEVICE)
        return lac_fail(LAC_ERR_SPACE,
                        "%s.meta: its arrays lie on device %d, and the context computes on device %d; an "
                        "operand on two devices needs metadata on each",
                        name, there, location.device);
    return lac_fail(LAC_ERR_SPACE, "%s.meta: its arrays lie on %s, the operand on %s", name,
                    there >= 0 ? "a device" : "the host", there >= 0 ? "the host" : "a device");
}

static lac_status_t check_meta(const char *name, const lac_obj_t *obj, lac_location_t location)
{
    lac_meta_t *meta = obj->meta;
    if (meta && !lac_meta_settle(meta, location)) return fail_elsewhere(name, meta, location);
    if (meta && obj->dt != LAC_U8 && !lac_meta_settle_values(meta, lac_value_type(obj->dt)))
        return lac_fail(LAC_ERR_TYPE, "%s.meta: its values are %s, the operand is %s", name,
                        type_name(lac_meta_values(meta)), type_name(obj->dt));
    if (meta && (meta->m != obj->m || meta->n != obj->n))
        return lac_fail(LAC_ERR_EXTENT,
                        "%s.meta: describes a %" PRId64 " x %" PRId64 " matrix, not %" PRId64 " x %" PRId64,
                        name, meta->m, meta->n, obj->m, obj->n);
    if (obj->buf || obj->m == 0 || obj->n == 0) return LAC_OK;
    if (!meta) return lac_fail(LAC_ERR_EMPTY, "%s.buf: is NULL and %s.meta is too", name, name);
    if (lac_meta_trusted(meta) & LAC_FORMATS_SPARSE) return LAC_OK;
    if (meta->generation > 1)
        return lac_fail(LAC_ERR_STALE, "%s.meta: was touched; a sparse-only operand must be attached again",
                        name);
    return lac_fail(LAC_ERR_EMPTY, "%s.buf: is NULL and %s.meta holds no sparse format", name, name);
}

static const char *space_name(lac_space_t space)
{
    return space == LAC_HOST ? "LAC_HOST" : space == LAC_DEVICE ? "LAC_DEVICE" : "no memory space";
}

static lac_status_t check_type(const char *name, lac_dt_t dt, bool output, bool products,
                               lac_location_t location)
{
    if (!lac_is_half(dt) && dt != LAC_F32 && dt != LAC_F64 && (output || dt != LAC_U8))
        return lac_fail(LAC_ERR_TYPE, "%s.dt: %d is not %s", name, (int)dt,
                        output ? "LAC_F32 or LAC_F64" : "LAC_F32, LAC_F64 or LAC_U8");
    if (dt == LAC_F64 && location.space == LAC_DEVICE && !products)
        return lac_fail(LAC_ERR_TYPE, "%s.dt: LAC_F64 is on a device for products, and not for this call",
                        name);
    if (lac_is_half(dt) && location.space != LAC_DEVICE)
        return lac_fail(LAC_ERR_TYPE, "%s.dt: %s is computed on a device alone", name, type_name(dt));
    if (lac_is_half(dt) && !products)
        return lac_fail(LAC_ERR_TYPE, "%s.dt: %s is for products, and not for this call", name,
                        type_name(dt));
    return LAC_OK;
}

static lac_status_t check_operand(const char *name, const lac_obj_t *obj, bool output, bool products,
                                  lac_location_t location)
{
    if (!obj) return lac_fail(LAC_ERR_NULL, "%s: is NULL", name);
    lac_status_t status = check_type(name, obj->dt, output, products, location);
    if (status) return status;
    if (!products && location.space == LAC_DEVICE && obj->meta && lac_meta_values(obj->meta) == LAC_F64)
        return lac_fail(
            LAC_ERR_TYPE,
            "%s.meta: its values are LAC_F64, which on a device are for products, and not for this call",
            name);
    if (obj->trans != LAC_NO_TRANS && obj->trans != LAC_TRANS)
        return lac_fail(LAC_ERR_VALUE, "%s.trans: %d is neither LAC_NO_TRANS nor LAC_TRANS", name,
                        (int)obj->trans);
    if (obj->space != location.space)
        return lac_fail(LAC_ERR_SPACE, "%s.space: is %s, and the context computes on %s", name,
                        space_name(obj->space), space_name(location.space));
    if (obj->m < 0 || obj->n < 0)
        return lac_fail(LAC_ERR_EXTENT, "%s: %" PRId64 " x %" PRId64 " is negative", name, obj->m, obj->n);
    if (obj->m == 0 || obj->n == 0) return check_meta(name, obj, location);
    int64_t low, high;
    if (obj->buf && !span_bytes(obj, &low, &high))
        return lac_fail(LAC_ERR_EXTENT,
                        "%s: %" PRId64 " x %" PRId64 " with strides %" PRId64 ", %" PRId64
                        " overflows the address space",
                        name, obj->m, obj->n, obj->rs, obj->cs);
    if (obj->buf && elements_overlap(obj))
        return lac_fail(LAC_ERR_STRIDE,
                        "%s: strides %" PRId64 ", %" PRId64 " make elements of a %" PRId64 " x %" PRId64
                        " matrix overlap",
                        name, obj->rs, obj->cs, obj->m, obj->n);
    if (output && !obj->buf) return lac_fail(LAC_ERR_NULL, "%s.buf: is NULL", name);
    return check_meta(name, obj, location);
}

lac_status_t lac_check_operand(const char *name, const lac_obj_t *obj, bool output, lac_location_t location)
{
    return check_operand(name, obj, output, false, location);
}

lac_status_t lac_check_any_operand(const char *name, const lac_obj_t *obj, bool output,
                                   lac_location_t location)
{
    return check_operand(name, obj, output, true, location);
}

/* A stored matrix as whole lines of one leading dimension: `lines` of `length` elements, `ld` apart. False
 * where it is none; a single line may carry any leading dimension, even one too short to be a parent's. */
typedef struct lines {
    int64_t lines, length, ld;
} lines_t;

static bool as_lines(const lac_obj_t *obj, lines_t *out)
{
    bool by_rows = obj->cs == 1;
    if (!by_rows && obj->rs != 1) return false;
    *out = by_rows ? (lines_t){obj->m, obj->n, obj->rs} : (lines_t){obj->n, obj->m, obj->cs};
    return out->ld > 0 && out->ld >= out->length;
}

/* Two blocks of one parent matrix (as LAPACK passes them) lie between each other's lines without a common
 * element. `distance` is from x's first element to c's, in elements. */
static bool blocks_meet(const lines_t *x, const lines_t *c, int64_t distance)
{
    int64_t line = distance / x->ld, column = distance % x->ld;
    if (column < 0) line--, column += x->ld;
    bool lines_meet = line < x->lines && line + c->lines > 0;
    if (lines_meet && column < x->length) return true;
    bool wraps = column + c->length > x->ld; /* c's lines run past the parent's line end */
    return wraps && line + 1 < x->lines && line + 1 + c->lines > 0;
}

bool lac_share_memory(const lac_obj_t *x, const lac_obj_t *c)
{
    int64_t xlow, xhigh, clow, chigh;
    if (!x->buf || !c->buf || !x->m || !x->n || !c->m || !c->n) return false;
    if (!span_bytes(x, &xlow, &xhigh) || !span_bytes(c, &clow, &chigh)) return false;
    intptr_t xp = (intptr_t)x->buf, cp = (intptr_t)c->buf;
    if (!(xp + xlow < cp + chigh && cp + clow < xp + xhigh)) return false;
    lines_t xl, cl;
    bool one_parent = x->dt == c->dt && (cp - xp) % (intptr_t)lac_dt_size(c->dt) == 0 && as_lines(x, &xl) &&
                      as_lines(c, &cl);
    if (!one_parent || xl.ld != cl.ld) return true; /* cannot be shown apart */
    return blocks_meet(&xl, &cl, (cp - xp) / (intptr_t)lac_dt_size(c->dt));
}

lac_status_t lac_check_type(const char *name, const lac_obj_t *x, const char *c_name, lac_dt_t dt)
{
    bool widens = lac_is_half(x->dt) && dt == LAC_F32;
    if (x->dt != LAC_U8 && x->dt != dt && !widens)
        return lac_fail(LAC_ERR_TYPE, "%s.dt: is %s, and %s is %s", name, type_name(x->dt), c_name,
                        type_name(dt));
    bool settled = x->dt != LAC_U8 || !x->meta || lac_meta_settle_values(x->meta, lac_value_type(dt));
    if (settled || x->buf) return LAC_OK; /* a buffer serves where its formats do not */
    return lac_fail(LAC_ERR_TYPE, "%s.meta: its values are %s, and %s is %s", name,
                    type_name(lac_meta_values(x->meta)), c_name, type_name(dt));
}

lac_status_t lac_check_product(const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c)
{
    lac_status_t status = lac_check_type("a", a, "c", c->dt);
    if (!status) status = lac_check_type("b", b, "c", c->dt);
    if (status) return status;
    bool widened = (a->dt == LAC_F32 && lac_is_half(b->dt)) || (b->dt == LAC_F32 && lac_is_half(a->dt));
    if (a->dt != b->dt && a->dt != LAC_U8 && b->dt != LAC_U8 && !widened)
        return lac_fail(LAC_ERR_TYPE, "b.dt: is %s, and a is %s", type_name(b->dt), type_name(a->dt));
    if (lac_is_half(c->dt) && a->dt == LAC_U8 && b->dt == LAC_U8)
        return lac_fail(LAC_ERR_TYPE, "c.dt: is %s, and neither a nor b is", type_name(c->dt));
    lac_dim_t m = lac_obj_rows(c), n = lac_obj_cols(c), k = lac_obj_cols(a);
    if (lac_obj_rows(a) != m)
        return lac_fail(LAC_ERR_EXTENT, "a: op(a) has %" PRId64 " rows, c has %" PRId64, lac_obj_rows(a), m);
    if (lac_obj_rows(b) != k)
        return lac_fail(LAC_ERR_EXTENT, "b: op(b) has %" PRId64 " rows, op(a) has %" PRId64 " columns",
                        lac_obj_rows(b), k);
    if (lac_obj_cols(b) != n)
        return lac_fail(LAC_ERR_EXTENT, "b: op(b) has %" PRId64 " columns, c has %" PRId64, lac_obj_cols(b),
                        n);
    if (lac_share_memory(a, c)) return lac_fail(LAC_ERR_ALIAS, "c: overlaps a");
    if (lac_share_memory(b, c)) return lac_fail(LAC_ERR_ALIAS, "c: overlaps b");
    return LAC_OK;
}

lac_obj_t lac_view_array(const void *memory, int64_t count, size_t width)
{
    int64_t bytes = count * (int64_t)width;
    lac_obj_t x = {LAC_U8, LAC_HOST, LAC_NO_TRANS, 1, bytes, bytes, 1, NULL, NULL};
    memcpy(&x.buf, &memory, sizeof memory);
    return x;
}
