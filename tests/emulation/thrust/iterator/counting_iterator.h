/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands in for Thrust's header of this name. */
#ifndef LACUNA_EMULATED_COUNTING_ITERATOR_H
#define LACUNA_EMULATED_COUNTING_ITERATOR_H

#include <stdint.h>

namespace thrust
{

template <typename T> struct counting_iterator {
    T first;
    explicit counting_iterator(T begin) : first(begin) {}
    T operator[](int64_t i) const { return first + (T)i; }
};

} // namespace thrust

#endif
