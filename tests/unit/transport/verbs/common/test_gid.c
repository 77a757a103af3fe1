/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "cases.h"
#include "transport/verbs/common/gid.h"

static struct verbs_gid gid(uint32_t index, bool rocev2, const char *text)
{
    struct verbs_gid made = {.index = index, .rocev2 = rocev2};
    assert_int_equal(inet_pton(AF_INET6, text, made.bytes), 1);
    return made;
}

TEST_ALONE(ipv4_before_ipv6_before_nothing)
{
    struct verbs_gid table[] = {
        gid(0, false, "fe80::1"),         gid(1, true, "fe80::1"),
        gid(2, false, "::ffff:10.0.0.1"), gid(3, true, "2001:db8::1"),
        gid(4, true, "::ffff:10.0.0.1"),  gid(5, true, "::ffff:10.0.0.2"),
    };
    assert_int_equal(verbs_gid_choose(table, 6, -1)->index, 4);
    assert_int_equal(verbs_gid_choose(table, 4, -1)->index, 3);
    assert_null(verbs_gid_choose(table, 3, -1)); /* index 0 is nobody's default */
    assert_null(verbs_gid_choose(table, 0, -1));
}

TEST_ALONE(lowest_index_in_any_order)
{
    struct verbs_gid table[] = {gid(9, true, "::ffff:10.0.0.9"), gid(2, true, "::ffff:10.0.0.2"),
                                gid(5, true, "::ffff:10.0.0.5")};
    assert_int_equal(verbs_gid_choose(table, 3, -1)->index, 2);
}

TEST_ALONE(wanted_index)
{
    struct verbs_gid table[] = {gid(0, false, "fe80::1"), gid(3, true, "2001:db8::1"),
                                gid(4, true, "::ffff:10.0.0.1"), gid(6, true, "::")};
    assert_int_equal(verbs_gid_choose(table, 4, 3)->index, 3);
    assert_null(verbs_gid_choose(table, 4, 0)); /* no address that can be connected to */
    assert_null(verbs_gid_choose(table, 4, 6));
    assert_null(verbs_gid_choose(table, 4, 7));
}

TEST_ALONE(useless_addresses)
{
    static const char *const useless[] = {
        "::", "::1", "fe80::2:3", "ff02::1", "::ffff:0.0.0.0", "::ffff:127.0.0.1"};
    struct sockaddr_storage address;
    for (unsigned i = 0; i < sizeof useless / sizeof useless[0]; i++) {
        struct verbs_gid one = gid(1, true, useless[i]);
        assert_null(verbs_gid_choose(&one, 1, -1));
        assert_false(verbs_gid_address(one.bytes, &address));
    }
}

TEST_ALONE(addresses_and_back)
{
    struct sockaddr_storage address;
    char text[INET6_ADDRSTRLEN];
    uint8_t bytes[16];
    struct verbs_gid four = gid(1, true, "::ffff:192.168.7.9");
    assert_true(verbs_gid_address(four.bytes, &address));
    assert_int_equal(address.ss_family, AF_INET);
    inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, sizeof text);
    assert_string_equal(text, "192.168.7.9");
    verbs_gid_of_address((struct sockaddr *)&address, bytes);
    assert_memory_equal(bytes, four.bytes, 16);
    struct verbs_gid six = gid(1, true, "fd00::42");
    assert_true(verbs_gid_address(six.bytes, &address));
    assert_int_equal(address.ss_family, AF_INET6);
    verbs_gid_of_address((struct sockaddr *)&address, bytes);
    assert_memory_equal(bytes, six.bytes, 16);
}
