/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The options of a controller on NTB: words NAME=VALUE of rsm.conf's `options`, separated by
 *  commas or spaces. rsm-ntb(7) says what each is good for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ntb_options {
    uint64_t pool;     /**< bytes of the pool that extents may take; 0: all of it */
    uint64_t pin;      /**< bytes of the room for extents in place that they may take; 0: extents
                                are not made in place; UINT64_MAX: all of it */
    uint64_t pin_from; /**< extents of at least so many bytes are made in place if they can be,
                                smaller ones if the pool has no room */
    bool doorbell;     /**< signals of importers go by counters in the window and doorbells, if the
                                other host has that, too */
};

/** Read @p text over the defaults. @p why: on failure, what was expected instead, for the log. */
bool ntb_options_parse(const char *text, struct ntb_options *options, char *why, size_t why_size);
