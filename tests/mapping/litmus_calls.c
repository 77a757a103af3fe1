/* SPDX-License-Identifier: BSD-3-Clause */
/* 14: system calls that are given addresses in a mapping. As rsm_map(7) says they work where the
 * kernel waits for the engine; else it is the state of the page that decides, and a call that is
 * refused has done nothing. */
#include "litmus.h"

#include <sys/uio.h>

enum state { ABSENT, CACHED, WITH_TWIN, STATES };
enum { LENGTH = 96, AT = PAGE + 40 };

static volatile uint8_t *map;
static int here = -1, there = -1; /* the two ends of a stream */
static FILE *file;

static bool kernel_waits;

/* RSM_LITMUS_KERNEL_WAITS: whoever runs this knows whether it must. */
static void find_out_about_kernel(void)
{
    const char *expected = getenv("RSM_LITMUS_KERNEL_WAITS");
    kernel_waits = system_calls_work();
    CHECK(expected == NULL || kernel_waits == (atoi(expected) != 0));
}

static bool should_work(enum state state, bool into_mapping)
{
    return kernel_waits || (into_mapping ? state == WITH_TWIN : state != ABSENT);
}

/* ---------------------------------------------------------------- the stage */

/* Nothing happens to a page by itself for a second. */
static void set_up(void)
{
    int pair[2];
    setenv("RSM_MAP_FLUSH_US", "1000000", 1);
    setenv("RSM_MAP_REFRESH_US", "1000000", 1);
    find_out_about_kernel();
    bed_start(NULL, 4);
    map = bed_map(0, 4 * PAGE, MAY_ALL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    here = pair[0], there = pair[1];
    file = tmpfile();
    CHECK(file != NULL);
}

static void tear_down(void)
{
    fclose(file);
    close(here);
    close(there);
    CHECK(bed_close() == 0);
    bed_unmap(map);
    bed_end();
}

/* An instruction that no decoder carries out, so that the page gets its twin in every mode. */
static void change_nothing(volatile uint8_t *at)
{
#if defined(__x86_64__)
    __asm__ volatile("orb $0, %0" : "+m"(*at));
#elif defined(__aarch64__)
    __asm__ volatile("1: ldxrb w9, [%0]\n stxrb w10, w9, [%0]\n cbnz w10, 1b"
                     :
                     : "r"(at)
                     : "x9", "x10", "memory");
#else
    store8(at, load8(at));
#endif
}

static void bring_to(enum state state, volatile uint8_t *page)
{
    CHECK(bed_open() == 0); /* absent from here on */
    if (state == CACHED)
        (void)load8(page);
    else if (state == WITH_TWIN)
        change_nothing(page);
}

static uint8_t pattern(unsigned seed, size_t at)
{
    return (uint8_t)(seed * 37 + at * 11 + at / 256 + 1);
}

static void make_bytes(uint8_t *bytes, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = pattern(seed, i);
}

/* The segment and the mapping have these bytes at the offset. */
static void check_bytes(size_t offset, const uint8_t *bytes, size_t length)
{
    static uint8_t back[4 * 4096];
    CHECK(bed_close() == 0);
    CHECK(bed_get(offset, back, length) == 0 && memcmp(back, bytes, length) == 0);
    for (size_t i = 0; i < length; i++)
        CHECK(load8(map + offset + i) == bytes[i]);
}

/* The mapping is as good as ever. */
static void check_usable(unsigned seed)
{
    uint8_t arrived;
    volatile uint8_t *at = map + 3 * PAGE + seed % 100;
    store8(at, (uint8_t)seed);
    CHECK(load8(at) == (uint8_t)seed && bed_close() == 0);
    CHECK(bed_get(3 * PAGE + seed % 100, &arrived, 1) == 0 && arrived == (uint8_t)seed);
}

/* ---------------------------------------------------------------- the calls */

struct pieces {
    struct iovec piece[3];
    struct msghdr message;
};

static struct pieces *in_pieces(uint8_t *at, size_t length)
{
    static struct pieces made;
    made.piece[0] = (struct iovec){at, length / 3};
    made.piece[1] = (struct iovec){at + length / 3, 0};
    made.piece[2] = (struct iovec){at + length / 3, length - length / 3};
    made.message = (struct msghdr){.msg_iov = made.piece, .msg_iovlen = 3};
    return &made;
}

static ssize_t by_write(uint8_t *at, size_t length)
{
    return write(there, at, length);
}
static ssize_t by_writev(uint8_t *at, size_t length)
{
    return writev(there, in_pieces(at, length)->piece, 3);
}
static ssize_t by_send(uint8_t *at, size_t length)
{
    return send(there, at, length, MSG_NOSIGNAL);
}
static ssize_t by_sendto(uint8_t *at, size_t length)
{
    return sendto(there, at, length, 0, NULL, 0);
}
static ssize_t by_sendmsg(uint8_t *at, size_t length)
{
    return sendmsg(there, &in_pieces(at, length)->message, 0);
}
static ssize_t by_pwrite(uint8_t *at, size_t length)
{
    return pwrite(fileno(file), at, length, 0);
}
static ssize_t by_pwritev(uint8_t *at, size_t length)
{
    return pwritev(fileno(file), in_pieces(at, length)->piece, 3, 0);
}
static ssize_t by_read(uint8_t *at, size_t length)
{
    return read(here, at, length);
}
static ssize_t by_readv(uint8_t *at, size_t length)
{
    return readv(here, in_pieces(at, length)->piece, 3);
}
static ssize_t by_recv(uint8_t *at, size_t length)
{
    return recv(here, at, length, 0);
}
static ssize_t by_recvfrom(uint8_t *at, size_t length)
{
    struct sockaddr_storage from;
    socklen_t from_length = sizeof from;
    return recvfrom(here, at, length, 0, (struct sockaddr *)&from, &from_length);
}
static ssize_t by_recvmsg(uint8_t *at, size_t length)
{
    return recvmsg(here, &in_pieces(at, length)->message, 0);
}
static ssize_t by_pread(uint8_t *at, size_t length)
{
    return pread(fileno(file), at, length, 0);
}
static ssize_t by_preadv(uint8_t *at, size_t length)
{
    return preadv(fileno(file), in_pieces(at, length)->piece, 3, 0);
}

/* fread() and fwrite() without a buffer are such calls as well. They say how much they have done
 * and keep what went wrong. */
static ssize_t end_of_stdio(size_t done, size_t length)
{
    int error = errno;
    bool failed = ferror(file) != 0;
    clearerr(file);
    errno = error;
    CHECK(failed == (done < length));
    return done == 0 ? -1 : (ssize_t)done;
}
static ssize_t by_fwrite(uint8_t *at, size_t length)
{
    rewind(file);
    return end_of_stdio(fwrite(at, 1, length, file), length);
}
static ssize_t by_fread(uint8_t *at, size_t length)
{
    rewind(file);
    return end_of_stdio(fread(at, 1, length, file), length);
}

typedef ssize_t (*system_call)(uint8_t *at, size_t length);
struct way {
    system_call out, in;
    bool by_file;
};
static const struct way ways[] = {
    {by_write, by_read, false},      {by_writev, by_readv, false},    {by_send, by_recv, false},
    {by_sendto, by_recvfrom, false}, {by_sendmsg, by_recvmsg, false}, {by_pwrite, by_pread, true},
    {by_pwritev, by_preadv, true},   {by_fwrite, by_fread, true},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* ---------------------------------------------------------------- their other end */

static void provide(const struct way *way, const uint8_t *bytes, size_t length)
{
    CHECK(ftruncate(fileno(file), 0) == 0);
    if (way->by_file)
        CHECK(pwrite(fileno(file), bytes, length, 0) == (ssize_t)length);
    else
        CHECK(write(there, bytes, length) == (ssize_t)length);
}

/* So much is there and no more, and it is this. */
static void check_has(const struct way *way, const uint8_t *bytes, size_t length)
{
    static uint8_t got[4 * 4096];
    ssize_t wanted = (ssize_t)length, count;
    if (way->by_file)
        count = pread(fileno(file), got, sizeof got, 0);
    else
        count = recv(here, got, sizeof got, MSG_DONTWAIT);
    if (count == -1 && errno == EAGAIN)
        count = 0;
    CHECK(count == wanted && memcmp(got, bytes, length) == 0);
}

/* What should work is asked again where a page did not stay as it was: a second is over, or memory
 * was wanted elsewhere. Where the kernel waits there is no such excuse. */
static ssize_t ask(system_call call, enum state state, bool into_mapping, size_t offset,
                   size_t length)
{
    int64_t limit = litmus_ms() + litmus_limit_ms();
    ssize_t count;
    do {
        bring_to(state, map + offset);
        errno = 0;
        count = call((uint8_t *)(uintptr_t)(map + offset), length);
    } while (count == -1 && errno == EFAULT && should_work(state, into_mapping) && !kernel_waits &&
             litmus_ms() < limit);
    return count;
}

/* ---------------------------------------------------------------- within a page */

static void from_mapping(const struct way *way, enum state state, unsigned seed)
{
    uint8_t bytes[LENGTH];
    make_bytes(bytes, LENGTH, seed);
    CHECK(ftruncate(fileno(file), 0) == 0);
    memcpy((uint8_t *)(uintptr_t)(map + AT), bytes, LENGTH);
    CHECK(bed_close() == 0);
    ssize_t count = ask(way->out, state, false, AT, LENGTH);
    if (should_work(state, false)) {
        CHECK(count == LENGTH);
        check_has(way, bytes, LENGTH);
    } else {
        CHECK(count == -1 && errno == EFAULT);
        check_has(way, bytes, 0);
    }
    check_bytes(AT, bytes, LENGTH);
}

static void into_mapping(const struct way *way, enum state state, unsigned seed)
{
    uint8_t bytes[LENGTH], before[LENGTH];
    make_bytes(bytes, LENGTH, seed);
    make_bytes(before, LENGTH, seed + 100);
    memcpy((uint8_t *)(uintptr_t)(map + AT), before, LENGTH);
    CHECK(bed_close() == 0);
    provide(way, bytes, LENGTH);
    ssize_t count = ask(way->in, state, true, AT, LENGTH);
    if (should_work(state, true)) {
        CHECK(count == LENGTH);
        check_bytes(AT, bytes, LENGTH);
    } else {
        CHECK(count == -1 && errno == EFAULT);
        check_has(way, bytes, LENGTH);
        check_bytes(AT, before, LENGTH);
    }
}

static void calls_from_mapping(void)
{
    set_up();
    CHECK(setvbuf(file, NULL, _IONBF, 0) == 0);
    for (unsigned i = 0; i < WAYS * STATES; i++) {
        from_mapping(&ways[i / STATES], (enum state)(i % STATES), i);
        check_usable(i);
    }
    tear_down();
}

static void calls_into_mapping(void)
{
    set_up();
    CHECK(setvbuf(file, NULL, _IONBF, 0) == 0);
    for (unsigned i = 0; i < WAYS * STATES; i++) {
        into_mapping(&ways[i / STATES], (enum state)(i % STATES), i);
        check_usable(i);
    }
    tear_down();
}

/* ---------------------------------------------------------------- across pages */

enum { SPAN = 600, BEFORE_EDGE = 200, EDGE = PAGE, SPAN_AT = EDGE - BEFORE_EDGE };

/* The second page is not there: all of it, or nothing, or as much as the first page has. */
static void check_count(ssize_t count)
{
    if (kernel_waits)
        CHECK(count == SPAN);
    else if (count == -1)
        CHECK(errno == EFAULT);
    else
        CHECK(count > 0 && count <= BEFORE_EDGE);
}

static size_t bytes_of(ssize_t count)
{
    return count > 0 ? (size_t)count : 0;
}

static void span_from_mapping(const struct way *way, unsigned seed)
{
    uint8_t bytes[SPAN];
    make_bytes(bytes, SPAN, seed);
    CHECK(ftruncate(fileno(file), 0) == 0);
    memcpy((uint8_t *)(uintptr_t)(map + SPAN_AT), bytes, SPAN);
    CHECK(bed_close() == 0);
    bring_to(CACHED, map + SPAN_AT);
    ssize_t count = way->out((uint8_t *)(uintptr_t)(map + SPAN_AT), SPAN);
    check_count(count);
    check_has(way, bytes, bytes_of(count));
    check_bytes(SPAN_AT, bytes, SPAN);
}

/* What a refused call leaves in memory that it may write to is the kernel's affair; beyond it
 * nothing has changed, and what was told to be there is. */
static void span_into_mapping(const struct way *way, unsigned seed)
{
    uint8_t bytes[SPAN], expected[SPAN], rest[SPAN];
    make_bytes(bytes, SPAN, seed);
    make_bytes(expected, SPAN, seed + 100);
    memcpy((uint8_t *)(uintptr_t)(map + SPAN_AT), expected, SPAN);
    CHECK(bed_close() == 0);
    provide(way, bytes, SPAN);
    bring_to(WITH_TWIN, map + SPAN_AT);
    ssize_t count = way->in((uint8_t *)(uintptr_t)(map + SPAN_AT), SPAN);
    check_count(count);
    size_t done = bytes_of(count);
    memcpy(expected, bytes, done);
    check_bytes(SPAN_AT, expected, done);
    if (done < BEFORE_EDGE)
        done = BEFORE_EDGE;
    check_bytes(SPAN_AT + done, expected + done, SPAN - done);
    if (!way->by_file && bytes_of(count) < SPAN) /* the rest is still to be had */
        CHECK(recv(here, rest, SPAN, MSG_DONTWAIT) == (ssize_t)(SPAN - bytes_of(count)));
}

static void calls_across_pages(void)
{
    set_up();
    CHECK(setvbuf(file, NULL, _IONBF, 0) == 0);
    for (unsigned i = 0; i < WAYS; i++) {
        span_from_mapping(&ways[i], i);
        span_into_mapping(&ways[i], i);
        check_usable(i);
    }
    tear_down();
}

/* ---------------------------------------------------------------- as the manual advises */

/* stdio has memory of its own for small pieces, whatever the page is. */
static void calls_with_buffer(void)
{
    uint8_t bytes[LENGTH];
    set_up();
    for (unsigned i = 0; i < STATES; i++) {
        uint8_t *at = (uint8_t *)(uintptr_t)(map + AT);
        make_bytes(bytes, LENGTH, i);
        CHECK(ftruncate(fileno(file), 0) == 0);
        memcpy(at, bytes, LENGTH);
        CHECK(bed_close() == 0);
        bring_to((enum state)i, at);
        rewind(file);
        CHECK(fwrite(at, 1, LENGTH, file) == LENGTH && fflush(file) == 0);
        memset(at, 0, LENGTH);
        bring_to((enum state)i, at);
        rewind(file);
        CHECK(fread(at, 1, LENGTH, file) == LENGTH);
        check_bytes(AT, bytes, LENGTH);
        check_usable(i);
    }
    tear_down();
}

/* ---------------------------------------------------------------- while the mapping ends */

static atomic_bool gone;
static _Atomic unsigned calls_made;

static void *call_until_it_is_gone(void *argument)
{
    uint8_t *at = argument;
    bool was_gone = false;
    for (unsigned i = 0; !was_gone; i++) {
        was_gone = atomic_load(&gone);
        uint8_t *here_or_there = at + (i & 1) * PAGE;
        ssize_t count = i & 2 ? write(there, here_or_there, 8) : read(here, here_or_there, 8);
        CHECK(count == 8 || (count == -1 && errno == EFAULT));
        CHECK(!was_gone || count == -1);
        if (count == -1 && (i & 2) == 0) /* it is still there */
            CHECK(recv(here, (uint8_t[8]){0}, 8, 0) == 8);
        if (count == -1 && (i & 2) != 0)
            CHECK(write(there, "instead", 8) == 8);
        atomic_fetch_add(&calls_made, 1);
    }
    return NULL;
}

/* A call that the kernel keeps waiting ends, too. */
static void calls_during_unmap(void)
{
    int pair[2];
    find_out_about_kernel();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    here = pair[0], there = pair[1];
    bed_start(NULL, 2);
    void *far = litmus_far_address();
    for (unsigned round = 0; round < litmus_rounds(20); round++) {
        pthread_t thread;
        atomic_store(&gone, false);
        atomic_store(&calls_made, 0);
        map = bed_map_at(far, 0, 2 * PAGE, MAY_ALL);
        CHECK(write(there, "01234567", 8) == 8 && write(there, "01234567", 8) == 8);
        CHECK(pthread_create(&thread, NULL, call_until_it_is_gone, far) == 0);
        AWAIT(atomic_load(&calls_made) > 50);
        bed_unmap(map);
        atomic_store(&gone, true);
        CHECK(pthread_join(thread, NULL) == 0);
        while (recv(here, (uint8_t[64]){0}, 64, MSG_DONTWAIT) > 0)
            ;
    }
    bed_end();
}

const struct litmus litmus_calls[] = {
    {"calls_from_mapping", calls_from_mapping}, {"calls_into_mapping", calls_into_mapping},
    {"calls_across_pages", calls_across_pages}, {"calls_with_buffer", calls_with_buffer},
    {"calls_during_unmap", calls_during_unmap}, {NULL, NULL},
};
