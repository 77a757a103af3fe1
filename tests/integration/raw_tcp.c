/* SPDX-License-Identifier: BSD-3-Clause */
#include "raw_tcp.h"

#include <arpa/inet.h>

#include "client.h"
#include "harness.h"

int raw_connect(struct raw_import *import, uint32_t node, uint32_t segment)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_IMPORT_CONNECT);
    struct rsm_import_connect_request *request = &msg.u.import_connect;
    strcpy(request->controller, "sci0");
    strcpy(request->transport, "tcp");
    request->node = 1;
    request->segment_id = segment;
    request->rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    import->control = client_connect(node);
    int status = client_hello(import->control, node, CALL_TIMEOUT_MS);
    if (status == RSM_ST_OK)
        status = client_ask(import->control, &msg, NULL, CALL_TIMEOUT_MS);
    if (status == RSM_ST_OK)
        status = (int)tcp_offer_decode(msg.u.import_connect_reply.blob,
                                       msg.u.import_connect_reply.blob_len, &import->offer);
    if (status != RSM_ST_OK)
        close(import->control);
    return status;
}

int raw_call(const struct raw_import *import, const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)import->offer.port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, address, &to.sin_addr) == 1 &&
        connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

bool raw_hello(const struct raw_import *import, int socket, int timeout_ms)
{
    uint8_t bytes[TCP_FRAME_BYTES + TCP_TOKEN_BYTES], reply[TCP_FRAME_BYTES];
    const struct tcp_frame hello = {.type = TCP_HELLO,
                                    .length = TCP_TOKEN_BYTES,
                                    .offset = import->offer.grant,
                                    .id = TCP_WIRE_VERSION};
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    tcp_frame_encode(&hello, bytes);
    memcpy(bytes + TCP_FRAME_BYTES, import->offer.token[TCP_STREAM_DATA], TCP_TOKEN_BYTES);
    if (send(socket, bytes, sizeof bytes, MSG_NOSIGNAL) != (ssize_t)sizeof bytes ||
        poll(&readable, 1, timeout_ms) != 1 ||
        recv(socket, reply, sizeof reply, MSG_WAITALL) != (ssize_t)sizeof reply)
        return false;
    struct tcp_frame done = tcp_frame_decode(reply);
    return done.type == TCP_DONE && done.status == RSM_ST_OK;
}

void raw_put(uint8_t *bytes, uint64_t offset, uint32_t length)
{
    const struct tcp_frame put = {.type = TCP_PUT, .offset = offset, .length = length};
    tcp_frame_encode(&put, bytes);
}
