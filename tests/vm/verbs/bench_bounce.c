/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large gets into memory that is not registered: which way costs least? Copy from the landing
 * memory (what smaller gets do), registering the caller's memory for this one get (`register=`), or
 * landing in registered memory and moving its pages under the caller's address, after which the
 * landing memory needs new pages and a new registration. And what export costs with the pool and
 * without. The best of some rounds, in microseconds.
 */
#include "cases.h"
#include "pair.h"

enum { MOST = 4 * 1024 * 1024, ROUNDS = 9 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Others use the machine: what is slower than the best was disturbed. */
static double best(const double *times)
{
    double least = times[0];
    for (int i = 1; i < ROUNDS; i++)
        least = times[i] < least ? times[i] : least;
    return least;
}

/* Populated, as memory is that a program reads into again and again. */
static uint8_t *fresh(void *at, size_t length)
{
    uint8_t *memory =
        mmap(at, length, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | (at ? MAP_FIXED : 0), -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static double time_get(struct pair *pair, struct rsm_conn *conn, uint8_t *to, size_t length)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_us();
        assert_int_equal(pair->ops->get(conn, 0, to, length), RSM_ST_OK);
        times[i] = now_us() - start;
    }
    return best(times);
}

static double time_registered(struct pair *pair, struct rsm_conn *conn, uint8_t *to, size_t length)
{
    void *cookie;
    assert_int_equal(pair->ops->register_memory(pair->port, to, length, &cookie), RSM_ST_OK);
    double time = time_get(pair, conn, to, length);
    pair->ops->unregister_memory(pair->port, cookie);
    return time;
}

/* *until_back: when the caller has its data; the result is the whole of it. */
static double time_exchange(struct pair *pair, struct rsm_conn *conn, uint8_t *to, size_t length,
                            double *until_back)
{
    double whole[ROUNDS];
    double back[ROUNDS];
    void *cookie;
    uint8_t *landing = fresh(NULL, length);
    assert_int_equal(pair->ops->register_memory(pair->port, landing, length, &cookie), RSM_ST_OK);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_us();
        assert_int_equal(pair->ops->get(conn, 0, landing, length), RSM_ST_OK);
        assert_true(mremap(landing, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
        back[i] = now_us() - start;
        pair->ops->unregister_memory(pair->port, cookie);
        fresh(landing, length);
        assert_int_equal(pair->ops->register_memory(pair->port, landing, length, &cookie),
                         RSM_ST_OK);
        whole[i] = now_us() - start;
        assert_true(pattern_is(to, length, 1));
    }
    pair->ops->unregister_memory(pair->port, cookie);
    munmap(landing, length);
    *until_back = best(back);
    return best(whole);
}

TEST_ALONE(landing)
{
    uint32_t made[2];
    struct pair *copying = pair_open("", "register=no");
    struct pair *registering = pair_open("", "register=1");
    struct remote remotes[2] = {remote_make(copying, MOST), remote_make(registering, MOST)};
    struct rsm_conn *copy = pair_connect(copying, &remotes[0], RSM_RIGHT_READ, &made[0]);
    struct rsm_conn *once = pair_connect(registering, &remotes[1], RSM_RIGHT_READ, &made[1]);
    uint8_t *to = fresh(NULL, MOST);
    for (int i = 0; i < 2; i++)
        pattern_fill(remotes[i].bytes, MOST, 1);
    printf("%10s %10s %10s %10s %10s %10s\n", "get bytes", "copy", "register", "exchange", "(back)",
           "no need");
    for (size_t length = 16 * 1024; length <= MOST; length *= 4) {
        double back;
        double copied = time_get(copying, copy, to, length);
        double registered = time_get(registering, once, to, length);
        double none = time_registered(copying, copy, to, length);
        double exchanged = time_exchange(copying, copy, to, length, &back);
        printf("%10zu %10.0f %10.0f %10.0f %10.0f %10.0f\n", length, copied, registered, exchanged,
               back, none);
        fflush(stdout);
    }
    munmap(to, MOST);
    copying->ops->disconnect(copy);
    registering->ops->disconnect(once);
    remote_free(copying, &remotes[0]);
    remote_free(registering, &remotes[1]);
    pair_close(copying);
    pair_close(registering);
}

TEST_ALONE(export_id)
{
    struct pair *pair = pair_open("pool=32M", "");
    struct pair *dry = pair_open("pool=0", "");
    printf("%10s %10s %10s\n", "export", "pool", "no pool");
    for (size_t length = 4096; length <= 4 * 1024 * 1024; length *= 4) {
        double ready[ROUNDS];
        double waited[ROUNDS];
        struct remote remote = remote_make(pair, length); /* the pool learns of the size */
        remote_free(pair, &remote);
        for (int i = 0; i < ROUNDS; i++) {
            node_settle(pair);
            double start = now_us();
            remote = remote_make(pair, length);
            ready[i] = now_us() - start;
            remote_free(pair, &remote);
            node_settle(dry);
            start = now_us();
            remote = remote_make(dry, length);
            waited[i] = now_us() - start;
            remote_free(dry, &remote);
        }
        printf("%10zu %10.0f %10.0f\n", length, best(ready), best(waited));
    }
    struct node_report report = node_report(pair);
    printf("pool: %llu extents were ready, %llu were not\n", (unsigned long long)report.pool.served,
           (unsigned long long)report.pool.missed);
    pair_close(pair);
    pair_close(dry);
}

int main(int argc, char **argv)
{
    pair_main(argc, argv);
    return cases_run();
}
