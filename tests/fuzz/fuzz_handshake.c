/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemons' links as a hostile host sees them: frames, handshake, authentication (with a made-up
 * MUNGE and without), both roles, two daemons with one id. An input is a script of connections to
 * node 2 of three, of what is sent there, honestly or not, and of time that passes. What the daemon
 * sends is well-formed, its user is told up and down in turn, messages only in between; when all
 * connections have gone nothing is left of them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "base/codec.h"
#include "descriptors.h"
#include "fuzz.h"
#include "loop.h"
#include "cluster/internal.h"
#include "requests.h"

enum {
    OWN = 2,
    CALLER = 1,
    CALLED = 3,
    WIRES = 4,
    STEPS_MAX = 200,
    TIMEOUT_S = 15, /* for what must happen; never the normal case */
};

/* One connection, from the other host's end. */
struct wire {
    int socket; /* -1: there is none */
    int theirs; /* the daemon's, to find what it has made of it */
    bool deaf;
    size_t filled;
    uint8_t in[4 + RSM_CLUSTER_FRAME_MAX];
    uint64_t number; /* of the latest PING */
};

static struct side {
    struct rsmd_conf conf;
    struct rsmd_cluster *cluster;
    bool told_up[RSM_NODE_ID_MAX + 1];
} side[2]; /* with auth = none, with munge */

static struct event_base *base;
static struct wire wires[WIRES];
static struct side *here;
static unsigned descriptors;

/* ------------------------------------------------------------------ the daemon's user */

static void on_up(void *context, uint32_t node)
{
    struct side *told = context;
    CHECK(!told->told_up[node]);
    told->told_up[node] = true;
}

static void on_down(void *context, uint32_t node)
{
    struct side *told = context;
    CHECK(told->told_up[node]);
    told->told_up[node] = false;
}

static void on_message(void *context, uint32_t node, const struct rsm_cluster_msg *msg)
{
    const struct side *told = context;
    CHECK(told->told_up[node] && msg->type >= RSM_CLUSTER_CONNECT);
}

/* Then it calls nobody itself. */
static bool is_neighbour(void *context, uint32_t node)
{
    (void)context, (void)node;
    return true;
}

static void start(struct side *made, const char *auth)
{
    char text[512], why[256];
    struct rsmd_conf_error error;
    const struct rsmd_cluster_user user = {
        .context = made, .up = on_up, .down = on_down, .message = on_message};
    int length = snprintf(text, sizeof text,
                          "[cluster]\nauth = %s\n"
                          "[limits]\npeer-timeout-ms = 60000\n"
                          "[node 1]\nhost = a\naddress = 127.91.0.1\n"
                          "[node 2]\nhost = b\naddress = 127.91.0.2\n"
                          "[node 3]\nhost = c\naddress = 127.91.0.3\n",
                          auth);
    if (!rsmd_conf_parse(&made->conf, text, (size_t)length, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    made->cluster = rsmd_cluster_start(base, &made->conf, OWN, &user, FUZZ_MUNGE, why, sizeof why);
    CHECK(made->cluster != NULL);
    rsmd_cluster_set_same_host(made->cluster, is_neighbour, NULL);
}

/* ------------------------------------------------------------------ connections */

static struct rsmd_tcp *conn_of(const struct wire *wire)
{
    struct rsmd_tcp *conn;
    DL_FOREACH(here->cluster->listener.strangers, conn)
    if (rsmd_stream_socket(conn->stream) == wire->theirs)
        return conn;
    for (uint32_t id = CALLER; id <= CALLED; id++) {
        const struct rsmd_link *link = rsmd_link_to(here->cluster, id);
        if (link == NULL)
            continue;
        struct rsmd_tcp *const of_link[] = {link->up, link->calling, link->rival};
        for (unsigned i = 0; i < sizeof of_link / sizeof of_link[0]; i++)
            if (of_link[i] != NULL && rsmd_stream_socket(of_link[i]->stream) == wire->theirs)
                return of_link[i];
    }
    return NULL;
}

static void wire_close(struct wire *wire)
{
    if (wire->socket >= 0)
        close(wire->socket);
    wire->socket = -1;
}

/* As the listener does with whom it accepts (welcome() there), and as a link does that calls. */
static void wire_open(struct wire *wire, bool called)
{
    int ends[2];
    struct rsmd_link *link = rsmd_link_to(here->cluster, CALLED);
    struct rsmd_address address = {.length = sizeof(struct sockaddr_in)};
    struct sockaddr_in *in = (struct sockaddr_in *)&address.socket;
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(0x7f5b0000u + (called ? CALLED : CALLER));
    if (wire->socket >= 0 || (called && (link->calling != NULL || link->up != NULL)))
        return;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    *wire = (struct wire){.socket = ends[0], .theirs = ends[1]};
    if (called) {
        link->calling = rsmd_tcp_called(link, ends[1], &address);
        CHECK(link->calling != NULL);
        return;
    }
    struct rsmd_tcp *conn = rsmd_tcp_accepted(here->cluster, ends[1], &address);
    CHECK(conn != NULL);
    CHECK(rsmd_listener_keep(conn));
}

/* Look at what has come in whole. */
static void wire_take(struct wire *wire)
{
    static struct rsm_cluster_msg msg;
    for (;;) {
        uint32_t length = 0;
        struct rsm_codec c = rsm_decoder(wire->in, wire->filled);
        rsm_codec_u32(&c, &length);
        if (c.bad)
            return;
        CHECK(length <= RSM_CLUSTER_FRAME_MAX);
        if (c.left < length)
            return;
        CHECK(rsm_cluster_decode(&msg, c.at, length) == RSM_ST_OK);
        if (msg.type == RSM_CLUSTER_PING)
            wire->number = msg.u.ping.number;
        wire->filled -= 4 + length;
        memmove(wire->in, c.at + length, wire->filled);
    }
}

/* False: nothing had come. */
static bool wire_drain(struct wire *wire)
{
    if (wire->socket < 0 || wire->deaf)
        return false;
    ssize_t got =
        recv(wire->socket, wire->in + wire->filled, sizeof wire->in - wire->filled, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0) {
        wire_close(wire);
        return true;
    }
    wire->filled += (size_t)got;
    wire_take(wire);
    return true;
}

static void turn(void)
{
    bool more;
    do {
        loop_turn(base);
        more = false;
        for (unsigned i = 0; i < WIRES; i++)
            more |= wire_drain(&wires[i]);
    } while (more);
}

static void turn_until(bool (*so)(void))
{
    const struct timespec moment = {.tv_nsec = 50000};
    int64_t end = rsm_clock_ms() + TIMEOUT_S * 1000;
    for (turn(); !so() && rsm_clock_ms() < end; turn())
        nanosleep(&moment, NULL);
    CHECK(so());
}

static bool nobody_works(void)
{
    for (unsigned i = 0; i < WIRES; i++) {
        const struct rsmd_tcp *conn = wires[i].socket >= 0 ? conn_of(&wires[i]) : NULL;
        if (conn != NULL && conn->job != NULL)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ what is sent */

static void wire_send(struct wire *wire, const uint8_t *bytes, size_t length, unsigned at)
{
    if (wire->socket < 0)
        return;
    size_t first = at < length ? at : length;
    ssize_t ignored = send(wire->socket, bytes, first, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (first < length) {
        turn();
        if (wire->socket >= 0)
            ignored =
                send(wire->socket, bytes + first, length - first, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    (void)ignored; /* a daemon that has hung up, or is paused, is what some inputs want */
}

static void wire_say(struct wire *wire, const struct rsm_cluster_msg *msg, struct input *in)
{
    static uint8_t frame[4 + RSM_CLUSTER_FRAME_MAX];
    uint32_t length = (uint32_t)rsm_cluster_encode(msg, frame + 4, RSM_CLUSTER_FRAME_MAX);
    struct rsm_codec c = rsm_encoder(frame, 4);
    unsigned form = input_u8(in); /* mostly in one piece */
    rsm_codec_u32(&c, &length);
    if (length > 0)
        wire_send(wire, frame, 4 + length, form < 0xe0 ? UINT32_MAX : form - 0xe0u);
}

static void say_hello(struct wire *wire, struct input *in)
{
    const struct rsmd_tcp *conn = wire->socket >= 0 ? conn_of(wire) : NULL;
    bool called = conn != NULL && conn->caller;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_HELLO};
    msg.u.hello = (struct rsm_cluster_hello){.magic = RSM_CLUSTER_MAGIC,
                                             .version_min = RSM_CLUSTER_VERSION_MIN,
                                             .version_max = RSM_CLUSTER_VERSION_MAX,
                                             .from = called ? CALLED : CALLER,
                                             .to = OWN,
                                             .incarnation = input_below(in, 4)};
    switch (input_below(in, 16)) { /* what is wrong with it: mostly nothing */
    case 10:
        msg.u.hello.magic = (uint32_t)input_number(in);
        break;
    case 11:
        msg.u.hello.version_min = (uint32_t)input_number(in);
        break;
    case 12:
        msg.u.hello.version_max = (uint32_t)input_number(in);
        break;
    case 13:
        msg.u.hello.from = (uint32_t)input_number(in);
        break;
    case 14:
        msg.u.hello.to = (uint32_t)input_number(in);
        break;
    case 15:
        msg.u.hello.incarnation = here->cluster->self.incarnation;
        break;
    }
    wire_say(wire, &msg, in);
}

static struct rsm_cluster_msg proof;
static bool proof_made;

static void on_proof(void *context, const char *why, bool ours,
                     const struct rsm_cluster_proof *made)
{
    (void)context, (void)ours;
    CHECK(why == NULL && made != NULL);
    proof.u.proof = *made;
    proof_made = true;
}

static bool proof_is_made(void)
{
    return proof_made;
}

/* The right one, as far as the daemon has said what it wants; or one with a few bytes changed. */
static void say_proof(struct wire *wire, struct input *in)
{
    const struct rsmd_tcp *conn = wire->socket >= 0 ? conn_of(wire) : NULL;
    proof = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF};
    if (conn != NULL && conn->phase != RSMD_PHASE_OVER) {
        struct rsm_cluster_hello mine = conn->theirs, theirs = conn->mine;
        struct rsmd_address end = conn->there, other = conn->here;
        struct rsmd_auth_claim claim = {&mine, &theirs, &end, &other};
        proof_made = false;
        rsmd_auth_prove(here->cluster->auth, &claim, on_proof, NULL);
        turn_until(proof_is_made);
    }
    switch (input_below(in, 8)) {
    case 6:
        proof.u.proof.length = (uint32_t)input_bytes(in, proof.u.proof.credential, 64);
        break;
    case 7:
        proof.u.proof.credential[input_u8(in)] ^= input_u8(in);
        proof.u.proof.length += input_below(in, 3);
        break;
    }
    wire_say(wire, &proof, in);
}

static void say_ping(struct wire *wire, struct input *in)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_PING, .u.ping.number = wire->number};
    unsigned form = input_below(in, 4);
    if (form & 1)
        msg.type = RSM_CLUSTER_PONG;
    if (form & 2)
        msg.u.ping.number = input_number(in);
    wire_say(wire, &msg, in);
}

static void say_anything(struct wire *wire, struct input *in)
{
    static struct rsm_cluster_msg msg;
    if (input_below(in, 4) == 0) {
        memset(&msg, 0, sizeof msg);
        msg.type = RSM_CLUSTER_REFUSE;
        msg.u.refuse.status = (uint32_t)input_number(in);
        input_bytes(in, msg.u.refuse.text, input_u8(in) % 64u);
    } else {
        peer_message_make(in, &msg);
    }
    wire_say(wire, &msg, in);
}

static void say_bytes(struct wire *wire, struct input *in)
{
    uint8_t bytes[256];
    wire_send(wire, bytes, input_bytes(in, bytes, input_u8(in)), input_u8(in));
}

/* A node that takes what is sent to it, or does not. */
static void send_to_it(struct input *in)
{
    static struct rsm_cluster_msg msg;
    peer_message_make(in, &msg);
    for (unsigned count = input_u8(in); count > 0; count--)
        rsmd_cluster_send(here->cluster, input_below(in, 2) != 0 ? CALLED : CALLER, &msg);
}

static void let_time_pass(struct input *in)
{
    int64_t ms = (int64_t)input_u8(in) * 1000;
    for (uint32_t id = CALLER; id <= CALLED; id += CALLED - CALLER)
        rsmd_link_tick(rsmd_link_to(here->cluster, id), rsm_clock_ms() + ms, 0);
}

static void step(struct input *in)
{
    unsigned what = input_below(in, 16);
    struct wire *wire = &wires[input_below(in, WIRES)];
    switch (what) {
    case 0:
    case 1:
        wire_open(wire, what != 0);
        break;
    case 2:
    case 3:
        say_hello(wire, in);
        break;
    case 4:
    case 5:
        say_proof(wire, in);
        break;
    case 6:
    case 7:
        say_ping(wire, in);
        break;
    case 8:
        say_anything(wire, in);
        break;
    case 9:
        say_bytes(wire, in);
        break;
    case 10:
        wire_close(wire);
        break;
    case 11:
        if (wire->socket >= 0)
            shutdown(wire->socket, input_u8(in) & 1 ? SHUT_WR : SHUT_RD);
        break;
    case 12:
        wire->deaf = !wire->deaf;
        break;
    case 13:
        send_to_it(in);
        break;
    case 14:
        let_time_pass(in);
        break;
    default:
        return; /* the next step comes before the daemon's turn */
    }
    turn_until(nobody_works);
}

/* ------------------------------------------------------------------ one input */

static bool all_gone(void)
{
    const struct rsmd_cluster *cluster = here->cluster;
    bool busy = cluster->over != NULL || cluster->listener.strangers != NULL;
    for (uint32_t id = CALLER; id <= CALLED; id += CALLED - CALLER) {
        const struct rsmd_link *link = rsmd_link_to(cluster, id);
        busy |=
            link->up != NULL || link->calling != NULL || link->rival != NULL || here->told_up[id];
    }
    return !busy && cluster->listener.stranger_count == 0 && descriptors_open() == descriptors;
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    if (base == NULL) {
        base = event_base_new();
        CHECK(base != NULL);
        start(&side[0], "none");
        start(&side[1], "munge");
        for (unsigned i = 0; i < WIRES; i++)
            wires[i].socket = -1;
        turn();
    }
    here = &side[input_u8(&in) & 1];
    descriptors = descriptors_open();
    for (unsigned steps = 0; !input_ends(&in) && steps < STEPS_MAX; steps++)
        step(&in);
    for (unsigned i = 0; i < WIRES; i++) {
        wire_close(&wires[i]);
        wires[i].deaf = false;
    }
    turn_until(all_gone);
}
