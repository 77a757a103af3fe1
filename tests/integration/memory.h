/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The kinds of memory that programs have and may want to export. */
#ifndef TESTS_INTEGRATION_MEMORY_H
#define TESTS_INTEGRATION_MEMORY_H

#include "../system.h"

enum memory_kind {
    MEMORY_PRIVATE, /* anonymous; the tests' ordinary kind */
    MEMORY_SHARED,  /* anonymous */
    MEMORY_VALLOC,
    MEMORY_MALLOC, /* whole pages inside a large block */
    MEMORY_HEAP,   /* whole pages inside the heap, between other blocks */
    MEMORY_SYSV,
    MEMORY_FILE, /* a file, mapped privately */
    MEMORY_DATA, /* static, initialised */
    MEMORY_BSS,
    MEMORY_STACK, /* of a thread that sleeps */
    MEMORY_KINDS,
};

enum { MEMORY_STATIC_PAGES = 16 };

/** What a test calls it. */
const char *memory_name(enum memory_kind kind);

/** Get page-aligned memory; NULL if there is none. Static kinds have one piece of
 *  MEMORY_STATIC_PAGES pages, which may be got once. */
void *memory_get(enum memory_kind kind, size_t length);

/** Give it back. Returns 0, or -1 if the system refused. */
int memory_put(enum memory_kind kind, void *memory, size_t length);

#endif
