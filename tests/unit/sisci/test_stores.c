/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include "stores.h"

#include <stdlib.h>
#include <string.h>

static bool covered(const struct sisci_stores *stores, uint64_t offset)
{
    for (unsigned i = 0; i < stores->count; i++)
        if (sisci_store_touches(&stores->store[i], offset, 1))
            return true;
    return false;
}

TEST_ALONE(what_touches_is_one)
{
    struct sisci_stores stores = {.count = 0};
    sisci_stores_add(&stores, 100, 4);
    sisci_stores_add(&stores, 104, 4); /* behind it */
    sisci_stores_add(&stores, 96, 4);  /* in front */
    sisci_stores_add(&stores, 98, 2);  /* inside */
    assert_int_equal(stores.count, 1);
    assert_int_equal(stores.store[0].offset, 96);
    assert_int_equal(stores.store[0].length, 12);
    sisci_stores_add(&stores, 109, 1);
    assert_int_equal(stores.count, 2);
    assert_false(covered(&stores, 95));
    assert_false(covered(&stores, 108));
}

TEST_ALONE(unconditional_ones_stay_apart)
{
    struct sisci_stores stores = {.unconditional = true};
    for (unsigned i = 0; i < SISCI_STORES_MAX; i++)
        sisci_stores_add(&stores, 8, 4);
    assert_int_equal(stores.count, SISCI_STORES_MAX);
    sisci_stores_add(&stores, 8, 4);
    assert_int_equal(stores.count, SISCI_STORES_MAX);
}

/* However many there are, none is lost, and where there is room nothing else is told. */
TEST_ALONE(none_is_lost)
{
    enum { ROUNDS = 200, SPACE = 4096 };
    unsigned short seed[3] = {1, 2, 3};
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct sisci_stores stores = {.unconditional = round % 2 != 0};
        bool stored[SPACE] = {false};
        unsigned count = 1 + (unsigned)nrand48(seed) % (2 * SISCI_STORES_MAX);
        for (unsigned i = 0; i < count; i++) {
            unsigned length = 1 + (unsigned)nrand48(seed) % 16;
            unsigned offset = (unsigned)nrand48(seed) % (SPACE - length);
            sisci_stores_add(&stores, offset, length);
            memset(stored + offset, true, length);
        }
        assert_true(stores.count <= SISCI_STORES_MAX);
        for (unsigned i = 0; i < SPACE; i++)
            if (stored[i] || count <= SISCI_STORES_MAX)
                assert_int_equal(covered(&stores, i), stored[i]);
    }
}

TEST_ALONE(the_nearest_takes_what_has_no_room)
{
    struct sisci_stores stores = {.count = 0};
    for (unsigned i = 0; i < SISCI_STORES_MAX; i++)
        sisci_stores_add(&stores, i * 1000, 4);
    sisci_stores_add(&stores, 7010, 4);
    assert_int_equal(stores.count, SISCI_STORES_MAX);
    assert_int_equal(stores.store[7].offset, 7000);
    assert_int_equal(stores.store[7].length, 14);
}

TEST_ALONE(a_message_brings_what_was_written)
{
    uint8_t bytes[SISCI_STORES_BYTES];
    for (unsigned count = 0; count <= SISCI_STORES_MAX; count++) {
        struct sisci_stores stores = {.unconditional = count % 2 != 0}, read;
        for (unsigned i = 0; i < count; i++)
            sisci_stores_add(&stores, i * UINT64_C(0x100000001), i + 1);
        size_t length = sisci_stores_write(&stores, bytes);
        memset(&read, 0xff, sizeof read);
        assert_true(sisci_stores_read(&read, bytes, length));
        assert_int_equal(read.unconditional, stores.unconditional);
        assert_int_equal(read.count, count);
        assert_memory_equal(read.store, stores.store, count * sizeof stores.store[0]);
    }
}

/* Who wrote it is unknown, and so is what. */
TEST_ALONE(other_messages_are_none)
{
    uint8_t bytes[SISCI_STORES_BYTES + 16] = {0};
    struct sisci_stores read;
    for (size_t length = 0; length <= sizeof bytes; length++)
        assert_int_equal(sisci_stores_read(&read, bytes, length),
                         length >= 8 && length % 16 == 8 && length <= SISCI_STORES_BYTES);
    bytes[0] = 2;
    assert_false(sisci_stores_read(&read, bytes, 8));
}

TEST_ALONE(ranges_that_wrap_touch_what_is_above)
{
    const struct sisci_store wraps = {UINT64_MAX - 8, 100}, all = {0, UINT64_MAX}, none = {50, 0};
    assert_false(sisci_store_touches(&wraps, 0, 4));
    assert_true(sisci_store_touches(&wraps, UINT64_MAX - 8, 4));
    assert_true(sisci_store_touches(&all, 4, 4));
    assert_false(sisci_store_touches(&none, 50, 4));
}
