/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_pair.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "transport/instance.h"
#include "transport/registry.h"

int shm_pair_setup(void **state)
{
    struct shm_pair *pair = calloc(1, sizeof *pair);
    assert_non_null(pair);
    const struct rsm_controller_info info = {.name = "sci0", .device = "", .options = ""};
    pair->node = rsmcore_transport_node("shm");
    pair->import = rsmcore_transport_import("shm");
    assert_non_null(pair->node);
    assert_non_null(pair->import);
    assert_status(rsmcore_node_port_open(pair->node, &info, &pair->node_port), RSM_ST_OK);
    assert_status(rsmcore_port_open(pair->import, &info, &pair->port), RSM_ST_OK);
    pair->page = (size_t)sysconf(_SC_PAGESIZE);
    pair->extent_size = 4 * pair->page;
    for (int i = 0; i < PAIR_EXTENTS; i++) {
        assert_status(
            pair->node->extent_make(pair->node_port, pair->extent_size, &pair->extents[i]),
            RSM_ST_OK);
        assert_null(rsmcore_extent_flaw(pair->node_port, pair->extents[i], pair->extent_size));
        pair->fds[i] = pair->extents[i]->fd;
        pair->memory[i] =
            mmap(NULL, pair->extent_size, PROT_READ | PROT_WRITE, MAP_SHARED, pair->fds[i], 0);
        assert_ptr_not_equal(pair->memory[i], MAP_FAILED);
    }
    *state = pair;
    return 0;
}

int shm_pair_teardown(void **state)
{
    struct shm_pair *pair = *state;
    for (int i = 0; i < PAIR_EXTENTS; i++) {
        munmap(pair->memory[i], pair->extent_size);
        pair->node->extent_free(pair->node_port, pair->extents[i]);
    }
    pair->import->close(pair->port);
    pair->node->close(pair->node_port);
    free(pair);
    return 0;
}

void shm_pair_pieces(const struct shm_pair *pair, struct rsm_extent_piece *pieces)
{
    size_t page = pair->page;
    pieces[0] = (struct rsm_extent_piece){pair->extents[0], page, 2 * page};
    pieces[1] = (struct rsm_extent_piece){pair->extents[1], 3 * page, page};
    pieces[2] = (struct rsm_extent_piece){pair->extents[1], 0, page};
    pieces[3] = (struct rsm_extent_piece){pair->extents[2], 0, 4 * page};
}

uint8_t *shm_pair_at(const struct shm_pair *pair, uint64_t offset)
{
    static const struct {
        int extent;
        unsigned page;
    } where[PAIR_SEGMENT_PAGES] = {{0, 1}, {0, 2}, {1, 3}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {2, 3}};
    uint64_t index = offset / pair->page;
    return pair->memory[where[index].extent] + where[index].page * pair->page + offset % pair->page;
}

void shm_pair_offer(struct shm_pair *pair, uint32_t rights, struct rsm_offer *offer)
{
    struct rsm_extent_piece pieces[PAIR_PIECES];
    const struct rsm_importer importer = {.node = 1, .uid = getuid(), .gid = getgid()};
    struct rsm_node_offer *made = NULL;
    shm_pair_pieces(pair, pieces);
    assert_status(
        pair->node->offer(pair->node_port, pieces, PAIR_PIECES, rights, &importer, offer, &made),
        RSM_ST_OK);
    assert_non_null(made);
    pair->node->revoke(pair->node_port, made); /* which leaves what shm has given away alone */
}

void shm_offer_close(struct rsm_offer *offer)
{
    while (offer->fd_count > 0)
        close(offer->fds[--offer->fd_count]);
}

struct rsm_conn *shm_pair_connect(struct shm_pair *pair, uint32_t rights)
{
    struct rsm_offer offer;
    struct rsm_conn *conn = NULL;
    shm_pair_offer(pair, rights, &offer);
    assert_status(
        rsmcore_conn_open(pair->port, &offer, PAIR_SEGMENT_PAGES * pair->page, rights, &conn),
        RSM_ST_OK);
    shm_offer_close(&offer);
    return conn;
}

unsigned descriptors_open(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* cmocka would go on with the next test in a child that faults. */
static void let_signals_kill(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
    const struct rlimit no_core = {0};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
}

int in_child(int (*body)(void *), void *argument)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        let_signals_kill();
        _exit(body(argument));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}
