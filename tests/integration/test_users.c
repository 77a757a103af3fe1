/* SPDX-License-Identifier: BSD-3-Clause */
/* A node that several users share: nobody gets more than was granted, by whatever means. */
#include "client.h"
#include "party.h"
#include "process.h"
#include "shared_node.h"

enum { LENGTH = 2 * PARTY_PAGE, OTHER_UID = 65533, REPLY_TIMEOUT_MS = 5000 };

static struct actor *start_user(struct world *world, uid_t uid)
{
    return actor_start_as(world, 1, uid);
}

/* ---------------------------------------------------------------- access lists */

/* What another user gets from a segment with that permission. */
static void check_other(struct actor *exporter, struct actor *other, uint32_t permission,
                        int reading, int writing)
{
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 1, .acl = {{1, permission}});
    assert_int_equal(TELL(other, connect, .node = 1, .permission = RSM_PERM_READ), reading);
    assert_int_equal(TELL(other, connect, .slot = 1, .node = 1, .permission = RSM_PERM_WRITE),
                     writing);
    int both = reading != RSM_SUCCESS ? reading : writing;
    assert_int_equal(TELL(other, connect, .slot = 2, .node = 1), both);
    if (reading == RSM_SUCCESS)
        TELL_OK(other, disconnect);
    if (writing == RSM_SUCCESS)
        TELL_OK(other, disconnect, .slot = 1);
    if (both == RSM_SUCCESS)
        TELL_OK(other, disconnect, .slot = 2);
    TELL_OK(exporter, withdraw);
}

SHARED_NODE_TEST(test_access_lists)
{
    struct actor *owner = start_user(world, UNPRIVILEGED_UID);
    struct actor *other = start_user(world, OTHER_UID);
    struct actor *same = start_user(world, UNPRIVILEGED_UID);
    struct actor *root = start_user(world, 0);
    check_other(owner, other, 0600, RSMERR_PERM_DENIED, RSMERR_PERM_DENIED);
    check_other(owner, other, 0644, RSM_SUCCESS, RSMERR_PERM_DENIED);
    check_other(owner, other, 0662, RSMERR_PERM_DENIED, RSM_SUCCESS);
    check_other(owner, other, 0666, RSM_SUCCESS, RSM_SUCCESS);
    check_other(owner, other, 0006, RSM_SUCCESS, RSM_SUCCESS);
    check_other(owner, other, 0660, RSMERR_PERM_DENIED, RSMERR_PERM_DENIED);
    check_other(owner, same, 0600, RSM_SUCCESS, RSM_SUCCESS);
    check_other(owner, same, 0466, RSM_SUCCESS, RSMERR_PERM_DENIED);
    check_other(owner, same, 0066, RSMERR_PERM_DENIED, RSMERR_PERM_DENIED);
    check_other(owner, root, 0000, RSM_SUCCESS, RSM_SUCCESS);
    check_other(root, other, 0600, RSMERR_PERM_DENIED, RSMERR_PERM_DENIED);
    check_other(root, other, 0604, RSM_SUCCESS, RSMERR_PERM_DENIED);
}

SHARED_NODE_TEST(test_umask)
{
    struct actor *owner = start_user(world, UNPRIVILEGED_UID);
    struct actor *other = start_user(world, OTHER_UID);
    TELL_OK(owner, umask, .value = 022);
    TELL_OK(owner, create, .length = LENGTH);
    TELL_OK(owner, umask, .value = 0);
    TELL_OK(owner, create, .slot = 1, .length = LENGTH);
    TELL_OK(owner, umask, .value = 077);
    TELL_OK(owner, publish, .id = PARTY_ID);
    TELL_OK(owner, publish, .slot = 1, .id = PARTY_ID + 1);
    TELL_GET(other, connect, RSMERR_PERM_DENIED, .node = 1);
    TELL_OK(other, connect, .node = 1, .permission = RSM_PERM_READ);
    TELL_OK(other, attach, .slot = 1, .node = 1, .id = PARTY_ID + 1, .length = LENGTH);
    TELL_OK(other, poke, .slot = 1, .value = 3);
    assert_int_equal(ASK(owner, load, .slot = 1).value, 3);
    TELL_OK(owner, unpublish, .slot = 1);
    TELL_OK(other, poke, .slot = 1, .value = 4);
    assert_int_equal(ASK(owner, load, .slot = 1).value, 3);
}

/* ---------------------------------------------------------------- mappings */

/* Try to make every shared mapping of this process that cannot be written writable. Answers how
 * many there are; -1 if one gave way. */
static int widen_mappings(void *bytes)
{
    struct order *order = bytes;
    char line[512], permissions[8];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    NEED(maps != NULL);
    order->value = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, permissions) != 3 || permissions[1] == 'w' ||
            permissions[3] != 's' || strstr(line, "memfd:") == NULL)
            continue;
        order->value++;
        void *address = (void *)start; /* NOLINT: that is what the text means */
        NEED(mprotect(address, end - start, PROT_READ | PROT_WRITE) < 0 && errno == EACCES);
    }
    fclose(maps);
    return 0;
}

static void check_read_only(struct actor *exporter, struct actor *reader)
{
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 1, .acl = {{1, 0644}});
    TELL_OK(exporter, fill, .value = 4);
    TELL_OK(reader, attach, .node = 1, .length = LENGTH, .permission = RSM_PERM_READ);
    struct order found = party_ask(reader, widen_mappings, (struct order){0});
    assert_int_equal(found.result, 0);
    assert_true(found.value >= 2); /* the segment's and the daemon's table */
    assert_int_equal(ASK(reader, peek, .offset = 8).value, ASK(exporter, load, .offset = 8).value);
    TELL_OK(reader, detach);
    assert_int_equal(TELL(exporter, check, .value = 4), 0);
    TELL_OK(exporter, withdraw);
}

SHARED_NODE_TEST(test_read_only_stays_so)
{
    struct actor *owner = start_user(world, UNPRIVILEGED_UID), *root = start_user(world, 0);
    check_read_only(owner, start_user(world, OTHER_UID));
    check_read_only(owner, owner);
    check_read_only(owner, root);
    check_read_only(root, start_user(world, OTHER_UID));
    check_read_only(root, start_user(world, 0));
}

/* ---------------------------------------------------------------- without the library */

/* As a program would that wants more than the library gives. */
static int connect_raw(const struct order *order, int *socket, struct rsm_packet_fds *fds)
{
    *socket = client_connect(1);
    NEED(*socket >= 0);
    NEED(client_hello(*socket, order->node, REPLY_TIMEOUT_MS) == RSM_ST_OK);
    struct rsm_msg msg = {
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {
            .controller = "sci0", .node = 1, .segment_id = PARTY_ID, .rights = order->flags}};
    return client_ask(*socket, &msg, fds, REPLY_TIMEOUT_MS);
}

/* Whether a descriptor for reading gives nothing else, to this user. */
static int check_descriptor(int fd, bool reopening_fails)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    NEED((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    NEED(mmap(NULL, PARTY_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    NEED(write(fd, "x", 1) < 0 && ftruncate(fd, 0) < 0 && fchmod(fd, 0666) < 0);
    NEED(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0);
    int again = open(link, O_RDWR | O_CLOEXEC);
    NEED((again < 0) == reopening_fails);
    if (again >= 0)
        close(again);
    return 0;
}

/* Connect for reading, and look at each descriptor of the answer. */
static int look_at_offer(void *bytes)
{
    const struct order *order = bytes;
    struct rsm_packet_fds fds = {.count = 0};
    int socket;
    NEED(connect_raw(order, &socket, &fds) == RSM_ST_OK && fds.count > 0);
    for (unsigned i = 0; i < fds.count; i++)
        NEED(check_descriptor(fds.fds[i], order->value != 0) == 0);
    rsm_packet_fds_close(&fds);
    close(socket);
    return 0;
}

static int ask_for_too_much(void *bytes)
{
    const struct order *order = bytes;
    struct rsm_packet_fds fds = {.count = 0};
    int socket;
    int status = connect_raw(order, &socket, &fds);
    NEED(fds.count == 0);
    close(socket);
    return status;
}

/* Say that this process is of a node, and no more. */
static int claim_node(void *bytes)
{
    const struct order *order = bytes;
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {.node = order->node}};
    struct rsm_packet_fds fds;
    int socket = client_connect(1);
    NEED(socket >= 0);
    int status = client_ask(socket, &msg, &fds, REPLY_TIMEOUT_MS);
    NEED(status == RSM_ST_OK || fds.count == 0);
    rsm_packet_fds_close(&fds);
    close(socket);
    return status;
}

SHARED_NODE_TEST(test_offers_hold_no_more)
{
    struct actor *owner = start_user(world, UNPRIVILEGED_UID), *root = start_user(world, 0);
    struct actor *other = start_user(world, OTHER_UID);
    struct order order = {.node = 1, .flags = RSM_RIGHT_READ, .value = 1};
    TELL_OK(owner, offer, .length = LENGTH, .acl_count = 1, .acl = {{1, 0644}});
    assert_int_equal(party_ask(other, look_at_offer, order).result, 0);
    TELL_OK(root, offer, .length = LENGTH, .id = PARTY_ID + 1, .acl_count = 1, .acl = {{1, 0666}});
    order.flags = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    assert_int_equal(party_ask(other, ask_for_too_much, order).result, RSM_ST_DENIED);
    order.flags = RSM_RIGHT_WRITE;
    assert_int_equal(party_ask(other, ask_for_too_much, order).result, RSM_ST_DENIED);
    /* To claim another node opens nothing, either: one that is not there is refused, and one that
     * is shares this host, so that only the list of the segment knows the difference. */
    order.node = 2;
    order.flags = RSM_RIGHT_READ;
    assert_int_equal(party_ask(other, claim_node, order).result, RSM_ST_DENIED);
    pid_t second = world_daemon_start(world, 2);
    assert_int_equal(party_ask(other, ask_for_too_much, order).result, RSM_ST_NOT_TO_NODE);
    order.node = 3;
    assert_int_equal(party_ask(other, claim_node, order).result, RSM_ST_DENIED);
    world_daemon_end(second);
}

/* ---------------------------------------------------------------- ids */

static int find_reserved(void *bytes)
{
    struct order *order = bytes;
    uint32_t count;
    return rsm_get_segmentid_range("example", &order->id, &count);
}

/* What rsm.segmentid reserves is an agreement: first come, first served, whoever it is. */
SHARED_NODE_TEST(test_reserved_ids)
{
    char path[] = "/tmp/rsmt-ids-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(dprintf(file, "reserved example 0x640000 2\n") > 0);
    assert_int_equal(fchmod(file, 0644), 0);
    close(file);
    setenv("RSM_SEGMENTID_FILE", path, 1);
    struct actor *owner = start_user(world, UNPRIVILEGED_UID);
    struct actor *other = start_user(world, OTHER_UID);
    unsetenv("RSM_SEGMENTID_FILE");
    struct order found = party_ask(owner, find_reserved, (struct order){0});
    assert_int_equal(found.result, RSM_SUCCESS);
    assert_int_equal(found.id, 0x640000);
    TELL_OK(other, create, .length = LENGTH);
    TELL_OK(other, publish, .id = found.id);
    TELL_OK(owner, create, .length = LENGTH);
    TELL_GET(owner, publish, RSMERR_SEGID_IN_USE, .id = found.id);
    TELL_OK(owner, publish, .id = found.id + 1);
    TELL_OK(other, unpublish);
    TELL_OK(owner, unpublish);
    TELL_OK(owner, publish, .id = found.id);
    unlink(path);
}

/* ---------------------------------------------------------------- a private node */

static int open_private_node(void *bytes)
{
    int socket = client_connect(2);
    if (socket < 0)
        return errno;
    close(socket);
    return 0;
}

/* The embedded node of one user is not another's to reach or to replace. */
SHARED_NODE_TEST(test_private_node)
{
    if (!build_is_reachable()) {
        print_message("not run: other users cannot get at the programs of this build\n");
        skip();
    }
    struct actor *root = actor_start(world, 2);
    world->daemons_may_fail = true; /* those of the users who may not have one here */
    TELL_OK(root, offer, .length = LENGTH);
    struct actor *other = start_user(world, OTHER_UID);
    assert_int_equal(actor_run(other, open_private_node, NULL, 0), EACCES);
    TELL_GET(other, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 2);
    struct actor *intruder = actor_start_as(world, 2, OTHER_UID);
    TELL_GET(intruder, open, RSMERR_CTLR_NOT_PRESENT);
    struct actor *founder = actor_start_as(world, 5, OTHER_UID);
    TELL_GET(founder, open, RSMERR_CTLR_NOT_PRESENT);
    TELL_OK(root, attach, .node = 2, .length = LENGTH);
}
