/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <time.h>

#include "protocol/proto.h"

void text_size(char text[TEXT_BYTES], uint64_t bytes, bool human)
{
    static const char units[] = " KMGTPE";
    unsigned unit = 0;
    uint64_t whole = bytes, rest = 0;
    if (!human) {
        snprintf(text, TEXT_BYTES, "%" PRIu64, bytes);
        return;
    }
    for (; whole >= 1024; whole /= 1024, unit++)
        rest = whole % 1024;
    if (unit == 0)
        snprintf(text, TEXT_BYTES, "%" PRIu64, whole);
    else if (whole >= 10)
        snprintf(text, TEXT_BYTES, "%" PRIu64 "%c", whole, units[unit]);
    else
        snprintf(text, TEXT_BYTES, "%" PRIu64 ".%" PRIu64 "%c", whole, rest * 10 / 1024,
                 units[unit]);
}

void text_age(char text[TEXT_BYTES], uint64_t ms)
{
    uint64_t minutes = ms / 60000, hours = minutes / 60, days = hours / 24;
    if (ms == 0)
        snprintf(text, TEXT_BYTES, "-");
    else if (minutes == 0)
        snprintf(text, TEXT_BYTES, "%" PRIu64 "s", ms / 1000);
    else if (hours == 0)
        snprintf(text, TEXT_BYTES, "%" PRIu64 "m", minutes);
    else if (days == 0)
        snprintf(text, TEXT_BYTES, "%" PRIu64 "h %" PRIu64 "m", hours, minutes % 60);
    else
        snprintf(text, TEXT_BYTES, "%" PRIu64 "d %" PRIu64 "h", days, hours % 24);
}

void text_date(char text[TEXT_BYTES], uint64_t seconds)
{
    struct tm broken;
    time_t when = (time_t)seconds;
    if (seconds == 0 || gmtime_r(&when, &broken) == NULL ||
        strftime(text, TEXT_BYTES, "%Y-%m-%d", &broken) == 0)
        snprintf(text, TEXT_BYTES, "-");
}

const char *text_id_space(uint32_t space)
{
    static const char *const spaces[RSM_ID_SPACES] = {[RSM_ID_SPACE_RSMAPI] = "rsmapi",
                                                      [RSM_ID_SPACE_SISCI] = "sisci",
                                                      [RSM_ID_SPACE_SISCI_GROUPS] = "sisci-group"};
    return space < RSM_ID_SPACES ? spaces[space] : "unknown";
}

bool text_has_segment_id(const struct rsm_inspect_item *item)
{
    return item->published != 0 || item->state != RSM_INSPECT_NEW;
}

const char *text_export_state(const struct rsm_inspect_item *item)
{
    switch (item->state) {
    case RSM_INSPECT_NEW:
        return "new";
    case RSM_INSPECT_CREATED:
        return "created";
    case RSM_INSPECT_PREPARED:
        return "prepared";
    case RSM_INSPECT_AVAILABLE:
        return item->space == RSM_ID_SPACE_RSMAPI ? "published" : "available";
    default:
        return "unknown";
    }
}

const char *text_interrupt_kind(uint32_t kind)
{
    static const char *const names[] = {[RSM_INTERRUPT_PLAIN] = "plain",
                                        [RSM_INTERRUPT_DATA] = "data",
                                        [RSM_INTERRUPT_STORES] = "stores"};
    return kind >= RSM_INTERRUPT_PLAIN && kind <= RSM_INTERRUPT_STORES ? names[kind] : "unknown";
}

void text_segment_id(char text[TEXT_BYTES], const struct rsm_inspect_item *item)
{
    if (!text_has_segment_id(item))
        snprintf(text, TEXT_BYTES, "-");
    else if (item->space == RSM_ID_SPACE_RSMAPI)
        snprintf(text, TEXT_BYTES, "0x%" PRIx32, item->segment_id);
    else
        snprintf(text, TEXT_BYTES, "%s:0x%" PRIx32, text_id_space(item->space), item->segment_id);
}

void text_rights(char text[TEXT_BYTES], uint32_t rights)
{
    bool read = (rights & RSM_RIGHT_READ) != 0, write = (rights & RSM_RIGHT_WRITE) != 0;
    snprintf(text, TEXT_BYTES, "%s%s%s", read ? "r" : "", write ? "w" : "",
             read || write ? "" : "-");
}

const char *text_request(uint32_t type)
{
    return type == RSM_MSG_EXPORT_CREATE    ? "create"
           : type == RSM_MSG_EXPORT_PUBLISH ? "publish"
           : type == RSM_MSG_IMPORT_CONNECT ? "connect"
                                            : "unknown";
}

const char *text_remote_state(uint32_t state)
{
    static const char *const states[] = {"unknown", "down", "up", "active", "going-down"};
    return states[state < sizeof states / sizeof states[0] ? state : 0];
}

const char *text_link_state(uint32_t state)
{
    static const char *const states[] = {"unknown",   "down",      "starting", "up",
                                         "same-host", "this-node", "idle"};
    return states[state < sizeof states / sizeof states[0] ? state : 0];
}

const char *text_link_auth(uint32_t auth)
{
    return auth == RSM_LINK_AUTH_MUNGE  ? "munge"
           : auth == RSM_LINK_AUTH_TLS  ? "tls"
           : auth == RSM_LINK_AUTH_NONE ? "none"
                                        : "unknown";
}

bool text_user_name(uint32_t uid, const char **name)
{
    /* Lists are long and owners few. */
    enum { KNOWN = 16 };
    static struct {
        bool used, named;
        uint32_t uid;
        char name[TEXT_BYTES];
    } known[KNOWN];
    unsigned place = uid % KNOWN;
    if (!known[place].used || known[place].uid != uid) {
        const struct passwd *user = getpwuid(uid);
        known[place].used = true;
        known[place].uid = uid;
        known[place].named = user != NULL;
        snprintf(known[place].name, TEXT_BYTES, "%s", user != NULL ? user->pw_name : "");
    }
    *name = known[place].name;
    return known[place].named;
}

const char *text_resource(unsigned resource)
{
    static const char *const names[RSM_SHARES_COUNT] = {
        [RSM_SHARES_CONNECTIONS] = "connections", [RSM_SHARES_DESCRIPTORS] = "descriptors",
        [RSM_SHARES_SEGMENTS] = "segments",       [RSM_SHARES_BYTES] = "exported_bytes",
        [RSM_SHARES_PINNED] = "pinned_bytes",     [RSM_SHARES_FORWARDS] = "pending_requests",
        [RSM_SHARES_RECORDS] = "records",         [RSM_SHARES_INTERRUPTS] = "interrupts",
        [RSM_SHARES_THREADS] = "threads",
    };
    return names[resource];
}

const char *text_user(uint32_t uid)
{
    static char number[TEXT_BYTES];
    const char *name;
    if (text_user_name(uid, &name))
        return name;
    snprintf(number, sizeof number, "%" PRIu32, uid);
    return number;
}
