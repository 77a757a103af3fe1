/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What may be chosen about software mappings, by which name and with which values: the daemon reads
 * it from rsm.conf, the control protocol carries it, the mapping engine obeys it. rsm_map(7)
 * explains it to programmers.
 */
#ifndef RSMCORE_MAP_SETTINGS_H
#define RSMCORE_MAP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

enum softmap_tunable {
    SOFTMAP_TUNABLE_MODE,       /**< enum softmap_mode */
    SOFTMAP_TUNABLE_TRAP,       /**< enum softmap_trap */
    SOFTMAP_TUNABLE_K,          /**< stores that earn a page its twin, or SOFTMAP_THRESHOLD_NEVER */
    SOFTMAP_TUNABLE_FLUSH_US,   /**< microseconds that a changed byte may stay unsent */
    SOFTMAP_TUNABLE_REFRESH_US, /**< microseconds between two reads of a cached page; 0: no pause */
    SOFTMAP_TUNABLE_GRAIN,      /**< bytes that only one side writes: 1, 2, 4, 8 or 64 */
    SOFTMAP_TUNABLE_ATOMICS,    /**< enum softmap_atomics */
    SOFTMAP_TUNABLES,
};

enum softmap_mode {
    SOFTMAP_AUTO,    /**< stores are trapped until a page takes many, then a twin */
    SOFTMAP_PRECISE, /**< every store that can be decoded is trapped */
    SOFTMAP_TWIN,    /**< no store is decoded: the first to a page makes a twin */
    SOFTMAP_OFF,     /**< no software mappings */
    SOFTMAP_MIRROR,  /**< nothing is trapped: pages are compared and merged */
};

enum softmap_trap {
    SOFTMAP_TRAP_AUTO,   /**< by thread where that serves system calls too, else by signal */
    SOFTMAP_TRAP_SIGNAL, /**< page protection and SIGSEGV */
    SOFTMAP_TRAP_SIGBUS, /**< of earlier versions; means SOFTMAP_TRAP_SIGNAL */
    SOFTMAP_TRAP_THREAD, /**< userfaultfd and a thread of ours, or nothing */
};

enum softmap_atomics {
    SOFTMAP_ATOMICS_WARN,   /**< locked instructions work on the local copy; the first is logged */
    SOFTMAP_ATOMICS_SIGBUS, /**< a locked instruction that is trapped raises SIGBUS */
};

/** The mechanism that tells the engine of accesses to the mappings of one connection, and, of
 *  SOFTMAP_USED_MIRROR, that nothing does. */
enum softmap_used_trap {
    SOFTMAP_USED_NONE, /**< the engine has made no mapping */
    SOFTMAP_USED_SIGNAL,
    SOFTMAP_USED_THREAD,
    SOFTMAP_USED_MIRROR,
    SOFTMAP_USED_TRAPS,
};

/** Why the engine does not use a mechanism that the program notices less. */
enum softmap_trap_reason {
    SOFTMAP_REASON_NONE,      /**< there is no such one */
    SOFTMAP_REASON_REQUESTED, /**< configuration or environment ask for this one */
    SOFTMAP_REASON_DECODING,  /**< instructions have to be decoded */
    SOFTMAP_REASON_NO_USERFAULTFD,
    SOFTMAP_REASON_NO_PERMISSION, /**< to serve faults of system calls */
    SOFTMAP_REASON_WRITE_ONLY,    /**< the connection may not read */
    SOFTMAP_REASONS,
};

/** The choice that the engine has made for one connection. What another process says of itself may
 *  have any value: the functions below accept all. */
struct softmap_choice {
    uint32_t trap;   /**< enum softmap_used_trap */
    uint32_t reason; /**< enum softmap_trap_reason */
};

#define SOFTMAP_THRESHOLD_NEVER UINT32_MAX

/** Some of the tunables, set. */
struct softmap_settings {
    uint32_t given; /**< bit per enum softmap_tunable */
    uint32_t value[SOFTMAP_TUNABLES];
};

/** Name in rsm.conf, and of the environment variable. */
const char *rsmcore_map_tunable_name(enum softmap_tunable tunable);
const char *rsmcore_map_tunable_variable(enum softmap_tunable tunable);

/** What a value looks like, to be said after "expected". */
const char *rsmcore_map_tunable_expected(enum softmap_tunable tunable);

/** The tunable of that name in rsm.conf; SOFTMAP_TUNABLES if there is none. */
enum softmap_tunable rsmcore_map_tunable_by_name(const char *name);

/** Set a tunable from text. False, and nothing is changed: that is not one of its values. */
bool rsmcore_map_settings_parse(struct softmap_settings *settings, enum softmap_tunable tunable,
                                const char *text);

/** What @p over gives replaces what *settings have. */
void rsmcore_map_settings_overlay(struct softmap_settings *settings,
                                  const struct softmap_settings *over);

/** Whether every value that is given exists: settings that come from elsewhere. */
bool rsmcore_map_settings_are_valid(const struct softmap_settings *settings);

/** Whether both values exist, and fit each other: no reason without a trap. */
bool rsmcore_map_choice_is_valid(const struct softmap_choice *choice);

/** In one word, for lists: a trap, "-" for SOFTMAP_USED_NONE; a reason, "-" for
 *  SOFTMAP_REASON_NONE. "unknown": there is no such value. */
const char *rsmcore_map_trap_name(uint32_t trap);
const char *rsmcore_map_reason_name(uint32_t reason);

/** A reason as part of a sentence, for the log. */
const char *rsmcore_map_reason_text(enum softmap_trap_reason reason);

RSMCORE_EXPORTS_END

#endif
