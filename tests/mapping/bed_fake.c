/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine itself over wire.h; the peer has the memory that the wire ends at. */
#include "litmus.h"

#include <sys/prctl.h>

#include "core/mapping.h"
#include "wire.h"

static struct rsm_conn *conn, *wire;
static uint32_t failures; /* of the wire, that bed_close() has told */
static struct sync *shared;
static pid_t peer_pid, importer_pid;
static void (*other_importer)(struct sync *sync);
static uint8_t *memory;

static void *shared_memory(size_t length)
{
    void *made = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    return made;
}

static size_t size;

static void start_peer(litmus_peer peer, size_t pages)
{
    size = pages * PAGE;
    memory = shared_memory(size);
    shared = shared_memory(sizeof *shared);
    peer_pid = fork();
    CHECK(peer_pid >= 0);
    if (peer_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (peer != NULL)
            peer(memory, shared);
        _exit(0);
    }
}

static uint32_t granted = RSM_RIGHT_READ | RSM_RIGHT_WRITE;

void bed_grant(int rights)
{
    granted = (uint32_t)rights;
}

static enum rsm_status wrap(struct rsm_conn *inner)
{
    return rsm_mapping_ops_v1.wrap(inner, size, granted, &(struct mapping_settings){.given = 0},
                                   &conn);
}

/* Before this process has threads, for a sanitizer's allocator may be locked by one of them. */
static void start_importer(void)
{
    importer_pid = fork();
    CHECK(importer_pid >= 0);
    if (importer_pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(wrap(wire_connect(memory, size)) == RSM_ST_OK);
    other_importer(shared);
    conn->ops->disconnect(conn);
    _exit(0);
}

struct sync *bed_start(litmus_peer peer, size_t pages)
{
    start_peer(peer, pages);
    if (other_importer != NULL)
        start_importer();
    wire = wire_connect(memory, size);
    CHECK(wrap(wire) == RSM_ST_OK);
    return shared;
}

void bed_add_importer(void (*importer)(struct sync *sync))
{
    other_importer = importer;
}

void bed_start_refused(void (*before)(void))
{
    uint32_t value = 5, back = 0;
    start_peer(NULL, 1);
    struct rsm_conn *inner = wire_connect(memory, size);
    before();
    CHECK(wrap(inner) == RSM_ST_UNSUPPORTED && conn == NULL);
    CHECK(inner->ops->put(inner, 8, &value, sizeof value) == RSM_ST_OK);
    CHECK(inner->ops->complete(inner) == RSM_ST_OK);
    CHECK(inner->ops->get(inner, 8, &back, sizeof back) == RSM_ST_OK && back == value);
    conn = inner;
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
    rsm_mapping_ops_v1.acquire(conn);
    return 0;
}

int bed_order(void)
{
    return (int)conn->ops->order(conn);
}

int bed_close(void)
{
    enum rsm_status status = conn->ops->complete(conn);
    uint32_t before = failures;
    failures = wire != NULL ? rsm_conn_failures(wire) : 0;
    return (int)(status == RSM_ST_OK && failures != before ? RSM_ST_TRANSFER : status);
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

static void await(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void bed_end(void)
{
    if (importer_pid > 0)
        await(importer_pid);
    await(peer_pid);
    conn->ops->disconnect(conn);
}

bool bed_inject(unsigned count, bool at_once)
{
    wire_inject(count, at_once);
    return true;
}

void bed_cut(void)
{
    wire_cut();
    kill(peer_pid, SIGKILL);
    CHECK(waitpid(peer_pid, NULL, 0) == peer_pid);
}
