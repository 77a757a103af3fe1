/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel shows the states of queue pairs by netlink (NETLINK_RDMA, nldev), to every user. */
#include "transport/verbs/common/manager.h"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/log.h"

enum {
    ANSWER_S = 2, /* the kernel answers at once or not at all */
    TYPE_GSI = 1, /* the kernel's IB_QPT_GSI, which verbs.h does not define */
};

static const struct nlattr *attribute_of(struct nlmsghdr *message, int type)
{
    return nlmsg_valid_hdr(message, 0) ? nlmsg_find_attr(message, 0, type) : NULL;
}

/* A number of one or four bytes, -1 if there is none. */
static int64_t number(const struct nlattr *attribute)
{
    if (attribute != NULL && nla_len(attribute) == sizeof(uint8_t))
        return nla_get_u8(attribute);
    if (attribute != NULL && nla_len(attribute) == sizeof(uint32_t))
        return nla_get_u32(attribute);
    return -1;
}

static int64_t nested_number(const struct nlattr *parent, int type)
{
    return number(nla_find(nla_data(parent), nla_len(parent), type));
}

int64_t verbs_nldev_index(struct nlmsghdr *message, const char *device)
{
    const struct nlattr *name = attribute_of(message, RDMA_NLDEV_ATTR_DEV_NAME);
    if (name == NULL || (size_t)nla_len(name) != strlen(device) + 1 ||
        memcmp(nla_data(name), device, strlen(device) + 1) != 0)
        return -1;
    return number(attribute_of(message, RDMA_NLDEV_ATTR_DEV_INDEX));
}

bool verbs_nldev_gsi_failed(struct nlmsghdr *message, uint8_t port)
{
    const struct nlattr *table = attribute_of(message, RDMA_NLDEV_ATTR_RES_QP);
    const struct nlattr *entry;
    int left;
    if (table == NULL)
        return false;
    nla_for_each_nested(entry, table, left)
    {
        int64_t its_port = nested_number(entry, RDMA_NLDEV_ATTR_PORT_INDEX);
        if (nested_number(entry, RDMA_NLDEV_ATTR_RES_TYPE) == TYPE_GSI &&
            nested_number(entry, RDMA_NLDEV_ATTR_RES_STATE) == IBV_QPS_ERR &&
            (its_port == -1 || its_port == port))
            return true;
    }
    return false;
}

struct query {
    const struct verbs_device *device;
    int64_t index; /* of the device, as the kernel counts; -1: not known */
    bool failed;
};

static int take_index(struct nl_msg *message, void *arg)
{
    struct query *query = arg;
    query->index =
        verbs_nldev_index(nlmsg_hdr(message), ibv_get_device_name(query->device->context->device));
    return query->index < 0 ? NL_OK : NL_STOP;
}

static int take_failure(struct nl_msg *message, void *arg)
{
    struct query *query = arg;
    query->failed = verbs_nldev_gsi_failed(nlmsg_hdr(message), query->device->port_num);
    return query->failed ? NL_STOP : NL_OK;
}

static bool send_request(struct nl_sock *socket, unsigned command, int64_t index)
{
    struct nl_msg *request =
        nlmsg_alloc_simple((int)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), NLM_F_DUMP);
    bool sent =
        request != NULL &&
        (index < 0 || nla_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, (uint32_t)index) == 0) &&
        nl_send_auto(socket, request) >= 0;
    nlmsg_free(request);
    return sent;
}

/* Have all messages of the answer taken; without an answer the query stays as it is. */
static void ask(struct query *query, unsigned command, nl_recvmsg_msg_cb_t take)
{
    const struct timeval answer = {.tv_sec = ANSWER_S};
    struct nl_sock *socket = nl_socket_alloc();
    if (socket == NULL)
        return;
    nl_socket_disable_auto_ack(socket);
    if (nl_connect(socket, NETLINK_RDMA) == 0 &&
        setsockopt(nl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &answer, sizeof answer) ==
            0 &&
        nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, take, query) == 0 &&
        send_request(socket, command, query->index))
        nl_recvmsgs_default(socket);
    nl_socket_free(socket);
}

/* False where the kernel says nothing. */
static bool has_failed(const struct verbs_device *device)
{
    struct query query = {.device = device, .index = -1};
    ask(&query, RDMA_NLDEV_CMD_GET, take_index);
    if (query.index >= 0)
        ask(&query, RDMA_NLDEV_CMD_RES_QP_GET, take_failure);
    return query.failed;
}

void verbs_manager_report(const struct verbs_device *device)
{
    const char *name = ibv_get_device_name(device->context->device);
    if (has_failed(device))
        rsm_log_error("verbs: device %s port %u: the kernel's queue pair for connection requests "
                      "has failed; nobody can connect until the device is made anew (soft-RoCE: "
                      "end what uses it, rdma link delete %s, rdma link add)",
                      name, device->port_num, name);
}
