/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Modules that must be refused; -DBAD_... chooses what is wrong. They are otherwise loadable.
 */
#include <rsm/transport.h>

#if defined(BAD_LATER) /* of a later version of the interface */
#define TABLE rsm_transport_import_ops_v2
#elif defined(BAD_SYMBOL)
#define TABLE rsm_transport_operations
#else
#define TABLE rsm_transport_import_ops_v1
#endif

#if defined(BAD_ABI)
/* What follows abi_version may look quite different in another version. */
__attribute__((visibility("default"))) extern const uint32_t TABLE[2];
const uint32_t TABLE[2] = {RSM_TRANSPORT_ABI + 1, 0};
#else
__attribute__((visibility("default"))) extern const struct rsm_import_ops TABLE;
const struct rsm_import_ops TABLE = {
    RSM_IMPORT_OPS_HEAD,
    .name = BAD_NAME,
};
#endif
