/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Members: the nodes of a cluster that a source outside of rsm.conf names, by SRV records or by
 * what a program prints. rsm.conf(5) has the rules, doc/members.md the reasons.
 *
 * The source is asked at the start and again and again. Each answer is a whole: one with a mistake
 * is refused, and the members stay as they were. A name that is not there any more ends nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

enum {
    RSMD_MEMBERS_MAX = 16384,         /* of one answer */
    RSMD_MEMBERS_BYTES_MAX = 1 << 20, /* of a program's output, and of what is kept */
    RSMD_MEMBERS_PROGRAM_MS = 10000,  /* a program's time */
    RSMD_MEMBERS_PROGRAM_TTL_S = 60,  /* its answer holds for this time */
    RSMD_MEMBERS_TTL_MIN_S = 5,       /* bounds of the time that records name */
    RSMD_MEMBERS_TTL_MAX_S = 3600,
    RSMD_MEMBERS_RETRY_S = 10, /* after a failure */
    RSMD_MEMBERS_WHY_BYTES = 512,
};

/** An answer. */
struct rsmd_members {
    struct rsmd_conf_node *list; /* ascending by id; of each, the id, host, address and port */
    unsigned count;
    uint32_t ttl_s; /* seconds: when to ask again */
};

void rsmd_members_free(struct rsmd_members *members);

/** Whether two answers name the same nodes at the same places. */
bool rsmd_members_same(const struct rsmd_members *one, const struct rsmd_members *other);

/* ---- answer.c: what an answer is made of */

/**
 * Add a member.
 * @param id       0: node-ids has the rule by which the address gives it.
 * @param host     "": this host, if it has the address; else the address stands for the host.
 * @param address  as after `address =`: HOST, HOST:PORT, [IPv6] or [IPv6]:PORT.
 * @param why      receives what is wrong with it; RSMD_MEMBERS_WHY_BYTES.
 * May ask the resolver, which can block for long.
 */
bool rsmd_members_add(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                      uint32_t id, const char *host, const char *address, char *why);

/** Bring the members in order, and see that each id is there once. */
bool rsmd_members_settle(struct rsmd_members *members, char *why);

/* ---- lines.c: members as text, one a line: ID HOST ADDRESS. `-` stands for what is not known. */

/** Add the members of a text. Empty lines and those that begin with # are left out. */
bool rsmd_members_read(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                       const char *text, size_t length, char *why);

/** The text of members, which the caller frees. NULL: no memory. */
char *rsmd_members_write(const struct rsmd_members *members);

/* ---- dns.c: SRV records */

/** Ask the resolver of this host, which may block for some seconds. */
bool rsmd_members_by_dns(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                         char *why);

/** Add what a resolver's answer has. @p answer is not trusted. */
bool rsmd_members_read_srv(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                           const uint8_t *answer, size_t length, char *why);

/* ---- program.c */

/** Run the program, at most RSMD_MEMBERS_PROGRAM_MS, and read what it prints. */
bool rsmd_members_by_program(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                             char *why);

/* ---- kept.c: the latest answer, for a start while the source does not answer */

/** Keep it in the runtime directory. Failures are logged. */
void rsmd_members_keep(const char *directory, const struct rsmd_conf_members *rules,
                       const struct rsmd_members *members);

/** Read it. False: there is none of this source, or another user may have written it. */
bool rsmd_members_kept(const char *directory, const struct rsmd_conf_members *rules,
                       struct rsmd_members *members);

/* ---- ask.c */

/** Ask the source. Blocks for seconds at most, or as long as the resolver does. */
bool rsmd_members_ask(const struct rsmd_conf_members *rules, struct rsmd_members *members,
                      char *why);

/** The same at the start; where the source does not answer, what is kept is taken, and @p why says
 *  so. */
bool rsmd_members_first(const char *directory, const struct rsmd_conf_members *rules,
                        struct rsmd_members *members, char *why);

/** The source as rsm.conf has it: "dns:NAME". */
void rsmd_members_source_text(const struct rsmd_conf_members *rules, char *text, size_t size);

/* ---- refresh.c: again and again */

struct event_base;
struct rsmd_members_refresh;

/** A new answer, which differs from the one before; called from the event loop. False: it is
 *  refused, and @p why has the reason. */
typedef bool rsmd_members_changed(void *context, const struct rsmd_members *members, char *why);

/** Ask again when @p first, the answer so far, is too old. It is copied. NULL: no memory. */
struct rsmd_members_refresh *rsmd_members_refresh_start(struct event_base *base,
                                                        const struct rsmd_conf_members *rules,
                                                        const struct rsmd_members *first,
                                                        rsmd_members_changed *changed,
                                                        void *context);

/** Ask now, by these rules. @p refresh may be NULL. */
void rsmd_members_refresh_now(struct rsmd_members_refresh *refresh,
                              const struct rsmd_conf_members *rules);

/** The answer that holds: NULL, if there is none by these rules. */
const struct rsmd_members *rsmd_members_current(const struct rsmd_members_refresh *refresh,
                                                const struct rsmd_conf_members *rules);

/** NULL is harmless. @return whether no thread of it runs any more. */
bool rsmd_members_refresh_end(struct rsmd_members_refresh *refresh);
