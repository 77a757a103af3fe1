/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The ten put and get functions, in one form. */
#ifndef TESTS_CONFORMANCE_TRANSFERS_H
#define TESTS_CONFORMANCE_TRANSFERS_H

#include <rsmapi.h>
#include <stdbool.h>

struct transfer {
    const char *name;
    unsigned width; /* bytes of an element */
    bool block;     /* get and put: bytes, with no alignment */
    bool writes;
    int (*call)(rsm_memseg_import_handle_t handle, off_t offset, void *data, size_t count);
};

enum { TRANSFERS = 10 };
extern const struct transfer transfers[TRANSFERS];

/** Do the following for each function, which messages then name. */
#define EACH_TRANSFER(one)                                                                         \
    for (const struct transfer *one = transfers;                                                   \
         one < transfers + TRANSFERS && (about("%s", one->name), true); one++)

#endif
