/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device goes and comes back, in a machine with both ends of a bridge, while processes use
 * every operation of their descriptors, are killed in the middle of it, and go on with
 * descriptors whose device has gone. What the kernel has to say to that is for the script to
 * judge (ntb_unbind.sh); here each operation must have succeeded with the device and have been
 * called without it, and every process must end when it is told to.
 */
#include <glob.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "lab.h"

enum {
    PORTS = 2,
    WORKERS = 4, /* of a port: one for exports, one for imports, two for its control descriptor */
    HELD = 8,    /* descriptors that a worker has at a time */
    RANGES = 32, /* extents that there are to take */
    PAGE = 4096,
    LENGTH = 16 * PAGE,
    KINDS = 3, /* of mappings of an import */
    END_S = 60,
};

enum operation {
    INFO,
    TROUBLE,
    CONTROL,
    EXPORT,
    IMPORT,
    SHARE,
    REVOKE,
    RELEASE,
    EXTENTS,
    PIN,
    POST,
    POSTS,
    READ,
    POLL,
    MAP,
    TOUCH,
    CLOSE,
    OPERATIONS
};
/* Nothing can be pinned in a machine without an IOMMU: those are refused. */
static const char *const names[OPERATIONS] = {
    "INFO", "TROUBLE", "CONTROL", "EXPORT", "IMPORT", "SHARE", "REVOKE", "RELEASE", "EXTENTS",
    "PIN",  "POST",    "POSTS",   "read",   "poll",   "mmap",  "touch",  "close"};

/* Shared by all processes. */
static struct {
    atomic_bool stop;
    atomic_bool failed;
    atomic_int unbound; /* ends that have no device at the moment */
    atomic_ulong good[OPERATIONS], refused[OPERATIONS], gone[OPERATIONS], without[OPERATIONS];
} * shared;

struct held {
    int fd; /* -1: none */
    bool read_only;
    uint64_t id;
    void *map[KINDS];
};

struct worker {
    int port, control;
    unsigned seed;
    struct held export[HELD], import[HELD];
};

static unsigned any(struct worker *worker, unsigned below)
{
    return (unsigned)rand_r(&worker->seed) % below;
}

/* Count what an operation has returned; whether it has succeeded. */
static int count(enum operation operation, int failed)
{
    int error = errno;

    if (!failed)
        atomic_fetch_add(&shared->good[operation], 1);
    else
        atomic_fetch_add(error == ENODEV ? &shared->gone[operation] : &shared->refused[operation],
                         1);
    if (atomic_load(&shared->unbound) > 0)
        atomic_fetch_add(&shared->without[operation], 1);
    return !failed;
}

/* ---- exports and imports ---- */

static int open_quietly(int port)
{
    char path[32];

    snprintf(path, sizeof path, "/dev/rsm_ntb%d", port);
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

static void let_go(struct held *held)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (held->map[kind])
            munmap(held->map[kind], kind ? PAGE : LENGTH);
    if (held->fd >= 0)
        count(CLOSE, close(held->fd));
    *held = (struct held){.fd = -1};
}

static void map(struct held *held, int kinds, int prot)
{
    static const uint64_t at[KINDS] = {RSM_NTB_MAP_DATA, RSM_NTB_MAP_CANARY, RSM_NTB_MAP_STATUS};

    for (int kind = 0; kind < kinds; kind++) {
        void *mapped = mmap(NULL, kind ? PAGE : LENGTH, kind ? PROT_READ : prot, MAP_SHARED,
                            held->fd, (off_t)at[kind]);

        held->map[kind] = count(MAP, mapped == MAP_FAILED) ? mapped : NULL;
    }
}

static void export_one(struct worker *worker, struct held *held)
{
    unsigned range = any(worker, RANGES);
    struct rsm_ntb_export arg = {.control_fd = worker->control,
                                 .offset = RSM_NTB_CONTROL_SIZE + range * LENGTH,
                                 .length = LENGTH};

    let_go(held);
    held->fd = open_quietly(worker->port);
    if (held->fd < 0)
        return;
    if (count(EXPORT, ioctl(held->fd, RSM_NTB_EXPORT, &arg)))
        map(held, 1, PROT_READ | PROT_WRITE);
    else
        let_go(held);
}

static void share_one(struct worker *worker, struct held *held, const struct held *of)
{
    struct rsm_ntb_share arg = {.export_fd = of->fd, .flags = RSM_NTB_READ_ONLY};

    if (held == of || of->fd < 0)
        return;
    let_go(held);
    held->fd = open_quietly(worker->port);
    if (held->fd < 0)
        return;
    if (count(SHARE, ioctl(held->fd, RSM_NTB_SHARE, &arg)))
        held->read_only = true, map(held, 1, PROT_READ);
    else
        let_go(held);
}

static void import_one(struct worker *worker, struct held *held)
{
    struct rsm_ntb_info info;
    unsigned range = any(worker, RANGES);
    struct rsm_ntb_import arg = {.control_fd = worker->control,
                                 .offset = RSM_NTB_CONTROL_SIZE + range * LENGTH,
                                 .length = LENGTH,
                                 .flags = RSM_NTB_POSTER,
                                 .connection = range};

    let_go(held);
    if (!count(INFO, ioctl(worker->control, RSM_NTB_INFO, &info)))
        return;
    arg.epoch = info.epoch;
    held->fd = open_quietly(worker->port);
    if (held->fd < 0)
        return;
    if (!count(IMPORT, ioctl(held->fd, RSM_NTB_IMPORT, &arg))) {
        let_go(held);
        return;
    }
    held->id = arg.id;
    map(held, KINDS, PROT_READ | PROT_WRITE);
}

/* ---- what is done with them ---- */

static void touch(struct worker *worker, const struct held *held, int writable)
{
    for (int kind = 0; kind < KINDS; kind++) {
        volatile unsigned *word = held->map[kind];

        if (!word)
            continue;
        word += any(worker, (kind ? PAGE : LENGTH) / sizeof *word);
        if (writable && !kind)
            *word = worker->seed;
        else
            (void)*word;
        count(TOUCH, 0);
    }
}

static void look_at(int fd, short events)
{
    struct pollfd poller = {.fd = fd, .events = events};
    char buffer[256];

    count(POLL, poll(&poller, 1, 0) < 0);
    count(READ, read(fd, buffer, sizeof buffer) < 0);
}

static void use_export(struct worker *worker, struct held *held)
{
    struct rsm_ntb_pin pin = {.address = 0};

    if (held->fd < 0)
        return;
    touch(worker, held, !held->read_only);
    look_at(held->fd, POLLIN);
    count(PIN, ioctl(held->fd, RSM_NTB_PIN, &pin));
}

static void use_import(struct worker *worker, struct held *held)
{
    if (held->fd < 0)
        return;
    touch(worker, held, 1);
    count(POST, ioctl(held->fd, RSM_NTB_POST, RSM_NTB_POST_COALESCE));
    count(POLL, poll(&(struct pollfd){.fd = held->fd, .events = POLLPRI}, 1, 0) < 0);
}

static void use_control(struct worker *worker)
{
    static struct rsm_ntb_extent found[RANGES];
    uint64_t words[RSM_NTB_POSTS_AT_ONCE];
    struct rsm_ntb_info info;
    struct rsm_ntb_trouble trouble;
    struct rsm_ntb_posts posts = {.count = RSM_NTB_POSTS_AT_ONCE, .array = (uintptr_t)words};
    struct rsm_ntb_extents extents = {.array = (uintptr_t)found, .capacity = RANGES};
    struct rsm_ntb_revoke revoke = {.id = any(worker, 8) ? any(worker, 2000) : RSM_NTB_ALL_IMPORTS};
    struct rsm_ntb_release release = {.id = 0};

    /* Most of the time what looks into the drivers' part of the pool. */
    for (int i = 0; i < 20; i++)
        count(POSTS, ioctl(worker->control, RSM_NTB_POSTS, &posts));
    count(INFO, ioctl(worker->control, RSM_NTB_INFO, &info));
    count(TROUBLE, ioctl(worker->control, RSM_NTB_TROUBLE, &trouble));
    count(REVOKE, ioctl(worker->control, RSM_NTB_REVOKE, &revoke));
    if (!count(EXTENTS, ioctl(worker->control, RSM_NTB_EXTENTS, &extents)))
        extents.count = 0;
    for (unsigned i = 0; i < extents.count; i++) {
        release.id = found[i].id;
        if (found[i].state == RSM_NTB_EXTENT_QUARANTINED)
            count(RELEASE, ioctl(worker->control, RSM_NTB_RELEASE, &release));
    }
    look_at(worker->control, POLLIN);
}

static void inject_error(int port)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/sys/kernel/debug/rsm_ntb/rsm_ntb%d/inject_error", port);
    fd = open(path, O_WRONLY);
    if (fd >= 0 && write(fd, "1", 1) != 1)
        errno = 0; /* it goes with the device */
    if (fd >= 0)
        close(fd);
}

/* ---- processes ---- */

/* Until it is killed. */
static _Noreturn void work(int port, int control, int kind)
{
    struct worker worker = {.port = port, .control = control, .seed = (unsigned)getpid()};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < HELD; i++)
        worker.export[i].fd = worker.import[i].fd = -1;
    for (;;) {
        struct held *one =
            kind ? &worker.import[any(&worker, HELD)] : &worker.export[any(&worker, HELD)];

        if (kind >= 2)
            use_control(&worker);
        else if (kind == 1 && any(&worker, 4))
            use_import(&worker, one);
        else if (kind == 1)
            import_one(&worker, one);
        else if (any(&worker, 4))
            use_export(&worker, one);
        else if (any(&worker, 4))
            export_one(&worker, one);
        else
            share_one(&worker, one, &worker.export[any(&worker, HELD)]);
        if (!any(&worker, 500))
            inject_error(port);
    }
}

static void judge(pid_t child)
{
    int status;

    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return;
    printf("a process ended by itself, with status %#x\n", (unsigned)status);
    atomic_store(&shared->failed, true);
}

/* A daemon of the port, its clients, and their end: some of them outlive it. */
static void live(int port, unsigned *seed)
{
    struct rsm_ntb_control arg = {.abi = RSM_NTB_ABI,
                                  .node = 7,
                                  .flags = (unsigned)rand_r(seed) % 2 ? RSM_NTB_CONTROL_POSTS : 0};
    int control = open_quietly(port);
    pid_t workers[WORKERS];

    if (control < 0 || !count(CONTROL, ioctl(control, RSM_NTB_CONTROL, &arg))) {
        if (control >= 0)
            close(control);
        usleep(1000);
        return;
    }
    for (int kind = 0; kind < WORKERS; kind++) {
        workers[kind] = fork();
        CHECK(workers[kind] >= 0, "fork");
        if (!workers[kind])
            work(port, control, kind);
    }
    if (rand_r(seed) % 2)
        close(control), control = -1; /* the last one to close it is a process that is killed */
    usleep((unsigned)rand_r(seed) % 1500000);
    for (int kind = 0; kind < WORKERS; kind++)
        kill(workers[kind], SIGKILL);
    for (int kind = 0; kind < WORKERS; kind++)
        judge(workers[kind]);
    if (control >= 0)
        count(CLOSE, close(control));
}

static pid_t begin(int port)
{
    unsigned seed = 1 + (unsigned)port;
    pid_t child = fork();

    CHECK(child >= 0, "fork");
    if (child)
        return child;
    while (!atomic_load(&shared->stop))
        live(port, &seed);
    _exit(0);
}

/* ---- the device ---- */

static void write_quietly(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    CHECK(fd >= 0, "%s", path);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s > %s", text, path);
    close(fd);
}

static void await_sessions(void)
{
    double end = now() + 5;

    for (int port = 0; port < PORTS && now() < end; port += 1) {
        struct rsm_ntb_info info = {.epoch = 0};
        int fd = open_quietly(port);

        if (fd >= 0 && ioctl(fd, RSM_NTB_INFO, &info))
            info.epoch = 0;
        if (fd >= 0)
            close(fd);
        if (!info.epoch) {
            usleep(10000);
            port--;
        }
    }
}

static void unbind_and_bind(const char *device, const char *driver, unsigned *seed)
{
    char path[100];

    /* Sometimes with all that a session brings; else often, for what is looked for may last
     * microseconds. */
    if (rand_r(seed) % 8 == 0)
        await_sessions();
    usleep((unsigned)rand_r(seed) % 20000);
    snprintf(path, sizeof path, "%s/unbind", driver);
    atomic_fetch_add(&shared->unbound, 1); /* from here to its return is what the test is about */
    write_quietly(path, device);
    usleep((unsigned)rand_r(seed) % 5000);
    atomic_fetch_sub(&shared->unbound, 1);
    snprintf(path, sizeof path, "%s/bind", driver);
    write_quietly(path, device);
}

static void pull_and_plug(const char *device)
{
    char path[100];

    snprintf(path, sizeof path, "/sys/bus/pci/drivers/ntb_hw_ivshmem/%s/plugged", device);
    write_quietly(path, "0");
    usleep(100000);
    write_quietly(path, "1");
}

static void torment(unsigned long times)
{
    static const char *const drivers[] = {"/sys/bus/pci/drivers/ntb_hw_ivshmem",
                                          "/sys/bus/ntb/drivers/rsm_ntb"};
    unsigned seed = 5;
    glob_t devices;

    CHECK(!glob("/sys/bus/ntb/devices/0000*", 0, NULL, &devices) && devices.gl_pathc == PORTS,
          "ends of the bridge");
    while (times-- > 0) {
        const char *device = strrchr(devices.gl_pathv[(unsigned)rand_r(&seed) % PORTS], '/') + 1;

        if (rand_r(&seed) % 32 == 0)
            pull_and_plug(device);
        unbind_and_bind(device, drivers[(unsigned)rand_r(&seed) % 4 != 0], &seed);
    }
    globfree(&devices);
}

/* ---- all of it ---- */

static void end(const pid_t *children)
{
    double until = now() + END_S;
    int status;

    atomic_store(&shared->stop, true);
    for (int port = 0; port < PORTS; port++) {
        while (!waitpid(children[port], &status, WNOHANG)) {
            CHECK(now() < until, "processes of port %d did not end in %d s", port, END_S);
            usleep(10000);
        }
        CHECK(!status, "port %d: status %#x", port, (unsigned)status);
    }
}

int unbind(unsigned long times)
{
    pid_t children[PORTS];

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED, "memory");
    for (int port = 0; port < PORTS; port++)
        children[port] = begin(port);
    torment(times);
    end(children);
    for (int i = 0; i < OPERATIONS; i++) {
        unsigned long good = atomic_load(&shared->good[i]),
                      without = atomic_load(&shared->without[i]);

        printf("result: %s: %lu succeeded, %lu ENODEV, %lu refused; %lu while the device went or "
               "was away\n",
               names[i], good, atomic_load(&shared->gone[i]), atomic_load(&shared->refused[i]),
               without);
        CHECK((good || i == PIN) && without, "%s was not tried", names[i]);
    }
    CHECK(!atomic_load(&shared->failed), "a process ended by itself");
    return 0;
}
