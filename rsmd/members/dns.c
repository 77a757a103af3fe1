/* SPDX-License-Identifier: BSD-3-Clause */
/* Members by DNS: one SRV record for each. */
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef STATUS /* of <arpa/nameser_compat.h>; a macro of the protocol has this name */

#include "base/number.h"
#include "members/members.h"

enum {
    ANSWER_BYTES = 65535, /* of a DNS message over TCP */
    TRY_S = 2,            /* for each server, doubled with each try */
    TRIES = 2,
    SRV_HEAD_BYTES = 6, /* priority, weight, port */
};

/* The number at the end of the name's first label: 7 of node7.example.org. 0: there is none. */
static uint32_t number_in(const char *target)
{
    char label[NS_MAXLABEL + 1];
    size_t length = strcspn(target, "."), digits = length;
    uint32_t number = 0;
    if (length >= sizeof label)
        return 0;
    memcpy(label, target, length);
    label[length] = '\0';
    while (digits > 0 && label[digits - 1] >= '0' && label[digits - 1] <= '9')
        digits--;
    return rsm_number(label + digits, 1, RSM_NODE_ID_MAX, &number) ? number : 0;
}

/* @p target has no dot at its end. */
static bool take_target(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                        const char *target, unsigned port, char *why)
{
    char address[NS_MAXDNAME + 8], reason[RSMD_MEMBERS_WHY_BYTES];
    uint32_t id = rules->prefix == 0 ? number_in(target) : 0;
    if (rules->prefix == 0 && id == 0) {
        snprintf(why, RSMD_MEMBERS_WHY_BYTES,
                 "no id for %.200s: expected a number from 1 to %d at the end of the name's first "
                 "part, or node-ids = address/BITS",
                 target, RSM_NODE_ID_MAX);
        return false;
    }
    snprintf(address, sizeof address, "%s:%u", target, port);
    if (rsmd_members_add(members, rules, id, "", address, reason))
        return true;
    snprintf(why, RSMD_MEMBERS_WHY_BYTES, "%.200s: %.280s", target, reason);
    return false;
}

static bool take_record(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                        const ns_msg *message, const ns_rr *record, char *why)
{
    char target[NS_MAXDNAME];
    const uint8_t *data = ns_rr_rdata(*record);
    if (ns_rr_type(*record) != ns_t_srv)
        return true; /* such as the CNAME that led here */
    if (ns_rr_rdlen(*record) <= SRV_HEAD_BYTES ||
        dn_expand(ns_msg_base(*message), ns_msg_end(*message), data + SRV_HEAD_BYTES, target,
                  sizeof target) < 0) {
        snprintf(why, RSMD_MEMBERS_WHY_BYTES, "a record is damaged");
        return false;
    }
    if (members->ttl_s > ns_rr_ttl(*record))
        members->ttl_s = ns_rr_ttl(*record);
    if (target[0] == '\0' || strcmp(target, ".") == 0)
        return true; /* the service is decidedly not there: RFC 2782 */
    size_t length = strlen(target);
    if (target[length - 1] == '.')
        target[length - 1] = '\0';
    return take_target(members, rules, target, ns_get16(data + 4), why);
}

bool rsmd_members_read_srv(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                           const uint8_t *answer, size_t length, char *why)
{
    ns_msg message;
    members->ttl_s = RSMD_MEMBERS_TTL_MAX_S;
    snprintf(why, RSMD_MEMBERS_WHY_BYTES, "the answer is damaged");
    if (length > ANSWER_BYTES || ns_initparse(answer, (int)length, &message) != 0)
        return false;
    for (int i = 0; i < ns_msg_count(message, ns_s_an); i++) {
        ns_rr record;
        if (ns_parserr(&message, ns_s_an, i, &record) != 0 ||
            !take_record(members, rules, &message, &record, why))
            return false;
    }
    if (members->ttl_s < RSMD_MEMBERS_TTL_MIN_S)
        members->ttl_s = RSMD_MEMBERS_TTL_MIN_S;
    return true;
}

bool rsmd_members_by_dns(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                         char *why)
{
    struct __res_state resolver = {.nscount = 0};
    uint8_t *answer = malloc(ANSWER_BYTES);
    bool found = false;
    if (answer == NULL || res_ninit(&resolver) != 0) {
        snprintf(why, RSMD_MEMBERS_WHY_BYTES, "out of memory");
        free(answer);
        return false;
    }
    resolver.retrans = TRY_S;
    resolver.retry = TRIES;
    int length = res_nquery(&resolver, rules->name, ns_c_in, ns_t_srv, answer, ANSWER_BYTES);
    if (length < 0)
        snprintf(why, RSMD_MEMBERS_WHY_BYTES, "no SRV records: %s",
                 hstrerror(resolver.res_h_errno));
    else
        found = rsmd_members_read_srv(members, rules, answer,
                                      length > ANSWER_BYTES ? ANSWER_BYTES : (size_t)length, why);
    res_nclose(&resolver);
    free(answer);
    return found;
}
