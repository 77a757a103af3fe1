/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One daemon after the other without an end to what clients have: doc/architecture.md, section 12.
 *
 * A daemon saves its state and puts it, with all descriptors, into one queue (queue.h). At SIGUSR2
 * the process executes the installed program in place, which finds the queue open. At SIGTERM, if
 * its command line says so, it leaves the queue to the service manager, which gives it to the next
 * rsmd that it starts. Clients' requests wait in their sockets meanwhile.
 */
#ifndef RSMD_HANDOVER_H
#define RSMD_HANDOVER_H

#include "common/snapshot.h"
#include "server/server.h"

/** What a predecessor has left; the descriptors are -1 where there is none. */
struct rsmd_handover {
    bool present;  /* there was a predecessor, whether or not its state can be read */
    bool in_place; /* this process was its */
    int lock;      /* of the instance */
    int listener;  /* of its service socket */
    struct rsmd_generation_table *table; /* owned by this thread already; NULL: none */
    bool readable;
    struct rsmd_snapshot_reader reader; /* if readable */
};

/** Whether this program was executed by a predecessor in the same process. */
bool rsmd_handover_is_in_place(void);

/**
 * Take what a predecessor has left to this process, which its environment names. To be called
 * early, by the thread that will own the generation table: the kernel marks the end of this process
 * there from now on.
 */
void rsmd_handover_receive(struct rsmd_handover *received);

/** Close what nobody has taken of it. Its clients learn, if the table is still there, that the
 *  daemon has ended. */
void rsmd_handover_drop(struct rsmd_handover *received);

/** Restore the state into a server without clients, whose node has the predecessor's table if there
 *  is one. False: nothing was restored, and the log says why. */
bool rsmd_handover_restore(struct rsmd_handover *received, struct rsmd_server *server);

/** Note which program this process runs, before an upgrade replaces it. */
void rsmd_handover_note_program(char *const arguments[]);

/** Whether this program reads state of that version. */
bool rsmd_handover_reads(int version);

/** Whether the installed program could go on: it is run with this one's options, and is asked
 *  whether it reads this one's state and its configuration. The log says why not. */
bool rsmd_handover_can_start(void);

/** Hand a settled server over to the installed program. Returns only if that fails: the log says
 *  why, and nothing has been handed over. */
void rsmd_handover_give(const struct rsmd_server *server, const struct rsmd_instance *instance);

/** Leave a settled server to the service manager. True: it is the successor's now, so that this
 *  process has to end at once and leave everything as it is. False: as above. */
bool rsmd_handover_store(const struct rsmd_server *server, const struct rsmd_instance *instance);

#endif
