/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine itself over wire.h; the peer has the memory that the wire ends at. */
#include "litmus.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/softmap/softmap.h"
#include "wire.h"

static struct rsm_conn *conn;
static struct sync *shared;
static pid_t peer_pid;
static uint8_t *memory;

static void *shared_memory(size_t length)
{
    void *made = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    return made;
}

struct sync *bed_start(litmus_peer peer, size_t pages)
{
    memory = shared_memory(pages * PAGE);
    shared = shared_memory(sizeof *shared);
    peer_pid = fork();
    CHECK(peer_pid >= 0);
    if (peer_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (peer != NULL)
            peer(memory, shared);
        _exit(0);
    }
    struct rsm_conn *inner = wire_connect(memory, pages * PAGE);
    CHECK(rsm_softmap_ops_v1.wrap(inner, pages * PAGE, RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                  &(struct softmap_settings){.given = 0}, &conn) == RSM_ST_OK);
    return shared;
}

volatile uint8_t *bed_map_at(void *address, size_t offset, size_t length, int rights)
{
    bool fixed = address != NULL;
    CHECK(conn->ops->map(conn, offset, length, (uint32_t)rights, fixed, &address) == RSM_ST_OK);
    return address;
}

void bed_unmap(volatile uint8_t *map)
{
    CHECK(conn->ops->unmap(conn, (void *)(uintptr_t)map, 0) == RSM_ST_OK);
}

int bed_open(void)
{
    rsm_softmap_ops_v1.acquire(conn);
    return 0;
}

int bed_order(void)
{
    return (int)conn->ops->order(conn);
}

int bed_close(void)
{
    return (int)conn->ops->complete(conn);
}

int bed_put(size_t offset, const void *src, size_t length)
{
    return (int)conn->ops->put(conn, offset, src, length);
}

int bed_get(size_t offset, void *dst, size_t length)
{
    return (int)conn->ops->get(conn, offset, dst, length);
}

bool bed_connect_again(void)
{
    return false;
}

int bed_again_put(size_t offset, const void *src, size_t length)
{
    return bed_put(offset, src, length);
}

int bed_again_get(size_t offset, void *dst, size_t length)
{
    return bed_get(offset, dst, length);
}

int bed_again_put_registered(size_t offset, void *src, size_t length)
{
    return bed_put(offset, src, length);
}

void bed_end(void)
{
    int status;
    CHECK(waitpid(peer_pid, &status, 0) == peer_pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    conn->ops->disconnect(conn);
}

bool bed_inject(unsigned failures)
{
    wire_inject(failures);
    return true;
}

void bed_cut(void)
{
    wire_cut();
    kill(peer_pid, SIGKILL);
    CHECK(waitpid(peer_pid, NULL, 0) == peer_pid);
}
