/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

int client_connect(unsigned node)
{
    char path[RSM_PROTO_PATH_MAX];
    snprintf(path, sizeof path, "%s/node-%u.sock", getenv("RSM_RUNTIME_DIR"), node);
    return rsm_packet_connect(path);
}

int client_ask(int socket, struct rsm_msg *msg, struct rsm_packet_fds *fds, int timeout_ms)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds received = {.count = 0};
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    size_t length = rsm_msg_encode(msg, buffer, sizeof buffer);
    if (fds != NULL)
        fds->count = 0;
    if (length == 0 || rsm_packet_send(socket, buffer, length, NULL, 1) != 0)
        return CLIENT_HUNG_UP;
    if (poll(&readable, 1, timeout_ms) != 1)
        return CLIENT_SILENCE;
    ssize_t got = rsm_packet_receive(socket, buffer, sizeof buffer, &received, NULL);
    if (fds != NULL)
        *fds = received;
    else
        rsm_packet_fds_close(&received);
    if (got <= 0)
        return CLIENT_HUNG_UP;
    return rsm_msg_decode(msg, buffer, (size_t)got) == RSM_ST_OK ? (int)msg->status
                                                                 : CLIENT_NO_MESSAGE;
}

int client_hello(int socket, uint32_t node, int timeout_ms)
{
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {.node = node}};
    return client_ask(socket, &msg, NULL, timeout_ms);
}
