/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Stand-ins for what the node half of the verbs transport calls of a device and of the connection manager. A
 *  program that is linked with them needs neither. */
#ifndef TESTS_VERBS_FAKE_DEVICE_H
#define TESTS_VERBS_FAKE_DEVICE_H

#include "transport/verbs/node/node.h"

enum fake_call {
    FAKE_MAKE, /**< any object of the device, a registration among them */
    FAKE_REGISTER,
    FAKE_MODIFY, /**< a queue pair */
    FAKE_ACCEPT,
};

/** One; all zero is a device that does all it is told. */
struct fake_device {
    struct ibv_context context;
    int made; /**< objects that there are */
    /* What comes next, and is taken then. */
    struct rdma_cm_event *event;
    struct ibv_cq *knocked; /**< the completion queue with an event */
    struct ibv_async_event *device_event;
    /* What the program decides; NULL: nothing. */
    bool (*fails)(enum fake_call call);           /**< asked at each of these calls */
    void (*is_used)(const struct rdma_cm_id *id); /**< in any call but the last */
    void (*id_ends)(struct rdma_cm_id *id);
    void (*event_ends)(struct rdma_cm_event *event);
};
extern struct fake_device fake_device;

/** Begin a port of this device, and an extent of one page. */
void fake_port_begin(struct verbs_node_port *port, struct verbs_extent *extent, size_t page);

#endif
