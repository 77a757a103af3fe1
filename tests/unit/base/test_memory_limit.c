/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of control groups, from trees of files like the kernel's. */
#include "cases.h"

#include "base/memory_limit.h"

#define MIB ((uint64_t)1 << 20)

static char tree[64], list[96];

/* A file below the tree, and its folders. */
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", tree, name);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    strcpy(tree, "/tmp/rsm-cgroup.XXXXXX");
    assert_non_null(mkdtemp(tree));
    snprintf(list, sizeof list, "%s/list", tree);
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", tree);
    assert_int_equal(system(command), 0);
    return 0;
}

static struct rsm_memory_bounds bounds_of(const char *groups)
{
    struct rsm_memory_bounds bounds;
    put("list", groups);
    rsm_memory_bounds(list, tree, &bounds);
    return bounds;
}

#define TEST(test) TEST_BETWEEN(test, setup, teardown)

TEST(no_limit)
{
    struct rsm_memory_bounds bounds = bounds_of("0::/a\n");
    assert_true(bounds.limit == UINT64_MAX && bounds.room == UINT64_MAX);
    put("a/memory.max", "max\n");
    put("a/memory.current", "4096\n");
    bounds = bounds_of("0::/a\n");
    assert_true(bounds.limit == UINT64_MAX && bounds.room == UINT64_MAX);
    bounds = bounds_of("");
    assert_true(bounds.limit == UINT64_MAX && bounds.room == UINT64_MAX);
    rsm_memory_bounds("/nonexistent", tree, &bounds);
    assert_true(bounds.limit == UINT64_MAX && bounds.room == UINT64_MAX);
}

/* What file cache takes of it can be had; other memory cannot. */
TEST(limit_and_room)
{
    put("a/memory.max", "67108864\n");
    put("a/memory.current", "41943040\n");
    put("a/memory.swap.max", "0\n");
    put("a/memory.stat",
        "anon 10485760\nfile 31457280\nshmem 20971520\ninactive_file 8388608\nactive_file 2097152\n"
        "workingset_refault_file 7\n");
    struct rsm_memory_bounds bounds = bounds_of("0::/a\n");
    assert_int_equal(bounds.limit, 64 * MIB);
    assert_int_equal(bounds.room, 34 * MIB);
    put("a/memory.current", "99999999\n"); /* the limit has been lowered */
    put("a/memory.stat", "");
    assert_int_equal(bounds_of("0::/a\n").room, 0);
}

TEST(groups_above)
{
    put("a/memory.max", "20971520\n");
    put("a/memory.current", "16777216\n");
    put("a/memory.swap.max", "0\n");
    put("a/b/c/memory.max", "10485760\n");
    put("a/b/c/memory.current", "1048576\n");
    put("a/b/c/memory.swap.max", "0\n");
    struct rsm_memory_bounds bounds = bounds_of("0::/a/b/c\n");
    assert_int_equal(bounds.limit, 10 * MIB);
    assert_int_equal(bounds.room, 4 * MIB);
}

/* In a container that sees its own group alone, at the top, by the host's name or by "/". */
TEST(container)
{
    put("memory.max", "10485760\n");
    put("memory.current", "1048576\n");
    put("memory.swap.max", "0\n");
    assert_int_equal(bounds_of("0::/\n").room, 9 * MIB);
    assert_int_equal(bounds_of("0::/system.slice/docker-1234.scope\n").room, 9 * MIB);
    assert_int_equal(bounds_of("0::/../other\n").limit, 10 * MIB);
}

TEST(version_1)
{
    put("memory/a/memory.limit_in_bytes", "10485760\n");
    put("memory/a/memory.usage_in_bytes", "4194304\n");
    put("memory/a/memory.stat",
        "inactive_file 5\ntotal_inactive_file 1048576\ntotal_active_file 0\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    struct rsm_memory_bounds bounds =
        bounds_of("5:cpu,cpuacct:/x\n4:memory:/a\n1:name=systemd:/y\n0::/\n");
    assert_int_equal(bounds.limit, 10 * MIB);
    assert_int_equal(bounds.room, 7 * MIB);
    assert_int_equal(bounds_of("4:hugetlb,memory:/a\n").limit, 10 * MIB);
    assert_true(bounds_of("4:memory_other:/a\n").limit == UINT64_MAX);
}

TEST(nonsense)
{
    static char line[9000];
    put("a/memory.max", "-1\n");
    assert_true(bounds_of("0::/a\n").limit == UINT64_MAX);
    put("a/memory.max", "");
    assert_true(bounds_of("0::/a\n").limit == UINT64_MAX);
    assert_true(bounds_of("no colon\n:\n::\n0:\n").limit == UINT64_MAX);
    static const char colons[] = {'0', ':', ':'};
    for (size_t i = 0; i < sizeof line - 1; i++)
        line[i] = '/';
    for (size_t i = 0; i < sizeof colons; i++)
        line[i] = colons[i];
    assert_true(bounds_of(line).limit == UINT64_MAX);
}

TEST(size_of_this_host)
{
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_in_range(rsmcore_memory_size(), 1, physical);
    assert_true(rsm_memory_fits(0));
}
