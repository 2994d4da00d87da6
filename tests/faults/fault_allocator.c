/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands between the library and whatever may refuse it a resource, by the linker's --wrap. The sanitizers'
 * and valgrind's own replacements stay behind it, so that they see what is leaked. */
#include "fault_allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

static atomic_long count, failing;
static atomic_bool lasting;

void fault_arm(long n, bool for_good)
{
    atomic_store(&lasting, for_good);
    atomic_store(&count, 0);
    atomic_store(&failing, n);
}

long fault_disarm(void)
{
    atomic_store(&failing, 0);
    return atomic_load(&count);
}

static bool refused(int error)
{
    long n = atomic_load(&failing);
    if (!n) return false;
    long now = atomic_fetch_add(&count, 1) + 1;
    bool refuses = now == n || (now > n && atomic_load(&lasting));
    if (refuses) errno = error;
    return refuses;
}

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
FILE *__real_fopen(const char *, const char *);
FILE *__real_fdopen(int, const char *);
void *__real_dlopen(const char *, int);
locale_t __real_newlocale(int, const char *, locale_t);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_pthread_key_create(pthread_key_t *, void (*)(void *));
int __real_pthread_attr_init(pthread_attr_t *);

void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
FILE *__wrap_fopen(const char *, const char *);
FILE *__wrap_fdopen(int, const char *);
void *__wrap_dlopen(const char *, int);
locale_t __wrap_newlocale(int, const char *, locale_t);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_key_create(pthread_key_t *, void (*)(void *));
int __wrap_pthread_attr_init(pthread_attr_t *);

void *__wrap_malloc(size_t size)
{
    return refused(ENOMEM) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused(ENOMEM) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return refused(ENOMEM) ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refused(ENOMEM) ? NULL : __real_aligned_alloc(alignment, size);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    return refused(ENOMEM) ? NULL : __real_fopen(path, mode);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
    return refused(ENOMEM) ? NULL : __real_fdopen(fd, mode);
}

void *__wrap_dlopen(const char *name, int flags)
{
    return refused(ENOMEM) ? NULL : __real_dlopen(name, flags);
}

locale_t __wrap_newlocale(int mask, const char *name, locale_t base)
{
    return refused(ENOMEM) ? (locale_t)0 : __real_newlocale(mask, name, base);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    return refused(EAGAIN) ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    return refused(EAGAIN) ? EAGAIN : __real_pthread_key_create(key, destroy);
}

int __wrap_pthread_attr_init(pthread_attr_t *attr)
{
    return refused(ENOMEM) ? ENOMEM : __real_pthread_attr_init(attr);
}
