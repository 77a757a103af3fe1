/* SPDX-License-Identifier: BSD-3-Clause */
#include "requests.h"

enum { PAGE = 4096, WORDS = 4 };

static void name_make(struct input *in, char *name)
{
    static const char *const names[16] = {"sci0", "sci0", "sci0",     "sci0",     "sci0", "sci0",
                                          "sci1", "sci1", "sci1",     "sci1",     "sci",  "sci",
                                          "sci9", "",     "loopback", "loopback0"};
    unsigned form = input_u8(in);
    if (form < 0xf8)
        strcpy(name, names[form % 16]);
    else
        name[input_bytes(in, name, 8u << (form - 0xf8) < 255 ? 8u << (form - 0xf8) : 255)] = '\0';
}

/* Mostly whole pages, and not too many: the daemon may have to clear them. */
static uint64_t length_make(struct input *in)
{
    uint8_t form = input_u8(in);
    return form < 0xf0 ? (uint64_t)(form % 16) * PAGE : input_number(in);
}

static void acl_make(struct input *in, uint32_t *count, struct rsm_acl_entry *acl)
{
    *count = input_below(in, 8) == 7 ? input_below(in, RSM_PROTO_ACL_MAX + 1) : input_below(in, 3);
    for (uint32_t i = 0; i < *count; i++)
        acl[i] = (struct rsm_acl_entry){.node = (uint32_t)input_number(in),
                                        .permission =
                                            input_below(in, 4) != 0 ? 0666 : input_u8(in) * 8u};
}

static void publish_make(struct input *in, struct rsm_export_publish_request *m)
{
    m->export_id = (uint32_t)input_number(in);
    m->segment_id = (uint32_t)input_number(in);
    m->space = input_below(in, RSM_ID_SPACES + 1);
    m->flags = input_below(in, 4) == 3 ? (uint32_t)input_number(in) : 0;
    acl_make(in, &m->acl_count, m->acl);
    m->piece_count = input_below(in, 16) == 15 ? input_below(in, RSM_PROTO_PIECES_MAX + 1)
                                               : 1 + input_below(in, 2);
    for (uint32_t i = 0; i < m->piece_count; i++)
        m->pieces[i] = (struct rsm_segment_piece){.extent = (uint32_t)input_number(in),
                                                  .offset = length_make(in),
                                                  .length = length_make(in)};
}

/* Of an import half; few connects have one. The length that was made. */
static uint32_t asked_make(struct input *in, char *transport, uint8_t *bytes)
{
    if (input_below(in, 4) != 3)
        return 0;
    strcpy(transport, input_below(in, 4) == 3 ? "verbs" : "shm");
    return (uint32_t)input_bytes(in, bytes, input_below(in, RSM_REQUEST_MAX + 1));
}

/* Ids, indices, flags. */
static void words_make(struct input *in, void *body)
{
    uint32_t words[WORDS];
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = (uint32_t)input_number(in);
    memcpy(body, words, sizeof words);
}

void request_make(struct input *in, struct rsm_msg *msg)
{
    memset(msg, 0, sizeof *msg);
    msg->type = input_below(in, RSM_MSG_LAST + 4);
    switch (msg->type) {
    case RSM_MSG_HELLO:
        msg->u.hello = (struct rsm_hello_request){
            .node = input_below(in, 8) == 7 ? (uint32_t)input_number(in) : 1};
        return;
    case RSM_MSG_CONTROLLER:
        name_make(in, msg->u.controller.name);
        strcpy(msg->u.controller.transport, input_below(in, 2) == 0 ? "" : "shm");
        msg->u.controller.unit = (uint32_t)input_number(in);
        msg->u.controller.flags = input_below(in, 2);
        return;
    case RSM_MSG_NAMED:
        name_make(in, msg->u.named.name);
        return;
    case RSM_MSG_LOCATE:
        name_make(in, msg->u.locate.controller);
        msg->u.locate.node = (uint32_t)input_number(in);
        return;
    case RSM_MSG_EXTENT_ALLOC:
        name_make(in, msg->u.extent_alloc.controller);
        msg->u.extent_alloc.length = length_make(in);
        return;
    case RSM_MSG_EXPORT_CREATE:
        name_make(in, msg->u.export_create.controller);
        msg->u.export_create.length = length_make(in);
        msg->u.export_create.mode = input_below(in, 4) != 0 ? 0666 : (uint32_t)input_number(in);
        msg->u.export_create.want_extent = input_below(in, 3);
        msg->u.export_create.size = input_below(in, 2) == 0 ? 0 : input_number(in);
        msg->u.export_create.claim = input_below(in, RSM_CLAIM_ASSIGN + 2);
        msg->u.export_create.space = input_below(in, RSM_ID_SPACES + 1);
        msg->u.export_create.segment_id = (uint32_t)input_number(in);
        return;
    case RSM_MSG_EXPORT_PUBLISH:
        publish_make(in, &msg->u.export_publish);
        return;
    case RSM_MSG_EXPORT_REPUBLISH:
        msg->u.export_republish.export_id = (uint32_t)input_number(in);
        acl_make(in, &msg->u.export_republish.acl_count, msg->u.export_republish.acl);
        return;
    case RSM_MSG_IMPORT_CONNECT:
        name_make(in, msg->u.import_connect.controller);
        msg->u.import_connect.node = input_below(in, 4) != 0 ? 1 : (uint32_t)input_number(in);
        msg->u.import_connect.segment_id = (uint32_t)input_number(in);
        msg->u.import_connect.space = input_below(in, RSM_ID_SPACES + 1);
        msg->u.import_connect.rights = (uint32_t)input_number(in);
        msg->u.import_connect.flags = input_below(in, 3);
        msg->u.import_connect.asked_len =
            asked_make(in, msg->u.import_connect.transport, msg->u.import_connect.asked);
        return;
    case RSM_MSG_EXPORT_STATE:
        msg->u.export_state =
            (struct rsm_export_state_request){.end = input_below(in, 4),
                                              .id = (uint32_t)input_number(in),
                                              .unit = input_below(in, RSM_PROTO_UNITS_MAX + 1),
                                              .from = input_below(in, RSM_SEGMENT_OPEN + 2),
                                              .to = input_below(in, RSM_SEGMENT_OPEN + 2),
                                              .flags = input_below(in, 5)};
        return;
    case RSM_MSG_INTERRUPT_TRIGGER:
        words_make(in, &msg->u);
        msg->u.interrupt_trigger.length %= RSM_INTERRUPT_DATA_MAX + 1;
        return;
    default:
        words_make(in, &msg->u);
    }
}

/* ------------------------------------------------------------------ of other nodes */

static void connect_make(struct input *in, struct rsm_cluster_connect *m)
{
    m->request = (uint32_t)input_number(in);
    name_make(in, m->controller);
    m->space = input_below(in, RSM_ID_SPACES + 1);
    m->segment_id = (uint32_t)input_number(in);
    m->rights = (uint32_t)input_number(in);
    m->who.uid = (uint32_t)input_number(in);
    m->who.gid = (uint32_t)input_number(in);
    m->who.group_count = input_below(in, 4);
    for (uint32_t i = 0; i < m->who.group_count; i++)
        m->who.groups[i] = input_u8(in);
    m->asked_len = asked_make(in, m->transport, m->asked);
}

static void connect_reply_make(struct input *in, struct rsm_cluster_connect_reply *m)
{
    m->request = (uint32_t)input_number(in);
    m->status = input_below(in, 4) == 3 ? (uint32_t)input_number(in) : RSM_ST_OK;
    m->import = (uint32_t)input_number(in);
    m->rights = (uint32_t)input_number(in);
    m->length = length_make(in);
    strcpy(m->transport, input_below(in, 4) == 3 ? "" : "shm");
    m->blob_len = (uint32_t)input_bytes(in, m->blob, input_u8(in));
}

void peer_message_make(struct input *in, struct rsm_cluster_msg *msg)
{
    static const uint32_t types[] = {
#define LINK(NAME, number, name, body)
#define NODE(NAME, number, name, body) RSM_CLUSTER_##NAME,
#include "cluster/messages.def"
    };
    memset(msg, 0, sizeof *msg);
    msg->type = types[input_below(in, sizeof types / sizeof types[0])];
    if (msg->type == RSM_CLUSTER_CONNECT)
        connect_make(in, &msg->u.connect);
    else if (msg->type == RSM_CLUSTER_CONNECT_REPLY)
        connect_reply_make(in, &msg->u.connect_reply);
    else
        words_make(in, &msg->u);
    if (msg->type == RSM_CLUSTER_INTERRUPT) {
        msg->u.interrupt.who.group_count %= 4;
        msg->u.interrupt.length %= RSM_INTERRUPT_DATA_MAX + 1;
    }
    if (msg->type == RSM_CLUSTER_INTERRUPT_REPLY && input_below(in, 4) != 3)
        msg->u.interrupt_reply.status = RSM_ST_OK;
}
