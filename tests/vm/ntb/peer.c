/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of two machines over librsm, for scripts/ntb_hosts.sh:
 *
 *   ntb_peer export FILE     export and publish zeros; says so. When FILE is there, the memory must
 *                            still be zeros, and it ends
 *   ntb_peer own NODE        this node's own export, imported by itself to read: that is all that
 *                            the mapping allows
 *   ntb_peer use NODE        connect, put, get back, store and load
 *   ntb_peer store NODE FILE the same, then store through a mapping until a barrier reports; says
 *                            when it has begun and when it was told. Goes on storing until FILE is
 *                            there, as a process does that asks for no barrier
 *   ntb_peer count FILE      export and publish zeros; when FILE is there, say what has landed of
 *                            the stores of `fault`, and end
 *   ntb_peer fault NODE BEGIN FILE ORDER...
 *                            as store, but gives the lab that order itself once it stores, and says
 *                            what was issued, what a barrier has vouched for, and how long after
 *                            the order it was told. It goes on storing when BEGIN is there: until
 *                            there is a new session, what is stored may land where it always did
 *   ntb_peer reach NODE      connect, as soon as that is possible
 *
 * NTB_PEER_CONTROLLER and NTB_PEER_SEGMENT in the environment name another controller than sci0
 * and another segment.
 */
#include <rsmapi.h>

#include "integration/process.h"

enum {
    LENGTH = 256 * 1024,
    PAGE = 4096,
    ID = 0x400000,
    WITHIN_MS = 60000,
    TICK_US = 10000,
    BATCH = 100,
    BEFORE_MS = 500
};

static uint8_t block[LENGTH], back[LENGTH];

struct connection {
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barrier;
    volatile uint64_t *memory;
};

static void check(const char *what, int error)
{
    if (error == RSM_SUCCESS)
        return;
    fprintf(stderr, "ntb_peer: %s: %d\n", what, error);
    exit(1);
}

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static rsmapi_controller_handle_t controller(void)
{
    rsmapi_controller_handle_t handle;
    const char *given = getenv("NTB_PEER_CONTROLLER");
    char name[32];
    snprintf(name, sizeof name, "%s", given != NULL ? given : "sci0");
    check("rsm_get_controller", rsm_get_controller(name, &handle));
    return handle;
}

static rsm_memseg_id_t segment_id(void)
{
    const char *given = getenv("NTB_PEER_SEGMENT");
    return given != NULL ? (rsm_memseg_id_t)strtoul(given, NULL, 0) : ID;
}

/* The memory of a published segment, all zero. */
static volatile uint64_t *export_zeros(rsm_memseg_export_handle_t *segment)
{
    rsm_memseg_id_t id = segment_id();
    volatile uint64_t *memory = aligned_alloc(PAGE, LENGTH);
    memset((void *)memory, 0, LENGTH);
    umask(0); /* to every node and user */
    check("create", rsm_memseg_export_create(controller(), segment, (void *)memory, LENGTH, 0));
    /* The daemon may still have to learn that a former exporter is dead. */
    int64_t deadline = now_ms() + WITHIN_MS;
    int error;
    while ((error = rsm_memseg_export_publish(*segment, &id, NULL, 0)) == RSMERR_SEGID_IN_USE &&
           now_ms() < deadline)
        usleep(TICK_US);
    check("publish", error);
    say("exporting");
    return memory;
}

static void end_export(rsm_memseg_export_handle_t segment)
{
    check("unpublish", rsm_memseg_export_unpublish(segment));
    check("destroy", rsm_memseg_export_destroy(segment));
}

static void await_file(const char *file)
{
    while (access(file, F_OK) < 0)
        usleep(TICK_US);
}

static int export_until(const char *file)
{
    rsm_memseg_export_handle_t segment;
    volatile uint64_t *memory = export_zeros(&segment);
    await_file(file);
    unsigned strange = 0;
    for (unsigned i = 0; i < LENGTH / sizeof *memory; i++)
        strange += memory[i] != 0;
    printf("%u words of others\n", strange);
    end_export(segment);
    return strange == 0 ? 0 : 1;
}

/* The stores of `fault` count up; what is stored in a later session is UINT64_MAX. */
static int export_and_count(const char *file)
{
    rsm_memseg_export_handle_t segment;
    volatile uint64_t *memory = export_zeros(&segment);
    uint64_t landed = 0;
    unsigned later = 0;
    await_file(file);
    for (unsigned i = 0; i < LENGTH / sizeof *memory; i++) {
        uint64_t value = memory[i];
        if (value == UINT64_MAX)
            later++;
        else if (value > landed)
            landed = value;
    }
    printf("landed %lu later %u\n", (unsigned long)landed, later);
    end_export(segment);
    return later == 0 ? 0 : 1;
}

static int import_own(unsigned node)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barrier;
    rsm_memseg_id_t id = ID + 1;
    rsmapi_access_entry_t acl[] = {{.ae_node = node, .ae_permission = 0444}};
    volatile uint64_t *memory = aligned_alloc(PAGE, LENGTH);
    void *address = NULL;
    memset((void *)memory, 0x33, LENGTH);
    check("create", rsm_memseg_export_create(controller(), &segment, (void *)memory, LENGTH, 0));
    check("publish", rsm_memseg_export_publish(segment, &id, acl, 1));
    check("connect", rsm_memseg_import_connect(controller(), node, id, RSM_PERM_READ, &handle));
    check("init_barrier", rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier));
    check("get", rsm_memseg_import_get(handle, 0, back, sizeof back));
    check("what was got", memcmp((void *)memory, back, sizeof back));
    check("map", rsm_memseg_import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_READ, 0, LENGTH));
    memory[9] = 4711; /* by its own mapping, seen by the other one */
    check("what was loaded", ((volatile uint64_t *)address)[9] != 4711);
    check("mprotect", mprotect(address, LENGTH, PROT_READ | PROT_WRITE) == 0 || errno != EACCES);
    check("unmap", rsm_memseg_import_unmap(handle));
    check("disconnect", rsm_memseg_import_disconnect(handle));
    end_export(segment);
    for (unsigned i = 0; i < LENGTH / sizeof *memory; i++)
        check("what is left", memory[i] != (i == 9 ? 4711 : 0x3333333333333333));
    return 0;
}

static void reach(unsigned node, struct connection *made)
{
    rsmapi_controller_handle_t through = controller();
    int64_t deadline = now_ms() + WITHIN_MS;
    int error;
    while ((error = rsm_memseg_import_connect(through, node, segment_id(), RSM_PERM_RDWR,
                                              &made->handle)) != RSM_SUCCESS &&
           now_ms() < deadline)
        usleep(TICK_US);
    check("connect", error);
}

/* Connected, by put and get and by stores and loads, all of which leave zeros. */
static void begin(unsigned node, struct connection *made)
{
    void *address = NULL;
    reach(node, made);
    check("init_barrier",
          rsm_memseg_import_init_barrier(made->handle, RSM_BARRIER_SEGMENT, &made->barrier));
    memset(block, 0x5a, sizeof block);
    check("put", rsm_memseg_import_put(made->handle, 0, block, sizeof block));
    check("get", rsm_memseg_import_get(made->handle, 0, back, sizeof back));
    check("what came back", memcmp(block, back, sizeof back));
    check("map",
          rsm_memseg_import_map(made->handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, LENGTH));
    made->memory = address;
    check("set_mode", rsm_memseg_import_set_mode(made->handle, RSM_BARRIER_MODE_EXPLICIT));
    check("open_barrier", rsm_memseg_import_open_barrier(&made->barrier));
    for (unsigned i = 0; i < LENGTH / sizeof *made->memory; i++)
        made->memory[i] = i;
    check("close_barrier", rsm_memseg_import_close_barrier(&made->barrier));
    for (unsigned i = 0; i < LENGTH / sizeof *made->memory; i++)
        check("what was loaded", made->memory[i] != i);
    for (unsigned i = 0; i < LENGTH / sizeof *made->memory; i++)
        made->memory[i] = 0;
}

static int end(struct connection *made)
{
    check("unmap", rsm_memseg_import_unmap(made->handle));
    check("disconnect", rsm_memseg_import_disconnect(made->handle));
    return 0;
}

static int use(unsigned node)
{
    struct connection made;
    begin(node, &made);
    check("open_barrier", rsm_memseg_import_open_barrier(&made.barrier));
    check("close_barrier", rsm_memseg_import_close_barrier(&made.barrier));
    return end(&made);
}

/* Store through the mapping, as a process that asks for no barrier, until the file is there. */
static void store_later(const struct connection *made, const char *file)
{
    uint64_t later = 0;
    while (access(file, F_OK) < 0) {
        for (unsigned i = 0; i < LENGTH / sizeof *made->memory; i++)
            made->memory[i] = UINT64_MAX;
        later += LENGTH / sizeof *made->memory;
        usleep(TICK_US);
    }
    printf("%lu stores later\n", (unsigned long)later);
}

/* A number of stores between two barriers; what the latter says. */
static int store_batch(struct connection *made, uint64_t *issued)
{
    int error = rsm_memseg_import_open_barrier(&made->barrier);
    if (error != RSM_SUCCESS)
        return error;
    for (unsigned i = 0; i < BATCH; i++)
        made->memory[i] = ++*issued;
    return rsm_memseg_import_close_barrier(&made->barrier);
}

static int store(unsigned node, const char *file)
{
    struct connection made;
    int64_t deadline = now_ms() + WITHIN_MS;
    uint64_t issued = 0;
    int error = RSM_SUCCESS;
    begin(node, &made);
    say("storing");
    while (error == RSM_SUCCESS && now_ms() < deadline) {
        error = store_batch(&made, &issued);
        usleep(100);
    }
    printf("told: %d after %lu stores\n", error, (unsigned long)issued);
    fflush(stdout);
    if (error != RSMERR_CONN_ABORTED && error != RSMERR_BARRIER_FAILURE)
        return 1;
    store_later(&made, file);
    return end(&made);
}

static void give_order(char **words)
{
    FILE *port = fopen("/dev/ttyS1", "w");
    check("/dev/ttyS1", port == NULL);
    for (; *words != NULL; words++)
        fprintf(port, "%s%s", *words, words[1] != NULL ? " " : "\n");
    check("the order", fclose(port));
}

/* What a loaded machine loses before the order was given is not what was to be seen: status 3. */
static int store_and_order(unsigned node, const char *go_on, const char *file, char **order)
{
    struct connection made;
    uint64_t issued = 0, vouched = 0;
    int64_t now, given = 0, begun;
    int error = RSM_SUCCESS;
    begin(node, &made);
    say("storing");
    begun = now_ms();
    do {
        vouched = issued;
        error = store_batch(&made, &issued);
        usleep(100);
        now = now_ms();
        if (error == RSM_SUCCESS && given == 0 && now > begun + BEFORE_MS) {
            given = now_ms();
            give_order(order);
        }
    } while (error == RSM_SUCCESS && now < begun + WITHIN_MS);
    if (given == 0) {
        say("early");
        end(&made);
        return 3;
    }
    printf("told %d ms %ld issued %lu vouched %lu\n", error, (long)(now - given),
           (unsigned long)issued, (unsigned long)vouched);
    fflush(stdout);
    if (error != RSMERR_CONN_ABORTED && error != RSMERR_BARRIER_FAILURE)
        return 1;
    await_file(go_on);
    store_later(&made, file);
    return end(&made);
}

static int reach_and_leave(unsigned node)
{
    struct connection made;
    reach(node, &made);
    check("disconnect", rsm_memseg_import_disconnect(made.handle));
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[1] : "";
    unsigned node = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (strcmp(verb, "export") == 0)
        return export_until(argv[2]);
    if (strcmp(verb, "count") == 0)
        return export_and_count(argv[2]);
    if (strcmp(verb, "own") == 0)
        return import_own(node);
    if (strcmp(verb, "use") == 0)
        return use(node);
    if (strcmp(verb, "reach") == 0)
        return reach_and_leave(node);
    if (strcmp(verb, "store") == 0 && argc > 3)
        return store(node, argv[3]);
    if (strcmp(verb, "fault") == 0 && argc > 5)
        return store_and_order(node, argv[3], argv[4], argv + 5);
    fputs("usage: ntb_peer export FILE | count FILE | own NODE | use NODE | reach NODE |\n"
          "       store NODE FILE | fault NODE BEGIN FILE ORDER...\n",
          stderr);
    return 2;
}
