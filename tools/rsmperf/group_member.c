/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <rsmapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group.h"

enum { JOIN_MS = 60000 };

struct copy {
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    void *memory;
};

/* As large as the largest put. */
static int publish(struct copy *copy, const struct options *options, const char **call)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (options->sizes[options->size_count - 1] + page - 1) / page * page;
    char name[NAME_BYTES];
    rsm_memseg_id_t id = options->id;
    memcpy(name, options->controller, sizeof name);
    *call = "rsm_get_controller";
    int error = rsm_get_controller(name, &copy->controller);
    if (error != RSM_SUCCESS)
        return error;
    *call = "memory";
    copy->memory = aligned_alloc(page, bytes);
    if (copy->memory == NULL)
        return TROUBLE_SYSTEM;
    memset(copy->memory, 0, bytes);
    *call = "rsm_memseg_export_create";
    error = rsm_memseg_export_create(copy->controller, &copy->segment, copy->memory, bytes, 0);
    if (error != RSM_SUCCESS)
        return error;
    *call = "rsm_memseg_export_publish";
    return rsm_memseg_export_publish(copy->segment, &id, NULL, 0);
}

static void withdraw(struct copy *copy)
{
    if (copy->segment != NULL)
        (void)rsm_memseg_export_destroy(copy->segment);
    if (copy->controller != NULL)
        (void)rsm_release_controller(copy->controller);
    free(copy->memory);
}

int group_member_main(const struct options *options)
{
    struct copy copy = {.memory = NULL};
    char failure[REPORT_BYTES];
    sigset_t stops;
    int number;
    const char *call = "";
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, NULL);
    int error = publish(&copy, options, &call);
    if (error == RSM_SUCCESS) {
        printf("Member of group 0x%x; on a node that is to write: rsmperf --group\n",
               (unsigned)options->id);
        fflush(stdout);
        (void)sigwait(&stops, &number);
    } else {
        report_error(failure, call, error);
        complain("%s", failure);
    }
    withdraw(&copy);
    return error == RSM_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---------------------------------------------------------------- in a process of its own */

static void be_member(int socket, const struct options *options)
{
    struct copy copy = {.memory = NULL};
    char failure[REPORT_BYTES] = "", byte;
    const char *call = "";
    if (recv(socket, &byte, sizeof byte, 0) == sizeof byte) {
        int error = publish(&copy, options, &call);
        if (error != RSM_SUCCESS)
            report_error(failure, call, error);
        if (send(socket, failure, sizeof failure, MSG_NOSIGNAL) == sizeof failure)
            (void)!recv(socket, &byte, sizeof byte, 0); /* until the other end closes */
    }
    withdraw(&copy);
}

bool group_member_start(struct group_member *member, const struct options *options, uint32_t node)
{
    int ends[2];
    char text[16];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    close(ends[pid == 0 ? 0 : 1]);
    *member = (struct group_member){.socket = ends[pid == 0 ? 1 : 0], .pid = pid};
    if (pid > 0)
        return true;
    if (pid < 0) {
        close(member->socket);
        return false;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(text, sizeof text, "%u", (unsigned)node);
    if (getppid() == parent && setenv("RSM_NODE", text, 1) == 0)
        be_member(member->socket, options);
    exit(EXIT_SUCCESS);
}

bool group_member_join(const struct group_member *member, char failure[REPORT_BYTES])
{
    struct pollfd readable = {.fd = member->socket, .events = POLLIN};
    if (send(member->socket, "", 1, MSG_NOSIGNAL) != 1 || poll(&readable, 1, JOIN_MS) != 1 ||
        recv(member->socket, failure, REPORT_BYTES, 0) != REPORT_BYTES)
        snprintf(failure, REPORT_BYTES, "a member's process has gone or does not answer");
    return failure[0] == '\0';
}

void group_member_end(const struct group_member *member)
{
    close(member->socket);
    while (waitpid(member->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
