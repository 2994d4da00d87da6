/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The two views of a problem. */
#include "sided.h"

const char *lac_side_name(lac_side_t side)
{
    static const char *const names[] = {"", "left", "right"};
    return names[side];
}

lac_sided_t lac_sided(const lac_problem_t *p, lac_side_t side)
{
    lac_sided_t s = {
        .k = p->k, .size = (double)lac_dt_size(p->dt), .line = 64.0 / (double)lac_dt_size(p->dt)};
    if (side == LAC_SIDE_RIGHT) {
        s.m = p->n, s.n = p->m, s.s = &p->b, s.w = &p->a;
        s.srs = p->b.cs, s.scs = p->b.rs, s.wrs = p->a.cs, s.wcs = p->a.rs;
        s.ors = p->ccs, s.ocs = p->crs;
    } else {
        s.m = p->m, s.n = p->n, s.s = &p->a, s.w = &p->b;
        s.srs = p->a.rs, s.scs = p->a.cs, s.wrs = p->b.rs, s.wcs = p->b.cs;
        s.ors = p->crs, s.ocs = p->ccs;
    }
    /* A symmetric operand is expanded before it is read, by rows of this view. */
    if (s.s->triangle) s.srs = s.k, s.scs = 1;
    if (s.w->triangle) s.wrs = s.n, s.wcs = 1;
    s.s_transposed = s.s->transposed != (side == LAC_SIDE_RIGHT);
    s.w_transposed = s.w->transposed != (side == LAC_SIDE_RIGHT);
    return s;
}

int64_t lac_sided_limit(const lac_problem_t *p, const lac_sided_t *s)
{
    double limit = p->terms.density_limit;
    return limit < 0 ? -1 : (int64_t)(limit * (double)s->m * (double)s->k);
}

lac_w_layout_t lac_sided_w_layout(const lac_problem_t *p, const lac_sided_t *s)
{
    if (s->wcs == 1 || s->n == 1) return s->wcs == 1 || s->wrs != 1 ? LAC_W_ROWS : LAC_W_COLS;
    if (s->wrs != 1) return LAC_W_STRIDED;
    bool packs = s->w->dt == p->dt || lac_is_half(s->w->dt);
    return p->settings.may_copy && s->w->frozen && packs ? LAC_W_PACKED : LAC_W_COLS;
}

lac_format_t lac_sided_by_rows(const lac_sided_t *s)
{
    return s->s_transposed ? LAC_FORMAT_CSC : LAC_FORMAT_CSR;
}
lac_format_t lac_sided_by_k(const lac_sided_t *s)
{
    return s->s_transposed ? LAC_FORMAT_CSR : LAC_FORMAT_CSC;
}
lac_format_t lac_sided_k_major(const lac_sided_t *s)
{
    return s->w_transposed ? LAC_FORMAT_PACKED_T : LAC_FORMAT_PACKED;
}

bool lac_sided_has_active(const lac_sided_t *s)
{
    return !s->s_transposed && s->s->formats & 1u << LAC_FORMAT_ACTIVE;
}

/* Such formats are read beside a buffer, by its rows. */
static const lac_format_data_t *beside_buffer(const lac_sided_t *s, lac_format_t format)
{
    bool lies = !s->s_transposed && s->s->dt == LAC_U8 && s->s->buf;
    return lies ? lac_operand_format(s->s, format) : NULL;
}

const lac_format_data_t *lac_sided_event_lists(const lac_sided_t *s)
{
    return beside_buffer(s, LAC_FORMAT_EVENT_LISTS);
}

const lac_format_data_t *lac_sided_event_bits(const lac_sided_t *s)
{
    return beside_buffer(s, LAC_FORMAT_EVENT_BITS);
}

bool lac_is_near(double bytes, const lac_machine_t *machine)
{
    return bytes < machine->cache_mb * 1e6;
}

double lac_far_share(double bytes, const lac_machine_t *machine)
{
    double share = 2.0 * bytes / (machine->cache_mb * 1e6) - 1.0;
    return share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
}

double lac_scan_us(double bytes, const lac_machine_t *machine)
{
    double gbps = lac_is_near(bytes, machine) ? machine->scan_cached_gbps : machine->scan_gbps;
    return bytes / (gbps * 1e3);
}

double lac_sided_out_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    bool across = s->ocs != 1 && s->m > 1 && s->n > 1;
    return s->size * (double)s->m * (double)s->n /
           ((across ? machine->out_strided_gbps : machine->out_gbps) * 1e3);
}
