/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The parts of rsminfo, and how they write: lines of a label and what there is to say. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** A line. The label is "" if the line goes on with what the one before was about. What is not
 *  printable becomes question marks. */
void info_line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The first line of a file, without its end. False: it cannot be read, or is empty. */
bool info_first_line(const char *path, char *text, size_t size);

/** Which librsm, with which transports and modules. */
void info_library(void);
/** What this kernel can do for librsm, and this user may have. */
void info_kernel(void);
/** Adapters and bridges. */
void info_devices(void);
/** The node as a program of this user finds it, and its daemon. */
void info_node(void);
