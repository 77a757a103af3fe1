/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transport gets to know beside the offer: the request of an importer, at the exporter's node, and
 * the address of the exporter's node, at the importer's. */
#include "pair.h"

/* Connect to SEGMENT of node 1 with a request of this transport's import half. */
static void request(struct person *person, const char *transport, const char *bytes,
                    uint32_t length)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {.controller = "sci0",
                                               .node = 1,
                                               .segment_id = SEGMENT,
                                               .rights = RSM_RIGHT_READ,
                                               .asked_len = length}};
    strcpy(msg.u.import_connect.transport, transport);
    memcpy(msg.u.import_connect.asked, bytes, length);
    assert_int_equal(ask(person, &msg), RSM_ST_OK);
}

/* What the node half has said in its offer. */
static void expect_offer(struct person *person, const char *text)
{
    const struct rsm_import_connect_reply *reply = &person->reply.u.import_connect_reply;
    assert_int_equal(reply->blob_len, strlen(text));
    assert_memory_equal(reply->blob, text, reply->blob_len);
}

/* ------------------------------------------------------------------ requests */

#define TEST(name) TEST_BETWEEN(name, pair_begin, pair_end)

TEST(a_request_reaches_the_node_half)
{
    request(&importer, "shm", "who?", 4);
    expect_offer(&importer, "for node 2: who?");
    request(&importer, "shm", "", 0);
    expect_offer(&importer, "for node 2");
    rsm_packet_fds_close(&exporter.fds);
    request(&exporter, "shm", "me", 2); /* of the own node, too */
    expect_offer(&exporter, "for node 1: me");
}

TEST(a_request_is_for_its_own_transport)
{
    request(&importer, "verbs", "who?", 4);
    expect_offer(&importer, "for node 2");
    request(&importer, "", "who?", 4);
    expect_offer(&importer, "for node 2");
    request(&exporter, "verbs", "me", 2);
    expect_offer(&exporter, "for node 1");
}

TEST(the_longest_request)
{
    char bytes[RSM_REQUEST_MAX], text[RSM_REQUEST_MAX + 16] = "for node 2: ";
    memset(bytes, 'x', sizeof bytes);
    memset(text + strlen(text), 'x', sizeof bytes);
    request(&importer, "shm", bytes, sizeof bytes);
    expect_offer(&importer, text);
}

static const uint32_t too_long = RSM_REQUEST_MAX + 1;

/* Make the length in front of the last RSM_REQUEST_MAX bytes of a packet one more, and the packet, too. */
static void lengthen(uint8_t *bytes, size_t *length)
{
    uint8_t *count = bytes + *length - RSM_REQUEST_MAX - 4;
    assert_int_equal(count[0] | count[1] << 8, RSM_REQUEST_MAX);
    count[0] = (uint8_t)(too_long & 0xff);
    count[1] = (uint8_t)(too_long >> 8);
    bytes[(*length)++] = 'x';
}

TEST(a_longer_one_is_no_request)
{
    uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg back, msg = {.type = RSM_MSG_IMPORT_CONNECT,
                                .u.import_connect = {"sci0", 1, .asked_len = RSM_REQUEST_MAX}};
    size_t length = rsm_msg_encode(&msg, bytes, sizeof bytes);
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_OK);
    lengthen(bytes, &length);
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_PROTOCOL);
    msg.u.import_connect.asked_len = too_long;
    assert_int_equal(rsm_msg_encode(&msg, bytes, sizeof bytes), 0);
}

TEST(nor_is_it_from_another_host)
{
    uint8_t bytes[RSM_CLUSTER_FRAME_MAX];
    struct rsm_cluster_msg back,
        msg = {.type = RSM_CLUSTER_CONNECT, .u.connect = {.asked_len = RSM_REQUEST_MAX}};
    size_t length = rsm_cluster_encode(&msg, bytes, sizeof bytes);
    assert_int_equal(rsm_cluster_decode(&back, bytes, length), RSM_ST_OK);
    lengthen(bytes, &length);
    assert_int_equal(rsm_cluster_decode(&back, bytes, length), RSM_ST_PROTOCOL);
    msg.u.connect.asked_len = too_long;
    assert_int_equal(rsm_cluster_encode(&msg, bytes, sizeof bytes), 0);
}

/* ------------------------------------------------------------------ addresses */

static void configure(uint32_t id, const char *address)
{
    struct rsmd_conf_node entry = {.id = id};
    strcpy(entry.address, address);
    assert_non_null(rsmd_conf_add_node(&hosts.node[2].conf, &entry));
}

static const char *located(uint32_t node)
{
    struct rsm_msg msg = {.type = RSM_MSG_LOCATE, .u.locate = {"sci0", node}};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    return importer.reply.u.locate_reply.address;
}

TEST(processes_get_addresses)
{
    assert_string_equal(located(1), ""); /* none is configured */
    configure(1, "host1");
    configure(2, "host2");
    assert_string_equal(located(1), "host1");
    assert_string_equal(located(2), ""); /* on this host */
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller.name = "sci0"};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    assert_string_equal(importer.reply.u.controller_reply.address, "host2");
    rsmd_conf_free(&hosts.node[2].conf);
}

TEST(accept_gets_the_exporters_address)
{
    transport_accepts();
    configure(1, "host1");
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_OK);
    assert_string_equal(hosts.told_address, "host1");
    rsmd_conf_free(&hosts.node[2].conf);
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import =
                              importer.reply.u.import_connect_reply.import};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    deliver_all();
}
