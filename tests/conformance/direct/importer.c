/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that run the import half. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "direct.h"
#include "module.h"
#include "transport/instance.h"
#include "transport/registry.h"

enum { EXIT_WELL = 0, EXIT_BADLY = 1, EXIT_NO_CONNECTION = 2 };

struct shared *shared;
bool direct_later;
static unsigned started;

/* Before main(): every process of a check has it. */
__attribute__((constructor)) static void make_shared(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
}

void sleep_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

uint64_t direct_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned entries(const char *path)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *directory = opendir(path);
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += entry->d_name[0] != '.';
    if (directory != NULL)
        closedir(directory);
    return count;
}

unsigned descriptors_open(void)
{
    return entries("/proc/self/fd") - 1; /* the directory itself */
}

unsigned threads_running(void)
{
    return entries("/proc/self/task");
}

bool threads_fall_to(unsigned most)
{
    unsigned tries = 0;
    while (threads_running() > most && tries++ < 1000)
        sleep_ms(1);
    return threads_running() <= most;
}

/* ---------------------------------------------------------------- the importer's process */

__attribute__((noreturn)) static void fail_importer(const char *file, int line, const char *what)
{
    const char *name = strrchr(file, '/');
    snprintf(shared->text, sizeof shared->text, "importer, %s:%d: %s",
             name != NULL ? name + 1 : file, line, what);
    _exit(EXIT_BADLY);
}

void need(bool holds, const char *file, int line, const char *what)
{
    if (!holds)
        fail_importer(file, line, what);
}

void need_status(const char *file, int line, const char *call, enum rsm_status got,
                 enum rsm_status wanted)
{
    char what[120];
    if (got == wanted)
        return;
    snprintf(what, sizeof what, "\"%s\": %s", rsmcore_status_text(got), call);
    fail_importer(file, line, what);
}

static enum rsm_status connect_with(struct importing *self, const struct ticket *ticket,
                                    struct claim claim)
{
    struct {
        struct rsm_offer offer;
        uint8_t more[64]; /* of a later version */
    } later = {.offer = ticket->offer};
    later.offer.size = direct_later ? sizeof later : sizeof later.offer;
    later.offer.address = ""; /* the node's pointer means nothing here */
    later.offer.request = NULL;
    return rsmcore_conn_open(self->port, &later.offer, claim.size, claim.rights, &self->conn);
}

__attribute__((noreturn)) static void be_importer(const struct ticket *ticket, struct claim claim,
                                                  importer_body body, void *argument)
{
    struct importing self = {.size = claim.size, .number = started - 1, .argument = argument};
    const struct rlimit no_core = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGPIPE, SIG_DFL);
    struct rsm_controller_info info = *module_controller();
    info.address = "";
    info.node = 0;
    const struct rsm_import_ops *ops = rsmcore_transport_import(module_transport());
    NEED(ops != NULL);
    NEED_OK(rsmcore_port_open(ops, &info, &self.port));
    enum rsm_status status = connect_with(&self, ticket, claim);
    shared->status = (int)status;
    if (status != RSM_ST_OK)
        _exit(EXIT_NO_CONNECTION);
    self.ops = self.conn->ops;
    atomic_fetch_add(&shared->connected, 1);
    body(&self);
    _exit(EXIT_WELL);
}

/* ---------------------------------------------------------------- the judge */

pid_t importer(const struct stand *stand, const struct ticket *ticket, struct claim claim,
               importer_body body, void *argument)
{
    (void)stand;
    started++;
    fflush(NULL);
    pid_t pid = fork();
    HOLDS(pid >= 0);
    if (pid == 0)
        be_importer(ticket, claim, body, argument);
    return pid;
}

pid_t honest(const struct stand *stand, const struct ticket *ticket, importer_body body,
             void *argument)
{
    return importer(stand, ticket, (struct claim){READ_WRITE, stand->size}, body, argument);
}

enum ending ending_of(pid_t pid, int timeout_ms)
{
    int status;
    uint64_t deadline = direct_now_ms() + (unsigned)timeout_ms;
    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        HOLDS(ended >= 0);
        if (ended == pid)
            break;
        if (direct_now_ms() > deadline) {
            killed(pid);
            return ENDED_HANGING;
        }
        sleep_ms(1);
    }
    if (WIFSIGNALED(status)) {
        shared->status = WTERMSIG(status);
        return ENDED_BY_SIGNAL;
    }
    return WEXITSTATUS(status) == EXIT_WELL            ? ENDED_WELL
           : WEXITSTATUS(status) == EXIT_NO_CONNECTION ? ENDED_NO_CONNECTION
                                                       : ENDED_BADLY;
}

void succeeds(pid_t pid)
{
    enum ending ending = ending_of(pid, PATIENCE_MS);
    if (ending == ENDED_BADLY)
        about("%s", shared->text);
    else if (ending == ENDED_NO_CONNECTION)
        about("connect: %s", rsmcore_status_text((enum rsm_status)shared->status));
    else if (ending == ENDED_BY_SIGNAL)
        about("%s", strsignal(shared->status));
    HOLDS(ending != ENDED_HANGING);
    HOLDS(ending != ENDED_BY_SIGNAL);
    HOLDS(ending == ENDED_WELL);
}

void killed(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

bool await_count(atomic_uint *counter, unsigned least, int timeout_ms)
{
    uint64_t deadline = direct_now_ms() + (unsigned)timeout_ms;
    while (atomic_load(counter) < least) {
        if (direct_now_ms() > deadline)
            return false;
        sleep_ms(1);
    }
    return true;
}

void reaches(pid_t pid, atomic_uint *counter, unsigned least)
{
    uint64_t deadline = direct_now_ms() + PATIENCE_MS;
    siginfo_t ended = {.si_pid = 0};
    while (atomic_load(counter) < least && ended.si_pid == 0 && direct_now_ms() < deadline) {
        sleep_ms(1);
        HOLDS(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
    }
    if (atomic_load(counter) >= least)
        return;
    if (ended.si_pid != 0)
        succeeds(pid); /* or says why not */
    HOLDS(atomic_load(counter) >= least);
}
