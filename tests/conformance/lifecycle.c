/* SPDX-License-Identifier: BSD-3-Clause */
/* R: what becomes of segments when processes fork, exec, end, or run out of descriptors. */
#include <malloc.h>

#include "process.h"
#include "stage.h"

enum { COUNT = 2, AT_ONCE_MS = 10000, ID_FREE_MS = 20000 };

/* ---------------------------------------------------------------- parties that vanish */

/* The id of an exporter that has gone becomes free. */
static void expect_id_free(struct actor *successor)
{
    int error;
    int64_t deadline = now_ms() + ID_FREE_MS;
    TELL_OK(successor, CREATE, .pages = COUNT);
    while ((error = TELL(successor, PUBLISH)) == RSMERR_SEGID_IN_USE && now_ms() < deadline)
        usleep(1000);
    OK(error);
}

/* An importing test process, and an exporter that goes the way of `verb`, or by SIGKILL. */
static void expect_exporter_may_go(enum verb verb, bool killed)
{
    struct actor *successor = exporter_start(), *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = ready();
    uint8_t *view = mapped(handle, COUNT * PAGE);
    if (!killed)
        peer_begin(exporter, (struct order){.verb = verb});
    else
        actor_kill(exporter);
    await_abort(handle);
    store64(view, 1);
    load64(view + PAGE);
    expect_id_free(successor);
    OK(rsm_memseg_import_unmap(handle));
    OK(rsm_memseg_import_disconnect(handle));
    OK(rsm_memseg_import_disconnect(ready()));
    if (verb == VERB_EXEC)
        actor_kill(exporter);
}

CONFORMANCE(R, 01, "an exporter exits without giving anything back")
{
    expect_exporter_may_go(VERB_EXIT, false);
}

CONFORMANCE(R, 02, "an exporter is killed")
{
    expect_exporter_may_go(VERBS, true);
}

CONFORMANCE(R, 03, "an importer exits without giving anything back")
{
    struct actor *importer = importer_start();
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(pages(COUNT), COUNT);
    TELL_OK(importer, ATTACH, .pages = COUNT);
    BEGIN(importer, EXIT);
    int64_t start = now_ms();
    OK(rsm_memseg_export_unpublish(segment));
    OK(rsm_memseg_export_destroy(segment));
    HOLDS(now_ms() - start < AT_ONCE_MS);
}

CONFORMANCE(R, 04, "an exporter executes another program")
{
    expect_exporter_may_go(VERB_EXEC, false);
}

/* ---------------------------------------------------------------- fork */

static int do_nothing(void *unused)
{
    return 0;
}

static int destroy(void *segment)
{
    return rsm_memseg_export_destroy(segment);
}

/* An exporting test process, with a connection of its own and an importer; the child does that. */
static void expect_child_harmless(int (*child)(void *segment))
{
    struct actor *importer = importer_start();
    uint8_t *memory = pages(COUNT);
    uint64_t value = 4;
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(memory, COUNT);
    TELL_OK(importer, ATTACH, .pages = COUNT);
    rsm_memseg_import_handle_t own = ready();
    TELL_OK(importer, OPEN);
    HOLDS(in_child(child, segment) == 0);
    TELL_OK(importer, POKE, .offset = 8, .value = 3);
    TELL_OK(importer, CLOSE);
    HOLDS(load64(memory + 8) == 3);
    OK(rsm_memseg_import_put64(own, 0, &value, 1));
    HOLDS(load64(memory) == 4);
    TELL_OK(importer, CONNECT, .slot = 1);
    TELL_OK(importer, POST_IMPORT);
    OK(rsm_intr_signal_wait(segment, AT_ONCE_MS));
    OK(rsm_memseg_export_unpublish(segment));
}

CONFORMANCE(R, 05, "a forked child exits: the parent's segments and connections stay")
{
    expect_child_harmless(do_nothing);
}

CONFORMANCE(R, 06, "a forked child destroys its copy: the parent's segment stays")
{
    expect_child_harmless(destroy);
}

static int use_mapping(void *view)
{
    store64(view, load64((uint8_t *)view + 8) + 1);
    return 0;
}

CONFORMANCE(R, 07, "a forked child may use the mapping")
{
    struct actor *exporter = offered(COUNT);
    uint8_t *view = mapped(ready(), COUNT * PAGE);
    APPLIES_IF(mapping_is_direct(view), "a software mapping is not inherited: rsm_map(7)");
    TELL_OK(exporter, STORE, .offset = 8, .value = 40);
    HOLDS(in_child(use_mapping, view) == 0);
    HOLDS(load64(view) == 41);
    HOLDS(ASK(exporter, LOAD).value == 41);
}

CONFORMANCE(R, 08, "an exporter unmaps what it exports")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = ready();
    uint8_t *view = mapped(handle, COUNT * PAGE);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(barrier));
    HOLDS(TELL(exporter, FREE) == 0);
    store64(view, 1);
    load64(view + PAGE);
    int closed = rsm_memseg_import_close_barrier(barrier);
    int unpublished = TELL(exporter, UNPUBLISH);
    HOLDS(closed == RSM_SUCCESS || closed == RSMERR_CONN_ABORTED);
    EXPECT_EITHER(RSM_SUCCESS, RSMERR_SEG_NOT_PUBLISHED, unpublished);
    TELL_OK(exporter, DESTROY);
    store64(view, 1);
    OK(rsm_memseg_import_unmap(handle));
    OK(rsm_memseg_import_disconnect(handle));
}

struct gate {
    int read_end, write_end;
};

static void open_gate(struct gate *gate)
{
    int ends[2];
    HOLDS(pipe2(ends, O_CLOEXEC) == 0);
    *gate = (struct gate){.read_end = ends[0], .write_end = ends[1]};
}

CONFORMANCE(R, 13, "a parent destroys while a forked child lives")
{
    struct gate gate;
    char byte;
    int status;
    struct actor *importer = importer_start();
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(pages(COUNT), COUNT);
    TELL_OK(importer, ATTACH, .pages = COUNT);
    open_gate(&gate);
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        close(gate.write_end);
        _exit(read(gate.read_end, &byte, 1) == 0 ? 0 : 1);
    }
    OK(rsm_memseg_export_destroy(segment));
    TELL_GET(RSMERR_CONN_ABORTED, importer, AWAIT_ABORT);
    published(pages(1), 1);
    close(gate.write_end);
    HOLDS(child_await(child, 0, AT_ONCE_MS, &status) == child && status == 0);
    close(gate.read_end);
}

/* ---------------------------------------------------------------- descriptors */

/* A segment in use from all sides, by this process alone. */
static void use_everything(void)
{
    struct pollfd entry;
    rsm_topology_t *topology;
    act_as_exporter();
    published(pages(1), 1);
    rsm_memseg_export_handle_t second = created(pages(1), PAGE, 0);
    publish(second, SEGMENT_ID + 1);
    rsm_memseg_import_handle_t handle = ready();
    mapped(handle, PAGE);
    OK(rsm_memseg_get_pollfd(second, &entry));
    OK(rsm_memseg_get_pollfd(handle, &entry));
    OK(rsm_intr_signal_post(handle, 0));
    OK(rsm_get_interconnect_topology(&topology));
    rsm_free_interconnect_topology(topology);
}

enum { DESCRIPTORS_MAX = 1024 };

CONFORMANCE(R, 09, "descriptors close on exec")
{
    bool before[DESCRIPTORS_MAX];
    unsigned found = 0;
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    use_everything();
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (before[fd] || flags < 0)
            continue;
        HOLDS((flags & FD_CLOEXEC) != 0);
        found++;
    }
    HOLDS(found > 0);
}

CONFORMANCE(R, 12, "no descriptor takes the place of a standard stream that is closed")
{
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    use_everything();
    for (int fd = 0; fd <= 2; fd++)
        HOLDS(fcntl(fd, F_GETFD) < 0);
}

/* The whole life of a segment, on both sides; the importer is also the exporter's own process. */
static void live_once(struct actor *importer, uint8_t *memory)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t handle;
    rsmapi_access_entry_t acl[2];
    unsigned count = both_nodes(acl, 0666);
    rsm_memseg_id_t id = SEGMENT_ID;
    void *address = NULL;
    OK(rsm_memseg_export_create(controller(), &segment, memory, PAGE, 0));
    OK(rsm_memseg_export_publish(segment, &id, acl, count));
    OK(rsm_memseg_import_connect(controller(), options.exporter_node, id, RSM_PERM_RDWR, &handle));
    OK(import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, PAGE));
    TELL_OK(importer, ATTACH, .pages = 1);
    TELL_OK(importer, UNMAP);
    TELL_OK(importer, DISCONNECT);
    OK(rsm_memseg_import_unmap(handle));
    OK(rsm_memseg_import_disconnect(handle));
    OK(rsm_memseg_export_unpublish(segment));
    OK(rsm_memseg_export_destroy(segment));
}

/* What a process holds. Of bytes it is only our own process that is asked. */
struct holdings {
    unsigned descriptors, mappings;
    size_t allocated;
};

static struct holdings holdings_of(pid_t pid)
{
    return (struct holdings){.descriptors = process_descriptors(pid),
                             .mappings = process_mappings(pid),
                             .allocated = mallinfo2().uordblks};
}

/* Nothing of a process on another machine. */
static struct holdings holdings_of_peer(const struct actor *peer)
{
    return peer->kill == NULL ? holdings_of(peer->pid) : (struct holdings){0};
}

/* The thread sanitizer keeps what it knew of threads that have ended, until there were hundreds. */
#if defined(__SANITIZE_THREAD__)
enum { WARM_UP = 250 };
#else
enum { WARM_UP = 10 };
#endif
/* Sanitizers clear the shadow of each new stack by mappings, which the mapping engine's threads, up to
 * two, have elsewhere with each connection. Without sanitizers nothing is left. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAPPINGS_SLACK = 12000 };
#else
enum { MAPPINGS_SLACK = 8 };
#endif
enum { CYCLES = 1000, BYTES_SLACK = 16384 };
/* Where a cycle takes long fewer have to do. They still show a leak of 80 bytes in each. */
enum { CYCLES_LEAST = 200, CYCLES_MS = 8000 };

static void expect_no_growth(struct holdings before, struct holdings after)
{
    HOLDS(after.descriptors <= before.descriptors);
    HOLDS(after.mappings <= before.mappings + MAPPINGS_SLACK);
    HOLDS(after.allocated <= before.allocated + BYTES_SLACK);
}

CONFORMANCE(R, 10, "a thousand segments leave nothing behind")
{
    needs_map();
    struct actor *importer = importer_start();
    uint8_t *memory = pages(1);
    struct holdings own = {0}, other = {0};
    act_as_exporter();
    int64_t enough = now_ms() + CYCLES_MS;
    for (int i = 0; i < WARM_UP + CYCLES; i++) {
        if (i >= WARM_UP + CYCLES_LEAST && now_ms() > enough)
            break;
        if (i == WARM_UP) {
            own = holdings_of(getpid());
            other = holdings_of_peer(importer);
        }
        live_once(importer, memory);
    }
    expect_no_growth(own, holdings_of(getpid()));
    expect_no_growth(other, holdings_of_peer(importer));
}

enum { LOW_LIMIT = 128 };

/* Take every descriptor that is left. */
static unsigned fill_descriptors(int *taken)
{
    unsigned count = 0;
    struct rlimit limit;
    HOLDS(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = LOW_LIMIT;
    HOLDS(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int fd; count < LOW_LIMIT && (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        taken[count++] = fd;
    return count;
}

CONFORMANCE(R, 11, "descriptors run out, and are there again")
{
    int taken[LOW_LIMIT];
    rsm_memseg_import_handle_t handle = (rsm_memseg_import_handle_t)&handle;
    rsm_memseg_export_handle_t segment = (rsm_memseg_export_handle_t)&segment;
    uint8_t *memory = pages(1);
    offered(1);
    OK(rsm_memseg_import_disconnect(ready())); /* what is kept from now on is there */
    unsigned count = fill_descriptors(taken);
    int created_error = rsm_memseg_export_create(controller(), &segment, memory, PAGE, 0);
    int connected_error = connect_to(SEGMENT_ID, RSM_PERM_RDWR, &handle);
    while (count > 0)
        close(taken[--count]);
    EXPECT(RSMERR_INSUFFICIENT_RESOURCES, created_error);
    EXPECT(RSMERR_INSUFFICIENT_RESOURCES, connected_error);
    HOLDS(segment == NULL && handle == NULL);
    OK(rsm_memseg_export_create(controller(), &segment, memory, PAGE, 0));
    OK(rsm_memseg_export_destroy(segment));
    OK(rsm_memseg_import_disconnect(ready()));
}
