/* SPDX-License-Identifier: BSD-3-Clause */
/* P, first part: publish and unpublish. */
#include "process.h"
#include "stage.h"

/* The segment that a test is about: two pages, not published. */
static rsm_memseg_export_handle_t segment_of(uint8_t *memory)
{
    act_as_exporter();
    return created(memory, 2 * PAGE, 0);
}

static int publish_as(rsm_memseg_export_handle_t segment, rsm_memseg_id_t id)
{
    return rsm_memseg_export_publish(segment, &id, NULL, 0);
}

CONFORMANCE(P, 01, "publish: the id pointer is checked before the segment")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEGID, rsm_memseg_export_publish(NULL, NULL, NULL, 0));
    EXPECT(RSMERR_BAD_SEGID, rsm_memseg_export_publish(segment_of(pages(2)), NULL, NULL, 0));
}

CONFORMANCE(P, 02, "publish of no segment")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEG_HNDL, publish_as(NULL, SEGMENT_ID));
}

CONFORMANCE(P, 03, "publish with a length but no list")
{
    rsm_memseg_id_t id = SEGMENT_ID;
    EXPECT(RSMERR_BAD_ACL, rsm_memseg_export_publish(segment_of(pages(2)), &id, NULL, 1));
}

CONFORMANCE(P, 04, "publish without a list")
{
    OK(publish_as(segment_of(pages(2)), SEGMENT_ID));
}

CONFORMANCE(P, 05, "a list of length 0 is not looked at")
{
    struct actor *importer = importer_start();
    rsmapi_access_entry_t bad[2] = {{999, 07777}, {1, 07777}};
    rsm_memseg_id_t id = SEGMENT_ID;
    OK(rsm_memseg_export_publish(segment_of(pages(2)), &id, bad, 0));
    TELL_OK(importer, ATTACH, .pages = 2);
}

CONFORMANCE(P, 06, "publish twice, whatever the id")
{
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    OK(publish_as(segment, SEGMENT_ID));
    EXPECT(RSMERR_SEG_ALREADY_PUBLISHED, publish_as(segment, SEGMENT_ID));
    EXPECT(RSMERR_SEG_ALREADY_PUBLISHED, publish_as(segment, SEGMENT_ID + 1));
    EXPECT(RSMERR_SEG_ALREADY_PUBLISHED, publish_as(segment, 1));
}

CONFORMANCE(P, 07, "publish twice without a list: the list is checked first")
{
    rsm_memseg_id_t id = SEGMENT_ID;
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    OK(publish_as(segment, SEGMENT_ID));
    EXPECT(RSMERR_BAD_ACL, rsm_memseg_export_publish(segment, &id, NULL, 1));
}

CONFORMANCE(P, 08, "a failed publish changes neither id nor segment")
{
    struct actor *importer = importer_start();
    rsmapi_access_entry_t bad = {65, 0666};
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    rsm_memseg_id_t id = 0;
    EXPECT(RSMERR_BAD_ACL, rsm_memseg_export_publish(segment, &id, &bad, 1));
    HOLDS(id == 0);
    id = 1;
    EXPECT(RSMERR_RESERVED_SEGID, rsm_memseg_export_publish(segment, &id, NULL, 0));
    HOLDS(id == 1);
    TELL_GET(RSMERR_SEG_NOT_PUBLISHED, importer, CONNECT);
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, CONNECT);
}

CONFORMANCE(P, 09, "publish leaves an id that was chosen as it is")
{
    rsm_memseg_id_t id = SEGMENT_ID + 5;
    OK(rsm_memseg_export_publish(segment_of(pages(2)), &id, NULL, 0));
    HOLDS(id == SEGMENT_ID + 5);
}

CONFORMANCE(P, 10, "publish with id 0 gets one from the system")
{
    rsm_memseg_id_t id = 0;
    OK(rsm_memseg_export_publish(segment_of(pages(2)), &id, NULL, 0));
    HOLDS(id >= RSM_USER_APP_ID_BASE);
}

CONFORMANCE(P, 11, "an id is in use once on a node, whichever process or controller")
{
    struct actor *neighbour = exporter_start();
    rsm_memseg_export_handle_t other;
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    OK(publish_as(segment, SEGMENT_ID));
    EXPECT(RSMERR_SEGID_IN_USE, publish_as(created(pages(1), PAGE, 0), SEGMENT_ID));
    OK(rsm_memseg_export_create(loopback(), &other, pages(1), PAGE, 0));
    EXPECT(RSMERR_SEGID_IN_USE, publish_as(other, SEGMENT_ID));
    TELL_OK(neighbour, CREATE, .pages = 1);
    TELL_OK(neighbour, CREATE, .slot = 1, .pages = 1, .loopback = true);
    TELL_GET(RSMERR_SEGID_IN_USE, neighbour, PUBLISH);
    TELL_GET(RSMERR_SEGID_IN_USE, neighbour, PUBLISH, .slot = 1);
    OK(rsm_memseg_export_destroy(other));
}

CONFORMANCE(P, 12, "after an id was in use another one does")
{
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    OK(publish_as(created(pages(1), PAGE, 0), SEGMENT_ID));
    EXPECT(RSMERR_SEGID_IN_USE, publish_as(segment, SEGMENT_ID));
    OK(publish_as(segment, SEGMENT_ID + 1));
}

CONFORMANCE(P, 13, "two nodes may use the same id")
{
    APPLIES_IF(!one_node(), "exporter and importer are on one node");
    struct actor *importer = importer_start();
    OK(publish_as(segment_of(pages(2)), SEGMENT_ID));
    TELL_OK(importer, OFFER, .pages = 1);
}

static int publish_in_child(void *segment)
{
    return publish_as(segment, SEGMENT_ID);
}

static int unpublish_in_child(void *segment)
{
    return rsm_memseg_export_unpublish(segment);
}

CONFORMANCE(P, 14, "publish in a forked child")
{
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    HOLDS(in_child(publish_in_child, segment) == RSMERR_NOT_CREATOR);
    OK(publish_as(segment, SEGMENT_ID));
}

static void *publish_in_thread(void *segment)
{
    return (void *)(intptr_t)publish_as(segment, SEGMENT_ID);
}

CONFORMANCE(P, 15, "publish in another thread")
{
    pthread_t thread;
    void *error;
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    HOLDS(pthread_create(&thread, NULL, publish_in_thread, segment) == 0);
    HOLDS(pthread_join(thread, &error) == 0);
    OK((int)(intptr_t)error);
}

CONFORMANCE(P, 16, "unpublish of no segment")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_unpublish(NULL));
}

CONFORMANCE(P, 17, "unpublish of a segment that is not published")
{
    EXPECT(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_unpublish(segment_of(pages(2))));
}

CONFORMANCE(P, 18, "publish and unpublish may alternate, with the same id")
{
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    for (int i = 0; i < 20; i++) {
        OK(publish_as(segment, SEGMENT_ID));
        OK(rsm_memseg_export_unpublish(segment));
        EXPECT(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_unpublish(segment));
    }
    OK(publish_as(segment, SEGMENT_ID + 1));
}

CONFORMANCE(P, 19, "unpublish aborts importers")
{
    struct actor *first = importer_start(), *second = importer_start();
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    publish(segment, SEGMENT_ID);
    TELL_OK(first, ATTACH, .pages = 2);
    TELL_OK(second, CONNECT);
    TELL_OK(second, BARRIER);
    OK(rsm_memseg_export_unpublish(segment));
    TELL_GET(RSMERR_CONN_ABORTED, first, AWAIT_ABORT);
    TELL_GET(RSMERR_CONN_ABORTED, second, AWAIT_ABORT);
    TELL_GET(RSMERR_CONN_ABORTED, second, PUT);
    TELL_GET(RSMERR_SEG_NOT_PUBLISHED, second, CONNECT, .slot = 1);
}

/* Sun's library did not look; the guide, which librsm follows, says POLLFD_IN_USE. */
CONFORMANCE(P, 20, "unpublish while a pollfd reference exists")
{
    struct actor *importer = importer_start();
    struct pollfd entry;
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, ATTACH, .pages = 2);
    OK(rsm_memseg_get_pollfd(segment, &entry));
    EXPECT(RSMERR_POLLFD_IN_USE, rsm_memseg_export_unpublish(segment));
    TELL_OK(importer, PUT);
    OK(rsm_memseg_release_pollfd(segment));
    OK(rsm_memseg_export_unpublish(segment));
}

CONFORMANCE(P, 21, "unpublish in a forked child")
{
    struct actor *importer = importer_start();
    rsm_memseg_export_handle_t segment = segment_of(pages(2));
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, ATTACH, .pages = 2);
    HOLDS(in_child(unpublish_in_child, segment) == RSMERR_NOT_CREATOR);
    TELL_OK(importer, PUT);
    TELL_OK(importer, CONNECT, .slot = 1);
}

enum { STORM_SEEN = 100, STORM_MS = 30000 /* far more than so many stores take */ };

CONFORMANCE(P, 22, "after unpublish no importer's store changes the memory")
{
    struct actor *importer = importer_start();
    uint8_t *memory = pages(2);
    rsm_memseg_export_handle_t segment = segment_of(memory);
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, ATTACH, .pages = 2);
    TELL_OK(importer, STORM, .offset = 64);
    int64_t deadline = now_ms() + STORM_MS;
    while (load64(memory + 64) < STORM_SEEN && now_ms() < deadline)
        usleep(100);
    OK(rsm_memseg_export_unpublish(segment));
    uint64_t last = load64(memory + 64);
    HOLDS(last >= STORM_SEEN);
    struct order stormed = ASK(importer, END_STORM, .value = last + STORM_SEEN);
    OK(stormed.result);
    HOLDS(stormed.value >= last + STORM_SEEN);
    HOLDS(load64(memory + 64) == last);
}
