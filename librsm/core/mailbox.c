/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/mailbox.h"

enum rsm_status rsmcore_mailbox_open(struct rsmcore_mailbox *mailbox,
                                     struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id)
{
    struct rsmcore_event *event;
    enum rsm_status status = rsmcore_event_create(control, end, id, &event);
    if (status != RSM_ST_OK)
        return status;
    status = rsmcore_event_open(event);
    if (status != RSM_ST_OK) {
        rsmcore_event_destroy(event);
        return status;
    }
    mailbox->event = event;
    mailbox->control = control;
    mailbox->end = end;
    mailbox->id = id;
    mailbox->ahead.count = mailbox->first = 0;
    mailbox->after = 0;
    pthread_mutex_init(&mailbox->lock, NULL);
    return RSM_ST_OK;
}

void rsmcore_mailbox_close(struct rsmcore_mailbox *mailbox)
{
    rsmcore_event_destroy(mailbox->event);
    pthread_mutex_destroy(&mailbox->lock);
}

static void make_request(const struct rsmcore_mailbox *mailbox, struct rsm_msg *msg)
{
    rsm_msg_begin(msg, RSM_MSG_MAILBOX_TAKE);
    msg->u.mailbox_take = (struct rsm_mailbox_take_request){
        .end = mailbox->end, .id = mailbox->id, .after = mailbox->after};
}

static bool ends_in_overflow(const struct rsm_mailbox_take_reply *page)
{
    return page->count > 0 && page->entries[page->count - 1].record.event == RSM_RECORD_OVERFLOW;
}

/* The next fetch acknowledges this one. */
static enum rsm_status fetch(struct rsmcore_mailbox *mailbox)
{
    struct rsm_msg msg;
    const struct rsm_mailbox_take_reply *page = &msg.u.mailbox_take_reply;
    make_request(mailbox, &msg);
    enum rsm_status status = rsmcore_control_call(mailbox->control, &msg, NULL);
    if (status != RSM_ST_OK)
        return status;
    for (uint32_t i = 0; i < page->count; i++) {
        if (page->entries[i].record.order <= mailbox->after)
            return RSM_ST_PROTOCOL;
        mailbox->after = page->entries[i].record.order;
    }
    mailbox->ahead = *page;
    mailbox->first = 0;
    if (ends_in_overflow(page)) { /* rsmd keeps no more records until it is acknowledged */
        make_request(mailbox, &msg);
        rsmcore_control_post(mailbox->control, &msg);
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_mailbox_take(struct rsmcore_mailbox *mailbox,
                                     const struct rsm_mailbox_entry **entry)
{
    enum rsm_status status = rsmcore_mailbox_is_empty(mailbox) ? fetch(mailbox) : RSM_ST_OK;
    if (status != RSM_ST_OK)
        rsmcore_event_raise(mailbox->event, 1, false);
    *entry = rsmcore_mailbox_is_empty(mailbox) ? NULL : &mailbox->ahead.entries[mailbox->first++];
    return status;
}
