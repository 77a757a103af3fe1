/* SPDX-License-Identifier: BSD-3-Clause */
/* A program in a control group with a limit of memory, as in a container: what does not fit is refused, and the kernel
 * kills nobody. */
#include <rsmapi.h>

#include "harness.h"
#include "process.h"

#define MIB ((size_t)1 << 20)

/* Of both versions of control groups. */
static const struct version {
    const char *folder, *limit;
} versions[] = {
    {"/sys/fs/cgroup", "memory.max"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
};

struct group {
    char folder[96];
};

static bool write_to(const char *folder, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return written;
}

/* One of the host's, with a limit of its own; memory that is swapped does not count, so none may be. */
static bool make_in(struct group *group, const struct version *version)
{
    snprintf(group->folder, sizeof group->folder, "%s/rsm-test-%d", version->folder, (int)getpid());
    if (mkdir(group->folder, 0755) < 0)
        return false;
    (void)write_to(group->folder, "memory.swap.max", "0");
    (void)write_to(group->folder, "memory.swappiness", "0");
    if (write_to(group->folder, version->limit, "67108864"))
        return true;
    rmdir(group->folder);
    return false;
}

static void make(struct group *group)
{
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (make_in(group, &versions[i]))
            return;
    print_message("no control group with a limit of memory can be made here: not as root, or "
                  "/sys/fs/cgroup cannot be written\n");
    skip();
}

/* When the last process is gone. */
static void discard(const struct group *group)
{
    int64_t end = now_ms() + 10000;
    while (rmdir(group->folder) < 0 && now_ms() < end)
        usleep(10000);
    assert_int_equal(access(group->folder, F_OK), -1);
}

static int enter(void *bytes)
{
    return write_to(((struct group *)bytes)->folder, "cgroup.procs", "0") ? 0 : -1;
}

struct block {
    size_t length;
    bool touched;
};

/* Export so much, and give it up again: what creating it has said. */
static int export_block(void *bytes)
{
    const struct block *block = bytes;
    char name[] = "sci0";
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    char *memory =
        mmap(NULL, block->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    if (block->touched)
        memset(memory, 7, block->length);
    int error = rsm_get_controller(name, &controller);
    if (error != RSM_SUCCESS)
        return error;
    error = rsm_memseg_export_create(controller, &segment, memory, block->length, 0);
    if (error == RSM_SUCCESS) {
        if (block->touched && (memory[0] != 7 || memory[block->length - 1] != 7))
            error = -2;
        memset(memory, 8, block->length);
        rsm_memseg_export_destroy(segment);
    }
    rsm_release_controller(controller);
    munmap(memory, block->length);
    return error;
}

WORLD_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        struct block block;
        int result;
    } steps[] = {
        {{8 * MIB, true}, RSM_SUCCESS},
        {{40 * MIB, true}, RSMERR_INSUFFICIENT_MEM}, /* twice that is needed while it is copied */
        {{60 * MIB, false},
         RSMERR_INSUFFICIENT_MEM}, /* more than max-exported-memory of the group */
        {{8 * MIB, true}, RSM_SUCCESS},
        {{40 * MIB, false}, RSM_SUCCESS},
    };
    struct group group;
    make(&group);
    struct actor *actor = actor_start(world, 1);
    assert_int_equal(actor_run(actor, enter, &group, sizeof group), 0);
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct block block = steps[i].block;
        print_message("    %zu MiB\n", block.length / MIB);
        assert_int_equal(actor_run(actor, export_block, &block, sizeof block), steps[i].result);
    }
    actor_stop(actor);
    discard(&group);
}

int main(void)
{
    children_watch();
    return cases_run();
}
