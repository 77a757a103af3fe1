/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsm.conf says about software mappings reaches the application, controller by controller, and
 * its environment goes before it. */
#include "party.h"
#include "process.h"

enum { LENGTH = 2 * PARTY_PAGE, NODE = 1 };

/* A daemon with this configuration. */
static pid_t serve(struct world *world, const char *configuration)
{
    char path[] = "/tmp/rsm-mapping-XXXXXX", option[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, configuration, strlen(configuration)), strlen(configuration));
    close(fd);
    snprintf(option, sizeof option, "--config=%s", path);
    pid_t daemon = world_daemon_start_with(world, NODE, option);
    unlink(path); /* it has been read */
    return daemon;
}

/* An actor whose environment has that of the variable. */
static int set_mode(void *bytes)
{
    return setenv("RSM_MAP_MODE", bytes, 1);
}

static struct actor *actor_with_mode(struct world *world, const char *mode)
{
    char text[16];
    struct actor *actor = actor_start(world, NODE);
    snprintf(text, sizeof text, "%s", mode);
    assert_int_equal(actor_run(actor, set_mode, text, sizeof text), 0);
    return actor;
}

static void offer_on_both(struct actor *exporter)
{
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 1, .acl = {{NODE, 0666}});
    TELL_OK(exporter, offer, .slot = 1, .length = LENGTH, .id = PARTY_ID + 1, .acl_count = 1,
            .acl = {{NODE, 0666}}, .controller = "loopback");
}

static void check_works(struct actor *importer, struct actor *exporter, int slot)
{
    TELL_OK(importer, open_barrier, .slot = slot);
    TELL_OK(importer, poke, .slot = slot, .offset = 8, .value = 77);
    TELL_OK(importer, close_barrier, .slot = slot);
    assert_int_equal(ASK(exporter, load, .slot = slot, .offset = 8).value, 77);
}

WORLD_TEST(test_configured_per_controller)
{
    pid_t daemon = serve(world, "[map]\nmode = off\n[controller sci0]\ntransport = shm\n"
                                "[map loopback]\nmode = twin\n");
    struct actor *exporter = actor_start(world, NODE), *importer = actor_start(world, NODE);
    offer_on_both(exporter);
    TELL_OK(importer, connect, .node = NODE, .length = LENGTH);
    TELL_GET(importer, map, RSMERR_MAP_FAILED);
    TELL_OK(importer, attach, .slot = 1, .node = NODE, .length = LENGTH, .id = PARTY_ID + 1,
            .controller = "loopback");
    check_works(importer, exporter, 1);
    TELL_OK(importer, detach, .slot = 1);
    TELL_OK(importer, disconnect);
    actor_stop(importer);
    actor_stop(exporter);
    world_daemon_end(daemon);
}

/* KiB of the engine's copies of pages that a process has in memory, each view counted. */
static unsigned long copies_kib(pid_t pid)
{
    char path[64], line[512];
    unsigned long sum = 0;
    bool copies = false;
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strchr(line, '-') != NULL && strchr(line, '-') < strchr(line, ' '))
            copies = strstr(line, "memfd:rsm-mapping") != NULL;
        else if (copies && strncmp(line, "Rss:", 4) == 0)
            sum += strtoul(line + 4, NULL, 10);
    }
    fclose(file);
    return sum;
}

/* A key that came after release 1.0, by a message of its own: a MiB for 16 of pages. */
WORLD_TEST(test_configured_cache)
{
    enum { PAGES = 4096, ENOUGH_KIB = 2048 };
    pid_t daemon = serve(world, "[controller sci0]\ntransport = shm\n"
                                "[map sci0]\ntrap = signal\ncache-mib = 1\n");
    struct actor *exporter = actor_start(world, NODE), *importer = actor_start(world, NODE);
    TELL_OK(exporter, offer, .length = PAGES * PARTY_PAGE, .acl_count = 1, .acl = {{NODE, 0666}});
    TELL_OK(importer, attach, .node = NODE, .length = PAGES * PARTY_PAGE);
    for (unsigned page = 0; page < PAGES; page++)
        TELL_OK(importer, peek, .offset = page * PARTY_PAGE);
    unsigned long copies = copies_kib(importer->pid);
    TELL_OK(importer, detach);
    assert_true(copies > 0 && copies <= ENOUGH_KIB);
    actor_stop(importer);
    actor_stop(exporter);
    world_daemon_end(daemon);
}

WORLD_TEST(test_environment_goes_first)
{
    pid_t daemon = serve(world, "[map]\nmode = off\n[controller sci0]\ntransport = shm\n"
                                "[map loopback]\nmode = twin\n");
    struct actor *exporter = actor_start(world, NODE);
    struct actor *on = actor_with_mode(world, "twin"), *off = actor_with_mode(world, "off");
    struct actor *wrong = actor_with_mode(world, "twins");
    offer_on_both(exporter);
    TELL_OK(on, attach, .node = NODE, .length = LENGTH);
    check_works(on, exporter, 0);
    TELL_OK(on, detach);
    TELL_OK(off, connect, .node = NODE, .length = LENGTH, .id = PARTY_ID + 1,
            .controller = "loopback");
    TELL_GET(off, map, RSMERR_MAP_FAILED);
    TELL_OK(off, disconnect);
    TELL_OK(wrong, connect, .node = NODE, .length = LENGTH);
    TELL_GET(wrong, map, RSMERR_MAP_FAILED);
    TELL_OK(wrong, disconnect);
    actor_stop(on);
    actor_stop(off);
    actor_stop(wrong);
    actor_stop(exporter);
    world_daemon_end(daemon);
}

/* ---------------------------------------------------------------- the device that rsmd lends */

enum { SOMEBODY = 65533 };

static int choose_trap(void *bytes)
{
    return setenv("RSM_MAP_TRAP", bytes, 1);
}

/* A system call that takes its data from a page of the mapping that nobody has touched: the bytes
 * that it wrote in .value, errno in .id. */
static int write_from_mapping(void *bytes)
{
    struct order *order = bytes;
    int ends[2];
    NEED(open("/dev/userfaultfd", O_RDONLY | O_CLOEXEC) < 0); /* this user may not */
    NEED(pipe(ends) == 0);
    errno = 0;
    ssize_t written = write(ends[1], party_import(0)->address + PARTY_PAGE, 8);
    order->id = (uint32_t)errno;
    order->value = (uint64_t)written;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static struct order write_as(struct world *world, const char *configuration, const char *trap)
{
    char text[16];
    pid_t daemon = serve(world, configuration);
    struct actor *exporter = actor_start(world, NODE);
    struct actor *importer = actor_start_as(world, NODE, SOMEBODY);
    snprintf(text, sizeof text, "%s", trap);
    assert_int_equal(actor_run(importer, choose_trap, text, sizeof text), 0);
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 1, .acl = {{NODE, 0666}});
    TELL_OK(importer, attach, .node = NODE, .length = LENGTH);
    struct order order = party_ask(importer, write_from_mapping, (struct order){.id = 0});
    assert_int_equal(order.result, 0);
    TELL_OK(importer, detach);
    actor_stop(importer);
    actor_stop(exporter);
    world_daemon_end(daemon);
    return order;
}

static void need_device(void)
{
    if (geteuid() == 0 && access("/dev/userfaultfd", F_OK) == 0 && build_is_reachable())
        return;
    print_message("    not run: needs root, to be a user who can reach this build, and "
                  "/dev/userfaultfd\n");
    skip();
}

/* Whether the kernel gives everybody what the device gives. */
static bool kernel_gives_all(void)
{
    FILE *setting = fopen("/proc/sys/vm/unprivileged_userfaultfd", "re");
    bool all = setting != NULL && fgetc(setting) == '1';
    if (setting != NULL)
        fclose(setting);
    return all;
}

/* A user without any privilege gets what makes system calls work on mapped memory, and with the
 * default; without the configuration he does not. */
WORLD_TEST(test_lent_userfaultfd)
{
    need_device();
    const char *traps[] = {"auto", "thread"};
    for (unsigned i = 0; i < 2; i++) {
        struct order order = write_as(
            world, "[controller sci0]\ntransport = shm\n[map]\nlend-userfaultfd = yes\n", traps[i]);
        assert_int_equal(order.value, 8);
    }
    if (kernel_gives_all())
        return;
    struct order order = write_as(
        world, "[controller sci0]\ntransport = shm\n[map]\nlend-userfaultfd = no\n", "auto");
    assert_int_equal(order.value, (uint64_t)-1);
    assert_int_equal(order.id, EFAULT);
}

int main(void)
{
    setenv("RSM_SHM_DIRECT", "0", 1);
    unsetenv("RSM_MAP_MODE");
    return cases_run();
}
