/* SPDX-License-Identifier: BSD-3-Clause */
/* SISCI where a part of a function fails halfway: what it leaves is as before, or can be made good by a repetition. */
#include <sisci_api.h>

#include "core/export.h"
#include "in_front.h"
#include "party.h"

enum { ID = PARTY_ID, LENGTH = PARTY_PAGE, NUMBER = 77 };

static sci_desc_t desc;

static int begin_library(void)
{
    sci_error_t error;
    SCIInitialize(0, &error);
    NEED(error == SCI_ERR_OK);
    SCIOpen(&desc, 0, &error);
    NEED(error == SCI_ERR_OK);
    return 0;
}

/* ---------------------------------------------------------------- no thread */

static sci_callback_action_t on_interrupt(void *unused, sci_local_interrupt_t interrupt,
                                          sci_error_t status)
{
    return SCI_CALLBACK_CONTINUE;
}

static int create_without_thread(void *unused)
{
    sci_error_t error;
    sci_local_interrupt_t first, second = (sci_local_interrupt_t)8;
    unsigned taken = NUMBER, number = NUMBER;
    NEED(begin_library() == 0);
    SCICreateInterrupt(desc, &first, 0, &taken, NULL, NULL, 0, &error);
    NEED(error == SCI_ERR_OK);
    number = taken;
    no_threads = true;
    SCICreateInterrupt(desc, &second, 0, &number, on_interrupt, NULL, SCI_FLAG_USE_CALLBACK,
                       &error);
    no_threads = false;
    NEED(error == SCI_ERR_NOSPC);
    NEED(second == NULL);
    NEED(number == taken); /* not one that it had for a moment */
    SCICreateInterrupt(desc, &second, 0, &number, on_interrupt, NULL, SCI_FLAG_USE_CALLBACK,
                       &error);
    NEED(error == SCI_ERR_OK && number != taken);
    SCITerminate();
    return 0;
}

WORLD_TEST(interrupt_without_a_thread_changes_nothing)
{
    char nothing = 0;
    assert_int_equal(
        actor_run(actor_start(world, 1), create_without_thread, &nothing, sizeof nothing), 0);
}

/* ---------------------------------------------------------------- no publication */

static unsigned failing_publications;

/* In front of librsm's. */
IN_FRONT enum rsm_status rsmcore_export_publish(struct rsmcore_export *segment,
                                                enum rsm_id_space space, uint32_t *segment_id,
                                                uint32_t flags, const struct rsm_acl_entry *acl,
                                                uint32_t acl_count)
{
    typeof(&rsmcore_export_publish) publish;
    void *found = behind("rsmcore_export_publish");
    memcpy(&publish, &found, sizeof publish);
    if (failing_publications == 0)
        return publish(segment, space, segment_id, flags, acl, acl_count);
    failing_publications--;
    return RSM_ST_NO_MEMORY;
}

static int connect_own(sci_remote_segment_t *remote)
{
    sci_error_t error;
    SCIConnectSegment(desc, remote, 1, ID, 0, NULL, NULL, 0, 0, &error);
    return (int)error;
}

static int disconnect_halfway(void *unused)
{
    sci_error_t error;
    sci_local_segment_t segment;
    sci_remote_segment_t remote;
    NEED(begin_library() == 0);
    SCICreateSegment(desc, &segment, ID, LENGTH, NULL, NULL, 0, &error);
    NEED(error == SCI_ERR_OK);
    SCIPrepareSegment(segment, 0, 0, &error);
    SCISetSegmentAvailable(segment, 0, 0, &error);
    NEED(error == SCI_ERR_OK && connect_own(&remote) == SCI_ERR_OK);
    failing_publications = 2;
    SCISetSegmentUnavailable(segment, 0, SCI_FLAG_FORCE_DISCONNECT, &error);
    NEED(error == SCI_ERR_NOSPC && failing_publications == 1);
    NEED(connect_own(&remote) == SCI_ERR_NO_SUCH_SEGMENT);
    SCISetSegmentAvailable(segment, 0, 0, &error);
    NEED(error == SCI_ERR_NOSPC && failing_publications == 0);
    NEED(connect_own(&remote) == SCI_ERR_NO_SUCH_SEGMENT);
    SCISetSegmentAvailable(segment, 0, 0, &error);
    NEED(error == SCI_ERR_OK);
    NEED(connect_own(&remote) == SCI_ERR_OK);
    SCITerminate();
    return 0;
}

WORLD_TEST(segment_that_could_not_be_published_again_is_not_available)
{
    char nothing = 0;
    assert_int_equal(actor_run(actor_start(world, 1), disconnect_halfway, &nothing, sizeof nothing),
                     0);
}
