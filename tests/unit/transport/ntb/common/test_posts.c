/* SPDX-License-Identifier: BSD-3-Clause */
/* The counter of a connection: what two looks at it say of the posts between them, and with which
 * descriptors a process does not post. */
#include <sys/eventfd.h>

#include "base/extent_memfd.h"
#include "cases.h"
#include "transport/ntb/common/posts.h"
#include "port.h"
#include "transport/ntb/import/poster.h"
#include "words.h"

/* Posts, of which 'p' accumulates and 'c' coalesces. */
static uint64_t after(uint64_t word, const char *posts)
{
    for (; *posts != '\0'; posts++)
        word = ntb_posts_next(word, *posts == 'c');
    return word;
}

TEST_ALONE(each_order_is_told)
{
    static const struct {
        const char *posts;
        uint32_t count;
        bool coalesced;
    } cases[] = {{"", 0, false},
                 {"p", 1, false},
                 {"ppp", 3, false},
                 {"c", 0, true},
                 {"ccc", 0, true},
                 {"cp", 1, true},
                 {"ccpp", 2, true},
                 {"pc", 1, false},
                 {"pcc", 1, false},
                 {"ppcp", 3, false},
                 {"cpc", 1, true},
                 /* The run at the end hides the one before: in doubt it counts. */
                 {"pcpc", 2, true}};
    static const char *const before[] = {"", "p", "c", "pc", "cp", "ccccp", "pppc"};
    for (size_t b = 0; b < sizeof before / sizeof before[0]; b++) {
        uint64_t first = after(0, before[b]);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct rsm_signals posted;
            assert_true(ntb_posts_between(first, after(first, cases[i].posts), &posted));
            assert_int_equal(posted.count, cases[i].count);
            assert_int_equal(posted.coalesced, cases[i].coalesced);
        }
    }
}

/* Events that the exporter finds pending at the end, if it takes none. */
static uint64_t pend(uint64_t pending, bool coalesce)
{
    return coalesce && pending != 0 ? pending : pending + 1;
}

/* Whatever is posted and whenever it is looked at: nothing is lost, and at most one signal is too
 * many at each look. */
TEST_ALONE(nothing_is_lost)
{
    srandom(7);
    uint64_t word = UINT64_C(0xfff7fffdfffffff0); /* all parts are about to go round */
    for (unsigned look = 0; look < 20000; look++) {
        uint64_t before = word, wanted = (uint64_t)random() % 2, got = wanted;
        unsigned posts = (unsigned)(random() % (look % 50 == 0 ? 2000 : 6));
        unsigned share = (unsigned)(random() % 11); /* of those that coalesce, in tenths */
        for (unsigned i = 0; i < posts; i++) {
            bool coalesce = (unsigned)(random() % 10) < share;
            wanted = pend(wanted, coalesce);
            word = ntb_posts_next(word, coalesce);
        }
        struct rsm_signals posted;
        assert_true(ntb_posts_between(before, word, &posted));
        if (posted.coalesced)
            got = pend(got, true);
        got += posted.count;
        assert_in_range(got, wanted, wanted + 1);
        if (share == 0 || share == 10 || posts < 3)
            assert_int_equal(got, wanted);
    }
}

TEST_ALONE(a_counter_that_lies_is_bounded)
{
    struct rsm_signals posted;
    assert_true(ntb_posts_between(100, 100 + (uint64_t)RSM_SIGNALS_MAX, &posted));
    assert_int_equal(posted.count, RSM_SIGNALS_MAX);
    assert_false(ntb_posts_between(100, 101 + (uint64_t)RSM_SIGNALS_MAX, &posted));
    assert_int_equal(posted.count, 0);
    assert_false(posted.coalesced);
    assert_false(ntb_posts_between(100, 99, &posted)); /* backwards */
    assert_false(ntb_posts_between(100, 0, &posted));
    srandom(8);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t words[2];
        for (unsigned k = 0; k < 2; k++)
            words[k] = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
        bool sound = ntb_posts_between(words[0], words[1], &posted);
        assert_true(posted.count <= RSM_SIGNALS_MAX && (sound || posted.count == 0));
    }
}

/* Counter and bell come from another process: what could stop or kill this one is refused. */
TEST_ALONE(descriptors_are_looked_at)
{
    enum { PAGE = 4096 };
    const struct ntb_poster_ops *ops = &ntb_poster_ivshmem;
    struct ntb_poster poster;
    int pipe_ends[2];
    int sealed = rsmcore_extent_memfd(PAGE);
    int open_ended = memfd_create("unsealed", MFD_CLOEXEC);
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), blocks = eventfd(0, EFD_CLOEXEC);
    assert_true(sealed >= 0 && open_ended >= 0 && bell >= 0 && blocks >= 0);
    assert_int_equal(ftruncate(open_ended, PAGE), 0);
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
    const struct {
        int memory, bell;
        uint64_t offset;
        enum rsm_status status;
    } cases[] = {
        {sealed, bell, 8, RSM_ST_OK},           {sealed, bell, PAGE, RSM_ST_PROTOCOL},
        {open_ended, bell, 0, RSM_ST_PROTOCOL}, {bell, bell, 0, RSM_ST_PROTOCOL},
        {sealed, blocks, 0, RSM_ST_PROTOCOL},   {sealed, pipe_ends[1], 0, RSM_ST_PROTOCOL},
        {sealed, sealed, 0, RSM_ST_PROTOCOL},   {sealed, -1, 0, RSM_ST_PROTOCOL},
        {sealed, bell, 4, RSM_ST_PROTOCOL},     {sealed, bell, INT64_MAX - 7, RSM_ST_PROTOCOL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ntb_ticket ticket = {.post_fds = 2, .post_word = cases[i].offset};
        const int fds[] = {cases[i].memory, cases[i].bell};
        assert_int_equal(ops->begin(&poster, &ticket, sealed, fds), cases[i].status);
        if (cases[i].status == RSM_ST_OK) {
            uint64_t rings, word;
            assert_int_equal(ops->post(&poster, false), RSM_ST_OK);
            assert_int_equal(read(bell, &rings, sizeof rings), sizeof rings);
            assert_int_equal(rings, 1);
            assert_int_equal(pread(sealed, &word, sizeof word, 8), sizeof word);
            assert_int_equal(word, 1);
            /* A bell that somebody has filled keeps nobody. */
            const uint64_t full = UINT64_MAX - 1;
            assert_int_equal(write(bell, &full, sizeof full), sizeof full);
            assert_int_equal(fcntl(bell, F_SETFL, 0), 0);
            assert_int_equal(ops->post(&poster, false), RSM_ST_OK);
            assert_int_equal(fcntl(bell, F_SETFL, O_NONBLOCK), 0);
            ops->end(&poster);
        }
    }
    const int fds[] = {sealed, open_ended, bell, blocks, pipe_ends[0], pipe_ends[1]};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        close(fds[i]);
}
