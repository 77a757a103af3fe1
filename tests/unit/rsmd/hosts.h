/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Nodes of three hosts in one process, for tests of what they say to each other: no sockets, no
 * daemons; messages wait in a queue until the test lets them through, encoded as on a real link.
 */
#ifndef TESTS_RSMD_HOSTS_H
#define TESTS_RSMD_HOSTS_H

#include <event2/event.h>

#include "node/call.h"
#include "node/grants.h"
#include "node/imports.h"
#include "cases.h"
#include "protocol/event_counter.h"
#include "remote/remote.h"

enum { HOSTS = 3, SEGMENT = 0x400000 };

/** A client of a node, with the reply to its last request. */
struct person {
    struct rsmd_client client; /* first: answers find the person by it */
    struct rsmd_node *node;
    unsigned answers; /* replies so far */
    struct rsm_msg reply;
    struct rsm_packet_fds fds; /* that came with it */
    unsigned late_fds; /* descriptors that came with an answer given later; they are closed */
};

struct hosts {
    struct event_base *base;
    struct rsmd_node node[HOSTS + 1]; /* from 1 */
    bool link[HOSTS + 1][HOSTS + 1];
    bool on_demand;       /* links are made on demand; set by a test */
    bool closing;         /* a link that is up is not to be used for what begins something */
    unsigned needs;       /* how often a link was asked for that was not there */
    size_t queued;        /* what the carrier says */
    unsigned proceeds;    /* how often a next link could come */
    unsigned revokes;     /* by the fake transport */
    unsigned descriptors; /* that it puts into each offer */
    uint32_t keeps_descriptors, keeps_threads; /* that each offer takes of the daemon */
    /* Its fabric's signals to importers. */
    bool fabric;               /* it carries them */
    bool arrived;              /* what was sent */
    unsigned fabric_sends;     /* so far */
    struct rsm_signals sent;   /* the latest */
    struct rsm_signals posted; /* by an importer, and not reported yet */
    /* Imports that go through the importer's node, after transport_accepts(). */
    bool cuts;                     /* revoke() of an import is enough */
    enum rsm_status accept_status; /* what accept() says */
    char told_address[32];         /* of the exporter's node, in its latest call */
    unsigned entries;              /* accepted and not closed */
    unsigned cut_entries;          /* ... revoked before, so far */
    unsigned held;                 /* offers that were revoked and not released */
    /* Offers that end later, after transport_ends_later(). */
    bool ends_at_once;      /* revoke_begin() ends them after all */
    unsigned begin_us;      /* how long it takes */
    unsigned begun, ending; /* so far; now */
};
extern struct hosts hosts;

/** cmocka setup and teardown: three nodes, all links up, nothing in the queue. */
int hosts_begin(void **state);
int hosts_end(void **state);

/** From now on imports go through the importer's node; it hands out one descriptor. */
void transport_accepts(void);
/** From now on the transport says that it pins its extents. */
void transport_pins(void);
/** ... and need not: whom it must not pin for, or anybody. */
void transport_does_without_pinning(bool always);
/** From now on the transport has shares of its own: one user may make extents, and no other. */
void transport_has_room_for(uid_t uid);
/** What it was last told that one user may have; in percent. */
extern uint32_t told_one_percent;

/** From now on offers end later. */
void transport_ends_later(void);
/** The transport reports to a node that the oldest of those that are ending have ended. */
void offers_end(uint32_t node, unsigned count);

/** Raise or cut the link between two nodes; both are told. What is under way gets lost. */
void link_up(uint32_t a, uint32_t b);
void link_down(uint32_t a, uint32_t b);

/** Deliver the next message; false: there was none. deliver_all() also runs the event loop until
 *  nothing more happens. */
bool deliver(void);
void deliver_all(void);
/** The next message, which is taken out of the queue; its type must be this one. */
struct rsm_cluster_msg intercept(uint32_t type);
/** A message as if `from` had sent it, delivered at once. */
void forge(uint32_t from, uint32_t to, struct rsm_cluster_msg msg);

/** Begin and end; a person that is gone has closed its connection. */
void person_begin(struct person *person, uint32_t node, uint32_t uid);
void person_end(struct person *person);
/** Ask; the status of the reply. A reply that comes later must have been delivered by the call of
 *  ask(), which lets all messages through; begin() does not wait. */
void begin(struct person *person, struct rsm_msg *msg);
enum rsm_status ask(struct person *person, struct rsm_msg *msg);

/** Publish a page under SEGMENT with that mode; the export's id. */
uint32_t offer_page(struct person *exporter, uint32_t mode);
/** The same in another name space. */
uint32_t offer_page_as(struct person *exporter, enum rsm_id_space space, uint32_t mode);
/** Connect to SEGMENT of a node; the reply is in person->reply. */
void begin_connect(struct person *importer, uint32_t node, uint32_t rights);
enum rsm_status connect_to(struct person *importer, uint32_t node, uint32_t rights);
/** Whether a slot of this node's table has left a value. */
bool has_moved(const struct person *person, const struct rsm_import_connect_reply *import);

/** The counter that belongs to a handle, or the one that its posts reach; mapped until the test's
 *  end. */
struct rsm_event_counter *own_counter(struct person *person, uint32_t end, uint32_t id);
/** Post through the one peer of a handle, kick included. */
void post(struct person *person, uint32_t end, uint32_t id, uint32_t count, bool coalesce);

#endif
