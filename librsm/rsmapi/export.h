/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What makes a function of RSMAPI visible outside the library. The original library exported each
 * one twice, plainly and with an underscore in front, at the same address:
 *
 *     RSM_API int rsm_release_controller(rsmapi_controller_handle_t chdl)
 *     {
 *         ...
 *     }
 *     RSM_API_EXPORT(rsm_release_controller);
 *
 * librsm.map names both and hides everything else.
 */
#ifndef RSM_RSMAPI_EXPORT_H
#define RSM_RSMAPI_EXPORT_H

/** Stands in front of the definition of a public function. */
#define RSM_API __attribute__((visibility("default")))

/** Stands behind that definition, in the same file: emits `_name`, the same function. */
#define RSM_API_EXPORT(name)                                                                       \
    extern __typeof__(name) _##name __attribute__((alias(#name), visibility("default")))

#endif
