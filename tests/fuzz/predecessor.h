/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A daemon that leaves its state to the next one, and that next one: both in this process, without a
 * service manager. For tests that change the state on its way. What must not go wrong ends the
 * process.
 */
#ifndef TESTS_FUZZ_PREDECESSOR_H
#define TESTS_FUZZ_PREDECESSOR_H

#include <sys/un.h>

#include "handover/internal.h"
#include "server/server.h"

enum {
    LEFT_MAX = 1 << 16, /* bytes of a state */
    LEFT_FDS_MAX = 64,
    LEFT_AT_VERSION = 4,   /* in the header of a snapshot */
    LEFT_AT_FD_COUNT = 24, /* there, too */
    LEFT_SECTIONS = 3,     /* the node, and both clients */
};

/** Who is served by a successor; 0: the state was refused as a whole. */
enum {
    LEFT_FIRST = 1,
    LEFT_SECOND = 2,
    LEFT_ALL = LEFT_FIRST | LEFT_SECOND,
    LEFT_NOBODY = 4,
};

/** What the predecessor has left: of a client that has a segment, and of a second one that has a
 *  connection to it, and segments, connections, interrupts, records and messages of its own that it has
 *  not fetched. */
extern struct left {
    uint8_t bytes[LEFT_MAX];
    size_t length;
    int fds[LEFT_FDS_MAX];
    uint32_t fd_count;
    int table;
    size_t section[LEFT_SECTIONS + 1]; /**< where each begins, and where the last one ends */
    uint32_t first_fd[LEFT_SECTIONS];  /**< from 0; a client's is its socket */
    uint32_t exported;                 /**< by the first client */
    int first, client;                 /**< the clients' ends of their sockets */
} left;

struct world {
    struct rsmd_conf conf;
    struct rsmd_node node;
    struct rsmd_server server;
    struct sockaddr_un address;
    socklen_t address_length;
};

/** Begin one with a generation table, which becomes its own; -1: a new one. */
void world_begin(struct world *world, int table);
/** End it. Nothing is left of what its clients had. */
void world_end(struct world *world);

/** Descriptors that this process has open. What threads close takes its time: wait for the number. */
unsigned left_descriptors(void);
void left_await_descriptors(unsigned count);

/** Let a predecessor fill `left`. */
void left_make(void);
/** Length and checksum in the header as if the bytes were meant. */
void left_repair(uint8_t *bytes, size_t length);
/** A number in a state, least significant byte first. */
void left_set_number(uint8_t *at, uint64_t value, unsigned size);
/** A memfd of the bytes, with seals. */
int left_memory(const uint8_t *bytes, size_t length, int seals);
/** Open a state with copies of the descriptors; @p other instead of the one with the number @p odd. */
bool left_open(struct rsmd_snapshot_reader *reader, const uint8_t *bytes, size_t length,
               uint32_t fd_count, uint32_t odd, int other);
/**
 * Let a successor take it over, and end. In the end it has nothing more, whatever the state says.
 * @param use  NULL, or what is done with one that has taken it.
 * @return who was served then, before the use; LEFT_NOBODY: neither of them.
 */
unsigned left_restore(const uint8_t *bytes, size_t length, uint32_t odd, int other,
                      void (*use)(struct world *world));

#endif
