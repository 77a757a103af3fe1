/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Tests' view of a real rsmd: start it, speak raw messages to it, see that it leaves
 * nothing. */
#ifndef TESTS_RSMD_PEER_H
#define TESTS_RSMD_PEER_H

#include "cases.h"
#include "base/packet.h"
#include "protocol/proto.h"
#include "protocol/sharedmem.h"

enum { PEER_WAIT_MS = 20000 }; /* for anything that must happen; never the normal case */

struct daemon {
    char directory[64];
    char socket[RSM_PROTO_PATH_MAX];
    pid_t pid;
    uint32_t node;
    bool embedded;
};

/** A new empty runtime directory, removed by daemon_stop() or directory_remove(). */
void directory_make(char directory[64]);
/** Remove it; it must be empty. */
void directory_remove(const char *directory);
/** Remove the lock file of a configured daemon that has ended; it must be there and say so. */
void configured_lock_remove(const char *directory, uint32_t node);

/** Option of the daemons that are started. */
extern const char *daemon_log_level;

/** How many descriptors they may have; 0: as many as the test. */
extern unsigned daemon_files;
/** The user as whom daemons are started, by root; DAEMON_USER_SELF, the default: that of the test.
 *  Their runtime directory is made that user's. */
#define DAEMON_USER_SELF ((uid_t)-1)
extern uid_t daemon_user;
/** Whether other users can run the daemon under test; not so below a private home. */
bool daemon_is_reachable(void);

/** Start rsmd as @p node of a directory and wait until it serves. @p configuration is the text of
 * its rsm.conf (NULL: controller sci0 on shm); @p option one more option or NULL. */
void daemon_start_in(struct daemon *daemon, const char *directory, uint32_t node,
                     const char *configuration, const char *option);
/** The same as node 1 of a new directory. */
void daemon_start(struct daemon *daemon, const char *configuration, const char *option);
/** Terminate it: it must exit with 0 and leave no socket. Its lock must have gone, or if it is no
 *  embedded one say that the node is configured; then that is removed. */
void daemon_end(struct daemon *daemon);
/** daemon_end() and remove the directory. */
void daemon_stop(struct daemon *daemon);

/** Run rsmd with these arguments (NULL-terminated); its exit status. */
int rsmd_run_to_end(char *const arguments[]);
/** Wait for a child; its exit status, or -signal. */
int wait_exit(pid_t pid);

/** Connect without HELLO. */
int peer_connect(const struct daemon *daemon);
/** Connect and say HELLO as a process of @p node. If no daemon of that node is in the directory,
 *  something listens in its stead for the moment: else it would be refused. */
int peer_hello_as(const struct daemon *daemon, uint32_t node);
int peer_hello(const struct daemon *daemon);

/** Wait until the daemon has this many clients: it notices that one has left when it gets to it. */
void wait_for_clients(int socket, uint32_t clients);

/** Wait until there is something to receive; fails the test if nothing comes. */
void await_readable(int socket);

/** Send a request, wait for the reply, which replaces it; its status. @p send, @p receive: may be
 *  NULL, then none must come. Fails the test if the daemon does not answer. */
enum rsm_status ask_with(int socket, struct rsm_msg *msg, const struct rsm_packet_fds *send,
                         struct rsm_packet_fds *receive);
enum rsm_status ask(int socket, struct rsm_msg *msg);

/** Send bytes as they are, wait for a reply: its status; -1 if the daemon hung up instead. */
int ask_raw(int socket, const void *bytes, size_t length, const struct rsm_packet_fds *send);
/** Wait until the daemon hangs up. */
void expect_hangup(int socket);

/** The mapped generation table of a daemon; unmap with gentable_unmap(). */
const struct rsm_generation_table *gentable_map(const struct daemon *daemon);
void gentable_unmap(const struct rsm_generation_table *table);
uint32_t slot_value(const struct rsm_generation_table *table, uint32_t slot);
/** Wait until a slot has left @p value. */
void await_move(const struct rsm_generation_table *table, uint32_t slot, uint32_t value);

/* Common requests that are expected to succeed. */
uint32_t make_extent(int socket, uint64_t length);
uint32_t make_export(int socket, uint64_t length, uint32_t mode);
/** make_extent(), make_export() of one page, published as @p segment_id to all with mode. */
uint32_t publish_page(int socket, uint32_t segment_id, uint32_t mode);

/** What INSPECT answers of exports. */
struct rsm_inspect_reply inspect_exports(int socket);

/* Requests that may fail: the status. */
enum rsm_status extent_free(int socket, uint32_t extent, uint32_t flags);
enum rsm_status publish(int socket, uint32_t export_id, uint32_t segment_id, uint32_t extent,
                        uint64_t length, const struct rsm_acl_entry *acl, uint32_t acl_count);
enum rsm_status unpublish(int socket, uint32_t export_id, uint32_t flags, uint32_t *offered);
enum rsm_status destroy(int socket, uint32_t export_id, uint32_t *offered);
/** The reply of a success is stored in *reply if that is not NULL; descriptors are closed. */
enum rsm_status connect_on(int socket, const char *controller, uint32_t node, uint32_t segment_id,
                           uint32_t rights, struct rsm_import_connect_reply *reply);
enum rsm_status disconnect(int socket, uint32_t import);

/** Run @p body in a child as uid and gid with one supplementary group (0: none); its exit status
 *  is the result. Skips the test unless root runs it. */
int as_user(uid_t uid, gid_t gid, gid_t group, int (*body)(const void *argument),
            const void *argument);

#endif
