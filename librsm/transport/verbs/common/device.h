/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Finding the device of a controller, its address and its GID; for both halves. */
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "rsm/transport.h"
#include "transport/verbs/common/options.h"

/** A device in use. librdmacm shares one context among all its connections on a device; the anchor
 *  is bound to the address and keeps that context open. */
struct verbs_device {
    struct rdma_cm_id *anchor;
    struct ibv_context *context; /**< the anchor's */
    struct ibv_device_attr attr;
    struct sockaddr_storage address; /**< port 0 */
    uint8_t port_num;
};

/**
 * Read the options of a controller, prepare the process for fork() and open the device: by the
 * address if the options name one, else by the controller's name of it, else the first that has an
 * active port with an address. @return RSM_ST_OK; RSM_ST_INVALID: an option is wrong;
 * RSM_ST_NO_CONTROLLER: there is no such device. The log says why.
 */
enum rsm_status verbs_device_open_for(const struct rsm_controller_info *info,
                                      struct verbs_options *options, struct verbs_device *device);
void verbs_device_close(struct verbs_device *device);

/** Whether the port says that it has a link. Where it has none no connection manager's message may
 * be sent, see manager.h. */
bool verbs_device_active(const struct verbs_device *device);

/** Log that @p what failed with @p error, and name the limit that explains it, if one does. */
void verbs_explain(const struct verbs_device *device, const char *what, int error);

/** Text of an address with its port, for logs; a buffer of VERBS_WHERE_TEXT. */
enum { VERBS_WHERE_TEXT = 64 };
const char *verbs_where(const struct sockaddr_storage *address, char text[VERBS_WHERE_TEXT]);
