/* SPDX-License-Identifier: BSD-3-Clause */
/* Every structure of <rsm/transport.h> and how it may grow, asserted while compiling. What
 * transport_sizes.sh finds in the header and not here, or the other way round, fails. */
#include <rsm/transport.h>

/* Begins with its size: whoever gets one knows which members are there. */
#define GROWS(name)                                                                                \
    _Static_assert(offsetof(struct name, size) == 0 &&                                             \
                       sizeof(((struct name *)0)->size) == sizeof(size_t),                         \
                   #name " does not begin with its size")
/* Begins with the version and the size. */
#define TABLE(name)                                                                                \
    _Static_assert(offsetof(struct name, abi_version) == 0 &&                                      \
                       offsetof(struct name, size) == sizeof(size_t),                              \
                   #name " does not begin with version and size")
/* A transport embeds it, and its table says how large it was. */
#define BASE(name, table, member)                                                                  \
    _Static_assert(sizeof(((struct table *)0)->member) == sizeof(size_t),                          \
                   #name " has no size in its table")
/* Has neither, so it is as large as in version 1 for ever. */
#define NEVER_GROWS(name, bytes)                                                                   \
    _Static_assert(sizeof(void *) != 8 || sizeof(struct name) == (bytes), #name " has grown")

TABLE(rsm_import_ops);
TABLE(rsm_node_ops);

GROWS(rsm_signal_ops);
GROWS(rsm_completion_ops);
GROWS(rsm_node_signal_ops);
GROWS(rsm_node_import_ops);
GROWS(rsm_node_upcalls);
GROWS(rsm_offer);
GROWS(rsm_connect_request);
GROWS(rsm_controller_info);
GROWS(rsm_port_attr);
GROWS(rsm_importer);
GROWS(rsm_extent_request);
GROWS(rsm_user_share);

BASE(rsm_port, rsm_import_ops, port_size);
BASE(rsm_conn, rsm_import_ops, conn_size);
BASE(rsm_node_port, rsm_node_ops, port_size);
BASE(rsm_extent, rsm_node_ops, extent_size);
BASE(rsm_node_offer, rsm_node_ops, offer_size);

NEVER_GROWS(rsm_transfer, 24);
NEVER_GROWS(rsm_signals, 8);
NEVER_GROWS(rsm_work, 40);
NEVER_GROWS(rsm_completion, 16);
NEVER_GROWS(rsm_extent_piece, 24);
NEVER_GROWS(rsm_node_job, 16);
NEVER_GROWS(rsm_node_import, 8);
