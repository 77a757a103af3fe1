/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Transport modules: shared objects named librsm_NAME.so in one directory. */
#pragma once

#include <stddef.h>

#include "rsm/transport.h"

/**
 * Load the module of transport @p name and find @p symbol in it. The directory is the one that was
 * configured at build time; the environment variable RSM_MODULE_DIR replaces it except in
 * set-user-id programs. A module that has been loaded stays for the life of the process, because
 * the moment when the last thread has left its code cannot be known.
 * @param name    a valid transport name (rsmcore_transport_name_valid()).
 * @param reason  gets a text, @p capacity bytes at most, when NULL is returned.
 * @return the symbol's address, or NULL. Thread-safe; takes no lock of librsm's while the dynamic
 *         loader works.
 */
const void *rsmcore_module_symbol(const char *name, const char *symbol, char *reason,
                                  size_t capacity);

/** Let @p log have what modules log; else the log of the process has it. To be called before a
 *  module is loaded. */
void rsmcore_module_log_to(rsm_transport_log log);
