/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The device of the kernel module: open it, and explain why a module or a bridge cannot be used.
 * @p name is the device's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "transport/ntb/common/options.h"

/** A descriptor of the device without a role; -1 with errno. */
int chardev_open(const char *name);
/** Log why it could not be opened. @p error: errno of that. */
void chardev_explain_open(const char *name, int error);
/** Whether the module speaks this program's version; the log says so if not. */
bool chardev_is_of_this_version(const char *name, int fd);
/** Why the other host is out of reach, if the module knows; one line, or "". */
void chardev_trouble(const char *name, int fd, char *text, size_t size);
/** Log it, if there is something. */
void chardev_report_trouble(const char *name, int fd);
/** Log whether extents can be made in place, if @p options ask for that. */
void chardev_report_pinning(const char *name, int fd, const struct ntb_options *options);
