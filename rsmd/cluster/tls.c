/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/tls.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/internal.h"
#include "cluster/tls_helper.h"
#include "tls/control.h"

enum {
    RESTART_MS = 1000,
    CHECK_MS = 10000, /* of rsmd --check */
    DAY_S = 24 * 3600,
    SOON_S = 30 * DAY_S,
    MESSAGES_PER_TURN = 64,
};

struct rsmd_tls {
    struct rsmd_cluster *cluster;
    struct rsm_helper helper;
    struct event *control, *process, *restart;
    bool loaded;            /* rsm-tlsd has certificates */
    struct rsmd_tcp *conns; /* passed on, by their numbers */
    uint64_t latest;        /* number of a connection */
    uint64_t expires;
    int64_t reminded_at; /* milliseconds; 0: never */
    char trouble[RSM_CLUSTER_TEXT_MAX];
    struct rsmd_complaints complaints;
};

/* ------------------------------------------------------------------ certificates */

/* Where rsm-tlsd has certificates from before, it goes on with them. */
static void note_trouble(struct rsmd_tls *tls, const char *why)
{
    char text[RSM_CLUSTER_TEXT_MAX];
    snprintf(text, sizeof text, "%s", why);
    rsmd_text_clean(text);
    if (!tls->loaded)
        memcpy(tls->trouble, text, sizeof tls->trouble);
    if (rsmd_complaint_is_new(&tls->complaints, text, rsm_clock_ms()))
        rsm_log_error("auth = tls: %s%s", text,
                      tls->loaded ? ": the former certificates stay in use" : "");
}

static void take_loaded(struct rsmd_tls *tls, const struct rsmd_tls_control *message)
{
    if (message->text[0] != '\0') {
        note_trouble(tls, message->text);
        return;
    }
    tls->loaded = true;
    tls->trouble[0] = '\0';
    tls->expires = message->expires;
    tls->reminded_at = 0;
    rsmd_complaints_forget(&tls->complaints);
}

void rsmd_tls_reload(struct rsmd_tls *tls)
{
    char why[RSM_CLUSTER_TEXT_MAX];
    const struct rsmd_self *self = &tls->cluster->self;
    rsmd_complaints_forget(&tls->complaints);
    if (tls->helper.pid != 0 &&
        !rsmd_tls_helper_load(&tls->helper, self->conf, self->node, why, sizeof why))
        note_trouble(tls, why);
}

static void date_of(uint64_t seconds, char text[16])
{
    struct tm broken;
    time_t when = (time_t)seconds;
    if (gmtime_r(&when, &broken) == NULL || strftime(text, 16, "%Y-%m-%d", &broken) == 0)
        snprintf(text, 16, "?");
}

/* Negative: it has expired. */
static bool is_soon(uint64_t expires, int64_t *days)
{
    *days = ((int64_t)expires - (int64_t)time(NULL)) / DAY_S;
    return expires != 0 && (int64_t)expires - (int64_t)time(NULL) < SOON_S;
}

static void remind_of_peers(const struct rsmd_cluster *cluster)
{
    unsigned count = 0;
    uint32_t first = 0;
    uint64_t expires = 0;
    int64_t days;
    char date[16];
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct rsmd_tcp *up = cluster->links[i]->up;
        if (up == NULL || !is_soon(up->tls_expires, &days))
            continue;
        if (count++ == 0 || up->tls_expires < expires) {
            first = cluster->links[i]->node->id;
            expires = up->tls_expires;
        }
    }
    if (count == 0)
        return;
    date_of(expires, date);
    rsm_log_warning(
        "certificates of other nodes that expire within 30 days: %u; first that of node "
        "%u, %s",
        count, (unsigned)first, date);
}

void rsmd_tls_remind(struct rsmd_tls *tls, int64_t now_ms)
{
    int64_t days;
    char date[16];
    if (tls->expires == 0 ||
        (tls->reminded_at != 0 && now_ms - tls->reminded_at < (int64_t)DAY_S * 1000))
        return;
    tls->reminded_at = now_ms;
    if (is_soon(tls->expires, &days)) {
        date_of(tls->expires, date);
        rsm_log_warning("the certificate of this node expires in %d days, %s: make a new one, see "
                        "rsm-cert(8), and reload rsmd",
                        (int)days, date);
    }
    remind_of_peers(tls->cluster);
}

uint64_t rsmd_tls_expires(const struct rsmd_tls *tls)
{
    return tls->expires;
}

const char *rsmd_tls_trouble(const struct rsmd_tls *tls)
{
    return tls->trouble;
}

/* ------------------------------------------------------------------ what rsm-tlsd says */

static void take_message(struct rsmd_tls *tls, struct rsmd_tls_control *message)
{
    struct rsmd_tcp *conn = NULL;
    if (message->type == RSMD_TLS_LOADED) {
        take_loaded(tls, message);
        return;
    }
    HASH_FIND(tls_hh, tls->conns, &message->id, sizeof message->id, conn);
    if (conn == NULL)
        return; /* it is over already */
    if (message->type == RSMD_TLS_READY)
        rsmd_tcp_encrypted(conn, message->node, message->expires);
    else if (message->type == RSMD_TLS_FAILED) {
        rsmd_text_clean(message->text);
        rsmd_tcp_not_encrypted(conn, message->node, message->text);
    }
}

/* The process has ended, and with it the pairs of its connections and all handshakes. */
static void lose_helper(struct rsmd_tls *tls)
{
    const struct timeval later = {.tv_sec = RESTART_MS / 1000};
    struct rsmd_tcp *conn, *next;
    event_del(tls->control);
    event_del(tls->process);
    rsm_helper_end(&tls->helper, false);
    tls->loaded = false;
    HASH_ITER(tls_hh, tls->conns, conn, next)
    rsmd_tcp_not_encrypted(conn, 0, "rsm-tlsd, which encrypts the links of this node, has ended");
    note_trouble(tls, "rsm-tlsd has ended: its links are down, and it is started again");
    evtimer_add(tls->restart, &later);
}

/* 1: there may be more; 0: not now; -1: rsm-tlsd has gone. */
static int take_one(struct rsmd_tls *tls)
{
    struct rsmd_tls_control message;
    if (tls->helper.control < 0)
        return 0;
    int result = rsmd_tls_control_receive(tls->helper.control, &message, NULL);
    if (result > 0)
        take_message(tls, &message);
    return result;
}

void rsmd_tls_take(struct rsmd_tls *tls)
{
    for (int i = 0; i < MESSAGES_PER_TURN && take_one(tls) > 0; i++)
        continue;
}

static void on_message(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_tls *tls = argument;
    int result = 1;
    for (int i = 0; i < MESSAGES_PER_TURN && result > 0; i++)
        result = take_one(tls);
    if (result >= 0)
        return;
    event_del(tls->control); /* its end follows */
    kill(tls->helper.pid, SIGKILL);
}

/* What it has said last is read first. */
static void on_end(evutil_socket_t fd, short what, void *argument)
{
    struct rsmd_tls *tls = argument;
    rsmd_tls_take(tls);
    (void)fd, (void)what;
    lose_helper(tls);
}

/* ------------------------------------------------------------------ the process */

static bool watch(struct rsmd_tls *tls)
{
    struct event_base *base = tls->cluster->base;
    event_assign(tls->control, base, tls->helper.control, EV_READ | EV_PERSIST, on_message, tls);
    event_assign(tls->process, base, tls->helper.process, EV_READ, on_end, tls);
    return event_add(tls->control, NULL) == 0 && event_add(tls->process, NULL) == 0;
}

static void start_helper(struct rsmd_tls *tls)
{
    const struct timeval later = {.tv_sec = RESTART_MS / 1000};
    char why[RSM_CLUSTER_TEXT_MAX] = "out of memory";
    if (!rsmd_tls_helper_start(&tls->helper, why, sizeof why)) {
        note_trouble(tls, why);
        evtimer_add(tls->restart, &later);
        return;
    }
    if (watch(tls)) {
        rsmd_tls_reload(tls);
        return;
    }
    note_trouble(tls, why);
    rsm_helper_end(&tls->helper, false);
    evtimer_add(tls->restart, &later);
}

static void on_restart(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    start_helper(argument);
}

struct rsmd_tls *rsmd_tls_start(struct rsmd_cluster *cluster)
{
    struct rsmd_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL)
        return NULL;
    tls->cluster = cluster;
    tls->helper = RSM_HELPER_NONE;
    tls->restart = evtimer_new(cluster->base, on_restart, tls);
    tls->control = evtimer_new(cluster->base, on_restart, tls); /* assigned when it starts */
    tls->process = evtimer_new(cluster->base, on_restart, tls);
    if (tls->restart != NULL && tls->control != NULL && tls->process != NULL) {
        start_helper(tls);
        return tls;
    }
    rsmd_tls_end(tls);
    return NULL;
}

void rsmd_tls_end(struct rsmd_tls *tls)
{
    struct event **const events[] = {&tls->restart, &tls->control, &tls->process};
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
        if (*events[i] != NULL)
            event_free(*events[i]);
    if (tls->helper.pid != 0)
        rsm_helper_end(&tls->helper, false);
    free(tls);
}

/* ------------------------------------------------------------------ connections */

int rsmd_tls_encrypt(struct rsmd_tls *tls, struct rsmd_tcp *conn, int socket, char *why,
                     size_t why_size)
{
    struct rsmd_tls_control start = {
        .type = RSMD_TLS_START, .id = tls->latest + 1, .caller = conn->caller ? 1 : 0};
    int pair[2];
    if (tls->helper.pid == 0 || tls->trouble[0] != '\0') {
        snprintf(why, why_size, "node %u has no TLS now: %s", (unsigned)tls->cluster->self.node,
                 tls->trouble);
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        snprintf(why, why_size, "%s", strerror(errno));
        return -1;
    }
    conn->tls_id = start.id;
    HASH_ADD(tls_hh, tls->conns, tls_id, sizeof conn->tls_id, conn);
    if (conn->tls_hh.tbl == NULL) {
        conn->tls_id = 0;
        snprintf(why, why_size, "out of memory");
    } else {
        const struct rsm_packet_fds fds = {.count = RSMD_TLS_START_FDS, .fds = {socket, pair[1]}};
        int error = rsmd_tls_control_send(tls->helper.control, &start, &fds);
        if (error == 0) {
            tls->latest = start.id;
            close(pair[1]);
            return pair[0];
        }
        rsmd_tls_forget(tls, conn);
        snprintf(why, why_size, "too many handshakes at once: %s", strerror(error));
    }
    close(pair[0]);
    close(pair[1]);
    return -1;
}

void rsmd_tls_forget(struct rsmd_tls *tls, struct rsmd_tcp *conn)
{
    if (conn->tls_id == 0)
        return;
    HASH_DELETE(tls_hh, tls->conns, conn);
    conn->tls_id = 0;
}

/* ------------------------------------------------------------------ rsmd --check */

bool rsmd_tls_check(const struct rsmd_conf *conf, uint32_t node, char *why, size_t why_size)
{
    struct rsm_helper helper;
    struct rsmd_tls_control answer = {.type = 0};
    if (!rsmd_tls_helper_start(&helper, why, why_size))
        return false;
    bool asked = rsmd_tls_helper_load(&helper, conf, node, why, why_size);
    struct pollfd control = {.fd = helper.control, .events = POLLIN};
    bool answered = asked && poll(&control, 1, CHECK_MS) > 0 &&
                    rsmd_tls_control_receive(helper.control, &answer, NULL) > 0 &&
                    answer.type == RSMD_TLS_LOADED;
    rsm_helper_end(&helper, false);
    if (asked && !answered)
        snprintf(why, why_size, "rsm-tlsd does not answer");
    else if (asked && answer.text[0] != '\0')
        snprintf(why, why_size, "%s", answer.text);
    else if (asked)
        return true;
    return false;
}
