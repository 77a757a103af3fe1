/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/address.h"
#include "base/clock.h"
#include "links.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>

#include "base/codec.h"
#include "base/log.h"
#include "cluster/munge.h"

static struct event_base *base;
static struct event *beat;
static unsigned network; /* the two bytes in the middle of 127.x.y.z */

/* ------------------------------------------------------------------ the loop */

static void on_beat(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what, (void)argument;
}

int links_begin(void **state)
{
    const struct timeval often = {.tv_usec = 5000};
    uint16_t random = 0;
    base = event_base_new();
    beat = base != NULL ? event_new(base, -1, EV_PERSIST, on_beat, NULL) : NULL;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return -1;
    network = 256u + random % 65000u; /* not 127.0.y.z, which others use */
    return beat != NULL ? event_add(beat, &often) : -1;
}

int links_end(void **state)
{
    event_free(beat);
    event_base_free(base);
    return 0;
}

struct event_base *links_base(void)
{
    return base;
}

void links_turn(void)
{
    event_base_loop(base, EVLOOP_ONCE);
}

void links_turn_for(int ms)
{
    int64_t until = rsm_clock_ms() + ms;
    while (rsm_clock_ms() < until)
        links_turn();
}

const char *links_address(uint32_t node)
{
    static char text[4][20];
    static unsigned next;
    char *into = text[next++ % 4];
    snprintf(into, sizeof text[0], "127.%u.%u.%u", network >> 8, network & 255, (unsigned)node);
    return into;
}

/* ------------------------------------------------------------------ nodes */

static void on_up(void *context, uint32_t node)
{
    struct side *side = context;
    assert_false(side->in_call);
    assert_int_equal(side_state(side, node), RSMD_LINK_UP);
    side->ups++;
}

static void on_down(void *context, uint32_t node)
{
    struct side *side = context;
    assert_false(side->in_call);
    assert_int_not_equal(side_state(side, node), RSMD_LINK_UP);
    side->downs++;
    side->silent = false;
}

static void on_message(void *context, uint32_t node, const struct rsm_cluster_msg *msg)
{
    struct side *side = context;
    assert_false(side->in_call);
    assert_true(side->ups > side->downs);
    side->messages++;
    side->last_from = node;
    side->last = *msg;
    if (side->echo)
        side_send(side, node, msg);
}

static bool is_busy(void *context, uint32_t node)
{
    const struct side *side = context;
    return side->busy;
}

static bool is_used(void *context, uint32_t node)
{
    const struct side *side = context;
    return side->used;
}

static void on_needed(void *context, uint32_t node, bool made)
{
    struct side *side = context;
    assert_false(side->in_call);
    if (made)
        assert_int_equal(side_state(side, node), RSMD_LINK_UP);
    *(made ? &side->made : &side->unmade) += 1;
}

static void on_silent(void *context, uint32_t node, bool silent)
{
    struct side *side = context;
    assert_false(side->in_call);
    assert_int_equal(side_state(side, node), RSMD_LINK_UP);
    assert_int_not_equal(silent, side->silent);
    side->silent = silent;
    side->silences += silent;
}

void side_configure(struct side *side, uint32_t node, uint32_t count, const char *more)
{
    char text[16384];
    struct rsmd_conf_error error;
    int used =
        snprintf(text, sizeof text, "[limits]\npeer-timeout-ms = %d\n%s", LINKS_TIMEOUT_MS, more);
    for (uint32_t id = 1; id <= count; id++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "[node %u]\nhost = localhost\naddress = %s\n", (unsigned)id,
                         links_address(id));
    memset(side, 0, sizeof *side);
    side->node = node;
    assert_true(rsmd_conf_parse(&side->conf, text, (size_t)used, &error));
}

void side_start(struct side *side, const char *munge)
{
    char why[256];
    const struct rsmd_cluster_user user = {side,    on_up,   on_down,   on_message,
                                           is_busy, is_used, on_needed, on_silent};
    side->in_call = true;
    side->cluster = rsmd_cluster_start(base, &side->conf, side->node, &user,
                                       munge != NULL ? munge : RSMD_MUNGE_LIBRARY, why, sizeof why);
    side->in_call = false;
    if (side->cluster == NULL)
        fail_msg("%s", why);
}

void side_run(struct side *side, uint32_t node, uint32_t count)
{
    side_configure(side, node, count, "");
    side_start(side, NULL);
}

void side_stop(struct side *side)
{
    side->in_call = true;
    rsmd_cluster_stop(side->cluster);
    side->cluster = NULL;
    rsmd_conf_free(&side->conf);
}

enum rsmd_link_state side_state(const struct side *side, uint32_t node)
{
    return rsmd_cluster_state(side->cluster, node, NULL);
}

const char *side_text(const struct side *side, uint32_t node)
{
    const char *text;
    rsmd_cluster_state(side->cluster, node, &text);
    return text;
}

bool side_send(struct side *side, uint32_t node, const struct rsm_cluster_msg *msg)
{
    bool before = side->in_call;
    side->in_call = true;
    bool sent = rsmd_cluster_send(side->cluster, node, msg);
    side->in_call = before;
    return sent;
}

/* ------------------------------------------------------------------ daemons made by hand */

static struct sockaddr_in socket_address(uint32_t node)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(RSM_CLUSTER_PORT)};
    assert_int_equal(inet_pton(AF_INET, links_address(node), &address.sin_addr), 1);
    return address;
}

/* The kernel completes it without the node's help. */
int raw_call_from(const char *from, uint32_t node)
{
    struct sockaddr_in to = socket_address(node), own = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (from != NULL) {
        assert_int_equal(inet_pton(AF_INET, from, &own.sin_addr), 1);
        assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    }
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        fail_msg("%s: %s", links_address(node), strerror(errno));
    return fd;
}

int raw_call(uint32_t node)
{
    return raw_call_from(NULL, node);
}

int raw_listen(uint32_t node)
{
    int on = 1;
    struct sockaddr_in at = socket_address(node);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

int raw_accept(int listener)
{
    int fd = -1;
    AWAIT((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0);
    return fd;
}

void raw_bytes(int fd, const void *bytes, size_t length)
{
    /* A node that hung up meanwhile is what some tests want. */
    ssize_t ignored = send(fd, bytes, length, MSG_NOSIGNAL);
    (void)ignored;
}

void raw_send(int fd, const struct rsm_cluster_msg *msg)
{
    uint8_t frame[4 + RSM_CLUSTER_FRAME_MAX];
    uint32_t length = (uint32_t)rsm_cluster_encode(msg, frame + 4, RSM_CLUSTER_FRAME_MAX);
    struct rsm_codec c = rsm_encoder(frame, 4);
    assert_true(length > 0);
    rsm_codec_u32(&c, &length);
    raw_bytes(fd, frame, 4 + length);
}

/* Whether that many bytes came. */
static bool take(int fd, uint8_t *into, size_t length)
{
    for (size_t got = 0; got < length;) {
        ssize_t now = -1;
        AWAIT((now = recv(fd, into + got, length - got, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
        if (now <= 0)
            return false;
        got += (size_t)now;
    }
    return true;
}

bool raw_next(int fd, struct rsm_cluster_msg *msg)
{
    uint8_t frame[RSM_CLUSTER_FRAME_MAX];
    uint32_t length = 0;
    if (!take(fd, frame, 4))
        return false;
    struct rsm_codec c = rsm_decoder(frame, 4);
    rsm_codec_u32(&c, &length);
    assert_in_range(length, 1, RSM_CLUSTER_FRAME_MAX);
    if (!take(fd, frame, length))
        return false;
    assert_int_equal(rsm_cluster_decode(msg, frame, length), RSM_ST_OK);
    return true;
}

bool raw_next_of(int fd, uint32_t type, struct rsm_cluster_msg *msg)
{
    while (raw_next(fd, msg))
        if (msg->type == type)
            return true;
    return false;
}

void raw_expect_closed(int fd)
{
    struct rsm_cluster_msg msg;
    while (raw_next(fd, &msg))
        continue;
    close(fd);
}

struct rsm_cluster_msg raw_hello(uint32_t from, uint32_t to, uint64_t incarnation)
{
    return (struct rsm_cluster_msg){.type = RSM_CLUSTER_HELLO,
                                    .u.hello = {.magic = RSM_CLUSTER_MAGIC,
                                                .version_min = RSM_CLUSTER_VERSION_MIN,
                                                .version_max = RSM_CLUSTER_VERSION_MAX,
                                                .from = from,
                                                .to = to,
                                                .incarnation = incarnation}};
}

int raw_link(struct side *side, uint32_t from, uint64_t incarnation)
{
    struct rsm_cluster_msg msg = raw_hello(from, side->node, incarnation);
    int fd = raw_call(side->node);
    raw_send(fd, &msg);
    assert_true(raw_next_of(fd, RSM_CLUSTER_HELLO, &msg));
    msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF};
    raw_send(fd, &msg);
    assert_true(raw_next_of(fd, RSM_CLUSTER_PROOF, &msg));
    msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PING, .u.ping.number = 1};
    raw_send(fd, &msg);
    return fd;
}
