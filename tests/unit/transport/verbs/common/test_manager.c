/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read from the kernel's answers; the lab asks a kernel that has lost a queue pair. */
#include "transport/verbs/common/manager.h"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdma/rdma_netlink.h>

#include "cases.h"

enum { GSI = 1, RC = 2, RTS = 3, ERR = 6, NO_PORT = -1 }; /* as the kernel numbers them */

static struct nl_msg *answer_make(void)
{
    struct nl_msg *answer = nlmsg_alloc();
    assert_non_null(answer);
    assert_non_null(nlmsg_put(answer, 0, 0, NLMSG_MIN_TYPE, 0, NLM_F_MULTI));
    return answer;
}

static int64_t index_of(const char *name, size_t length, uint32_t index, const char *wanted)
{
    struct nl_msg *answer = answer_make();
    assert_int_equal(nla_put_u32(answer, RDMA_NLDEV_ATTR_DEV_INDEX, index), 0);
    if (name != NULL)
        assert_int_equal(nla_put(answer, RDMA_NLDEV_ATTR_DEV_NAME, (int)length, name), 0);
    int64_t found = verbs_nldev_index(nlmsg_hdr(answer), wanted);
    nlmsg_free(answer);
    return found;
}

TEST_ALONE(device_index)
{
    assert_int_equal(index_of("rxe1", 5, 7, "rxe1"), 7);
    assert_int_equal(index_of("rxe1", 5, 0, "rxe1"), 0);
    assert_int_equal(index_of("rxe1", 5, UINT32_MAX, "rxe1"), UINT32_MAX);
    assert_int_equal(index_of("rxe10", 6, 7, "rxe1"), -1);
    assert_int_equal(index_of("rxe", 4, 7, "rxe1"), -1);
    assert_int_equal(index_of("rxe1", 4, 7, "rxe1"), -1); /* not terminated */
    assert_int_equal(index_of(NULL, 0, 7, "rxe1"), -1);
}

TEST_ALONE(device_without_index)
{
    struct nl_msg *answer = answer_make();
    assert_int_equal(nla_put_string(answer, RDMA_NLDEV_ATTR_DEV_NAME, "rxe1"), 0);
    assert_int_equal(verbs_nldev_index(nlmsg_hdr(answer), "rxe1"), -1);
    assert_int_equal(nla_put_u64(answer, RDMA_NLDEV_ATTR_DEV_INDEX, 7), 0); /* of another size */
    assert_int_equal(verbs_nldev_index(nlmsg_hdr(answer), "rxe1"), -1);
    nlmsg_free(answer);
}

static void put_queue_pair(struct nl_msg *answer, int port, uint8_t type, uint8_t qp_state)
{
    struct nlattr *entry = nla_nest_start(answer, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
    assert_non_null(entry);
    if (port != NO_PORT)
        assert_int_equal(nla_put_u32(answer, RDMA_NLDEV_ATTR_PORT_INDEX, (uint32_t)port), 0);
    assert_int_equal(nla_put_u8(answer, RDMA_NLDEV_ATTR_RES_TYPE, type), 0);
    assert_int_equal(nla_put_u8(answer, RDMA_NLDEV_ATTR_RES_STATE, qp_state), 0);
    assert_int_equal(nla_put_string(answer, RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core"), 0);
    nla_nest_end(answer, entry);
}

/* A list of an innocent queue pair, this one, and another innocent one. */
static struct nl_msg *list_make(int port, uint8_t type, uint8_t qp_state)
{
    struct nl_msg *answer = answer_make();
    assert_int_equal(nla_put_u32(answer, RDMA_NLDEV_ATTR_DEV_INDEX, 7), 0);
    struct nlattr *table = nla_nest_start(answer, RDMA_NLDEV_ATTR_RES_QP);
    assert_non_null(table);
    put_queue_pair(answer, 1, RC, ERR);
    put_queue_pair(answer, port, type, qp_state);
    put_queue_pair(answer, NO_PORT, GSI, RTS);
    nla_nest_end(answer, table);
    return answer;
}

static bool failed(int port, uint8_t type, uint8_t qp_state)
{
    struct nl_msg *answer = list_make(port, type, qp_state);
    bool found = verbs_nldev_gsi_failed(nlmsg_hdr(answer), 1);
    nlmsg_free(answer);
    return found;
}

TEST_ALONE(failed_queue_pair)
{
    assert_true(failed(1, GSI, ERR));
    assert_true(failed(NO_PORT, GSI, ERR));
    assert_false(failed(2, GSI, ERR));
    assert_false(failed(1, GSI, RTS));
    assert_false(failed(1, RC, ERR));
    struct nl_msg *nothing = answer_make();
    assert_false(verbs_nldev_gsi_failed(nlmsg_hdr(nothing), 1));
    nlmsg_free(nothing);
}

/* Cut short anywhere, and with each byte changed: in memory of just that length, so that
 * AddressSanitizer and valgrind see a read behind it. */
TEST_ALONE(unsound_messages)
{
    struct nl_msg *answer = list_make(1, GSI, ERR);
    const struct nlmsghdr *sound = nlmsg_hdr(answer);
    uint32_t whole = sound->nlmsg_len;
    for (uint32_t length = sizeof *sound; length <= whole; length++) {
        struct nlmsghdr *cut = malloc(length);
        assert_non_null(cut);
        memcpy(cut, sound, length);
        cut->nlmsg_len = length;
        assert_true(verbs_nldev_gsi_failed(cut, 1) == (length == whole));
        assert_int_equal(verbs_nldev_index(cut, "rxe1"), -1);
        free(cut);
    }
    for (uint32_t at = sizeof *sound; at < whole; at++)
        for (unsigned value = 0; value < 256; value++) {
            uint8_t *changed = malloc(whole);
            assert_non_null(changed);
            memcpy(changed, sound, whole);
            changed[at] = (uint8_t)value;
            (void)verbs_nldev_gsi_failed((struct nlmsghdr *)(void *)changed, 1);
            (void)verbs_nldev_index((struct nlmsghdr *)(void *)changed, "rxe1");
            free(changed);
        }
    nlmsg_free(answer);
}
