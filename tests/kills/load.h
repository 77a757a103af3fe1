/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the parties of the kill matrix do at the moment of a death: one exporter and one importer,
 * each an actor that repeats one operation until it learns of the death or has been seen to go on.
 *
 * The exporter's segment has two halves. The importer writes the first one, and the exporter keeps
 * a pattern in the second one that nobody else may change.
 */
#ifndef TESTS_KILLS_LOAD_H
#define TESTS_KILLS_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../system.h"

#include <rsmapi.h>

enum {
    LOAD_LENGTH = 64 * 1024,     /* bytes of the segment */
    LOAD_HALF = LOAD_LENGTH / 2, /* those that the importer writes */
    LOAD_ID = 0x410000,          /* of the first moment; each has two */
    LOAD_UNNOTICED = -2,         /* answer: give_up_ms have passed since the death */
};

/** What is under way. */
enum moment {
    MOMENT_IDLE,      /* exporter: waiting for an event; importer: nothing */
    MOMENT_CONNECT,   /* importer: connecting and disconnecting */
    MOMENT_PUT,       /* importer: putting half the segment, in implicit mode */
    MOMENT_BARRIER,   /* importer: opening, ordering and closing one */
    MOMENT_UNPUBLISH, /* exporter: publishing and unpublishing; importer: connecting, putting */
    MOMENT_SWAP,  /* exporter: create, publish, rebind, unpublish, destroy; importer: as above */
    MOMENT_FAULT, /* importer: loads and stores that the mapping engine serves */
    MOMENT_GROUP, /* importer: putting to a group of this segment and one of its own */
    MOMENTS,
};

enum side { SIDE_EXPORTER, SIDE_IMPORTER, SIDES };

/** Shared by all processes of one cell; it must be mapped before the actors are started. */
struct stage {
    _Atomic int64_t killed_ns;         /* CLOCK_MONOTONIC, set before the death; 0: not yet */
    _Atomic uint64_t calls[SIDES];     /* steps that have ended */
    _Atomic uint64_t attempted;        /* last number that the importer began to put */
    _Atomic uint64_t acknowledged;     /* last one whose put was reported to have arrived */
    _Atomic bool bystanders_leave;     /* asks the bystanders to end */
    _Atomic uint64_t bystander_rounds; /* verified ones */
};
extern struct stage *stage;

/** What a loop is told, and what it answers. */
struct load {
    enum moment moment;
    bool must_notice; /* only an error ends the loop; else a step that began after the death */
    bool long_waits; /* of the exporter that idles: long enough to tell a wake-up from a time-out */
    bool stranger;   /* the other party does not share the stage: what it put is not known */
    bool group_stays;  /* of the group, the importer's own member */
    int give_up_ms;    /* after the death, if it has not been noticed */
    uint32_t exporter; /* node */
    int answer;        /* of the last step: RSM_SUCCESS, an RSMERR_, -1 or LOAD_UNNOTICED */
    int64_t took_us;   /* from the death to the end of that step; -1: it was before the death */
};

int64_t now_ns(void);

/* Functions of actors; each takes a struct load and returns 0, or -1 with a message. */

/** Create and publish the segment with its pattern. */
int load_export_begin(void *load);
int load_export_run(void *load);
/** Unpublish and destroy, if need be after errors, and compare the memory: what is there is what
 *  was written last. */
int load_export_end(void *load);

/** Connect, initialise a barrier; map where the moment wants that. */
int load_import_begin(void *load);
int load_import_run(void *load);
/** Unmap and disconnect. */
int load_import_end(void *load);

/** Of the parties: publish the segment in slot 0; its id. */
int load_publish(const struct load *load);
rsm_memseg_id_t load_segment(const struct load *load);

/* group.c: the importer of MOMENT_GROUP. */
int load_group_begin(const struct load *load);
int load_group_step(const struct load *load);
int load_group_end(const struct load *load);

/* Bystanders: each round moves a pattern to the exporter and back, and one event each way. They run
 * until bystanders_leave and fail at the first wrong byte, error or event that does not come. */
int bystander_export(void *load);
int bystander_import(void *load);

#endif
