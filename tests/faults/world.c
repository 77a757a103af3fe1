/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include <dirent.h>
#include <sys/prctl.h>

#include "process.h"

enum { MOST_MS = 30000 };

static void segmentid_path(const struct world *world, char *path, size_t size)
{
    snprintf(path, size, "%s/rsm.segmentid", world->directory);
}

bool world_open(struct world *world)
{
    char path[128];
    strcpy(world->directory, "/tmp/rsm-faults.XXXXXX");
    if (mkdtemp(world->directory) == NULL || chmod(world->directory, 0755) < 0)
        return false;
    segmentid_path(world, path, sizeof path);
    FILE *file = fopen(path, "we");
    if (file == NULL || fputs("reserved faults 400000 16\n", file) < 0 || fclose(file) != 0)
        return false;
    setenv("RSM_SEGMENTID_FILE", path, 1);
    setenv("RSM_RUNTIME_DIR", world->directory, 1);
    setenv("RSM_NODE", "1", 1);
    return true;
}

bool world_close(struct world *world)
{
    char path[400];
    bool clean = true;
    segmentid_path(world, path, sizeof path);
    unlink(path);
    DIR *directory = opendir(world->directory);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        /* Locks stay; whoever starts next takes them. */
        if (strstr(entry->d_name, ".lock") == NULL) {
            fprintf(stderr, "  left in %s: %s\n", world->directory, entry->d_name);
            clean = false;
        }
        snprintf(path, sizeof path, "%s/%s", world->directory, entry->d_name);
        unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(world->directory);
    return clean;
}

/* ---------------------------------------------------------------- daemons */

__attribute__((noreturn)) static void be_daemon(const struct world *world, int node, int ready)
{
    char node_text[16], node_argument[32], ready_argument[32], directory_argument[128];
    children_unwatch();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fcntl(ready, F_SETFD, 0);
    snprintf(node_text, sizeof node_text, "%d", node);
    setenv("FAULTS_SLOT", node_text, 1);
    snprintf(node_argument, sizeof node_argument, "--node=%d", node);
    snprintf(ready_argument, sizeof ready_argument, "--ready-fd=%d", ready);
    snprintf(directory_argument, sizeof directory_argument, "--runtime-dir=%s", world->directory);
    const char *level =
        getenv("FAULTS_VERBOSE") != NULL ? "--log-level=debug" : "--log-level=error";
    execl(getenv("RSM_RSMD"), "rsmd", "--foreground", node_argument, directory_argument,
          ready_argument, level, (char *)NULL);
    _exit(127);
}

static bool start_daemon(struct world *world, int node)
{
    int report[2];
    char byte = 0;
    struct fault_slot *slot = &world->faults->slots[node];
    memset(slot, 0, sizeof *slot);
    atomic_store(&slot->always, true);
    if (pipe2(report, O_CLOEXEC) < 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        be_daemon(world, node, report[1]);
    close(report[1]);
    struct pollfd readable = {.fd = report[0], .events = POLLIN};
    bool ready =
        pid > 0 && poll(&readable, 1, MOST_MS) > 0 && read(report[0], &byte, 1) == 1 && byte == 'R';
    close(report[0]);
    world->daemons[node - 1] = pid;
    if (!ready)
        fprintf(stderr, "  the daemon of node %d does not start\n", node);
    return ready;
}

static bool start_peer(struct world *world)
{
    memset(world->orders, 0, sizeof *world->orders);
    fflush(NULL);
    world->peer = fork();
    if (world->peer == 0) {
        children_unwatch();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("RSM_NODE", "2", 1);
        exit(peer_run(world->orders));
    }
    for (int64_t end = now_ms() + MOST_MS; now_ms() < end;) {
        struct timespec pause = {.tv_nsec = 1000000};
        if (atomic_load(&world->orders->ready))
            return true;
        nanosleep(&pause, NULL);
    }
    fprintf(stderr, "  the peer is not ready\n");
    return false;
}

bool world_start(struct world *world)
{
    for (int node = 1; node <= STEPS_DAEMONS; node++)
        if (!start_daemon(world, node))
            return false;
    return start_peer(world);
}

bool world_runs(struct world *world)
{
    int status;
    for (int i = 0; i < STEPS_DAEMONS; i++)
        if (world->daemons[i] != 0 && waitpid(world->daemons[i], &status, WNOHANG) != 0) {
            fprintf(stderr, "  FAILED: the daemon of node %d has ended with status %#x\n", i + 1,
                    (unsigned)status);
            world->daemons[i] = 0;
            return false;
        }
    if (world->peer != 0 && waitpid(world->peer, &status, WNOHANG) != 0) {
        fprintf(stderr, "  FAILED: the peer has ended with status %#x\n", (unsigned)status);
        world->peer = 0;
        return false;
    }
    return true;
}

static bool await_end(pid_t *pid, const char *name)
{
    int status = 0;
    if (*pid == 0)
        return true;
    bool ended = child_await(*pid, 0, MOST_MS, &status) == *pid;
    if (!ended)
        fprintf(stderr, "  FAILED: %s does not end\n", name);
    else if (status != 0)
        fprintf(stderr, "  FAILED: %s has ended with status %#x\n", name, (unsigned)status);
    if (ended)
        *pid = 0;
    return ended && status == 0;
}

bool world_end(struct world *world)
{
    atomic_store(&world->orders->end, true);
    bool good = await_end(&world->peer, "the peer");
    for (int i = 0; i < STEPS_DAEMONS; i++)
        if (world->daemons[i] != 0)
            kill(world->daemons[i], SIGTERM);
    for (int i = 0; i < STEPS_DAEMONS; i++)
        good = await_end(&world->daemons[i], "a daemon") && good;
    return good;
}

static void kill_one(pid_t *pid)
{
    int status;
    if (*pid == 0)
        return;
    kill(*pid, SIGKILL);
    child_await(*pid, 0, MOST_MS, &status);
    *pid = 0;
}

void world_kill(struct world *world)
{
    kill_one(&world->peer);
    for (int i = 0; i < STEPS_DAEMONS; i++)
        kill_one(&world->daemons[i]);
}
