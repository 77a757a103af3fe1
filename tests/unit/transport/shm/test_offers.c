/* SPDX-License-Identifier: BSD-3-Clause */
/** @file shm: an exporter's node that lies in its offers cannot harm the importer. */
#include "check.h"

#include "shm_pair.h"
#include "transport/instance.h"
#include "transport/shm/shm.h"

#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

/* A hand-made offer of one descriptor. */
static void offer_of(struct rsm_offer *offer, int fd, uint64_t start, uint64_t length)
{
    struct rsm_view_piece piece = {.offset = start, .length = length};
    memset(offer, 0, sizeof *offer);
    offer->fds[offer->fd_count++] = fd;
    struct rsm_codec codec = rsm_encoder(offer->blob, sizeof offer->blob);
    shm_pieces_codec(&codec, &piece, 1);
    offer->blob_len = SHM_PIECE_BYTES;
}

static enum rsm_status connecting(struct shm_pair *pair, const struct rsm_offer *offer,
                                  uint64_t size, uint32_t rights)
{
    struct rsm_conn *conn = NULL;
    unsigned before = descriptors_open();
    enum rsm_status status = rsmcore_conn_open(pair->port, offer, size, rights, &conn);
    if (status == RSM_ST_OK)
        rsmcore_conn_close(conn);
    else
        assert_null(conn);
    assert_int_equal(descriptors_open(), before);
    return status;
}

static void offered(struct shm_pair *pair, int fd, uint64_t start, uint64_t length, uint64_t size,
                    enum rsm_status expected)
{
    struct rsm_offer offer;
    offer_of(&offer, fd, start, length);
    assert_status(connecting(pair, &offer, size, READ_WRITE), expected);
}

#define CASE(test) TEST_WITH(struct shm_pair *pair, test, shm_pair_setup, shm_pair_teardown)

CASE(places_that_are_not_there)
{
    uint64_t page = pair->page, whole = pair->extent_size;
    int fd = pair->fds[0];
    offered(pair, fd, 0, whole, whole, RSM_ST_OK);
    offered(pair, fd, page, whole - page, whole - page, RSM_ST_OK);
    offered(pair, fd, page, whole, whole, RSM_ST_PROTOCOL);
    offered(pair, fd, whole, page, page, RSM_ST_PROTOCOL);
    offered(pair, fd, 0, whole + page, whole + page, RSM_ST_PROTOCOL);
    offered(pair, fd, 0, 0, 0, RSM_ST_PROTOCOL);
    offered(pair, fd, 0, page / 2, page / 2, RSM_ST_PROTOCOL);
    offered(pair, fd, 512, page, page, RSM_ST_PROTOCOL);
    offered(pair, fd, UINT64_MAX - page + 1, page, page, RSM_ST_PROTOCOL);
    offered(pair, fd, UINT64_MAX - page + 1, 2 * page, 2 * page, RSM_ST_PROTOCOL);
    offered(pair, fd, 0, UINT64_MAX - page + 1, UINT64_MAX - page + 1, RSM_ST_PROTOCOL);
}

CASE(sums_that_are_wrong)
{
    uint64_t page = pair->page;
    offered(pair, pair->fds[0], 0, 2 * page, page, RSM_ST_PROTOCOL);
    offered(pair, pair->fds[0], 0, 2 * page, 3 * page, RSM_ST_PROTOCOL);
    struct rsm_offer offer;
    shm_pair_offer(pair, READ_WRITE, &offer);
    uint64_t size = PAIR_SEGMENT_PAGES * page;
    assert_status(connecting(pair, &offer, size, READ_WRITE), RSM_ST_OK);
    assert_status(connecting(pair, &offer, size - 1, READ_WRITE), RSM_ST_PROTOCOL);
    assert_status(connecting(pair, &offer, size + page, READ_WRITE), RSM_ST_PROTOCOL);
    /* lengths that wrap round to the right sum */
    struct rsm_view_piece pieces[2] = {{0, UINT64_MAX - page + 1}, {0, 3 * page}};
    struct rsm_codec codec = rsm_encoder(offer.blob, sizeof offer.blob);
    shm_pieces_codec(&codec, pieces, 2);
    offer.blob_len = 2 * SHM_PIECE_BYTES;
    while (offer.fd_count > 2)
        close(offer.fds[--offer.fd_count]);
    assert_status(connecting(pair, &offer, 2 * page, READ_WRITE), RSM_ST_PROTOCOL);
    shm_offer_close(&offer);
}

CASE(counts_that_disagree)
{
    const uint64_t page = pair->page;
    const struct {
        uint32_t fds, bytes;
        uint64_t size;
        enum rsm_status expected;
    } cases[] = {
        {1, SHM_PIECE_BYTES, page, RSM_ST_OK},
        {1, SHM_PIECE_BYTES - 1, page, RSM_ST_PROTOCOL},
        {1, SHM_PIECE_BYTES + 1, page, RSM_ST_PROTOCOL},
        {1, UINT32_MAX, page, RSM_ST_PROTOCOL},
        {RSM_OFFER_MAX_FDS + 1, (RSM_OFFER_MAX_FDS + 1) * SHM_PIECE_BYTES, page, RSM_ST_PROTOCOL},
        {0x10000001u, SHM_PIECE_BYTES, page, RSM_ST_PROTOCOL}, /* times 16 is 16 in 32 bits */
        {0, SHM_PIECE_BYTES, page, RSM_ST_PROTOCOL},
        {0, 0, page, RSM_ST_PROTOCOL},
        {0, 0, 0, RSM_ST_PROTOCOL},
    };
    struct rsm_offer offer;
    offer_of(&offer, pair->fds[0], 0, page);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        offer.fd_count = cases[i].fds;
        offer.blob_len = cases[i].bytes;
        assert_status(connecting(pair, &offer, cases[i].size, READ_WRITE), cases[i].expected);
    }
}

static int memfd(unsigned flags, uint64_t size, int seals)
{
    int fd = memfd_create("lie", MFD_CLOEXEC | flags);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    if (seals != 0)
        assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

/* One descriptor of another kind; takes it over. */
static void refused(struct shm_pair *pair, int fd, uint32_t rights)
{
    struct rsm_offer offer;
    assert_true(fd >= 0);
    offer_of(&offer, fd, 0, pair->page);
    assert_status(connecting(pair, &offer, pair->page, rights), RSM_ST_PROTOCOL);
    close(fd);
}

CASE(descriptors_that_are_no_sealed_memory)
{
    char name[] = "/tmp/rsm-offers-XXXXXX";
    int file = mkstemp(name);
    assert_true(file >= 0);
    unlink(name);
    assert_int_equal(ftruncate(file, (off_t)pair->page), 0);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    close(pipes[1]);
    refused(pair, file, READ_WRITE);
    refused(pair, pipes[0], READ_WRITE);
    refused(pair, open("/dev/zero", O_RDWR | O_CLOEXEC), READ_WRITE);
    refused(pair, open("/", O_RDONLY | O_CLOEXEC), RSM_RIGHT_READ);
    refused(pair, open("/proc/self/mem", O_RDWR | O_CLOEXEC), READ_WRITE);
    /* could be shrunk under the importer */
    refused(pair, memfd(0, pair->page, 0), READ_WRITE);
    refused(pair, memfd(MFD_ALLOW_SEALING, pair->page, F_SEAL_GROW), READ_WRITE);
    /* shorter than it says */
    refused(pair, memfd(MFD_ALLOW_SEALING, pair->page - 1, F_SEAL_SHRINK), READ_WRITE);
    /* and one that is what the others are not */
    int good = memfd(MFD_ALLOW_SEALING, pair->page, F_SEAL_SHRINK);
    offered(pair, good, 0, pair->page, pair->page, RSM_ST_OK);
    close(good);
    struct rsm_offer closed;
    offer_of(&closed, good, 0, pair->page);
    assert_status(connecting(pair, &closed, pair->page, READ_WRITE), RSM_ST_PROTOCOL);
    closed.fds[0] = -1;
    assert_status(connecting(pair, &closed, pair->page, READ_WRITE), RSM_ST_PROTOCOL);
}

CASE(huge_pages_that_may_run_out)
{
    uint64_t size = 2u << 20;
    int fd = memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    if (fd < 0) { /* a kernel without huge pages cannot be lied to with them */
        print_message("no huge pages on this kernel\n");
        skip();
    }
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    offered(pair, fd, 0, size, size, RSM_ST_PROTOCOL);
    close(fd);
}

CASE(descriptors_with_fewer_rights_than_offered)
{
    struct rsm_offer offer;
    shm_pair_offer(pair, RSM_RIGHT_READ, &offer);
    uint64_t size = PAIR_SEGMENT_PAGES * pair->page;
    assert_status(connecting(pair, &offer, size, RSM_RIGHT_READ), RSM_ST_OK);
    assert_status(connecting(pair, &offer, size, READ_WRITE), RSM_ST_PROTOCOL);
    assert_status(connecting(pair, &offer, size, RSM_RIGHT_WRITE), RSM_ST_PROTOCOL);
    assert_status(connecting(pair, &offer, size, READ_WRITE | 1), RSM_ST_INVALID);
    shm_offer_close(&offer);
    refused(pair, memfd(MFD_ALLOW_SEALING, pair->page, F_SEAL_SHRINK | F_SEAL_WRITE), READ_WRITE);
}

CASE(memory_where_there_are_no_rights)
{
    struct rsm_offer offer;
    offer_of(&offer, pair->fds[0], 0, pair->page);
    assert_status(connecting(pair, &offer, pair->page, 0), RSM_ST_PROTOCOL);
    offer.fd_count = 0;
    assert_status(connecting(pair, &offer, pair->page, 0), RSM_ST_PROTOCOL);
    offer.blob_len = 0;
    assert_status(connecting(pair, &offer, pair->page, 0), RSM_ST_OK);
}

/* More than the address space holds, all of it really there: sparse files are cheap. */
CASE(more_than_can_be_mapped)
{
    uint64_t length = 1ull << 46;
    struct rsm_offer offer = {.fd_count = 4, .blob_len = 4 * SHM_PIECE_BYTES};
    struct rsm_view_piece pieces[4];
    int fd = memfd(MFD_ALLOW_SEALING, length, F_SEAL_SHRINK);
    for (int i = 0; i < 4; i++) {
        offer.fds[i] = fd;
        pieces[i] = (struct rsm_view_piece){.offset = 0, .length = length};
    }
    struct rsm_codec codec = rsm_encoder(offer.blob, sizeof offer.blob);
    shm_pieces_codec(&codec, pieces, 4);
    assert_status(connecting(pair, &offer, 4 * length, READ_WRITE), RSM_ST_NO_MEMORY);
    close(fd);
}

/* Real pieces, sparse ones, whose lengths add up to the right size modulo 2^64. */
CASE(more_than_can_be_counted)
{
    uint64_t quarter = 1ull << 62;
    struct rsm_offer offer = {.fd_count = 5, .blob_len = 5 * SHM_PIECE_BYTES};
    struct rsm_view_piece pieces[5];
    int fd = memfd(MFD_ALLOW_SEALING, quarter, F_SEAL_SHRINK);
    for (int i = 0; i < 5; i++) {
        offer.fds[i] = fd;
        pieces[i] = (struct rsm_view_piece){.offset = 0, .length = i < 4 ? quarter : pair->page};
    }
    struct rsm_codec codec = rsm_encoder(offer.blob, sizeof offer.blob);
    shm_pieces_codec(&codec, pieces, 5);
    assert_status(connecting(pair, &offer, pair->page, READ_WRITE), RSM_ST_PROTOCOL);
    close(fd);
}

static uint64_t address_space_used(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

CASE(refused_offers_leave_no_mapping)
{
    uint64_t length = 1ull << 32, before = address_space_used();
    int fd = memfd(MFD_ALLOW_SEALING, length, F_SEAL_SHRINK | F_SEAL_WRITE);
    for (int i = 0; i < 32; i++)
        offered(pair, fd, 0, length, length, RSM_ST_PROTOCOL);
    assert_true(address_space_used() < before + length);
    close(fd);
}

/* The node half makes no offer that its own importer would refuse. */
CASE(offers_that_make_no_sense_are_not_made)
{
    uint64_t page = pair->page;
    const struct rsm_importer importer = {.node = 1};
    const struct rsm_extent_piece lies[] = {
        {pair->extents[0], 0, 0},
        {pair->extents[0], 1, page},
        {pair->extents[0], 0, page + 1},
        {pair->extents[0], page, pair->extent_size},
        {pair->extents[0], 2 * pair->extent_size, page},
        {pair->extents[0], UINT64_MAX - page + 1, 2 * page},
    };
    struct rsm_offer offer;
    struct rsm_node_offer *made;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        assert_status(
            pair->node->offer(pair->node_port, &lies[i], 1, READ_WRITE, &importer, &offer, &made),
            RSM_ST_INVALID);
    struct rsm_extent_piece many[RSM_OFFER_MAX_FDS + 1];
    for (size_t i = 0; i <= RSM_OFFER_MAX_FDS; i++)
        many[i] = (struct rsm_extent_piece){pair->extents[0], 0, page};
    unsigned before = descriptors_open();
    assert_status(pair->node->offer(pair->node_port, many, RSM_OFFER_MAX_FDS + 1, READ_WRITE,
                                    &importer, &offer, &made),
                  RSM_ST_INVALID);
    assert_status(pair->node->offer(pair->node_port, many, 0, READ_WRITE, &importer, &offer, &made),
                  RSM_ST_INVALID);
    assert_status(pair->node->offer(pair->node_port, many, 1, 1, &importer, &offer, &made),
                  RSM_ST_INVALID);
    assert_int_equal(descriptors_open(), before);
    assert_status(pair->node->offer(pair->node_port, many, RSM_OFFER_MAX_FDS, READ_WRITE, &importer,
                                    &offer, &made),
                  RSM_ST_OK);
    assert_status(connecting(pair, &offer, RSM_OFFER_MAX_FDS * page, READ_WRITE), RSM_ST_OK);
    shm_offer_close(&offer);
}
