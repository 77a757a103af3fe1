/* SPDX-License-Identifier: BSD-3-Clause */
/* sysinfo(), memcntl(), processors, clocks, the process. */
#include "support.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/param.h>
#include <sys/processor.h>
#include <sys/systeminfo.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <thread.h>

/* --- sysinfo --- */

static void assert_sysinfo(int command, const char *expected)
{
    char value[300];
    long length = (long)strlen(expected);
    assert_int_equal(sysinfo(command, value, sizeof value), length + 1);
    assert_string_equal(value, expected);
    assert_int_equal(sysinfo(command, NULL, 0), length + 1);
    memset(value, 'x', sizeof value);
    assert_int_equal(sysinfo(command, value, length), length + 1); /* one too few */
    assert_int_equal(strlen(value), length - 1);
    assert_memory_equal(value, expected, (size_t)length - 1);
    assert_int_equal(value[length], 'x');
}

TEST_ALONE(sysinfo_knows_what_uname_does)
{
    struct utsname names;
    assert_int_equal(uname(&names), 0);
    assert_sysinfo(SI_SYSNAME, names.sysname);
    assert_sysinfo(SI_HOSTNAME, names.nodename);
    assert_sysinfo(SI_RELEASE, names.release);
    assert_sysinfo(SI_VERSION, names.version);
    assert_sysinfo(SI_MACHINE, names.machine);
    assert_sysinfo(SI_SRPC_DOMAIN, names.domainname);
}

TEST_ALONE(sysinfo_knows_the_machine)
{
    char value[300], expected[32];
    snprintf(expected, sizeof expected, "%u", (unsigned)gethostid());
    assert_sysinfo(SI_HW_SERIAL, expected);
#ifdef __x86_64__
    assert_sysinfo(SI_ARCHITECTURE, "i386");
    assert_sysinfo(SI_ARCHITECTURE_32, "i386");
    assert_sysinfo(SI_ARCHITECTURE_64, "amd64");
    assert_sysinfo(SI_ARCHITECTURE_K, "amd64");
    assert_sysinfo(SI_ARCHITECTURE_NATIVE, "amd64");
    assert_sysinfo(SI_ISALIST, "amd64 i386");
#endif
    assert_true(sysinfo(SI_PLATFORM, value, sizeof value) > 1);
    /* A machine may have no vendor, as containers and some boards do. */
    int length = sysinfo(SI_HW_PROVIDER, value, sizeof value);
    if (length < 0)
        assert_int_equal(errno, EINVAL);
    else
        assert_int_equal(strlen(value) + 1, length);
}

static void assert_fails(int result, int error)
{
    assert_int_equal(result, -1);
    assert_int_equal(errno, error);
}

TEST_ALONE(sysinfo_refuses_nonsense)
{
    char value[300] = "unchanged";
    assert_fails(sysinfo(12345, value, sizeof value), EINVAL);
    assert_fails(sysinfo(SI_HOSTNAME, value, -1), EINVAL);
    assert_fails(sysinfo(SI_HOSTNAME, NULL, 10), EFAULT);
    assert_fails(sysinfo(SI_SET_HOSTNAME, NULL, 10), EFAULT);
    assert_fails(sysinfo(SI_SET_HOSTNAME, value, 4), EINVAL);
    assert_string_equal(value, "unchanged");
}

/* In a namespace of its own, or without the right to. */
static void set_names(void)
{
    char name[] = "rsm-test-host", domain[] = "rsm.test", value[64];
    if (unshare(CLONE_NEWUTS) != 0) {
        CHILD_CHECK(geteuid() != 0 || errno == EPERM);
        CHILD_CHECK(sysinfo(SI_SET_HOSTNAME, name, sizeof name) == -1 && errno == EPERM);
        _exit(0);
    }
    CHILD_CHECK(sysinfo(SI_SET_HOSTNAME, name, sizeof name) == sizeof name);
    CHILD_CHECK(sysinfo(SI_SET_SRPC_DOMAIN, domain, sizeof domain) == sizeof domain);
    CHILD_CHECK(sysinfo(SI_HOSTNAME, value, sizeof value) == sizeof name);
    CHILD_CHECK(strcmp(value, name) == 0);
    CHILD_CHECK(sysinfo(SI_SRPC_DOMAIN, value, sizeof value) == sizeof domain);
    CHILD_CHECK(strcmp(value, domain) == 0);
    _exit(0);
}

TEST_ALONE(sysinfo_sets_names)
{
    assert_exited(in_child(set_names), 0);
}

/* --- memory --- */

TEST_ALONE(memcntl_does_what_its_commands_say)
{
    size_t page = (size_t)PAGESIZE;
    unsigned char resident = 1;
    char *memory = shared_memory(page);
    memory[0] = 1;
    assert_int_equal(memcntl(memory, page, MC_LOCK, NULL, 0, 0), 0);
    if (!SANITIZED) { /* which make mlock() do nothing */
        /* The kernel does not throw locked pages away, but unlocked ones. */
        assert_fails(memcntl(memory, page, MC_ADVISE, (caddr_t)MADV_DONTNEED, 0, 0), EINVAL);
        assert_fails(memcntl(memory, page, MC_SYNC, (caddr_t)(MS_SYNC | MS_INVALIDATE), 0, 0),
                     EBUSY);
    }
    assert_int_equal(memcntl(memory, page, MC_UNLOCK, NULL, 0, 0), 0);
    assert_int_equal(memcntl(memory, page, MC_SYNC, (caddr_t)(MS_SYNC | MS_INVALIDATE), 0, 0), 0);
    assert_int_equal(memcntl(memory, page, MC_ADVISE, (caddr_t)MADV_REMOVE, 0, 0), 0);
    assert_int_equal(mincore(memory, page, &resident), 0);
    assert_int_equal(resident & 1, 0);
    munmap(memory, page);
    assert_fails(memcntl(memory, page, MC_SYNC, NULL, 0, 0), ENOMEM);
}

static void lock_everything(void)
{
    if (memcntl(NULL, 0, MC_LOCKAS, (caddr_t)MCL_FUTURE, 0, 0) == 0) {
        void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!SANITIZED)
            CHILD_CHECK(madvise(page, 4096, MADV_DONTNEED) == -1 && errno == EINVAL);
        CHILD_CHECK(memcntl(NULL, 0, MC_UNLOCKAS, NULL, 0, 0) == 0);
        CHILD_CHECK(madvise(page, 4096, MADV_DONTNEED) == 0);
    } else {
        CHILD_CHECK(errno == EPERM || errno == ENOMEM); /* the user's limit */
    }
    _exit(0);
}

TEST_ALONE(memcntl_locks_address_spaces)
{
    assert_exited(in_child(lock_everything), 0);
}

TEST_ALONE(memcntl_refuses_nonsense)
{
    char *memory = shared_memory((size_t)PAGESIZE);
    assert_fails(memcntl(memory + 1, 1, MC_LOCK, NULL, 0, 0), EINVAL);
    assert_fails(memcntl(memory, 1, 99, NULL, 0, 0), EINVAL);
    assert_fails(memcntl(memory, 1, MC_SYNC, NULL, 0, 1), EINVAL);
    assert_fails(memcntl(memory, 1, MC_LOCK, NULL, PROT_READ, 0), ENOTSUP);
    assert_fails(memcntl(memory, 0, MC_LOCKAS, NULL, 0, 0), EINVAL);
    assert_fails(memcntl(NULL, 1, MC_UNLOCKAS, NULL, 0, 0), EINVAL);
    munmap(memory, (size_t)PAGESIZE);
}

/* --- processors --- */

static void bind_threads(void)
{
    processorid_t here = getcpuid();
    processorid_t before = 99;
    cpu_set_t allowed, now;
    CHILD_CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    processorid_t unbound = CPU_COUNT(&allowed) == 1 ? here : PBIND_NONE;
    CHILD_CHECK(processor_bind(P_LWPID, (id_t)P_MYID, here, &before) == 0);
    CHILD_CHECK(before == unbound);
    CHILD_CHECK(getcpuid() == here);
    CHILD_CHECK(sched_getaffinity(0, sizeof now, &now) == 0);
    CHILD_CHECK(CPU_COUNT(&now) == 1 && CPU_ISSET((size_t)here, &now));
    CHILD_CHECK(processor_bind(P_LWPID, thr_self(), PBIND_QUERY, &before) == 0);
    CHILD_CHECK(before == here);
    CHILD_CHECK(processor_bind(P_PID, (id_t)P_MYID, PBIND_NONE, &before) == 0);
    CHILD_CHECK(before == here);
    CHILD_CHECK(processor_bind(P_PID, (id_t)getpid(), PBIND_QUERY, &before) == 0);
    CHILD_CHECK(before == unbound);
    _exit(0);
}

TEST_ALONE(threads_are_bound)
{
    assert_exited(in_child(bind_threads), 0);
}

struct told {
    processorid_t binding;
    sema_t go;
};

static void *tell_binding(void *arg)
{
    struct told *told = arg;
    while (sema_wait(&told->go) == EINTR)
        ;
    processor_bind(P_LWPID, (id_t)P_MYID, PBIND_QUERY, &told->binding);
    return NULL;
}

static void bind_whole_process(void)
{
    struct told told = {.binding = 99, .go = DEFAULTSEMA};
    thread_t id = 0;
    processorid_t here = getcpuid();
    CHILD_CHECK(thr_create(NULL, 0, tell_binding, &told, 0, &id) == 0);
    CHILD_CHECK(processor_bind(P_PID, (id_t)P_MYID, here, NULL) == 0);
    sema_post(&told.go);
    CHILD_CHECK(thr_join(id, NULL, NULL) == 0);
    CHILD_CHECK(told.binding == here);
    _exit(0);
}

TEST_ALONE(processes_are_bound_with_all_threads)
{
    assert_exited(in_child(bind_whole_process), 0);
}

TEST_ALONE(nonsense_is_not_bound)
{
    processorid_t before = 99;
    assert_fails(processor_bind(77, (id_t)P_MYID, 0, &before), EINVAL);
    assert_fails(processor_bind(P_PID, (id_t)P_MYID, -3, &before), EINVAL);
    assert_fails(processor_bind(P_LWPID, (id_t)P_MYID, 65535, &before), EINVAL);
    assert_fails(processor_bind(P_LWPID, (id_t)P_MYID, 65536, &before), EINVAL);
    assert_fails(processor_bind(P_LWPID, 99999, PBIND_QUERY, &before), ESRCH);
    assert_fails(processor_bind(P_PID, (id_t)0x7ffffff0, PBIND_QUERY, &before), ESRCH);
    assert_int_equal(before, 99);
}

TEST_ALONE(processors_have_a_state)
{
    assert_int_equal(p_online(getcpuid(), P_STATUS), P_ONLINE);
    assert_fails(p_online(100000, P_STATUS), EINVAL);
    assert_fails(p_online(-1, P_STATUS), EINVAL);
    assert_fails(p_online(0, P_OFFLINE), ENOTSUP);
}

/* --- clocks --- */

TEST_ALONE(clocks_go_on)
{
    struct timespec now;
    hrtime_t start = gethrtime(), used = gethrvtime();
    clock_gettime(CLOCK_MONOTONIC, &now);
    hrtime_t reference = (hrtime_t)now.tv_sec * NANOSEC + now.tv_nsec;
    assert_true(reference >= start && reference - start < (hrtime_t)10 * NANOSEC);
    assert_true(used > 0);
    volatile unsigned spent = 0;
    while (gethrvtime() == used)
        spent++;
    assert_true(gethrvtime() > used);
    assert_true(gethrtime() > start);
}

/* --- the process --- */

TEST_ALONE(processes_know_their_program)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    assert_string_equal(getexecname(), self);
    assert_ptr_equal(getexecname(), getexecname());
    assert_int_equal(issetugid(), 0);
}

TEST_ALONE(fork1_forks)
{
    int status = -1;
    pid_t child = fork1();
    if (child == 0)
        _exit(7);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}
