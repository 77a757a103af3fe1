/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Mistakes that a variant of peek has on purpose, one each: rsm-transport-check has to find
 *  them. PEEK_MISTAKE is that of this module. */
#ifndef TESTS_PEEK_MISTAKES_H
#define TESTS_PEEK_MISTAKES_H

enum peek_mistake {
    PEEK_RIGHT,
    PEEK_ANY_RIGHTS, /* the adapter does not look at rights */
    PEEK_ANY_RANGE,  /* the adapter goes beyond the last piece */
    PEEK_LATE,       /* revoke() returns while the adapter still writes */
    PEEK_NEVER,      /* revoke() ends nothing */
    PEEK_DROPPED,    /* errors of put() are told to nobody */
    PEEK_FALLING,    /* complete() forgets the failures that it has waited for */
    PEEK_DEAF,       /* the importer waits for a node that has died */
    PEEK_UNMASKED,   /* the thread in rsmd takes its signals */
    PEEK_FREE,       /* the offer names no descriptors of the connection */
    PEEK_HELD_UP,    /* revoke() waits for the importer */
    PEEK_ALL,        /* revoke() cuts the other importers off, too */
    PEEK_FRAGILE,    /* the adapter ends with the first importer that has gone */
    PEEK_HASTY,      /* revoked() comes while the adapter still writes */
    PEEK_TWICE,      /* revoked() comes though revoke() has ended the offer */
};

#ifndef PEEK_MISTAKE
#define PEEK_MISTAKE PEEK_RIGHT
#endif

#endif
