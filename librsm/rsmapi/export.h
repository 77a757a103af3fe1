/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What makes a function of RSMAPI visible outside the library. The original library exported each
 * one twice, plainly and with an underscore in front, at the same address:
 *
 *     RSM_API(int, rsm_release_controller)(rsmapi_controller_handle_t chdl)
 *     {
 *         ...
 *     }
 *
 * librsm.map names both and hides everything else. Functions that librsm adds have one name and
 * another version: RSM_EXTENSION().
 */
#pragma once

#include "base/cancel.h"

/** Stands for type and name in the definition of a public function, and emits `_name`, the same
 *  function. */
#define RSM_API(type, name)                                                                        \
    extern __typeof__(name) _##name __attribute__((alias(#name), visibility("default")));          \
    __attribute__((visibility("default"))) type name

#define RSM_EXTENSION(type, name) __attribute__((visibility("default"))) type name
