/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * shm: what was offered for reading cannot be written, whatever the importer tries. The importer
 * here is a process of another user, so this needs root; without it the program says so and counts
 * as skipped.
 */
#include "check.h"

#include "shm_pair.h"
#include "transport/instance.h"

enum { OTHER_USER = 65534, SKIPPED = 77 };

static int reopen(int fd, int flags)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, flags | O_CLOEXEC);
}

static int become_somebody_else(void)
{
    return setresgid(OTHER_USER, OTHER_USER, OTHER_USER) < 0 ||
                   setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0
               ? -1
               : 0;
}

struct attempt {
    const struct rsm_offer *offer;
    int open_to_all; /* a memfd of mode 0666, to show that the attempt can succeed */
    size_t page;
};

static int try_to_write(void *argument)
{
    const struct attempt *attempt = argument;
    int fd = attempt->offer->fds[0];
    if (become_somebody_else() < 0)
        return 1;
    if (reopen(attempt->open_to_all, O_RDWR) < 0)
        return 2;
    if (reopen(fd, O_RDWR) >= 0 || errno != EACCES)
        return 3;
    if (reopen(fd, O_WRONLY) >= 0 || errno != EACCES)
        return 4;
    if (mmap(NULL, attempt->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
        return 5;
    if (pwrite(fd, "x", 1, 0) >= 0 || fchmod(fd, 0666) == 0 || ftruncate(fd, 0) == 0)
        return 6;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0 ||
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)attempt->page) == 0)
        return 7;
    void *readable = mmap(NULL, attempt->page, PROT_READ, MAP_SHARED, fd, 0);
    if (readable == MAP_FAILED)
        return 8;
    return mprotect(readable, attempt->page, PROT_READ | PROT_WRITE) == 0 ? 9 : 0;
}

#define CASE(test) TEST_WITH(struct shm_pair *pair, test, shm_pair_setup, shm_pair_teardown)

CASE(a_read_only_descriptor_stays_read_only)
{
    struct rsm_offer offer;
    shm_pair_offer(pair, RSM_RIGHT_READ, &offer);
    struct attempt attempt = {.offer = &offer, .page = pair->page};
    attempt.open_to_all = memfd_create("open", MFD_CLOEXEC);
    assert_true(attempt.open_to_all >= 0);
    assert_int_equal(fchmod(attempt.open_to_all, 0666), 0);
    for (unsigned i = 0; i < offer.fd_count; i++) {
        assert_true(offer.fds[i] > STDERR_FILENO);
        assert_int_equal(fcntl(offer.fds[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(fcntl(offer.fds[i], F_GETFL) & O_ACCMODE, O_RDONLY);
    }
    assert_int_equal(in_child(try_to_write, &attempt), 0);
    close(attempt.open_to_all);
    shm_offer_close(&offer);
}

struct mapped {
    struct shm_pair *pair;
    struct rsm_offer *offer;
};

/* The same through the import half, base mapping and window alike. */
static int try_to_widen(void *argument)
{
    struct mapped *mapped = argument;
    struct shm_pair *pair = mapped->pair;
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    struct rsm_conn *conn;
    void *window = NULL;
    if (become_somebody_else() < 0)
        return 1;
    if (rsmcore_conn_open(pair->port, mapped->offer, size, RSM_RIGHT_READ, &conn) != RSM_ST_OK)
        return 2;
    if (conn->ops->map(conn, 0, size, RSM_RIGHT_READ, false, &window) != RSM_ST_OK)
        return 3;
    for (size_t at = 0; at < size; at += pair->page)
        if (mprotect((char *)window + at, pair->page, PROT_READ | PROT_WRITE) == 0 ||
            errno != EACCES)
            return 4;
    uint64_t seen = 0;
    if (conn->ops->get(conn, 0, &seen, sizeof seen) != RSM_ST_OK || seen != 4711)
        return 5;
    conn->ops->unmap(conn, window, size);
    rsmcore_conn_close(conn);
    return 0;
}

CASE(a_read_only_window_stays_read_only)
{
    struct rsm_offer offer;
    uint64_t value = 4711;
    memcpy(shm_pair_at(pair, 0), &value, sizeof value);
    shm_pair_offer(pair, RSM_RIGHT_READ, &offer);
    struct mapped mapped = {.pair = pair, .offer = &offer};
    assert_int_equal(in_child(try_to_widen, &mapped), 0);
    shm_offer_close(&offer);
}

static int write_as_granted(void *argument)
{
    struct mapped *mapped = argument;
    struct shm_pair *pair = mapped->pair;
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    struct rsm_conn *conn;
    uint64_t value = 4712;
    if (become_somebody_else() < 0)
        return 1;
    if (rsmcore_conn_open(pair->port, mapped->offer, size, RSM_RIGHT_WRITE, &conn) != RSM_ST_OK)
        return 2;
    if (conn->ops->put(conn, size - 8, &value, sizeof value) != RSM_ST_OK)
        return 3;
    /* not even who may write can harm the others' mappings */
    for (unsigned i = 0; i < mapped->offer->fd_count; i++)
        if (ftruncate(mapped->offer->fds[i], 0) == 0 ||
            fcntl(mapped->offer->fds[i], F_ADD_SEALS, F_SEAL_WRITE) == 0 ||
            fchmod(mapped->offer->fds[i], 0666) == 0)
            return 4;
    rsmcore_conn_close(conn);
    return 0;
}

CASE(who_may_write_can_write_and_no_more)
{
    struct rsm_offer offer;
    uint64_t seen;
    shm_pair_offer(pair, RSM_RIGHT_WRITE, &offer);
    struct mapped mapped = {.pair = pair, .offer = &offer};
    assert_int_equal(in_child(write_as_granted, &mapped), 0);
    memcpy(&seen, shm_pair_at(pair, PAIR_SEGMENT_PAGES * pair->page - 8), sizeof seen);
    assert_int_equal(seen, 4712);
    shm_offer_close(&offer);
}

int main(void)
{
    if (geteuid() != 0) {
        printf("skipped: becoming another user needs root\n");
        return SKIPPED;
    }
    return cases_run();
}
