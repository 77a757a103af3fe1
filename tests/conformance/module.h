/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The suite over the transport of any module: a daemon with a controller on it. */
#ifndef TESTS_CONFORMANCE_MODULE_H
#define TESTS_CONFORMANCE_MODULE_H

#include <stdbool.h>

#include "rsm/transport.h"

/** What the command line says of the transport. */
struct module_choice {
    const char *file;      /**< of a module, librsm_NAME.so; NULL: an installed transport */
    const char *transport; /**< its name; NULL: the file's */
    const char *device;    /**< of the controller; NULL: none */
    const char *options;   /**< of the controller; NULL: none */
};

/** Let RSM_RSMD be the daemon that belongs to this program, unless it is set already. False, with a
 *  message: there is none. */
bool module_find_daemon(void);

/**
 * Look at both halves of the transport by themselves, then let every test have a daemon with a
 * controller on it, and change the suite's options so that they name that controller. What was
 * written for it goes when this process exits.
 * @return false, with a message: it cannot be used.
 */
bool module_prepare(const struct module_choice *choice);

/** The transport's name, and its controller, for those who drive its halves themselves. */
const char *module_transport(void);
const struct rsm_controller_info *module_controller(void);

#endif
