/* SPDX-License-Identifier: BSD-3-Clause */
/* What a DNS server says: SRV records, others beside them, and damaged ones. */
#include "cases.h"

#include <string.h>

#include "members/members.h"

enum { SRV = 33, CNAME = 5, MESSAGE_BYTES = 2000 };

static const struct rsmd_conf_members by_name = {.source = RSMD_NODES_DNS, .name = "_rsm._tcp.x"};
static struct rsmd_members members;
static char why[RSMD_MEMBERS_WHY_BYTES];

/* A message that a test puts together. */
struct message {
    uint8_t bytes[MESSAGE_BYTES];
    size_t length;
};

static void put(struct message *message, unsigned value, unsigned bytes)
{
    while (bytes-- > 0)
        message->bytes[message->length++] = (uint8_t)(value >> 8 * bytes);
}

/* A name as labels. */
static void put_name(struct message *message, const char *name)
{
    while (*name != '\0') {
        size_t label = strcspn(name, ".");
        put(message, (unsigned)label, 1);
        memcpy(message->bytes + message->length, name, label);
        message->length += label;
        name += label + (name[label] == '.');
    }
    put(message, 0, 1);
}

static void begin(struct message *message, unsigned answers)
{
    message->length = 0;
    put(message, 0x1234, 2);
    put(message, 0x8180, 2); /* an answer without an error */
    put(message, 0, 2);
    put(message, answers, 2);
    put(message, 0, 4);
}

/* The length of the data is made right afterwards. */
static void record(struct message *message, unsigned type, unsigned ttl, unsigned port,
                   const char *target)
{
    put_name(message, "_rsm._tcp.x");
    put(message, type, 2);
    put(message, 1, 2);
    put(message, ttl, 4);
    size_t length_at = message->length;
    put(message, 0, 2);
    if (type == SRV) {
        put(message, 10, 4); /* priority 0, weight 10 */
        put(message, port, 2);
    }
    put_name(message, target);
    size_t length = message->length - length_at - 2;
    message->bytes[length_at] = (uint8_t)(length >> 8);
    message->bytes[length_at + 1] = (uint8_t)length;
}

static bool take(const struct message *message)
{
    rsmd_members_free(&members);
    why[0] = '\0';
    return rsmd_members_read_srv(&members, &by_name, message->bytes, message->length, why) &&
           rsmd_members_settle(&members, why);
}

static int forget(void **state)
{
    (void)state;
    rsmd_members_free(&members);
    return 0;
}

/* Loopback addresses stand for names here: nothing has to be looked up. */
TEST_BETWEEN(records, NULL, forget)
{
    const struct rsmd_conf_members by_address = {.source = RSMD_NODES_DNS, .prefix = 16};
    struct message message;
    begin(&message, 3);
    record(&message, CNAME, 1, 0, "elsewhere");
    record(&message, SRV, 300, 9248, "127.0.0.2");
    record(&message, SRV, 40, 9247, "127.0.0.1");
    assert_true(rsmd_members_read_srv(&members, &by_address, message.bytes, message.length, why));
    assert_true(rsmd_members_settle(&members, why));
    assert_int_equal(members.count, 2);
    assert_int_equal(members.ttl_s, 40);
    assert_int_equal(members.list[0].id, 1);
    assert_int_equal(members.list[1].id, 2);
    assert_string_equal(members.list[1].address, "127.0.0.2");
    assert_int_equal(members.list[1].port, 9248);
}

TEST_BETWEEN(numbers_in_names, NULL, forget)
{
    static const struct {
        const char *target;
        uint32_t id;
    } targets[] = {{"127.0.0.1", 127}}; /* the first part is 127 */
    static const char *const without[] = {"node", "node0.example", "node65536.example", "7a.b9"};
    struct message message;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        begin(&message, 1);
        record(&message, SRV, 60, 9247, targets[i].target);
        assert_true(take(&message));
        assert_int_equal(members.list[0].id, targets[i].id);
    }
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        begin(&message, 1);
        record(&message, SRV, 60, 9247, without[i]);
        assert_false(take(&message));
        assert_non_null(strstr(why, "expected a number from 1 to 65535"));
    }
}

TEST_BETWEEN(how_long_an_answer_holds, NULL, forget)
{
    static const struct {
        unsigned ttl, holds;
    } times[] = {{0, RSMD_MEMBERS_TTL_MIN_S}, {77, 77}, {86400, RSMD_MEMBERS_TTL_MAX_S}};
    struct message message;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        begin(&message, 1);
        record(&message, SRV, times[i].ttl, 9247, "127.0.0.1");
        assert_true(take(&message));
        assert_int_equal(members.ttl_s, times[i].holds);
    }
}

TEST_BETWEEN(no_members, NULL, forget)
{
    struct message message;
    begin(&message, 0);
    assert_false(take(&message));
    assert_non_null(strstr(why, "names no nodes"));
    begin(&message, 1);
    record(&message, SRV, 60, 0, ""); /* the root: the service is not there */
    assert_false(take(&message));
    assert_non_null(strstr(why, "names no nodes"));
}

/* A name cannot bring in what a configuration could not have. */
TEST_BETWEEN(targets_that_are_no_hosts, NULL, forget)
{
    static const char *const targets[] = {"a b1", "x\n2", "$(x)3", "a/b4"};
    struct message message;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        begin(&message, 1);
        record(&message, SRV, 60, 9247, targets[i]);
        assert_false(take(&message));
    }
    begin(&message, 1);
    record(&message, SRV, 60, 0, "node1"); /* port 0 */
    assert_false(take(&message));
}

/* Wherever it is cut or changed, it is read within its bounds, and nothing is taken for more than
 * it is. */
TEST_BETWEEN(damaged_answers, NULL, forget)
{
    struct message whole, damaged;
    begin(&whole, 2);
    record(&whole, SRV, 60, 9247, "127.0.0.1");
    record(&whole, SRV, 60, 9247, "126.0.0.2");
    assert_true(take(&whole));
    for (size_t length = 0; length < whole.length; length++) {
        uint8_t *cut = malloc(length > 0 ? length : 1); /* a sanitizer sees its end */
        assert_non_null(cut);
        memcpy(cut, whole.bytes, length);
        rsmd_members_free(&members);
        assert_false(rsmd_members_read_srv(&members, &by_name, cut, length, why));
        free(cut);
    }
    for (size_t at = 12; at < whole.length; at++) {
        if (at >= 12 + 13 && whole.bytes[at] >= '0' && whole.bytes[at] <= '9')
            continue; /* another address, which may have to be looked up */
        damaged = whole;
        damaged.bytes[at] = 0xc0; /* a pointer into nowhere, a large number */
        rsmd_members_free(&members);
        (void)rsmd_members_read_srv(&members, &by_name, damaged.bytes, damaged.length, why);
        assert_true(members.count <= 2);
    }
}

/* A name that points to itself ends. */
TEST_BETWEEN(a_name_that_never_ends, NULL, forget)
{
    struct message message;
    begin(&message, 1);
    record(&message, SRV, 60, 9247, "n1");
    size_t name = message.length - 4;
    message.bytes[name] = 0xc0;
    message.bytes[name + 1] = (uint8_t)name;
    assert_false(take(&message));
}
