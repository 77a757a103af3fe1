/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <rsmapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs.h"
#include "importer.h"
#include "serve.h"

enum {
    REPLY_MS = 60000, /* beside the time that was asked for */
    END_MS = 10000,   /* for a process to end well */
    LOOK_MS = 5,
    SLOWEST = 50, /* times its time that a figure may take */
};
#define NOISY_SPREAD 0.2

/* A process of ours and the socket that leads to it. */
struct child {
    pid_t pid;
    int socket;
};

struct crew {
    struct child server; /* pid 0: it is not ours */
    struct child importers[IMPORTERS_MAX];
    unsigned count;
    struct serve_address address;
    struct importer_results *results; /* one each */
    sigset_t former;                  /* signals that were blocked */
};

static volatile sig_atomic_t stop_signal;

static void note_stop(int number)
{
    stop_signal = number;
}

/* Blocked but while we wait, so that none comes between the look at it and the wait. */
static void watch_for_stop(sigset_t *former)
{
    struct sigaction action = {.sa_handler = note_stop};
    sigset_t stops;
    sigemptyset(&action.sa_mask);
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, former);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ------------------------------------------------------------------ children */

/* In the parent: its pid, and the socket to it. In the child: 0, and the socket to the parent. */
static pid_t start_child(const struct crew *crew, struct child *child, uint32_t node)
{
    int ends[2];
    char text[16];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    fflush(NULL);
    pid_t pid = fork();
    close(ends[pid == 0 ? 0 : 1]);
    *child = (struct child){.pid = pid, .socket = ends[pid == 0 ? 1 : 0]};
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_IGN); /* a terminal sends it to all of us; the parent decides */
    sigprocmask(SIG_SETMASK, &crew->former, NULL);
    snprintf(text, sizeof text, "%u", (unsigned)node);
    if (node != 0 && setenv("RSM_NODE", text, 1) < 0)
        _exit(EXIT_FAILURE);
    return 0;
}

/* Only what this process must not hold open: the others' ends. */
static void forget_others(struct crew *crew)
{
    if (crew->server.pid > 0)
        close(crew->server.socket);
    for (unsigned i = 0; i < crew->count; i++)
        close(crew->importers[i].socket);
}

static void end_child(struct child *child, int signal_number)
{
    struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    if (child->pid <= 0)
        return;
    close(child->socket);
    if (signal_number != 0)
        kill(child->pid, signal_number);
    for (int waited = 0; waitpid(child->pid, NULL, WNOHANG) == 0; waited += LOOK_MS) {
        if (waited > END_MS)
            kill(child->pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
    child->pid = 0;
}

/* Receive exactly that many bytes. Interrupted, closed or late: false. */
static bool receive(const struct crew *crew, const struct child *child, void *bytes, size_t length,
                    int timeout_ms)
{
    struct pollfd readable = {.fd = child->socket, .events = POLLIN};
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    return stop_signal == 0 && ppoll(&readable, 1, &timeout, &crew->former) == 1 &&
           recv(child->socket, bytes, length, 0) == (ssize_t)length;
}

/* ------------------------------------------------------------------ beginning */

struct parent {
    int socket;
    const struct options *options;
};

/* Not earlier to its processor: a daemon that was started for it must not keep to that. */
static void report_to_parent(void *context, const struct serve_address *address)
{
    const struct parent *parent = context;
    if (parent->options->importers == 1)
        machine_keep_to(PLACE_REMOTE);
    if (send(parent->socket, address, sizeof *address, MSG_NOSIGNAL) < 0)
        raise(SIGTERM);
}

static bool start_server(struct run *run, struct crew *crew)
{
    struct child *server = &crew->server;
    pid_t pid = start_child(crew, server, run->options->exporter_node);
    if (pid == 0)
        exit(serve(run->options, 0, report_to_parent,
                   &(struct parent){server->socket, run->options}));
    if (pid < 0 || !receive(crew, server, &crew->address, sizeof crew->address, REPLY_MS))
        snprintf(run->failure, REPORT_BYTES, "the exporting process did not start");
    else
        strcpy(run->failure, crew->address.failure);
    return run->failure[0] == '\0';
}

static bool start_importer(struct run *run, struct crew *crew)
{
    struct child *importer = &crew->importers[crew->count];
    pid_t pid = start_child(crew, importer, run->options->importer_node);
    if (pid == 0) {
        struct importer_task task = {.options = run->options,
                                     .server_node = crew->address.node,
                                     .server_id = crew->address.id,
                                     .socket = importer->socket,
                                     .results = &crew->results[crew->count]};
        forget_others(crew);
        importer_main(&task);
    }
    if (pid > 0)
        crew->count++;
    return pid > 0;
}

static bool await_importers(struct run *run, struct crew *crew)
{
    for (unsigned i = 0; i < crew->count && run->failure[0] == '\0'; i++) {
        struct importer_reply reply = {.error = 0};
        if (!receive(crew, &crew->importers[i], &reply, sizeof reply, REPLY_MS))
            snprintf(run->failure, REPORT_BYTES, "an importing process did not start");
        else
            strcpy(run->failure, reply.failure);
        run->node = reply.node;
    }
    return run->failure[0] == '\0';
}

static bool start(struct run *run, struct crew *crew)
{
    const struct options *options = run->options;
    size_t bytes = options->importers * sizeof *crew->results;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        snprintf(run->failure, REPORT_BYTES, "%s", strerror(errno));
        return false;
    }
    crew->results = shared;
    crew->address = (struct serve_address){.node = options->server_node, .id = options->id};
    if (options->role == ROLE_BOTH && !start_server(run, crew))
        return false;
    run->server_node = crew->address.node;
    for (unsigned i = 0; i < options->importers; i++)
        if (!start_importer(run, crew)) {
            snprintf(run->failure, REPORT_BYTES, "%s", strerror(errno));
            return false;
        }
    return await_importers(run, crew);
}

static void stop(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++)
        end_child(&crew->importers[i], stop_signal != 0 ? SIGTERM : 0);
    end_child(&crew->server, SIGTERM);
    if (crew->results != NULL)
        munmap(crew->results, (crew->count > 0 ? crew->count : 1) * sizeof *crew->results);
    sigprocmask(SIG_SETMASK, &crew->former, NULL);
}

/* ------------------------------------------------------------------ figures */

bool result_is_noisy(const struct result *result)
{
    return result->failure[0] == '\0' &&
           (result->ours.spread > NOISY_SPREAD ||
            (result->limit_name != NULL && result->limit.spread > NOISY_SPREAD));
}

/* An error that concerns all further measurements, such as the end of the remote side. */
static bool is_final(int error)
{
    return error == TROUBLE_NO_ANSWER || error == TROUBLE_PARTNER || error == RSMERR_CONN_ABORTED ||
           error == RSMERR_REMOTE_NODE_UNREACHABLE;
}

/* Let all importers take it. False: no use to go on. */
static bool take(struct run *run, struct crew *crew, struct result *result, unsigned gauge)
{
    struct importer_order order = {.gauge = gauge, .bytes = result->bytes};
    int timeout_ms = REPLY_MS + (int)run->options->time_ms * SLOWEST;
    bool going = true;
    for (unsigned i = 0; i < crew->count; i++)
        if (send(crew->importers[i].socket, &order, sizeof order, MSG_NOSIGNAL) < 0)
            going = false;
    for (unsigned i = 0; i < crew->count && going; i++) {
        struct importer_reply reply = {.error = 0};
        going = receive(crew, &crew->importers[i], &reply, sizeof reply, timeout_ms);
        if (!going || reply.failure[0] == '\0')
            continue;
        strcpy(result->failure, reply.failure);
        if (is_final(reply.error)) {
            strcpy(run->failure, reply.failure);
            return false;
        }
    }
    if (!going && stop_signal == 0)
        snprintf(run->failure, REPORT_BYTES, "an importing process has gone or does not answer");
    return going;
}

static void sum_up(const struct run *run, const struct crew *crew, struct result *result)
{
    const struct samples *ours[IMPORTERS_MAX], *limits[IMPORTERS_MAX];
    const struct options *options = run->options;
    for (unsigned i = 0; i < crew->count; i++) {
        ours[i] = &crew->results[i].ours;
        limits[i] = &crew->results[i].limit;
    }
    if (!samples_sum(ours, crew->count, &result->ours))
        strcpy(result->failure, "no memory for the samples");
    if (options->limit_devices_given && !result->gauge->everywhere)
        perftest_limit(options, result);
    else if (gauge_limit(result->gauge, options) != NULL &&
             samples_sum(limits, crew->count, &result->limit))
        result->limit_name =
            options->limit_tcp && !result->gauge->everywhere ? "tcp" : result->gauge->limit_name;
    beside_measure(options, result);
    if (result->gauge->sized)
        result->mb_per_s = (double)result->bytes * crew->count / result->ours.p50 * 1e3;
    if (result->limit_name == NULL)
        return;
    if (result->gauge->sized)
        result->limit_mb_per_s = (double)result->bytes * crew->count / result->limit.p50 * 1e3;
    result->ratio = result->gauge->stream ? result->limit.p50 / result->ours.p50
                                          : result->ours.p50 / result->limit.p50;
}

static struct result *add_result(struct run *run)
{
    if (run->count == run->room) {
        unsigned room = run->room == 0 ? 64 : 2 * run->room;
        struct result *grown = realloc(run->results, room * sizeof *grown);
        if (grown == NULL) {
            snprintf(run->failure, REPORT_BYTES, "%s", strerror(ENOMEM));
            return NULL;
        }
        run->results = grown;
        run->room = room;
    }
    struct result *result = &run->results[run->count++];
    return result;
}

static void show_progress(const struct result *result)
{
    if (isatty(STDERR_FILENO) == 1)
        fprintf(stderr, "\r\033[K%s %zu", result->gauge->name, result->bytes);
}

/* Once. False: no use to go on. */
static bool measure(struct run *run, struct crew *crew, unsigned gauge, size_t bytes,
                    struct result *result)
{
    *result = (struct result){.gauge = gauges[gauge], .bytes = bytes};
    show_progress(result);
    if (!take(run, crew, result, gauge))
        return false;
    if (result->failure[0] == '\0')
        sum_up(run, crew, result);
    return true;
}

/* By the ratio, or where there is nothing to compare with, by the time. Turns whose limit could not
 * be measured come last. */
static int compare(const void *a, const void *b)
{
    const struct result *first = a, *second = b;
    bool has_limit = first->limit_name != NULL;
    if (has_limit != (second->limit_name != NULL))
        return has_limit ? -1 : 1;
    double x = has_limit ? first->ratio : first->ours.p50;
    double y = has_limit ? second->ratio : second->ours.p50;
    return (x > y) - (x < y);
}

/* The turn in the middle of those that can be compared, or the first that failed. False: no use to
 * go on. */
static bool measure_in_turns(struct run *run, struct crew *crew, unsigned gauge, size_t bytes,
                             struct result *result)
{
    static struct result turns[TURNS_MAX];
    unsigned count = run->options->turns;
    for (unsigned i = 0; i < count; i++) {
        if (!measure(run, crew, gauge, bytes, &turns[i]))
            return false;
        if (turns[i].failure[0] != '\0') {
            *result = turns[i];
            return true;
        }
    }
    qsort(turns, count, sizeof *turns, compare);
    while (count > 1 && turns[0].limit_name != NULL && turns[count - 1].limit_name == NULL)
        count--;
    *result = turns[count / 2];
    return true;
}

/* False: no use to go on. */
static bool run_one(struct run *run, struct crew *crew, unsigned gauge, size_t bytes)
{
    struct result *result = add_result(run);
    if (result == NULL)
        return false;
    if (!measure_in_turns(run, crew, gauge, bytes, result)) {
        run->count--;
        return false;
    }
    if (result->failure[0] == '\0')
        target_judge(run->options, result);
    else
        run->failed = true;
    return true;
}

static void run_wanted(struct run *run, struct crew *crew)
{
    const struct options *options = run->options;
    bool going = true;
    for (unsigned g = 0; g < GAUGES && going; g++) {
        if ((options->wanted >> g & 1) == 0)
            continue;
        if (!gauges[g]->sized)
            going = run_one(run, crew, g, gauges[g]->bytes);
        for (unsigned s = 0; gauges[g]->sized && s < options->size_count && going; s++)
            going = run_one(run, crew, g, options->sizes[s]);
    }
    if (isatty(STDERR_FILENO) == 1)
        fputs("\r\033[K", stderr);
}

bool run_all(const struct options *options, struct run *run)
{
    static struct crew crew;
    *run = (struct run){.options = options};
    machine_look(&run->machine);
    watch_for_stop(&crew.former);
    if (start(run, &crew))
        run_wanted(run, &crew);
    run->interrupted = stop_signal != 0;
    stop(&crew);
    beside_end();
    if (run->interrupted || run->failure[0] != '\0')
        run->failed = true;
    return !run->failed;
}

void run_free(struct run *run)
{
    free(run->results);
}
