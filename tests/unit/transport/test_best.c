/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The transport `best`: its options, what it asks, and which part connects. */
#include "check.h"

#include "fake.h"
#include "transport/best.h"
#include "transport/instance.h"
#include "transport/registry.h"

enum { NODE = 7, OTHER_NODE = 8, SIZE = 4096 };

static struct rsm_controller_info controller(const char *options)
{
    return (struct rsm_controller_info){.name = "sci0", .device = "", .options = options};
}

static bool read_options(const char *text, struct rsmcore_best_options *options)
{
    const struct rsm_controller_info info = controller(text);
    return rsmcore_best_read(&info, options);
}

TEST_ALONE(options_of_parts)
{
    struct rsmcore_best_options options;
    assert_true(read_options("", &options));
    assert_int_equal(options.count, 2);
    assert_string_equal(options.parts[0].transport, "verbs");
    assert_string_equal(options.parts[1].transport, "tcp");
    /* The order counts for all words, wherever it stands. */
    assert_true(read_options("a.x=1, b.device=d0 a.y=2,order=b:a", &options));
    assert_int_equal(options.count, 2);
    assert_string_equal(options.parts[0].transport, "b");
    assert_string_equal(options.parts[0].device, "d0");
    assert_string_equal(options.parts[0].options, "");
    assert_string_equal(options.parts[1].device, "");
    assert_string_equal(options.parts[1].options, "x=1,y=2");
    const struct rsm_controller_info all = controller("of all");
    const struct rsm_controller_info of_part = rsmcore_best_info(&all, &options.parts[1]);
    assert_string_equal(of_part.name, "sci0");
    assert_string_equal(of_part.options, "x=1,y=2");
}

TEST_ALONE(options_that_are_refused)
{
    static const char *const wrong[] = {
        "order=",          "order=a:", "order=:a",         "order=A",     "order=best",
        "order=a:b:c:d:e", "port=1",   "order=a b.port=1", ".x=1",        "tcp",
        "order=a/b",       "order=a:", "order=a,order=",   "order=a:b:a",
    };
    struct rsmcore_best_options options;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (read_options(wrong[i], &options))
            fail_msg("\"%s\" was taken", wrong[i]);
    struct rsm_controller_info info = controller("");
    info.device = "mlx5_0";
    assert_false(rsmcore_best_read(&info, &options));
    char text[2 * RSMCORE_BEST_TEXT] = "tcp.x=";
    memset(text + strlen(text), '1', RSMCORE_BEST_TEXT);
    assert_false(read_options(text, &options));
}

/* ------------------------------------------------------------------ requests and offers */

static uint32_t encode(uint8_t *request, size_t capacity, const char *transport, uint32_t length)
{
    struct rsmcore_best_asked asked = {.length = length};
    struct rsm_codec codec = rsm_encoder(request, capacity);
    strcpy(asked.transport, transport);
    memset(asked.data, 0x77, length);
    rsmcore_best_asked_codec(&codec, &asked);
    assert_false(codec.bad);
    return (uint32_t)(capacity - codec.left);
}

TEST_ALONE(entries_of_a_request)
{
    uint8_t request[RSM_REQUEST_MAX];
    struct rsmcore_best_asked asked;
    uint32_t first = encode(request, sizeof request, "aa", 5);
    uint32_t all = first + encode(request + first, sizeof request - first, "b", 0);
    assert_true(rsmcore_best_asked_find(request, all, "aa", &asked));
    assert_int_equal(asked.length, 5);
    assert_int_equal(asked.data[4], 0x77);
    assert_true(rsmcore_best_asked_find(request, all, "b", &asked));
    assert_int_equal(asked.length, 0);
    assert_false(rsmcore_best_asked_find(request, all, "c", &asked));
    assert_false(rsmcore_best_asked_find(NULL, 0, "aa", &asked));
    /* One that ends early has what came before. */
    for (uint32_t length = 0; length < all; length++) {
        assert_int_equal(rsmcore_best_asked_find(request, length, "aa", &asked), length >= first);
        assert_false(rsmcore_best_asked_find(request, length, "b", &asked));
    }
}

TEST_ALONE(names_before_offers)
{
    static struct rsm_offer offer;
    char name[RSM_TRANSPORT_NAME_MAX];
    offer.blob_len = 3;
    memcpy(offer.blob, "xyz", 3);
    assert_true(rsmcore_best_wrap(&offer, "tcp"));
    assert_true(rsmcore_best_unwrap(&offer, name));
    assert_string_equal(name, "tcp");
    assert_int_equal(offer.blob_len, 3);
    assert_memory_equal(offer.blob, "xyz", 3);
    assert_false(rsmcore_best_unwrap(&offer, name)); /* no name is that long */
    offer.blob_len = 0;
    assert_false(rsmcore_best_unwrap(&offer, name));
    assert_true(rsmcore_best_wrap(&offer, "tcp"));
    rsmcore_best_name("best", offer.blob, offer.blob_len, name);
    assert_string_equal(name, "tcp");
    rsmcore_best_name("best", offer.blob, offer.blob_len - 1, name);
    assert_string_equal(name, "");
    rsmcore_best_name("verbs", offer.blob, offer.blob_len, name);
    assert_string_equal(name, "verbs");
    offer.blob_len = RSM_OFFER_MAX_BLOB - 6;
    assert_false(rsmcore_best_wrap(&offer, "tcp"));
    assert_int_equal(offer.blob_len, RSM_OFFER_MAX_BLOB - 6);
    offer.blob_len = RSM_OFFER_MAX_BLOB - 7;
    assert_true(rsmcore_best_wrap(&offer, "tcp"));
}

/* ------------------------------------------------------------------ which part connects */

static struct rsm_port *open_port(const char *options)
{
    struct rsm_port *port;
    struct rsm_controller_info info = controller(options);
    (void)rsmcore_transport_import_add(&fake_import_ops); /* or it is there */
    const struct rsm_import_ops *ops = rsmcore_transport_import(RSMCORE_BEST_NAME);
    assert_non_null(ops);
    assert_status(rsmcore_port_open(ops, &info, &port), RSM_ST_OK);
    return port;
}

/* Whether the port asks a node for a transport. */
static bool asks_for(struct rsm_port *port, uint32_t node, const char *transport)
{
    struct rsm_connect_request request = {.node = node, .address = ""};
    struct rsmcore_best_asked asked;
    assert_status(rsmcore_port_request(port, &request), RSM_ST_OK);
    return rsmcore_best_asked_find(request.data, request.length, transport, &asked);
}

TEST_ALONE(the_part_of_the_offer_connects)
{
    static struct rsm_offer offer;
    struct fake_segment *segment = fake_segment_make(SIZE);
    struct rsm_port *port = open_port("order=nosuch:fake:shm");
    struct rsm_conn *conn;
    assert_true(asks_for(port, NODE, "fake") && asks_for(port, NODE, "shm"));
    assert_false(asks_for(port, NODE, "nosuch"));
    fake_segment_offer(segment, &offer);
    assert_status(rsmcore_conn_open(port, &offer, SIZE, RSM_RIGHT_WRITE, &conn), RSM_ST_PROTOCOL);
    struct rsm_offer other = offer;
    assert_true(rsmcore_best_wrap(&other, "tcp")); /* of no part of this port */
    assert_status(rsmcore_conn_open(port, &other, SIZE, RSM_RIGHT_WRITE, &conn), RSM_ST_PROTOCOL);
    assert_true(rsmcore_best_wrap(&offer, "fake"));
    assert_status(rsmcore_conn_open(port, &offer, SIZE, RSM_RIGHT_WRITE, &conn), RSM_ST_OK);
    assert_string_equal(conn->port->ops->name, "fake");
    assert_status(conn->ops->put(conn, 8, "12345678", 8), RSM_ST_OK);
    assert_memory_equal(fake_segment_memory(segment) + 8, "12345678", 8);
    rsmcore_conn_close(conn);
    rsmcore_port_close(port);
    fake_segment_free(segment);
}

TEST_ALONE(a_part_that_could_not_connect_is_not_asked_for)
{
    static struct rsm_offer offer;
    struct fake_segment *segment = fake_segment_make(SIZE);
    struct rsm_port *port = open_port("order=fake:shm");
    struct rsm_conn *conn;
    fake_segment_offer(segment, &offer);
    assert_true(rsmcore_best_wrap(&offer, "fake"));
    offer.node = NODE;
    /* The segment's own errors are no fault of the fabric. */
    fake_segment_fail(segment, FAKE_CONNECT, 0, RSM_ST_DENIED);
    assert_status(rsmcore_conn_open(port, &offer, SIZE, 0, &conn), RSM_ST_DENIED);
    assert_true(asks_for(port, NODE, "fake"));
    fake_segment_fail(segment, FAKE_CONNECT, 0, RSM_ST_UNREACHABLE);
    assert_status(rsmcore_conn_open(port, &offer, SIZE, 0, &conn), RSM_ST_UNREACHABLE);
    assert_false(asks_for(port, NODE, "fake"));
    assert_true(asks_for(port, NODE, "shm"));
    assert_true(asks_for(port, OTHER_NODE, "fake"));
    rsmcore_port_close(port);
    /* Without another part it is asked for again. */
    port = open_port("order=fake");
    fake_segment_fail(segment, FAKE_CONNECT, 0, RSM_ST_UNREACHABLE);
    assert_status(rsmcore_conn_open(port, &offer, SIZE, 0, &conn), RSM_ST_UNREACHABLE);
    assert_true(asks_for(port, NODE, "fake"));
    rsmcore_port_close(port);
    fake_segment_free(segment);
}

TEST_ALONE(the_programs_memory_is_every_parts)
{
    struct rsm_port *port = open_port("order=fake:shm");
    void *cookie = &cookie;
    char memory[64];
    assert_status(port->ops->register_memory(port, memory, sizeof memory, &cookie), RSM_ST_OK);
    assert_null(cookie); /* neither has use for it */
    rsmcore_port_close(port);
}

/* ------------------------------------------------------------------ the node's side */

TEST_ALONE(what_cannot_be_a_part)
{
    const struct rsm_node_ops *ops = rsmcore_transport_node(RSMCORE_BEST_NAME);
    struct rsm_node_port *port;
    struct rsm_controller_info info = controller("order=shm");
    info.size = sizeof info;
    assert_non_null(ops);
    assert_status(rsmcore_node_port_open(ops, &info, &port), RSM_ST_UNSUPPORTED);
    info.options = "order=nosuch";
    assert_status(rsmcore_node_port_open(ops, &info, &port), RSM_ST_UNSUPPORTED);
    assert_status(ops->check(&info), RSM_ST_UNSUPPORTED);
    info.options = "oder=tcp";
    assert_status(rsmcore_node_port_open(ops, &info, &port), RSM_ST_INVALID);
    assert_status(ops->check(&info), RSM_ST_INVALID);
}
