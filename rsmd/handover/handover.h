/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Replace a running daemon without ending its clients' segments and connections:
 * doc/architecture.md, section 12.
 *
 * A daemon saves its state and puts it, with all descriptors, into one queue (queue.c). At SIGUSR2
 * the process executes the installed program in place, which finds the queue open. At SIGTERM, if
 * an option requests it, the daemon leaves the queue to the service manager, which passes it to the
 * next rsmd. Clients' requests wait in their sockets meanwhile.
 */
#ifndef RSMD_HANDOVER_H
#define RSMD_HANDOVER_H

#include "common/snapshot.h"
#include "server/server.h"

/** What a predecessor has left. A descriptor is -1 if there is none. */
struct rsmd_handover {
    bool present;  /* there was a predecessor, even if its state cannot be read */
    bool in_place; /* in this process */
    int lock;      /* of the instance */
    int listener;  /* of its service socket */
    struct rsmd_generation_table *table; /* owned by this thread; NULL: none */
    bool readable;
    struct rsmd_snapshot_reader reader; /* if readable */
};

/** Whether this program was executed by a predecessor in the same process. */
bool rsmd_handover_is_in_place(void);

/**
 * Take what a predecessor has left to this process, as the environment names it. Must be called
 * early, by the thread that will own the generation table: from now on the kernel marks this
 * process's end there.
 */
void rsmd_handover_receive(struct rsmd_handover *received);

/** Close what was not taken of it. If the table is among that, its clients learn that the daemon
 *  has ended. */
void rsmd_handover_drop(struct rsmd_handover *received);

/** Restore the state into a server without clients, whose node has the predecessor's table if there
 *  is one. False: nothing was restored; the reason is logged. */
bool rsmd_handover_restore(struct rsmd_handover *received, struct rsmd_server *server);

/** Note the program of this process, before an upgrade replaces it. */
void rsmd_handover_note_program(char *const arguments[]);

/** Whether this program reads state of that version. */
bool rsmd_handover_reads(int version);

/** Whether the installed program can take over: run it with this one's options, and ask it whether
 *  it reads this version of the state and the configuration. False: the reason is logged. */
bool rsmd_handover_can_start(void);

/** Hand a settled server over to the installed program. Returns only on failure: the reason is
 *  logged, and nothing has been handed over. */
void rsmd_handover_give(const struct rsmd_server *server, const struct rsmd_instance *instance);

/** Leave a settled server to the service manager. True: the successor owns it, and this process
 *  must end at once without cleaning up. False: as above. */
bool rsmd_handover_store(const struct rsmd_server *server, const struct rsmd_instance *instance);

#endif
