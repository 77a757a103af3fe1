/* SPDX-License-Identifier: BSD-3-Clause */
/* P, second part: republish. */
#include "stage.h"

static rsm_memseg_export_handle_t two_pages(void)
{
    act_as_exporter();
    return published(pages(2), 2);
}

static int republish(rsm_memseg_export_handle_t segment, rsm_permission_t permission)
{
    rsmapi_access_entry_t acl[2];
    unsigned count = both_nodes(acl, permission);
    return rsm_memseg_export_republish(segment, acl, count);
}

/* A list that lets nobody in, on any controller: of the importer's user where loopback wants this
 * node, of its node elsewhere. What its connect gets is stored in *refusal. */
static int republish_to_nobody(rsm_memseg_export_handle_t segment, int *refusal)
{
    rsmapi_access_entry_t entry = {options.exporter_node, 0};
    *refusal = RSMERR_PERM_DENIED;
    if (!on_loopback()) {
        *refusal = RSMERR_SEG_NOT_PUBLISHED_TO_NODE;
        entry = (rsmapi_access_entry_t){node_other_than(options.importer_node), 0666};
    }
    return rsm_memseg_export_republish(segment, &entry, 1);
}

CONFORMANCE(P, 23, "republish of no segment")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_republish(NULL, NULL, 0));
}

CONFORMANCE(P, 24, "republish of a segment that is not published, even with a bad list")
{
    rsmapi_access_entry_t bad = {65, 07777};
    act_as_exporter();
    rsm_memseg_export_handle_t segment = created(pages(1), PAGE, 0);
    EXPECT(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_republish(segment, NULL, 0));
    EXPECT(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_republish(segment, &bad, 1));
    EXPECT(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_republish(segment, NULL, 2));
}

CONFORMANCE(P, 25, "republish with a length but no list")
{
    EXPECT(RSMERR_BAD_ACL, rsm_memseg_export_republish(two_pages(), NULL, 2));
}

CONFORMANCE(P, 26, "republish leaves connections and their rights alone")
{
    struct actor *importer = unprivileged_importer();
    rsm_memseg_export_handle_t segment = two_pages();
    int refusal;
    TELL_OK(importer, ATTACH, .pages = 2);
    TELL_OK(importer, CONNECT, .slot = 1);
    TELL_OK(importer, OPEN);
    OK(republish(segment, 0444));
    TELL_OK(importer, PUT, .value = 1);
    OK(republish_to_nobody(segment, &refusal));
    TELL_OK(importer, PUT, .value = 2);
    TELL_OK(importer, POKE, .offset = 8, .value = 3);
    TELL_OK(importer, CLOSE);
    TELL_OK(importer, MAP, .slot = 1, .pages = 2);
    HOLDS(ASK(importer, PEEK, .slot = 1).value == 2);
    TELL_OK(importer, BARRIER, .slot = 1);
    TELL_OK(importer, OPEN, .slot = 1);
    TELL_OK(importer, POKE, .slot = 1, .value = 4);
    TELL_OK(importer, CLOSE, .slot = 1);
    HOLDS(ASK(importer, GET).value == 4);
}

CONFORMANCE(P, 27, "republish admits whom the new list names, and nobody else from then on")
{
    struct actor *importer = unprivileged_importer();
    rsm_memseg_export_handle_t segment = two_pages();
    int refusal;
    OK(republish_to_nobody(segment, &refusal));
    TELL_GET(refusal, importer, CONNECT);
    OK(republish(segment, 0666));
    TELL_OK(importer, CONNECT);
    TELL_OK(importer, DISCONNECT);
    OK(republish_to_nobody(segment, &refusal));
    TELL_GET(refusal, importer, CONNECT);
}

CONFORMANCE(P, 28, "republish with a bad list: the old one stays")
{
    rsmapi_access_entry_t bad = {options.exporter_node, 0700};
    struct actor *importer = unprivileged_importer();
    rsm_memseg_export_handle_t segment = two_pages();
    EXPECT(RSMERR_BAD_ACL, rsm_memseg_export_republish(segment, &bad, 1));
    TELL_OK(importer, CONNECT);
    TELL_OK(importer, DISCONNECT);
    bad = (rsmapi_access_entry_t){65, 0666};
    EXPECT(RSMERR_BAD_ACL, rsm_memseg_export_republish(segment, &bad, 1));
    TELL_OK(importer, CONNECT);
}

CONFORMANCE(P, 29, "republish without a list: every node, with the permissions of creation")
{
    struct actor *importer = unprivileged_importer();
    rsm_memseg_export_handle_t segment = two_pages();
    int refusal;
    OK(republish_to_nobody(segment, &refusal));
    TELL_GET(refusal, importer, CONNECT);
    OK(rsm_memseg_export_republish(segment, NULL, 0));
    TELL_OK(importer, CONNECT, .rights = RSM_PERM_READ);
    if (geteuid() == 0) /* umask 022, and the importer is another user */
        TELL_GET(RSMERR_PERM_DENIED, importer, CONNECT, .slot = 1);
    else
        TELL_OK(importer, CONNECT, .slot = 1);
}

static int republish_in_child(void *segment)
{
    return rsm_memseg_export_republish(segment, NULL, 0);
}

CONFORMANCE(P, 30, "republish in a forked child")
{
    rsm_memseg_export_handle_t segment = two_pages();
    HOLDS(in_child(republish_in_child, segment) == RSMERR_NOT_CREATOR);
    OK(rsm_memseg_export_republish(segment, NULL, 0));
}
