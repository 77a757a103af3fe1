/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts by counters of connections, between two machines: what the drivers refuse, that counts
 * and data arrive in order, and that a counter goes on with the next import and begins anew with
 * a session. */
#include <sys/ioctl.h>

#include "lab.h"

enum { CONNECTION = 5, READERS = 6, LAST = RSM_NTB_CONNECTIONS - 1, POSTS = 1000 };

#define FIRST  RSM_NTB_CONTROL_SIZE
#define LENGTH (64 * KIB)

uint64_t post_counter(int control, uint32_t connection)
{
    uint64_t word;
    struct rsm_ntb_posts arg = {.first = connection, .count = 1, .array = (uintptr_t)&word};

    CHECK(!ioctl(control, RSM_NTB_POSTS, &arg), "POSTS");
    return word;
}

static int posts_error(int fd, uint32_t first, uint32_t count, uint32_t reserved)
{
    uint64_t words[RSM_NTB_POSTS_AT_ONCE + 1];
    struct rsm_ntb_posts arg = {
        .first = first, .count = count, .array = (uintptr_t)words, .reserved = {reserved}};

    return ioctl(fd, RSM_NTB_POSTS, &arg) ? errno : 0;
}

static void refusals_of_control(int control, int fd)
{
    struct rsm_ntb_control arg = {.abi = RSM_NTB_ABI, .node = 7, .flags = 2};
    struct rsm_ntb_posts nowhere = {.count = 1};
    int other = open_port();

    CHECK(ioctl(other, RSM_NTB_CONTROL, &arg) && errno == EINVAL, "flags of CONTROL");
    close(other);
    CHECK(posts_error(control, 0, 0, 0) == EINVAL, "none");
    CHECK(posts_error(control, 0, RSM_NTB_POSTS_AT_ONCE + 1, 0) == EINVAL, "too many");
    CHECK(posts_error(control, LAST, 2, 0) == EINVAL, "behind the last");
    CHECK(posts_error(control, ~0u, 1, 0) == EINVAL, "far behind the last");
    CHECK(posts_error(control, 0, 1, 1) == EINVAL, "reserved");
    CHECK(posts_error(fd, 0, 1, 0) == EINVAL, "POSTS of an export");
    CHECK(!posts_error(control, 0, RSM_NTB_POSTS_AT_ONCE, 0) && !posts_error(control, LAST, 1, 0),
          "POSTS");
    CHECK(ioctl(control, RSM_NTB_POSTS, &nowhere) && errno == EFAULT, "nowhere");
    CHECK(ioctl(fd, RSM_NTB_POST, 0) && errno == EINVAL, "POST of an export");
}

/* Wait until the counter has that number of posts that accumulate. Only events tell when to
 * look. */
static unsigned await_number(int control, uint32_t connection, uint32_t number)
{
    unsigned looks = 0;
    uint32_t seen;

    while ((seen = (uint32_t)post_counter(control, connection)) != number) {
        CHECK(seen < number, "%u of %u posts", seen, number);
        (void)await_event(control, RSM_NTB_EVENT_POSTED);
        looks++;
    }
    return looks;
}

void posts_of_exporter(int control, int fd, volatile uint64_t *data)
{
    struct pollfd poller = {.fd = control, .events = POLLIN};
    unsigned looks;

    refusals_of_control(control, fd);
    while (!(info_of(control).peer_caps & RSM_NTB_PEER_POSTS))
        (void)await_event(control, RSM_NTB_EVENT_PEER);
    note("posts-ready");
    await_number(control, CONNECTION, 3);
    await("posts-done");
    /* 3, then 2 that coalesce. */
    CHECK(post_counter(control, CONNECTION) == 0x0002020300000003ull, "%llx",
          (unsigned long long)post_counter(control, CONNECTION));
    CHECK(post_counter(control, READERS) == 1, "by an import that may only read");
    CHECK(!post_counter(control, 0) && !post_counter(control, LAST), "of nobody");
    note("posts-seen");
    await_number(control, CONNECTION, 4);
    note("posts-again");
    for (uint32_t number = 5; number <= 4 + POSTS; number++) {
        await_number(control, CONNECTION, number);
        CHECK(data[0] >= number, "data behind the post: %ld of %u", (long)data[0], number);
        data[1] = number; /* the importer waits for it */
    }
    note("posts-flood");
    looks = await_number(control, CONNECTION, 4 + 2 * POSTS);
    await("posts-quiet");
    while (poll(&poller, 1, 0) == 1) { /* what is left is said once */
        struct rsm_ntb_event event;

        CHECK(read(control, &event, sizeof event) == sizeof event, "read");
        CHECK(event.type == RSM_NTB_EVENT_POSTED || event.type == RSM_NTB_EVENT_ERROR, "event %u",
              event.type);
    }
    CHECK((uint32_t)post_counter(control, CONNECTION) == 4 + 2 * POSTS, "posts of nobody");
    printf("result: %d posts arrived behind their data; %d at once in %u looks\n", POSTS + 4, POSTS,
           looks);
}

static int import_error(int control, uint32_t epoch, uint32_t flags, uint32_t connection)
{
    struct import import;
    int error = import_posting(control, FIRST, LENGTH, epoch, flags, connection, &import);

    if (!error)
        close_import(&import, LENGTH);
    return error;
}

static void refusals_of_post(int control, uint32_t epoch)
{
    struct import import;

    CHECK(import_error(control, epoch, RSM_NTB_POSTER, RSM_NTB_CONNECTIONS) == EINVAL, "beyond");
    CHECK(import_error(control, epoch, RSM_NTB_POSTER, ~0u) == EINVAL, "far beyond");
    CHECK(import_error(control, epoch, 0, CONNECTION) == EINVAL, "no POSTER");
    CHECK(!import_error(control, epoch, RSM_NTB_POSTER, LAST), "the last");
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &import), "import");
    CHECK(ioctl(import.fd, RSM_NTB_POST, 0) && errno == EINVAL, "POST without POSTER");
    CHECK(ioctl(control, RSM_NTB_POST, 0) && errno == EINVAL, "POST of a daemon");
    close_import(&import, LENGTH);
}

static void post_and_see(const struct import *import)
{
    double begin = now();

    for (uint32_t number = 5; number <= 4 + POSTS; number++) {
        double end = now() + 60;

        import->data[0] = number;
        CHECK(!ioctl(import->fd, RSM_NTB_POST, 0), "POST");
        while (import->data[1] != number)
            CHECK(now() < end, "post %u is not seen", number);
    }
    printf("result: %.0f us from a post to the answer of a process that slept\n",
           (now() - begin) / POSTS * 1e6);
}

void posts_of_importer(int control, uint32_t epoch)
{
    struct import import, reader;

    await("posts-ready");
    CHECK(info_of(control).peer_caps == RSM_NTB_PEER_POSTS, "peer_caps");
    refusals_of_post(control, epoch);
    CHECK(!import_posting(control, FIRST, LENGTH, epoch, RSM_NTB_POSTER, CONNECTION, &import),
          "import");
    CHECK(!import_posting(control, FIRST, LENGTH, epoch, RSM_NTB_POSTER | RSM_NTB_READ_ONLY,
                          READERS, &reader),
          "import");
    CHECK(ioctl(import.fd, RSM_NTB_POST, 2) && errno == EINVAL, "flags of POST");
    for (int i = 0; i < 3; i++)
        CHECK(!ioctl(import.fd, RSM_NTB_POST, 0), "POST");
    for (int i = 0; i < 2; i++)
        CHECK(!ioctl(import.fd, RSM_NTB_POST, RSM_NTB_POST_COALESCE), "POST");
    CHECK(!ioctl(reader.fd, RSM_NTB_POST, 0), "POST");
    close_import(&reader, LENGTH);
    note("posts-done");
    await("posts-seen");
    CHECK(!revoke_import(control, import.id), "REVOKE");
    CHECK(ioctl(import.fd, RSM_NTB_POST, 0) && errno == ESTALE, "POST of a revoked import");
    close_import(&import, LENGTH);
    CHECK(!import_posting(control, FIRST, LENGTH, epoch, RSM_NTB_POSTER, CONNECTION, &import),
          "import");
    CHECK(!ioctl(import.fd, RSM_NTB_POST, 0), "POST");
    await("posts-again");
    post_and_see(&import);
    await("posts-flood");
    for (int i = 0; i < POSTS; i++)
        CHECK(!ioctl(import.fd, RSM_NTB_POST, 0), "POST");
    note("posts-quiet");
    close_import(&import, LENGTH);
}

void posts_begin_anew(int control)
{
    CHECK(!post_counter(control, CONNECTION) && !post_counter(control, READERS),
          "counters of another session: %llx",
          (unsigned long long)post_counter(control, CONNECTION));
}
