/* SPDX-License-Identifier: BSD-3-Clause */
/* State that a predecessor has left, damaged in every place: it is refused, or if its checksum is right
 * restored or refused, and in the end nothing is left of it. */
#include "cases.h"
#include "predecessor.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL };

static int make_state(void **state)
{
    left_make();
    return 0;
}

static unsigned restores(const uint8_t *bytes, size_t length, uint32_t odd, int other)
{
    return left_restore(bytes, length, odd, other, NULL);
}

static bool is_refused(const uint8_t *bytes, size_t length, uint32_t fd_count)
{
    struct rsmd_snapshot_reader reader;
    unsigned before = left_descriptors();
    bool opened = left_open(&reader, bytes, length, fd_count, LEFT_FDS_MAX, -1);
    if (opened)
        rsmd_snapshot_reader_end(&reader);
    left_await_descriptors(before);
    return !opened;
}

/* There is something of every kind. */
static void has_everything(struct world *world)
{
    const struct rsmd_shares *shares = &world->node.shares;
    assert_int_equal(shares->used[RSMD_SEGMENTS], 6); /* three, imported once each */
    assert_int_equal(shares->used[RSMD_INTERRUPTS], 2);
    assert_int_equal(shares->used[RSMD_RECORDS], 2 + 5); /* messages, and records of both ends */
}

TEST_ALONE(whole_state_is_restored)
{
    assert_int_equal(left_restore(left.bytes, left.length, LEFT_FDS_MAX, -1, has_everything),
                     LEFT_ALL);
    assert_false(is_refused(left.bytes, left.length, left.fd_count));
}

TEST_ALONE(damage_is_refused)
{
    static uint8_t bytes[LEFT_MAX];
    memcpy(bytes, left.bytes, left.length);
    for (size_t i = 0; i < left.length; i++) {
        bytes[i] ^= 0xff;
        assert_true(is_refused(bytes, left.length, left.fd_count));
        bytes[i] ^= 0xff;
        assert_true(is_refused(bytes, i, left.fd_count));
    }
    assert_true(is_refused(bytes, left.length + 1, left.fd_count));
}

/* What is wrong with a client's section ends that client alone. */
static unsigned expected(size_t at)
{
    return at >= left.section[2] && at < left.section[3] ? LEFT_FIRST : 0;
}

/* The thread sanitizer makes a restoration fifteen times as slow, and there is one thread: it takes every
 * seventh byte, and the other builds take all. */
#ifdef __SANITIZE_THREAD__
enum { STEP = 7 };
#else
enum { STEP = 1 };
#endif

/* Every byte, and the state cut at every place: counts, lengths, ids and numbers of descriptors. */
TEST_ALONE(lies_leave_nothing)
{
    static uint8_t bytes[LEFT_MAX];
    unsigned ended = 0;
    for (size_t i = RSMD_SNAPSHOT_HEADER; i < left.length; i += STEP) {
        memcpy(bytes, left.bytes, left.length);
        bytes[i] ^= i % 2 != 0 ? 0xff : 1;
        left_repair(bytes, left.length);
        unsigned served = restores(bytes, left.length, LEFT_FDS_MAX, -1);
        assert_int_equal(served & expected(i), expected(i));
        ended += served == LEFT_FIRST;
    }
    assert_true(ended > 100 / STEP);
    size_t records = left.section[LEFT_SECTIONS];
    for (size_t cut = RSMD_SNAPSHOT_HEADER + 1; cut < records; cut += 7 * STEP) {
        memcpy(bytes, left.bytes, left.length);
        left_repair(bytes, cut);
        (void)restores(bytes, cut, LEFT_FDS_MAX, -1);
    }
}

TEST_ALONE(descriptors_are_counted)
{
    static uint8_t bytes[LEFT_MAX];
    memcpy(bytes, left.bytes, left.length);
    assert_true(is_refused(bytes, left.length, left.fd_count - 1));
    assert_true(is_refused(bytes, left.length, left.fd_count + 1));
    left_set_number(bytes + LEFT_AT_FD_COUNT, UINT32_MAX, 4);
    assert_true(is_refused(bytes, left.length, left.fd_count));
}

/* A device instead of each descriptor, and none: whoever had it ends, and the other goes on. */
TEST_ALONE(other_descriptors_leave_nothing)
{
    int device = open("/dev/null", O_RDWR | O_CLOEXEC);
    unsigned refused = 0;
    for (uint32_t i = 0; i < left.fd_count; i++) {
        unsigned owner = i < left.first_fd[2] ? LEFT_FIRST : LEFT_SECOND;
        unsigned served = restores(left.bytes, left.length, i, device);
        assert_true((served & (LEFT_ALL & ~owner)) != 0);
        refused += (served & owner) == 0;
        assert_int_equal(restores(left.bytes, left.length, i, -1), LEFT_ALL & ~owner);
    }
    assert_true(refused >= 3); /* at least socket, memory and counters */
    close(device);
}

TEST_ALONE(unsealed_state_is_refused)
{
    struct rsmd_snapshot_reader reader;
    int memfd = left_memory(left.bytes, left.length, SEALS & ~F_SEAL_WRITE);
    assert_false(rsmd_snapshot_open(&reader, memfd, NULL, 0));
    close(memfd);
}

/* ------------------------------------------------------------------ versions */

/* What rsmd of each released version has left. To record the present one, set RSM_RECORD_STATE. */
static size_t recorded_state(uint32_t version, uint8_t bytes[LEFT_MAX])
{
    char path[256];
    snprintf(path, sizeof path, RECORDED_STATES "/handover-%u", (unsigned)version);
    if (version == RSMD_SNAPSHOT_VERSION && getenv("RSM_RECORD_STATE") != NULL) {
        FILE *made = fopen(path, "w");
        assert_true(made != NULL && fwrite(left.bytes, left.length, 1, made) == 1);
        assert_int_equal(fclose(made), 0);
    }
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("there is no %s", path);
    size_t length = fread(bytes, 1, LEFT_MAX, file);
    fclose(file);
    return length;
}

TEST_ALONE(recorded_states_are_restored)
{
    static uint8_t bytes[LEFT_MAX];
    for (uint32_t version = RSMD_SNAPSHOT_OLDEST; version <= RSMD_SNAPSHOT_VERSION; version++) {
        size_t length = recorded_state(version, bytes);
        assert_int_equal(left_restore(bytes, length, LEFT_FDS_MAX, -1, has_everything), LEFT_ALL);
        /* A field that came without a version of its own. */
        if (version == RSMD_SNAPSHOT_VERSION)
            assert_int_equal(length, left.length);
    }
}

TEST_ALONE(other_versions_are_refused)
{
    static uint8_t bytes[LEFT_MAX];
    const uint32_t refused[] = {0, RSMD_SNAPSHOT_OLDEST - 1, RSMD_SNAPSHOT_VERSION + 1, UINT32_MAX};
    memcpy(bytes, left.bytes, left.length);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        left_set_number(bytes + LEFT_AT_VERSION, refused[i], 4);
        assert_true(is_refused(bytes, left.length, left.fd_count));
    }
}

/* A record that has grown since OLD_VERSION. */
enum { OLD_VERSION = RSMD_SNAPSHOT_OLDEST, NEW_FIELD = OLD_VERSION + 1 };
struct grown {
    uint32_t old, new;
};

static void walk_grown(struct rsm_codec *c, void *record)
{
    struct grown *grown = record;
    rsm_codec_u32(c, &grown->old);
    if (c->version >= NEW_FIELD)
        rsm_codec_u32(c, &grown->new);
}

/* The walk decides for both directions, by the version in the header. */
TEST_ALONE(records_may_grow)
{
    const struct grown written = {7, 8};
    for (unsigned grows = 0; grows < 2; grows++) {
        struct rsmd_snapshot snapshot = {.version = OLD_VERSION + grows};
        struct rsmd_snapshot_reader reader;
        struct grown copy = written;
        rsmd_snapshot_section(&snapshot);
        rsmd_snapshot_put(&snapshot, RSMD_SAVED_NODE, walk_grown, &copy);
        int memfd = rsmd_snapshot_seal(&snapshot);
        rsmd_snapshot_free(&snapshot);
        assert_true(memfd >= 0);
        bool opened = rsmd_snapshot_open(&reader, memfd, NULL, 0);
        close(memfd);
        assert_int_equal(opened, OLD_VERSION + grows <= RSMD_SNAPSHOT_VERSION);
        if (!opened)
            continue;
        assert_true(rsmd_snapshot_get(&reader, walk_grown, &copy, sizeof copy));
        assert_int_equal(copy.old, written.old);
        assert_int_equal(copy.new, grows != 0 ? written.new : 0);
        assert_true(rsmd_snapshot_is_over(&reader));
        rsmd_snapshot_reader_end(&reader);
    }
}

TESTS_BETWEEN(make_state, NULL)
