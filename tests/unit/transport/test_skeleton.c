/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The skeleton of doc/transports.md does what a transport has to, through its module. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/instance.h"
#include "transport/registry.h"

#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

struct fixture {
    const struct rsm_import_ops *import;
    const struct rsm_node_ops *node;
    struct rsm_port *port;
    struct rsm_node_port *node_port;
    struct rsm_extent *extent;
    size_t page;
    uint8_t *memory; /* the extent as its exporter maps it, 4 pages */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const struct rsm_controller_info info = {.name = "skel0", .device = "", .options = ""};
    assert_non_null(f);
    assert_int_equal(setenv("RSM_MODULE_DIR", TEST_MODULES, 1), 0);
    f->import = rsmcore_transport_import("skeleton");
    f->node = rsmcore_transport_node("skeleton");
    assert_non_null(f->import);
    assert_non_null(f->node);
    f->page = (size_t)sysconf(_SC_PAGESIZE);
    assert_status(rsmcore_port_open(f->import, &info, &f->port), RSM_ST_OK);
    assert_status(rsmcore_node_port_open(f->node, &info, &f->node_port), RSM_ST_OK);
    assert_status(f->node->extent_make(f->node_port, 4 * f->page, &f->extent), RSM_ST_OK);
    assert_null(rsmcore_extent_flaw(f->node_port, f->extent, 4 * f->page));
    f->memory = mmap(NULL, 4 * f->page, PROT_READ | PROT_WRITE, MAP_SHARED, f->extent->fd, 0);
    assert_ptr_not_equal(f->memory, MAP_FAILED);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    munmap(f->memory, 4 * f->page);
    f->node->extent_free(f->node_port, f->extent);
    f->node->close(f->node_port);
    f->import->close(f->port);
    free(f);
    return 0;
}

/* Pages 2, 3 and then 0 of the extent, so that a transfer can cross a boundary of pieces. */
static struct rsm_node_offer *make_offer(struct fixture *f, uint32_t rights,
                                         struct rsm_offer *offer)
{
    const struct rsm_extent_piece pieces[2] = {{f->extent, 2 * f->page, 2 * f->page},
                                               {f->extent, 0, f->page}};
    const struct rsm_importer importer = {.node = 1};
    struct rsm_node_offer *made = NULL;
    assert_status(f->node->offer(f->node_port, pieces, 2, rights, &importer, offer, &made),
                  RSM_ST_OK);
    return made;
}

static struct rsm_conn *connect_to(struct fixture *f, uint32_t rights)
{
    struct rsm_offer offer;
    struct rsm_conn *conn = NULL;
    struct rsm_node_offer *made = make_offer(f, rights, &offer);
    assert_status(rsmcore_conn_open(f->port, &offer, 3 * f->page, rights, &conn), RSM_ST_OK);
    while (offer.fd_count > 0)
        close(offer.fds[--offer.fd_count]);
    f->node->revoke(f->node_port, made);
    return conn;
}

static void data_cross_pieces_both_ways(void **state)
{
    struct fixture *f = *state;
    struct rsm_conn *conn = connect_to(f, READ_WRITE);
    char seen[6] = "";
    assert_status(conn->ops->put(conn, 2 * f->page - 2, "hello", 5), RSM_ST_OK);
    assert_status(conn->ops->complete(conn), RSM_ST_OK);
    assert_memory_equal(f->memory + 4 * f->page - 2, "he", 2);
    assert_memory_equal(f->memory, "llo", 3);
    f->memory[0] = 'y';
    assert_status(conn->ops->get(conn, 2 * f->page - 2, seen, 5), RSM_ST_OK);
    assert_string_equal(seen, "heylo");
    rsmcore_conn_close(conn);
}

static void the_core_supplies_what_it_leaves_out(void **state)
{
    struct fixture *f = *state;
    struct rsm_conn *conn = connect_to(f, READ_WRITE);
    uint32_t values[4] = {1, 2, 3, 4}, seen[4] = {0};
    struct rsm_transfer vec[2] = {{seen, 64, 8}, {seen + 2, 72, 8}};
    void *address = NULL;
    unsigned done;
    assert_status(conn->ops->put_elems(conn, 64, values, 4, 4), RSM_ST_OK);
    assert_status(conn->ops->getv(conn, vec, 2, &done), RSM_ST_OK);
    assert_int_equal(done, 2);
    assert_memory_equal(seen, values, sizeof seen);
    assert_status(conn->ops->map(conn, 0, f->page, READ_WRITE, false, &address),
                  RSM_ST_UNSUPPORTED);
    assert_status(conn->ops->health(conn), RSM_ST_OK);
    rsmcore_conn_close(conn);
}

static void rights_are_those_of_the_descriptors(void **state)
{
    struct fixture *f = *state;
    uint8_t byte = 1;
    struct rsm_conn *reader = connect_to(f, RSM_RIGHT_READ);
    assert_status(reader->ops->put(reader, 0, &byte, 1), RSM_ST_TRANSFER);
    assert_status(reader->ops->get(reader, 0, &byte, 1), RSM_ST_OK);
    rsmcore_conn_close(reader);
    struct rsm_conn *writer = connect_to(f, RSM_RIGHT_WRITE);
    assert_status(writer->ops->get(writer, 0, &byte, 1), RSM_ST_TRANSFER);
    assert_status(writer->ops->put(writer, 0, &byte, 1), RSM_ST_OK);
    rsmcore_conn_close(writer);
}

static void lying_offers_are_refused(void **state)
{
    struct fixture *f = *state;
    struct rsm_offer offer, lie;
    struct rsm_conn *conn;
    struct rsm_node_offer *made = make_offer(f, READ_WRITE, &offer);
    assert_status(f->import->connect(f->port, &offer, 2 * f->page, READ_WRITE, &conn),
                  RSM_ST_PROTOCOL);
    lie = offer;
    lie.blob_len--;
    assert_status(f->import->connect(f->port, &lie, 3 * f->page, READ_WRITE, &conn),
                  RSM_ST_PROTOCOL);
    lie = offer;
    lie.fd_count = RSM_OFFER_MAX_FDS + 1;
    assert_status(f->import->connect(f->port, &lie, 3 * f->page, READ_WRITE, &conn),
                  RSM_ST_PROTOCOL);
    lie = offer;
    memset(lie.blob, 0xff, 8);
    assert_status(f->import->connect(f->port, &lie, 3 * f->page, READ_WRITE, &conn),
                  RSM_ST_PROTOCOL);
    while (offer.fd_count > 0)
        close(offer.fds[--offer.fd_count]);
    f->node->revoke(f->node_port, made);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(data_cross_pieces_both_ways),
        CASE(the_core_supplies_what_it_leaves_out),
        CASE(rights_are_those_of_the_descriptors),
        CASE(lying_offers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
