/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel tells the states of queue pairs by netlink, to everybody. */
#include "transport/verbs/common/manager.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"

enum {
    REPLY_BYTES = 32768, /* no part of a dump is larger */
    PATIENCE_S = 2,      /* the kernel answers at once or not at all */
    TYPE_GSI = 1,        /* the kernel's IB_QPT_GSI, which verbs.h does not know */
    UNKNOWN = -1,
};

/* ------------------------------------------------------------------ attributes */

/* Attributes behind each other in a message or in another attribute. */
struct attributes {
    const unsigned char *at;
    size_t left;
};

struct attribute {
    unsigned type;
    struct attributes value;
};

/* What follows begins at a multiple of four; the last one need not be filled up to that. */
static size_t step_over(size_t length, size_t left)
{
    size_t step = (length + 3) & ~(size_t)3;
    return step < left ? step : left;
}

static bool next_attribute(struct attributes *all, struct attribute *one)
{
    struct nlattr header;
    if (all->left < sizeof header)
        return false;
    memcpy(&header, all->at, sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > all->left)
        return false;
    one->type = header.nla_type & (unsigned)NLA_TYPE_MASK;
    one->value = (struct attributes){all->at + sizeof header, header.nla_len - sizeof header};
    size_t step = step_over(header.nla_len, all->left);
    all->at += step;
    all->left -= step;
    return true;
}

static bool find_attribute(struct attributes all, unsigned type, struct attributes *value)
{
    struct attribute one;
    while (next_attribute(&all, &one))
        if (one.type == type) {
            *value = one.value;
            return true;
        }
    return false;
}

/* A number of one or four bytes, UNKNOWN if it is not there. */
static int64_t number(struct attributes all, unsigned type)
{
    struct attributes value;
    uint32_t four;
    if (!find_attribute(all, type, &value))
        return UNKNOWN;
    if (value.left == 1)
        return value.at[0];
    if (value.left != sizeof four)
        return UNKNOWN;
    memcpy(&four, value.at, sizeof four);
    return four;
}

/* ------------------------------------------------------------------ questions */

/* What is looked for; looks at one message of the answer, true: found. */
struct question {
    bool (*look)(struct question *question, struct attributes message);
    const struct verbs_device *device;
    int64_t index; /* of the device, as the kernel counts */
};

/* One datagram of an answer; true: there are more to come. */
static bool take_reply(struct question *question, const unsigned char *reply, size_t length,
                       bool *found)
{
    struct nlmsghdr header;
    while (length >= sizeof header) {
        memcpy(&header, reply, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > length ||
            header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE)
            return false;
        struct attributes message = {reply + sizeof header, header.nlmsg_len - sizeof header};
        if (question->look(question, message)) {
            *found = true;
            return false;
        }
        size_t step = step_over(header.nlmsg_len, length);
        reply += step;
        length -= step;
    }
    return true;
}

static bool ask(struct question *question, unsigned command)
{
    struct {
        struct nlmsghdr header;
        struct nlattr attribute;
        uint32_t index;
    } request = {
        .header = {.nlmsg_len = question->index == UNKNOWN ? sizeof request.header : sizeof request,
                   .nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .attribute = {.nla_len = sizeof request.attribute + sizeof request.index,
                      .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
        .index = (uint32_t)question->index,
    };
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
    bool found = false;
    /* Not on the stack: a program's threads may have little of it. */
    unsigned char *reply = fd < 0 ? NULL : malloc(REPLY_BYTES);
    if (reply != NULL && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        send(fd, &request, request.header.nlmsg_len, 0) > 0) {
        ssize_t length;
        do
            length = recv(fd, reply, REPLY_BYTES, 0);
        while (length > 0 && take_reply(question, reply, (size_t)length, &found));
    }
    free(reply);
    if (fd >= 0)
        close(fd);
    return found;
}

static bool look_for_device(struct question *question, struct attributes message)
{
    const char *wanted = ibv_get_device_name(question->device->context->device);
    struct attributes name;
    if (!find_attribute(message, RDMA_NLDEV_ATTR_DEV_NAME, &name) ||
        name.left != strlen(wanted) + 1 || memcmp(name.at, wanted, name.left) != 0)
        return false;
    question->index = number(message, RDMA_NLDEV_ATTR_DEV_INDEX);
    return question->index != UNKNOWN;
}

static bool look_for_failed_manager(struct question *question, struct attributes message)
{
    struct attributes table;
    struct attribute entry;
    if (!find_attribute(message, RDMA_NLDEV_ATTR_RES_QP, &table))
        return false;
    while (next_attribute(&table, &entry)) {
        int64_t port = number(entry.value, RDMA_NLDEV_ATTR_PORT_INDEX);
        if (number(entry.value, RDMA_NLDEV_ATTR_RES_TYPE) == TYPE_GSI &&
            number(entry.value, RDMA_NLDEV_ATTR_RES_STATE) == IBV_QPS_ERR &&
            (port == UNKNOWN || port == question->device->port_num))
            return true;
    }
    return false;
}

bool verbs_manager_failed(const struct verbs_device *device)
{
    struct question question = {.look = look_for_device, .device = device, .index = UNKNOWN};
    if (!ask(&question, RDMA_NLDEV_CMD_GET))
        return false;
    question.look = look_for_failed_manager;
    return ask(&question, RDMA_NLDEV_CMD_RES_QP_GET);
}

void verbs_manager_report(const struct verbs_device *device)
{
    const char *name = ibv_get_device_name(device->context->device);
    if (verbs_manager_failed(device))
        rsm_log_error("verbs: device %s port %u: the kernel's queue pair for connection requests "
                      "has failed; nobody can connect until the device is made anew (soft-RoCE: "
                      "end what uses it, rdma link delete %s, rdma link add)",
                      name, device->port_num, name);
}
