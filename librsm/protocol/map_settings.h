/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What may be chosen about software mappings, by which name and with which values: the
 *  daemon reads it from rsm.conf, the control protocol carries it, the mapping engine obeys it.
 *  rsm_map(7) explains it to programmers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

enum mapping_tunable {
    MAPPING_TUNABLE_MODE,       /**< enum mapping_mode */
    MAPPING_TUNABLE_TRAP,       /**< enum mapping_trap */
    MAPPING_TUNABLE_K,          /**< stores that earn a page its twin, or MAPPING_THRESHOLD_NEVER */
    MAPPING_TUNABLE_FLUSH_US,   /**< microseconds that a changed byte may stay unsent */
    MAPPING_TUNABLE_REFRESH_US, /**< microseconds between two reads of a cached page; 0: no pause */
    MAPPING_TUNABLE_GRAIN,      /**< bytes that only one side writes: 1, 2, 4, 8 or 64 */
    MAPPING_TUNABLE_ATOMICS,    /**< enum mapping_atomics */
    MAPPING_TUNABLE_CACHE_MIB,  /**< MiB that the pages of a connection may take */
    MAPPING_TUNABLES,
    MAPPING_TUNABLES_FIRST = MAPPING_TUNABLE_CACHE_MIB, /**< those before it are release 1.0's */
};

enum mapping_mode {
    MAPPING_AUTO,    /**< stores are trapped until a page takes many, then a twin */
    MAPPING_PRECISE, /**< every store that can be decoded is trapped */
    MAPPING_TWIN,    /**< no store is decoded: the first to a page makes a twin */
    MAPPING_OFF,     /**< no software mappings */
    MAPPING_MIRROR,  /**< nothing is trapped: pages are compared and merged */
};

enum mapping_trap {
    MAPPING_TRAP_AUTO,   /**< by thread where that serves system calls too, else by signal */
    MAPPING_TRAP_SIGNAL, /**< page protection and SIGSEGV */
    MAPPING_TRAP_SIGBUS, /**< of earlier versions; means MAPPING_TRAP_SIGNAL */
    MAPPING_TRAP_THREAD, /**< userfaultfd and a thread of ours, or nothing */
};

enum mapping_atomics {
    MAPPING_ATOMICS_WARN,   /**< locked instructions work on the local copy; the first is logged */
    MAPPING_ATOMICS_SIGBUS, /**< a locked instruction that is trapped raises SIGBUS */
};

/** The mechanism that traps accesses to the mappings of one connection. MAPPING_USED_MIRROR: none
 *  does. */
enum mapping_used_trap {
    MAPPING_USED_NONE, /**< the engine has made no mapping */
    MAPPING_USED_SIGNAL,
    MAPPING_USED_THREAD,
    MAPPING_USED_MIRROR,
    MAPPING_USED_TRAPS,
};

/** Why the engine does not use a mechanism that the program notices less. */
enum mapping_trap_reason {
    MAPPING_REASON_NONE,      /**< there is no such one */
    MAPPING_REASON_REQUESTED, /**< configuration or environment ask for this one */
    MAPPING_REASON_DECODING,  /**< instructions have to be decoded */
    MAPPING_REASON_NO_USERFAULTFD,
    MAPPING_REASON_NO_PERMISSION, /**< to serve faults of system calls */
    MAPPING_REASON_WRITE_ONLY,    /**< the connection may not read */
    MAPPING_REASONS,
};

/** The choice that the engine has made for one connection. What another process says of itself may
 *  have any value: the functions below accept all. */
struct mapping_choice {
    uint32_t trap;   /**< enum mapping_used_trap */
    uint32_t reason; /**< enum mapping_trap_reason */
};

/** What the engine counts of the mappings of one connection, for administrators. The first three
 *  are stores that it has let through to a page with a twin although its mode decodes stores: they
 *  are sent if they change a byte. */
struct mapping_counts {
    uint64_t unknown;  /**< by instructions that are not decoded */
    uint64_t blocked;  /**< by threads that block the engine's signal */
    uint64_t by_calls; /**< by system calls */
    uint64_t evicted;  /**< pages that have lost their memory to others */
};

#define MAPPING_THRESHOLD_NEVER UINT32_MAX

/** Some of the tunables, set. */
struct mapping_settings {
    uint32_t given; /**< bit per enum mapping_tunable */
    uint32_t value[MAPPING_TUNABLES];
};

/** Name in rsm.conf, and of the environment variable. */
const char *rsmcore_map_tunable_name(enum mapping_tunable tunable);
const char *rsmcore_map_tunable_variable(enum mapping_tunable tunable);

/** What a value looks like, to be said after "expected". */
const char *rsmcore_map_tunable_expected(enum mapping_tunable tunable);

/** The tunable of that name in rsm.conf; MAPPING_TUNABLES if there is none. */
enum mapping_tunable rsmcore_map_tunable_by_name(const char *name);

/** Set a tunable from text. False, and nothing is changed: that is not one of its values. */
bool rsmcore_map_settings_parse(struct mapping_settings *settings, enum mapping_tunable tunable,
                                const char *text);

/** What @p over gives replaces what *settings have. */
void rsmcore_map_settings_overlay(struct mapping_settings *settings,
                                  const struct mapping_settings *over);

/** Whether every value that is given exists: settings that come from elsewhere. */
bool rsmcore_map_settings_are_valid(const struct mapping_settings *settings);

/** The settings that a daemon has sent, which may know fewer tunables, or more: those are not
 *  given. False, and nothing is changed: a value does not exist. */
bool rsmcore_map_settings_take(struct mapping_settings *settings, uint32_t given,
                               const uint32_t *value, uint32_t count);

/** Whether both values exist, and fit each other: no reason without a trap. */
bool rsmcore_map_choice_is_valid(const struct mapping_choice *choice);

/** In one word, for lists: a trap, "-" for MAPPING_USED_NONE; a reason, "-" for
 *  MAPPING_REASON_NONE. "unknown": there is no such value. */
const char *rsmcore_map_trap_name(uint32_t trap);
const char *rsmcore_map_reason_name(uint32_t reason);

/** A reason as part of a sentence, for the log. */
const char *rsmcore_map_reason_text(enum mapping_trap_reason reason);

RSMCORE_EXPORTS_END
