/* SPDX-License-Identifier: BSD-3-Clause */
/* A: access lists, and what users get from them. */
#include "stage.h"

enum { OTHER_UID = UNPRIVILEGED_UID - 1, GROUP = UNPRIVILEGED_UID - 2, LIST_MAX = 64 };

/* ---------------------------------------------------------------- lists */

static int publish_with(rsmapi_controller_handle_t through, rsmapi_access_entry_t *acl,
                        unsigned count)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = SEGMENT_ID;
    OK(rsm_memseg_export_create(through, &segment, pages(1), PAGE, 0));
    int error = rsm_memseg_export_publish(segment, &id, acl, count);
    OK(rsm_memseg_export_destroy(segment));
    return error;
}

CONFORMANCE(A, 01, "a list is too long with 65 entries")
{
    rsmapi_access_entry_t acl[LIST_MAX + 1];
    act_as_exporter();
    for (unsigned i = 0; i <= LIST_MAX; i++)
        acl[i] = (rsmapi_access_entry_t){options.exporter_node, 0666};
    EXPECT(RSMERR_BAD_ACL, publish_with(controller(), acl, LIST_MAX + 1));
    if (!on_loopback())
        OK(publish_with(controller(), acl, LIST_MAX));
}

CONFORMANCE(A, 02, "loopback: a list has one entry")
{
    rsmapi_access_entry_t acl[2] = {{options.exporter_node, 0666}, {options.exporter_node, 0666}};
    act_as_exporter();
    EXPECT(RSMERR_BAD_ACL, publish_with(loopback(), acl, 2));
}

CONFORMANCE(A, 03, "loopback: the entry may not name another node")
{
    rsmapi_access_entry_t entry = {node_other_than(options.exporter_node), 0666};
    act_as_exporter();
    EXPECT(RSMERR_BAD_ACL, publish_with(loopback(), &entry, 1));
}

CONFORMANCE(A, 04, "loopback: the entry names this node")
{
    rsmapi_access_entry_t entry = {options.exporter_node, 0666};
    act_as_exporter();
    OK(publish_with(loopback(), &entry, 1));
}

CONFORMANCE(A, 05, "there is no node 65")
{
    rsmapi_access_entry_t entry = {65, 0666};
    act_as_exporter();
    EXPECT(RSMERR_BAD_ACL, publish_with(controller(), &entry, 1));
}

CONFORMANCE(A, 06, "permissions are compared as numbers with 0666")
{
    rsmapi_access_entry_t entry = {options.exporter_node, 0667};
    act_as_exporter();
    EXPECT(RSMERR_BAD_ACL, publish_with(controller(), &entry, 1));
    entry.ae_permission = 0700;
    EXPECT(RSMERR_BAD_ACL, publish_with(controller(), &entry, 1));
    entry.ae_permission = 0666;
    OK(publish_with(controller(), &entry, 1));
    entry.ae_permission = 0577;
    OK(publish_with(controller(), &entry, 1));
}

CONFORMANCE(A, 07, "the exporter's own node is not implied")
{
    APPLIES_IF(!on_loopback(), "a list on loopback must name this node");
    struct actor *neighbour = exporter_start();
    rsmapi_access_entry_t entry = {node_other_than(options.exporter_node), 0666};
    rsm_memseg_id_t id = SEGMENT_ID;
    act_as_exporter();
    rsm_memseg_export_handle_t segment = created(pages(1), PAGE, 0);
    OK(rsm_memseg_export_publish(segment, &id, &entry, 1));
    TELL_GET(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, neighbour, CONNECT);
}

/* ---------------------------------------------------------------- users */

/* A user without privilege: the one of that number where the suite runs as root. */
static struct actor *user_of_node(struct actor *peer, uint32_t uid, uint32_t group)
{
    if (geteuid() == 0)
        TELL_OK(peer, USER, .uid = uid, .gid = uid, .group = group);
    return peer;
}

/* What one and the same user on both sides needs, and what several need. */
static void one_user(void)
{
    if (geteuid() == 0)
        serve_all_users();
}

static struct actor *exporting_user(uint32_t uid)
{
    return user_of_node(exporter_start(), uid, 0);
}

static struct actor *importing_user(uint32_t uid)
{
    return user_of_node(importer_start(), uid, 0);
}

static void offer(struct actor *exporter, rsm_permission_t permission)
{
    TELL_OK(exporter, OFFER, .pages = 1, .acl_count = 1,
            .acl = {{options.importer_node, permission}});
}

/* What connecting for reading, for writing and for both gets. */
static void expect_connects(struct actor *importer, int reading, int writing, int both)
{
    TELL_GET(reading, importer, CONNECT, .slot = 0, .rights = RSM_PERM_READ);
    TELL_GET(writing, importer, CONNECT, .slot = 1, .rights = RSM_PERM_WRITE);
    TELL_GET(both, importer, CONNECT, .slot = 2, .rights = RSM_PERM_RDWR);
}

enum { YES = RSM_SUCCESS, NO = RSMERR_PERM_DENIED };

CONFORMANCE(A, 08, "of two entries for a node the first decides")
{
    APPLIES_IF(!on_loopback(), "a list on loopback has one entry");
    one_user();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *importer = importing_user(UNPRIVILEGED_UID);
    rsm_node_id_t node = options.importer_node;
    TELL_OK(exporter, OFFER, .pages = 1, .acl_count = 2, .acl = {{node, 0444}, {node, 0666}});
    expect_connects(importer, YES, NO, NO);
}

CONFORMANCE(A, 09, "0600: the exporter's user alone")
{
    serve_all_users();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *same = importing_user(UNPRIVILEGED_UID);
    struct actor *other = importing_user(OTHER_UID);
    offer(exporter, 0600);
    expect_connects(same, YES, YES, YES);
    expect_connects(other, NO, NO, NO);
}

CONFORMANCE(A, 10, "0644: others may read")
{
    serve_all_users();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *other = importing_user(OTHER_UID);
    offer(exporter, 0644);
    expect_connects(other, YES, NO, NO);
}

CONFORMANCE(A, 11, "0060: the group, but not the owner")
{
    serve_all_users();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *owner = importing_user(UNPRIVILEGED_UID);
    struct actor *member = importer_start();
    TELL_OK(member, USER, .uid = OTHER_UID, .gid = UNPRIVILEGED_UID);
    offer(exporter, 0060);
    expect_connects(owner, NO, NO, NO);
    expect_connects(member, YES, YES, YES);
}

CONFORMANCE(A, 12, "0006: neither owner nor group, but everybody else")
{
    serve_all_users();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *owner = importing_user(UNPRIVILEGED_UID);
    struct actor *member = importer_start();
    struct actor *other = importing_user(OTHER_UID);
    TELL_OK(member, USER, .uid = OTHER_UID, .gid = UNPRIVILEGED_UID);
    offer(exporter, 0006);
    expect_connects(owner, NO, NO, NO);
    expect_connects(member, NO, NO, NO);
    expect_connects(other, YES, YES, YES);
}

CONFORMANCE(A, 13, "0400: the owner may read")
{
    one_user();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *importer = importing_user(UNPRIVILEGED_UID);
    offer(exporter, 0400);
    expect_connects(importer, YES, NO, NO);
}

CONFORMANCE(A, 14, "0200: the owner may write")
{
    one_user();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *importer = importing_user(UNPRIVILEGED_UID);
    offer(exporter, 0200);
    expect_connects(importer, NO, YES, NO);
}

/* Published without a list after one umask at creation and another one later. */
static void expect_by_umask(mode_t at_creation, mode_t later, int reading, int both)
{
    serve_all_users();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *other = importing_user(OTHER_UID);
    TELL_OK(exporter, UMASK, .value = at_creation);
    TELL_OK(exporter, CREATE, .pages = 1);
    TELL_OK(exporter, UMASK, .value = later);
    TELL_OK(exporter, PUBLISH);
    expect_connects(other, reading, both, both);
}

CONFORMANCE(A, 15, "no list, umask 022: others may read")
{
    expect_by_umask(022, 022, YES, NO);
}

CONFORMANCE(A, 16, "no list, umask 0: others may read and write")
{
    expect_by_umask(0, 0, YES, YES);
}

CONFORMANCE(A, 17, "the umask counts at creation, not at publishing")
{
    expect_by_umask(077, 0, NO, NO);
}

CONFORMANCE(A, 18, "supplementary groups count")
{
    serve_all_users();
    struct actor *exporter = exporter_start();
    struct actor *importer = user_of_node(importer_start(), OTHER_UID, GROUP);
    struct actor *other = importing_user(OTHER_UID);
    TELL_OK(exporter, USER, .uid = UNPRIVILEGED_UID, .gid = GROUP);
    offer(exporter, 0660);
    expect_connects(importer, YES, YES, YES);
    expect_connects(other, NO, NO, NO);
}

CONFORMANCE(A, 19, "a privileged importer is always let in")
{
    serve_all_users();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *root = importer_start();
    offer(exporter, 0);
    expect_connects(root, YES, YES, YES);
}

CONFORMANCE(A, 20, "permission 0: connecting without rights only")
{
    one_user();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *importer = importing_user(UNPRIVILEGED_UID);
    offer(exporter, 0);
    expect_connects(importer, NO, NO, NO);
    TELL_OK(importer, CONNECT, .rights = NO_RIGHTS);
}

CONFORMANCE(A, 21, "whom the digit for others admits may map and transfer")
{
    serve_all_users();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *other = importing_user(OTHER_UID);
    offer(exporter, 0066);
    TELL_OK(other, CONNECT);
    int error = TELL(other, MAP, .pages = 1);
    EXPECT_EITHER(RSM_SUCCESS, RSMERR_BAD_PERMS, error);
    if (error != RSM_SUCCESS)
        return;
    TELL_OK(other, BARRIER);
    TELL_OK(other, PUT, .value = 5);
    HOLDS(ASK(other, PEEK).value == 5);
    HOLDS(ASK(exporter, LOAD).value == 5);
}

CONFORMANCE(A, 22, "a list at an address that cannot be read")
{
    act_as_exporter();
    void *hole = pages(1);
    HOLDS(mprotect(hole, PAGE, PROT_NONE) == 0);
    EXPECT(RSMERR_BAD_ADDR, publish_with(controller(), hole, 1));
}

CONFORMANCE(A, 23, "republish without a node that is connected: new connects are refused")
{
    APPLIES_IF(!on_loopback(), "a list on loopback must name this node");
    one_user();
    struct actor *exporter = exporting_user(UNPRIVILEGED_UID);
    struct actor *importer = importing_user(UNPRIVILEGED_UID);
    offer(exporter, 0666);
    TELL_OK(importer, CONNECT);
    TELL_OK(exporter, REPUBLISH, .acl_count = 1,
            .acl = {{node_other_than(options.importer_node), 0666}});
    EXPECT_EITHER(RSMERR_PERM_DENIED, RSMERR_SEG_NOT_PUBLISHED_TO_NODE,
                  TELL(importer, CONNECT, .slot = 1));
}
