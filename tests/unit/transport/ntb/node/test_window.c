/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of memory and of imports when an offer, a process, a session or a host ends. */
#include "two_hosts.h"

/* ------------------------------------------------------------------ tests */

#define TEST(name) TEST_BETWEEN(name, begin, end)

TEST(memory_waits_for_the_importers_node)
{
    import_it();
    node_ops->revoke(host[1].port, segment.made);
    node_ops->extent_free(host[1].port, segment.extent);
    assert_int_equal(used(1), LENGTH); /* somebody may still store there */
    assert_false(node_ops->imports->revoke(host[2].port, segment.entry));
    nothing_lands();
    disconnect_it();
    node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
    assert_int_equal(used(1), LENGTH);
    node_ops->imports->released(host[1].port, segment.made);
    assert_int_equal(used(1), 0);
}

TEST(extents_are_zero)
{
    import_it();
    uint64_t offset = segment.extent->offset;
    memset(shared + offset, 0xee, LENGTH);
    node_ops->revoke(host[1].port, segment.made);
    node_ops->imports->released(host[1].port, segment.made);
    node_ops->extent_free(host[1].port, segment.extent);
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(segment.extent->offset, offset); /* the same memory */
    for (unsigned i = 0; i < LENGTH; i++)
        assert_int_equal(shared[offset + i], 0);
}

TEST(rights_hold)
{
    struct rsm_offer ticket;
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(RSM_RIGHT_READ), RSM_ST_OK);
    assert_int_equal(accept_it(RSM_RIGHT_READ, &ticket), RSM_ST_OK);
    for (unsigned i = 0; i < ticket.fd_count; i++) {
        void *address = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ticket.fds[i], 0);
        assert_ptr_equal(address, MAP_FAILED);
        close(ticket.fds[i]);
    }
}

TEST(grants_that_make_no_sense)
{
    struct rsm_offer ticket;
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    const struct rsm_offer good = segment.grant;
    for (unsigned byte = 0; byte < good.blob_len; byte++) {
        segment.grant = good;
        segment.grant.blob[byte] ^= 0x80;
        enum rsm_status status = accept_it(READ_WRITE, &ticket);
        if (status == RSM_ST_OK) { /* another range of the pool, or another slot */
            node_ops->imports->close(host[2].port, segment.entry);
            while (ticket.fd_count > 0)
                close(ticket.fds[--ticket.fd_count]);
        }
        assert_int_equal(ticket.fd_count, 0);
        /* A session that is none, a length that is not the segment's: never. */
        assert_true(byte < 24 ? status != RSM_ST_OK : true);
    }
    for (uint32_t length = 0; length < good.blob_len; length++) {
        segment.grant = good;
        segment.grant.blob_len = length;
        assert_int_equal(accept_it(READ_WRITE, &ticket), RSM_ST_PROTOCOL);
    }
    segment.entry = NULL;
}

/* The exporter's daemon is killed: no heartbeat any more, and another one comes with the same pool,
 * while the mapping of before is still there. */
TEST(the_exporters_host_dies)
{
    import_it();
    void *mapped = NULL;
    assert_int_equal(import_ops->map(segment.conn, 0, LENGTH, READ_WRITE, false, &mapped),
                     RSM_ST_OK);
    close_host(1);
    AWAIT(host[2].peer == 0);
    assert_int_equal(put_word(5), RSM_ST_ABORTED);
    open_host(1);
    for (unsigned i = 0; i < 50; i++) {
        look(1);
        look(2);
        usleep(TICK_US);
    }
    /* Nothing is exported that the old mapping reaches, and nobody is connected. */
    struct rsm_extent *extent;
    assert_int_not_equal(node_ops->extent_make(host[1].port, LENGTH, &extent), RSM_ST_OK);
    assert_int_equal(host[1].peer, 0);
    assert_int_equal(host[2].peer, 0);
    assert_int_equal(import_ops->unmap(segment.conn, mapped, LENGTH), RSM_ST_OK);
    node_ops->imports->revoke(host[2].port, segment.entry);
    disconnect_it();
    node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
    await_session();
    import_it();
}

/* The importer's host hangs, and wakes up after it was given up. */
TEST(the_importers_host_hangs)
{
    import_it();
    uint64_t epoch = host[1].epoch;
    int64_t end = rsm_clock_ms() + PATIENCE_MS;
    while (host[1].peer != 0) { /* host 2 does not look */
        assert_true(rsm_clock_ms() < end);
        look(1);
        usleep(TICK_US);
    }
    node_ops->revoke(host[1].port, segment.made);
    /* It knows of nothing, and its process goes on: the canary tells. */
    assert_int_equal(host[2].downs, 0);
    uint64_t word = 9;
    assert_int_equal(import_ops->put(segment.conn, 0, &word, sizeof word), RSM_ST_OK);
    assert_int_equal(import_ops->complete(segment.conn), RSM_ST_ABORTED);
    nothing_lands();
    node_ops->extent_free(host[1].port, segment.extent);
    assert_int_equal(used(1), LENGTH); /* not yet: the other host has not agreed */
    AWAIT(host[2].downs > 0);
    disconnect_it();
    node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
    await_session();
    assert_true(host[1].epoch != epoch);
    assert_int_equal(used(1), 0); /* it has */
    node_ops->imports->released(host[1].port, segment.made);
    import_it();
}

/* Somebody on the other host writes over all that this one's session rests on. */
TEST(a_hostile_host)
{
    static const uint8_t fill[] = {0x00, 0xff, 0x5a};
    for (unsigned i = 0; i < sizeof fill; i++) {
        import_it();
        /* The canary, as the importer reads it. */
        uint8_t *pool = shared + segment.extent->offset / (MEMORY / 2) * (MEMORY / 2);
        uint8_t canary[8];
        memcpy(canary, pool + NTB_CANARY_OFFSET, sizeof canary);
        memset(pool + NTB_CANARY_OFFSET, fill[i], sizeof canary);
        enum rsm_status status = put_word(3);
        assert_int_equal(status, fill[i] == 0xff ? RSM_ST_TRANSFER : RSM_ST_ABORTED);
        memcpy(pool + NTB_CANARY_OFFSET, canary, sizeof canary);
        /* The words of the session, of both. */
        unsigned downs = host[2].downs;
        memset(shared + NTB_WORDS_AT, fill[i], 32);
        memset(shared + MEMORY / 2 + NTB_WORDS_AT, fill[i], 32);
        AWAIT(host[2].downs > downs);
        assert_int_equal(put_word(4), RSM_ST_ABORTED);
        nothing_lands();
        disconnect_it();
        node_ops->imports->close(host[2].port, segment.entry);
        segment.entry = NULL;
        node_ops->revoke(host[1].port, segment.made);
        node_ops->imports->released(host[1].port, segment.made);
        node_ops->extent_free(host[1].port, segment.extent);
        AWAIT(used(1) == 0);
        await_session();
    }
}

TEST(the_server_goes)
{
    static const uint64_t one = 1;
    import_it();
    assert_int_equal(write(stop, &one, sizeof one), sizeof one);
    AWAIT(host[1].peer == 0 && host[2].peer == 0);
    nothing_lands();
}

TEST(offers_of_a_former_session)
{
    struct rsm_offer ticket;
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    close_host(2);
    AWAIT(host[1].peer == 0);
    open_host(2);
    await_session();
    assert_int_equal(accept_it(READ_WRITE, &ticket), RSM_ST_UNREACHABLE);
    segment.entry = NULL;
}

TEST(a_full_pool)
{
    struct rsm_extent *extent, *large;
    struct rsm_port_attr attr;
    node_ops->attributes(host[1].port, &attr);
    assert_int_equal(attr.max_segment_size, MEMORY / 2 - NTB_CONTROL_BYTES);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY, &extent), RSM_ST_NO_MEMORY);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY / 4, &large), RSM_ST_OK);
    assert_int_equal(large->offset % NTB_LARGE, 0);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY / 4, &extent), RSM_ST_NO_MEMORY);
    node_ops->extent_free(host[1].port, large);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY / 4, &extent), RSM_ST_OK);
}
