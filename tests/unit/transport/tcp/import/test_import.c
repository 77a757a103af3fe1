/* SPDX-License-Identifier: BSD-3-Clause */
/* Both halves with the process rsm-tcpd, and somebody on the wire between them: who encrypts with whom,
 * what the wire shows, and what becomes of a byte that is changed there. */
#include "../relay.h"
#include "base/log.h"
#include "cases.h"
#include "transport/entry.h"
#include "transport/tcp/import/import.h"

#define NODE   (&rsm_transport_node_ops_v1)
#define IMPORT (&rsm_transport_import_ops_v1)
#define SERVER "server=" TEST_SERVER

enum { LENGTH = 4 << 20, TEXT = 64, PATIENCE_MS = 10000, RIGHTS = 6 };

static const char text[TEXT + 1] =
    "What is written here is known, and it is looked for on the wire.";

struct world {
    struct rsm_node_port *port;
    struct rsm_port *import;
    struct rsm_extent *extent;
    uint8_t *segment;
    struct rsm_node_offer *made;
    struct rsm_offer offer;
    struct tcp_offer blob;
    struct relay *relay;
    struct rsm_conn *conn;
};

static char logged[512];

static void to_test(enum rsmcore_log_level level, const char *line)
{
    (void)level;
    strncpy(logged, line, sizeof logged - 1);
}

static struct rsm_controller_info info_of(const char *options)
{
    return (struct rsm_controller_info){.size = sizeof(struct rsm_controller_info),
                                        .name = "sci0",
                                        .device = "",
                                        .options = options,
                                        .peer_timeout_ms = PATIENCE_MS,
                                        .address = "",
                                        .links_private = true};
}

static void make_offer(struct world *world)
{
    struct rsm_extent_piece piece = {world->extent, 0, LENGTH};
    const struct rsm_importer importer = {.size = sizeof importer, .node = 2};
    world->offer = (struct rsm_offer){.size = sizeof world->offer, .node = 1, .address = ""};
    assert_int_equal(
        NODE->offer(world->port, &piece, 1, RIGHTS, &importer, &world->offer, &world->made),
        RSM_ST_OK);
    assert_int_equal(tcp_offer_decode(world->offer.blob, world->offer.blob_len, &world->blob),
                     RSM_ST_OK);
}

static void begin(struct world *world, const char *exporter, const char *importer)
{
    const struct rsm_controller_info infos[2] = {info_of(exporter), info_of(importer)};
    *world = (struct world){.port = NULL};
    assert_int_equal(NODE->open(&infos[0], &world->port), RSM_ST_OK);
    assert_int_equal(IMPORT->open(&infos[1], &world->import), RSM_ST_OK);
    assert_int_equal(NODE->extent_make(world->port, LENGTH, &world->extent), RSM_ST_OK);
    world->segment = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, world->extent->fd, 0);
    assert_true(world->segment != MAP_FAILED);
    make_offer(world);
    world->relay = relay_begin();
    atomic_store(&world->relay->to, world->blob.port);
}

static void end(struct world *world)
{
    if (world->conn != NULL)
        IMPORT->disconnect(world->conn);
    relay_end(world->relay);
    IMPORT->close(world->import);
    NODE->revoke(world->port, world->made);
    munmap(world->segment, LENGTH);
    NODE->extent_free(world->port, world->extent);
    NODE->close(world->port);
}

static enum rsm_status join_at(struct world *world, uint16_t port)
{
    struct tcp_offer blob = world->blob;
    blob.port = port;
    tcp_offer_encode(&blob, world->offer.blob);
    return IMPORT->connect(world->import, &world->offer, LENGTH, RIGHTS, &world->conn);
}

/* By the relay, which serves one connection. */
static enum rsm_status join(struct world *world)
{
    return join_at(world, world->relay->port);
}

static bool works(const struct world *world)
{
    char back[TEXT];
    return IMPORT->put_complete(world->conn, 4096, text, TEXT) == RSM_ST_OK &&
           rsm_conn_failures(world->conn) == 0 &&
           IMPORT->get(world->conn, 4096, back, TEXT) == RSM_ST_OK &&
           memcmp(back, text, TEXT) == 0 && memcmp(world->segment + 4096, text, TEXT) == 0;
}

/* ------------------------------------------------------------------ what the wire shows */

/* Without encryption it shows all: so the relay would see what it looks for. */
static void the_wire_shows_nothing(void **state)
{
    (void)state;
    for (unsigned encrypted = 0; encrypted < 2; encrypted++) {
        struct world world;
        begin(&world, encrypted ? SERVER ",encrypt=tls" : SERVER, "");
        assert_int_equal(world.blob.tls, encrypted);
        assert_int_equal(join(&world), RSM_ST_OK);
        assert_true(works(&world));
        IMPORT->disconnect(world.conn);
        world.conn = NULL;
        assert_true(atomic_load(&world.relay->length) > 2 * TEXT);
        assert_int_equal(relay_has_seen(world.relay, text, 16), !encrypted);
        assert_int_equal(relay_has_seen(world.relay, world.blob.token, TCP_TOKEN_BYTES),
                         !encrypted);
        end(&world);
    }
}

static void all_sizes_arrive(void **state)
{
    struct world world;
    static uint8_t there[LENGTH], back[LENGTH];
    (void)state;
    begin(&world, SERVER ",encrypt=tls", "encrypt=tls");
    assert_int_equal(join(&world), RSM_ST_OK);
    for (size_t i = 0; i < sizeof there; i++)
        there[i] = (uint8_t)(i * 13 + i / 255);
    for (size_t length = 1; length <= LENGTH; length = length < 4096 ? 3 * length : 8 * length) {
        assert_int_equal(IMPORT->put(world.conn, LENGTH - length, there, length), RSM_ST_OK);
        assert_int_equal(IMPORT->complete(world.conn), RSM_ST_OK);
        assert_memory_equal(world.segment + LENGTH - length, there, length);
        memset(back, 0, length);
        assert_int_equal(IMPORT->get(world.conn, LENGTH - length, back, length), RSM_ST_OK);
        assert_memory_equal(back, there, length);
    }
    for (unsigned width = 1; width <= 8; width *= 2) {
        assert_int_equal(IMPORT->put_elems(world.conn, 64, there + width, width, 1000), RSM_ST_OK);
        assert_int_equal(IMPORT->get_elems(world.conn, 64, back, width, 1000), RSM_ST_OK);
        assert_memory_equal(back, there + width, 1000 * width);
    }
    assert_int_equal(rsm_conn_failures(world.conn), 0);
    end(&world);
}

/* A read of one moment, where rsm-tcpd says that it can and where it does not say so. */
static void reads_of_one_moment(void **state)
{
    static uint8_t back[2 * TCP_SNAPSHOT_MAX];
    (void)state;
    for (unsigned encrypted = 0; encrypted < 2; encrypted++) {
        struct world world;
        begin(&world, encrypted ? SERVER ",encrypt=tls" : SERVER, "");
        assert_int_equal(join(&world), RSM_ST_OK);
        for (size_t i = 0; i < sizeof back; i++)
            world.segment[i] = (uint8_t)(i * 11 + i / 255);
        for (size_t length = 8; length <= sizeof back; length *= 2) {
            bool snapshot = length > TCP_SNAPSHOT_MAX;
            memset(back, 0, sizeof back);
            assert_int_equal(IMPORT->get_snapshot(world.conn, 0, back, length, &snapshot),
                             RSM_ST_OK);
            assert_memory_equal(back, world.segment, length);
            assert_int_equal(snapshot, length <= TCP_SNAPSHOT_MAX);
        }
        tcp_conn_of(world.conn)->can = 0;
        bool snapshot = true;
        assert_int_equal(IMPORT->get_snapshot(world.conn, 8, back, 64, &snapshot), RSM_ST_OK);
        assert_memory_equal(back, world.segment + 8, 64);
        assert_false(snapshot);
        end(&world);
    }
}

/* ------------------------------------------------------------------ who encrypts with whom */

static void an_importer_can_insist(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SERVER, "encrypt=tls");
    logged[0] = '\0';
    assert_int_equal(join(&world), RSM_ST_UNREACHABLE);
    assert_non_null(strstr(logged, "encrypt=tls"));
    assert_int_equal(atomic_load(&world.relay->length), 0); /* nobody has been called */
    end(&world);
}

static void an_exporter_can_insist(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SERVER ",encrypt=tls", "");
    assert_int_equal(join(&world), RSM_ST_OK);
    assert_true(works(&world));
    end(&world);
}

/* Somebody has changed the offer, or the exporter's node has lied: rsm-tcpd takes no plain importer, and
 * the importer no plain server. */
static void no_offer_leads_to_plain_text(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SERVER ",encrypt=tls", "");
    world.blob.tls = false;
    assert_int_not_equal(join(&world), RSM_ST_OK);
    world.blob.tls = true;
    assert_int_equal(join(&world), RSM_ST_OK); /* the token is not used up */
    end(&world);
    begin(&world, SERVER, "");
    world.blob.tls = true;
    assert_int_equal(join(&world), RSM_ST_ABORTED);
    end(&world);
}

static void a_wrong_token_is_refused(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SERVER ",encrypt=tls", "");
    world.blob.token[TCP_STREAM_DATA][5] ^= 1;
    assert_int_equal(join(&world), RSM_ST_ABORTED);
    world.blob.token[TCP_STREAM_DATA][5] ^= 1;
    assert_int_equal(join(&world), RSM_ST_OK);
    struct rsm_conn *first = world.conn;
    assert_int_equal(join_at(&world, (uint16_t)world.blob.port), RSM_ST_ABORTED); /* used */
    world.conn = first;
    end(&world);
}

/* ------------------------------------------------------------------ changes on the wire */

/* Wherever a byte is changed, the connection ends and nothing of that record lands. */
static void a_changed_byte_ends_the_connection(void **state)
{
    static const uint8_t zeros[100000];
    static uint8_t bytes[100000];
    (void)state;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i | 1);
    for (long at = 0; at < 90000; at = 7 * at + 3) {
        struct world world;
        begin(&world, SERVER ",encrypt=tls", "");
        assert_int_equal(join(&world), RSM_ST_OK);
        atomic_store(&world.relay->change, at);
        /* The exporter's end may be closed while the put still sends: then the put itself fails. */
        enum rsm_status status = IMPORT->put(world.conn, 0, bytes, sizeof bytes);
        (void)IMPORT->complete(world.conn);
        assert_true(status != RSM_ST_OK || rsm_conn_failures(world.conn) > 0);
        assert_int_equal(IMPORT->health(world.conn), RSM_ST_ABORTED);
        size_t landed = (size_t)at / 16384 * 16384; /* at most: records that were whole before */
        assert_memory_equal(world.segment + landed, zeros, sizeof zeros - landed);
        end(&world);
    }
}

/* ------------------------------------------------------------------ the links */

static void links_that_are_not_private_are_named(void **state)
{
    struct rsm_controller_info info = info_of(SERVER ",encrypt=tls");
    (void)state;
    logged[0] = '\0';
    assert_int_equal(NODE->check(&info), RSM_ST_OK);
    assert_string_equal(logged, "");
    info.links_private = false;
    assert_int_equal(NODE->check(&info), RSM_ST_OK);
    assert_non_null(strstr(logged, "auth = tls"));
    logged[0] = '\0';
    info.options = SERVER;
    assert_int_equal(NODE->check(&info), RSM_ST_OK);
    assert_string_equal(logged, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wire_shows_nothing),
        cmocka_unit_test(all_sizes_arrive),
        cmocka_unit_test(reads_of_one_moment),
        cmocka_unit_test(an_importer_can_insist),
        cmocka_unit_test(an_exporter_can_insist),
        cmocka_unit_test(no_offer_leads_to_plain_text),
        cmocka_unit_test(a_wrong_token_is_refused),
        cmocka_unit_test(a_changed_byte_ends_the_connection),
        cmocka_unit_test(links_that_are_not_private_are_named),
    };
    signal(SIGPIPE, SIG_IGN);
    rsmcore_log_to(to_test, RSMCORE_LOG_DEBUG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
