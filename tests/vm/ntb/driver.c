/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsm_ntb alone, between two machines: driver MACHINE LIFE. Machine 1 exports, machine 2 imports
 * and gives the host orders. In its second life machine 1 meets the imports of its first one.
 */
#include <sys/ioctl.h>

#include "lab.h"

#define FIRST  RSM_NTB_CONTROL_SIZE
#define LENGTH (128 * KIB)
#define WORDS  (LENGTH / 8)
#define SECOND (FIRST + LENGTH)

static uint64_t pattern(uint64_t i)
{
    return i * 0x9e3779b97f4a7c15u + 1;
}

static int all_zero(volatile uint64_t *data)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (data[i])
            return 0;
    return 1;
}

/* --- machine 1 --- */

static void refusals_of_export(int control)
{
    struct rsm_ntb_control again = {.abi = RSM_NTB_ABI, .node = 8};
    struct rsm_ntb_control wrong = {.abi = RSM_NTB_ABI + 1, .node = 8};
    struct rsm_ntb_export twice = {.control_fd = control, .offset = SECOND, .length = LENGTH};
    struct rsm_ntb_release release = {0};
    uint64_t pool = info_of(control).pool_size;
    int fd;

    CHECK(export_extent(control, FIRST, LENGTH, &fd, NULL) == EBUSY, "the same range");
    CHECK(export_extent(control, SECOND - 4 * KIB, LENGTH, &fd, NULL) == EBUSY,
          "part of the range");
    CHECK(export_extent(control, 0, LENGTH, &fd, NULL) == EINVAL, "the drivers' part");
    CHECK(export_extent(control, SECOND + 8, LENGTH, &fd, NULL) == EINVAL, "alignment");
    CHECK(export_extent(control, SECOND, 0, &fd, NULL) == EINVAL, "nothing");
    CHECK(export_extent(control, pool, LENGTH, &fd, NULL) == EINVAL, "behind the pool");
    CHECK(export_extent(control, pool - 4 * KIB, LENGTH, &fd, NULL) == EINVAL, "beyond the pool");
    CHECK(export_extent(control, SECOND, -4096ull, &fd, NULL) == EINVAL, "overflow");
    CHECK(export_extent(1, SECOND, LENGTH, &fd, NULL) == EPERM, "authority");
    CHECK(export_extent(-1, SECOND, LENGTH, &fd, NULL) == EBADF, "authority");
    fd = open_port();
    CHECK(ioctl(fd, RSM_NTB_CONTROL, &again) && errno == EBUSY, "a second control");
    CHECK(ioctl(fd, RSM_NTB_CONTROL, &wrong) && errno == EPROTO, "another version");
    CHECK(ioctl(fd, RSM_NTB_POST, 0) && errno == EINVAL, "POST without a role");
    CHECK(mmap(NULL, 4 * KIB, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED, "mmap without a role");
    CHECK(!ioctl(fd, RSM_NTB_EXPORT, &twice), "export");
    CHECK(ioctl(fd, RSM_NTB_EXPORT, &twice) && errno == EINVAL, "a second role");
    CHECK(mmap(NULL, LENGTH + 4 * KIB, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED, "mmap beyond");
    CHECK(mmap(NULL, 4 * KIB, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED, "private");
    CHECK(mmap(NULL, 4 * KIB, PROT_READ, MAP_SHARED, fd, RSM_NTB_MAP_STATUS) == MAP_FAILED, "kind");
    close(fd);
    CHECK(await_event(control, RSM_NTB_EVENT_QUARANTINED).id == twice.id, "id");
    release.id = twice.id;
    CHECK(!ioctl(control, RSM_NTB_RELEASE, &release), "RELEASE");
    CHECK(await_event(control, RSM_NTB_EVENT_FREE).id == twice.id, "id");
}

/* Whether /proc/self/maps shows the mapping at that offset. */
static int shown_at(const volatile void *address, uint64_t offset)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start, shown = 0;
    char line[400];
    int found = 0;

    while (maps && !found && fgets(line, sizeof line, maps))
        found = sscanf(line, "%lx-%*x %*s %lx", &start, &shown) == 2 && start == (uintptr_t)address;
    if (maps)
        fclose(maps);
    return found && shown == offset;
}

/* Neither the extent's pages are a share's, nor more shares. */
static void only_maps(int share)
{
    struct rsm_ntb_share another = {.export_fd = share};
    struct rsm_ntb_pin pin = {.address = 0};
    struct rsm_ntb_posts posts = {.count = 1};
    struct pollfd poller = {.fd = share, .events = POLLIN | POLLPRI};
    uint64_t got;
    int fd = open_port();

    CHECK(read(share, &got, sizeof got) < 0 && errno == EINVAL, "read() of a share");
    CHECK(poll(&poller, 1, 0) == 0, "a share polls %#x", poller.revents);
    CHECK(ioctl(share, RSM_NTB_PIN, &pin) && errno == EINVAL, "PIN by a share");
    CHECK(ioctl(share, RSM_NTB_POST, 0) && errno == EINVAL, "POST by a share");
    CHECK(ioctl(share, RSM_NTB_POSTS, &posts) && errno == EINVAL, "POSTS by a share");
    CHECK(ioctl(fd, RSM_NTB_SHARE, &another) && errno == EPERM, "a share of a share");
    close(fd);
}

/* One that may write stores into the extent. */
static void writing_share(int exported, volatile uint64_t *data)
{
    struct rsm_ntb_share share = {.export_fd = exported};
    int fd = open_port();
    volatile uint64_t *stored;

    CHECK(!ioctl(fd, RSM_NTB_SHARE, &share), "a share that may write");
    stored = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)share.map);
    CHECK(stored != MAP_FAILED && shown_at(stored, share.map), "a share mapped for writing");
    stored[9] = 815;
    CHECK(data[9] == 815, "what a share stored: %lx", (long)data[9]);
    only_maps(fd);
    munmap((void *)stored, LENGTH);
    close(fd);
}

/* A share reads the extent, cannot store into it, and keeps it live. */
static void shares(int control)
{
    struct rsm_ntb_export arg = {.control_fd = control, .offset = SECOND, .length = LENGTH};
    struct rsm_ntb_share share = {.flags = RSM_NTB_READ_ONLY}, wrong = {.export_fd = control};
    struct rsm_ntb_release release;
    int fd = open_port(), reader = open_port(), again;
    volatile uint64_t *data, *seen;

    CHECK(!ioctl(fd, RSM_NTB_EXPORT, &arg), "export");
    data = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)arg.map);
    CHECK(data != MAP_FAILED && shown_at(data, arg.map), "a mapping at the descriptor's offset");
    CHECK(mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, fd, (off_t)(arg.map + (1ull << 42))) ==
              MAP_FAILED,
          "a mapping at another descriptor's offset");
    wrong.flags = 2;
    CHECK(ioctl(reader, RSM_NTB_SHARE, &wrong) && errno == EINVAL, "an unknown kind of share");
    wrong.flags = RSM_NTB_READ_ONLY;
    CHECK(ioctl(reader, RSM_NTB_SHARE, &wrong) && errno == EPERM, "a share of no export");
    wrong.export_fd = -1;
    CHECK(ioctl(reader, RSM_NTB_SHARE, &wrong) && errno == EBADF, "a share of nothing");
    share.export_fd = fd;
    CHECK(!ioctl(reader, RSM_NTB_SHARE, &share) && share.map != arg.map, "SHARE");
    CHECK(ioctl(reader, RSM_NTB_SHARE, &share) && errno == EINVAL, "a second role");
    CHECK(mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0) == MAP_FAILED &&
              errno == EACCES,
          "a share mapped for writing");
    seen = mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, reader, (off_t)share.map);
    CHECK(seen != MAP_FAILED && shown_at(seen, share.map), "a share mapped for reading");
    CHECK(mprotect((void *)seen, LENGTH, PROT_READ | PROT_WRITE) && errno == EACCES, "mprotect");
    only_maps(reader);
    data[7] = 4711;
    CHECK(seen[7] == 4711, "what a share reads: %lx", (long)seen[7]);
    writing_share(fd, data);
    munmap((void *)data, LENGTH);
    close(fd);
    CHECK(seen[7] == 4711, "a share after the export's descriptor");
    CHECK(export_extent(control, SECOND, LENGTH, &again, NULL) == EBUSY, "shared");
    close(reader);
    munmap((void *)seen, LENGTH);
    CHECK(await_event(control, RSM_NTB_EVENT_QUARANTINED).id == arg.id, "event");
    release = (struct rsm_ntb_release){.id = arg.id};
    CHECK(!ioctl(control, RSM_NTB_RELEASE, &release), "RELEASE");
    CHECK(await_event(control, RSM_NTB_EVENT_FREE).id == arg.id, "event");
}

/* What the importer has stored before its barrier is there. */
static void stored_data(int fd, volatile uint64_t *data)
{
    uint64_t got;

    CHECK(read(fd, &got, sizeof got) < 0 && errno == EINVAL, "read() of an export");
    note("exported");
    await("stored");
    for (unsigned i = 0; i < WORDS; i++)
        CHECK(data[i] == pattern(i), "word %u is %lx", i, (long)data[i]);
    data[5] = 12345;
    await("met");
    note("seen");
    printf("result: %u words arrived\n", (unsigned)WORDS);
}

/* A process that has the control role exports, gives the descriptor away and is killed. */
static int export_of_the_dead(uint64_t *id)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } space = {{0}};
    struct iovec data = {.iov_base = id, .iov_len = sizeof *id};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = space.bytes,
                             .msg_controllen = sizeof space.bytes};
    int pair[2], fd, status;
    pid_t child;

    CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
    child = fork();
    if (!child) {
        CHECK(!export_extent(open_control(), SECOND, LENGTH, &fd, id), "export");
        CMSG_FIRSTHDR(&message)->cmsg_level = SOL_SOCKET;
        CMSG_FIRSTHDR(&message)->cmsg_type = SCM_RIGHTS;
        CMSG_FIRSTHDR(&message)->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof fd);
        CHECK(sendmsg(pair[1], &message, 0) == sizeof *id, "sendmsg");
        for (;;)
            pause();
    }
    CHECK(recvmsg(pair[0], &message, 0) == sizeof *id, "recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    close(pair[0]);
    close(pair[1]);
    return fd;
}

static uint32_t state_of(int control, uint64_t id)
{
    struct rsm_ntb_extent array[8];
    struct rsm_ntb_extents arg = {.array = (uintptr_t)array, .capacity = 8};

    CHECK(!ioctl(control, RSM_NTB_EXTENTS, &arg), "EXTENTS");
    for (unsigned i = 0; i < arg.count; i++)
        if (array[i].id == id)
            return array[i].state;
    return 0;
}

/* The daemon dies; what it exported stays busy until its last user has gone and the next daemon
 * says so. */
static int daemon_killed(int control)
{
    struct rsm_ntb_release arg;
    volatile uint64_t *data;
    uint64_t id;
    int fd, again;

    close(control);
    fd = export_of_the_dead(&id);
    control = open_control();
    arg = (struct rsm_ntb_release){.id = id};
    CHECK(state_of(control, id) == RSM_NTB_EXTENT_LIVE, "state %u", state_of(control, id));
    data = map_export(fd, LENGTH);
    data[0] = 42;
    close(fd); /* the mapping holds it */
    CHECK(export_extent(control, SECOND, LENGTH, &again, NULL) == EBUSY, "mapped");
    CHECK(ioctl(control, RSM_NTB_RELEASE, &arg) && errno == EBUSY, "RELEASE of a live extent");
    munmap((void *)data, LENGTH);
    CHECK(await_event(control, RSM_NTB_EVENT_QUARANTINED).id == id, "event");
    CHECK(state_of(control, id) == RSM_NTB_EXTENT_QUARANTINED, "state");
    CHECK(export_extent(control, SECOND, LENGTH, &again, NULL) == EBUSY, "in quarantine");
    CHECK(!ioctl(control, RSM_NTB_RELEASE, &arg), "RELEASE");
    CHECK(ioctl(control, RSM_NTB_RELEASE, &arg) && errno == ENOENT, "RELEASE twice");
    CHECK(!export_extent(control, SECOND, LENGTH, &again, NULL), "after RELEASE");
    data = map_export(again, LENGTH);
    CHECK(all_zero(data), "an extent with another one's data");
    munmap((void *)data, LENGTH);
    close(again);
    printf("result: extents outlive the daemon that asked for them\n");
    return control;
}

static void exporter(void)
{
    int control = open_control(), fd;
    uint32_t epoch = await_session(control, 0);
    volatile uint64_t *data;

    CHECK(!export_extent(control, FIRST, LENGTH, &fd, NULL), "export");
    data = map_export(fd, LENGTH);
    CHECK(all_zero(data), "a new extent with data in it");
    refusals_of_export(control);
    shares(control);
    stored_data(fd, data);
    posts_of_exporter(control, fd, data);
    control = daemon_killed(control);
    note("ready-to-freeze");
    /* Frozen here, and thawed: the other side has ended the session meanwhile. */
    epoch = await_session(control, epoch);
    posts_begin_anew(control);
    note("back");
    await("unbinding");
    epoch = await_session(control, epoch);
    note("met-the-rebound");
    await("reloaded");
    (void)await_session(control, epoch);
    data[0] = 0;
    note("ready-to-die");
    for (;;)
        pause(); /* restarted here */
}

static void exporter_again(void)
{
    int control = open_control(), fd;
    volatile uint64_t *data;
    uint64_t others = 0;

    CHECK(!export_extent(control, FIRST, LENGTH, &fd, NULL), "export");
    data = map_export(fd, LENGTH);
    (void)await_session(control, 0);
    note("reborn");
    await("old-stored");
    for (unsigned i = 0; i < WORDS; i++)
        others += data[i] != 0;
    CHECK(!others, "%lu words of an old import landed in a new incarnation", (long)others);
    note("untouched");
    await("new-stored");
    CHECK(data[0] == 4711, "the new import: %lx", (long)data[0]);
    printf("result: 0 stores of the old import landed after the restart, 1 of 1 of the new one\n");
    note("done");
    await("over");
}

/* --- machine 2 --- */

static void refusals_of_import(int control, uint32_t epoch)
{
    uint64_t window = info_of(control).window_size;
    struct import import;

    CHECK(import_extent(control, FIRST, LENGTH, epoch + 1, 0, &import) == ESTALE, "epoch");
    CHECK(import_extent(control, 0, LENGTH, epoch, 0, &import) == EINVAL, "the drivers' part");
    CHECK(import_extent(control, window, LENGTH, epoch, 0, &import) == EINVAL, "behind the window");
    CHECK(import_extent(control, FIRST, window, epoch, 0, &import) == EINVAL, "beyond the window");
    CHECK(import_extent(control, FIRST, LENGTH, epoch, 4, &import) == EINVAL, "flags");
    CHECK(import_extent(1, FIRST, LENGTH, epoch, 0, &import) == EPERM, "authority");
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, RSM_NTB_READ_ONLY, &import), "read-only");
    CHECK(mmap(NULL, LENGTH, PROT_WRITE, MAP_SHARED, import.fd, 0) == MAP_FAILED && errno == EACCES,
          "mmap");
    CHECK(mprotect((void *)import.data, LENGTH, PROT_READ | PROT_WRITE) && errno == EACCES,
          "mprotect");
    CHECK(mprotect((void *)import.status, 4 * KIB, PROT_WRITE) && errno == EACCES, "status");
    CHECK(mprotect((void *)import.canary, 4 * KIB, PROT_WRITE) && errno == EACCES, "canary");
    close_import(&import, LENGTH);
}

static void errors_and_revocation(int control, uint32_t epoch)
{
    struct import import, other;
    uint64_t kept;
    uint32_t error;
    FILE *inject;

    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &import), "import");
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &other), "import");
    error = import.status->err_seq;
    inject = fopen("/sys/kernel/debug/rsm_ntb/rsm_ntb0/inject_error", "w");
    CHECK(inject && fputs("1", inject) > 0 && !fclose(inject), "inject_error");
    CHECK(!barrier(&import, error), "an error that the barrier does not show");
    CHECK(import.status->err_seq == error + 1 && import.status->epoch == epoch, "err_seq %u",
          import.status->err_seq);
    CHECK(info_of(control).err_seq == error + 1 && info_of(control).epoch == epoch, "INFO");
    CHECK(barrier(&import, error + 1), "again");

    kept = other.data[0];
    CHECK(!revoke_import(control, import.id) && !revoke_import(control, import.id), "REVOKE");
    import.data[0] = kept + 1;
    CHECK(!barrier(&import, error + 1) && import.status->revoked, "a revoked import");
    CHECK(other.data[0] == kept, "a store through a revoked import landed");
    CHECK(import.data[0] == kept + 1, "the page of a revoked import");
    CHECK(barrier(&other, error + 1), "the other import");
    CHECK(!revoke_import(control, RSM_NTB_ALL_IMPORTS) && other.status->revoked, "REVOKE all");
    other.data[0] = 99;
    CHECK(import.data[0] == kept + 1, "revoked imports share a page");
    CHECK(revoke_import(control, ~0ull) == ENOENT, "REVOKE of none");
    close_import(&import, LENGTH);
    close_import(&other, LENGTH);
    printf("result: errors are retriable, revocation is not, and both are reported\n");
}

/*
 * Store a counter and close a barrier, again and again, until one reports; the last value
 * issued. It is the session that has ended. The mappings change just after the status page does;
 * REVOKE returns when they have. What is stored after that must not arrive.
 */
static uint64_t store_until_reported(int control, const struct import *import, double *seconds)
{
    uint32_t error = import->status->err_seq;
    double begin = now();
    uint64_t value = 0;

    do {
        import->data[0] = ++value;
        usleep(1000);
        CHECK(now() < begin + 60, "no report after %lu stores", (long)value);
    } while (barrier(import, error));
    *seconds = now() - begin;
    while (import->status->epoch) {
        CHECK(now() < begin + 60, "the session goes on after the report");
        usleep(1000);
    }
    CHECK(!import->status->revoked && import->status->link_seq, "why: %u",
          import->status->link_seq);
    CHECK(!revoke_import(control, import->id), "REVOKE");
    for (int i = 1; i <= 1000; i++)
        import->data[0] = value + i;
    return value;
}

static uint32_t frozen(int control, uint32_t epoch)
{
    struct import import, fresh;
    uint64_t issued, landed;
    double seconds;

    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &import), "import");
    import.data[0] = 0;
    await("ready-to-freeze");
    order("freeze", 1);
    issued = store_until_reported(control, &import, &seconds);
    order("thaw", 1);
    epoch = await_session(control, epoch);
    await("back");
    CHECK(!import.status->epoch, "an import of an old session lives again");
    import.data[0] = ~0ull;
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &fresh), "import");
    landed = fresh.data[0];
    CHECK(landed <= issued, "a store after the report landed: %ld of %ld", (long)landed,
          (long)issued);
    printf("result: hung host: %ld stores issued, %ld landed, reported after %.2f s, 0 of 1001 "
           "later ones landed\n",
           (long)issued, (long)landed, seconds);
    close_import(&import, LENGTH);
    close_import(&fresh, LENGTH);
    return epoch;
}

static void write_to(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s > %s", text, path);
    close(fd);
}

/* The hardware driver goes while a process has an import and an export mapped. */
static int unbound(int control, uint32_t epoch)
{
    struct pollfd poller = {.fd = control, .events = POLLIN};
    struct rsm_ntb_info info;
    struct import import;
    volatile uint64_t *data;
    char device[40];
    int fd;

    snprintf(device, sizeof device, "%s", info_of(control).device);
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &import), "import");
    CHECK(!export_extent(control, FIRST, LENGTH, &fd, NULL), "export");
    data = map_export(fd, LENGTH);
    for (unsigned i = 0; i < WORDS; i++)
        data[i] = pattern(i);
    import.data[1] = 1;
    note("unbinding");
    write_to("/sys/bus/pci/drivers/ntb_hw_ivshmem/unbind", device);
    import.data[1] = 2;
    CHECK(import.data[1] == 2 && !barrier(&import, 0) && import.status->epoch == 0, "import");
    for (unsigned i = 0; i < WORDS; i++)
        CHECK(data[i] == pattern(i), "exported memory lost word %u", i);
    data[3] = 3;
    CHECK(data[3] == 3, "exported memory after the device");
    CHECK(ioctl(control, RSM_NTB_INFO, &info) && errno == ENODEV, "INFO");
    CHECK(poll(&poller, 1, 0) == 1 && poller.revents & POLLHUP, "poll: %x", poller.revents);
    /* The device comes back beside them, under its old name. */
    close(control);
    write_to("/sys/bus/pci/drivers/ntb_hw_ivshmem/bind", device);
    control = open_control();
    (void)await_session(control, 0);
    import.data[1] = 5;
    CHECK(data[3] == 3 && import.data[1] == 5 && !import.status->epoch, "after the return");
    await("met-the-rebound");
    munmap((void *)data, LENGTH);
    close(fd);
    close_import(&import, LENGTH);
    printf("result: unbound and bound again under a live import and export\n");
    return control;
}

/* rmmod is refused while anybody has it open, even if only mapped, and works afterwards. */
static int reloaded(int control)
{
    struct import import;

    CHECK(!import_extent(control, FIRST, LENGTH, await_session(control, 0), 0, &import), "import");
    close(control);
    close(import.fd);
    CHECK(system("rmmod rsm_ntb 2>/dev/null") != 0, "rmmod with a live mapping");
    munmap((void *)import.data, LENGTH);
    munmap((void *)import.canary, 4 * KIB);
    munmap((void *)import.status, 4 * KIB);
    CHECK(!system("rmmod rsm_ntb && insmod /lab/built/rsm_ntb.ko heartbeat_misses=30"),
          "rmmod, insmod");
    note("reloaded");
    return open_control();
}

static void restarted(int control)
{
    uint32_t epoch = await_session(control, 0);
    struct import import, fresh;
    uint64_t issued;
    double seconds;

    await("ready-to-die");
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &import), "import");
    order("restart", 1);
    issued = store_until_reported(control, &import, &seconds);
    printf("result: host killed: %ld stores issued, reported after %.2f s\n", (long)issued,
           seconds);
    epoch = await_session(control, epoch);
    await("reborn");
    for (unsigned i = 0; i < WORDS; i++)
        import.data[i] = ~0ull;
    note("old-stored");
    await("untouched");
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &fresh), "import");
    fresh.data[0] = 4711;
    CHECK(barrier(&fresh, fresh.status->err_seq), "barrier");
    note("new-stored");
    await("done");
    close_import(&import, LENGTH);
    close_import(&fresh, LENGTH);
    note("over");
}

static void importer(void)
{
    int control = open_control();
    uint32_t epoch = await_session(control, 0), error;
    struct import import;

    await("exported");
    while (info_of(control).peer_node != 7)
        CHECK(await_event(control, RSM_NTB_EVENT_PEER).id == 7, "the other side's node");
    note("met");
    refusals_of_import(control, epoch);
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &import), "import");
    error = import.status->err_seq;
    for (unsigned i = 0; i < WORDS; i++)
        import.data[i] = pattern(i);
    CHECK(barrier(&import, error), "barrier");
    note("stored");
    await("seen");
    CHECK(import.data[5] == 12345, "load: %lx", (long)import.data[5]);
    close_import(&import, LENGTH);
    posts_of_importer(control, epoch);
    errors_and_revocation(control, epoch);
    epoch = frozen(control, epoch);
    control = unbound(control, epoch);
    control = reloaded(control);
    restarted(control);
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count == 2 && !strcmp(arguments[1], "hostile"))
        return hostile();
    if (count == 2 && !strcmp(arguments[1], "pages"))
        return pages();
    if (count == 2 && !strcmp(arguments[1], "many"))
        return many();
    if (count == 3 && !strcmp(arguments[1], "unbind"))
        return unbind(strtoul(arguments[2], NULL, 10));
    CHECK(count == 3, "driver MACHINE LIFE, driver unbind TIMES, or driver hostile, pages or many");
    if (atoi(arguments[1]) == 2)
        importer();
    else if (atoi(arguments[2]) == 1)
        exporter();
    else
        exporter_again();
    return 0;
}
