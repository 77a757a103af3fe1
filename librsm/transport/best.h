/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The transport `best`: a controller of several transports, its *parts*. Each connection
 *  uses the first of them that both nodes have. So the node half's port has a port of each part,
 *  and the importer asks the exporter's node for one of the parts that work in its own process.
 *
 *  Offers, connections and their operations are those of the part. Only what is made before a part
 *  is chosen belongs to this transport: extents, and the request. */
#pragma once

#include <stdbool.h>

#include "base/codec.h"
#include "rsm/transport.h"

/** Its name in rsm.conf(5). */
#define RSMCORE_BEST_NAME "best"

enum { RSMCORE_BEST_PARTS = 4, RSMCORE_BEST_TEXT = 256 };

/** What the `options` of a controller say. */
struct rsmcore_best_options {
    unsigned count;
    struct rsmcore_best_part {
        char transport[RSM_TRANSPORT_NAME_MAX];
        char device[RSMCORE_BEST_TEXT];
        char options[RSMCORE_BEST_TEXT]; /**< the part's own */
    } parts[RSMCORE_BEST_PARTS];         /**< in the order in which they are tried */
};

/** Read the options of a controller. False: they make no sense, and the log says why. */
bool rsmcore_best_read(const struct rsm_controller_info *info,
                       struct rsmcore_best_options *options);

/** The controller as one of its parts sees it. */
struct rsm_controller_info rsmcore_best_info(const struct rsm_controller_info *info,
                                             const struct rsmcore_best_part *part);

/** One entry of a request: a part that the importer has, and what its transport asks. */
struct rsmcore_best_asked {
    char transport[RSM_TRANSPORT_NAME_MAX];
    uint32_t length;
    uint8_t data[RSM_REQUEST_MAX];
};

/** Encode or decode an entry. After the last one the decoder has nothing left. */
void rsmcore_best_asked_codec(struct rsm_codec *codec, struct rsmcore_best_asked *asked);

/** Find the entry of @p transport in a request, which a stranger may have written. False: it has
 *  none. */
bool rsmcore_best_asked_find(const uint8_t *request, uint32_t length, const char *transport,
                             struct rsmcore_best_asked *asked);

/** Put @p transport, whose offer *offer is, before its bytes. False: there is no room. */
bool rsmcore_best_wrap(struct rsm_offer *offer, const char *transport);
/** Take it from there. False: the offer has none. */
bool rsmcore_best_unwrap(struct rsm_offer *offer, char transport[RSM_TRANSPORT_NAME_MAX]);

/** The transport that carries a connection by an offer of transport @p transport: that of the part
 *  for one of this transport, "" if its @p blob makes no sense. */
void rsmcore_best_name(const char *transport, const uint8_t *blob, uint32_t length,
                       char name[RSM_TRANSPORT_NAME_MAX]);

extern const struct rsm_import_ops rsmcore_best_import_ops;
extern const struct rsm_node_ops rsmcore_best_node_ops;

/**
 * The port by which to connect. For @p base of this transport that is its part's: *offer, which is
 * changed, is then that transport's own. Any other port is returned as it is.
 * @return NULL: the offer is of no part of this port.
 */
struct rsm_port *rsmcore_best_choose(struct rsm_port *base, struct rsm_offer *offer,
                                     struct rsmcore_best_asked *asked);

/** @p part, which rsmcore_best_choose() has returned, could not connect to @p node: do not ask for
 *  it for half a minute, unless no other part is left. */
void rsmcore_best_failed(struct rsm_port *base, const struct rsm_port *part, uint32_t node);
