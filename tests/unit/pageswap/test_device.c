/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a file that has no size, as a character device: the ring of a packet socket that hears
 * nothing. It can be mapped as a whole only, and neither written nor truncated. */
#include <linux/if_packet.h>

#include "support.h"
#include "pageswap/pageswap.h"

enum { BYTES = 32 * 1024 };

/* -1 where that is not permitted. */
static int open_ring(void)
{
    const struct tpacket_req ring = {.tp_block_size = BYTES,
                                     .tp_block_nr = 1,
                                     .tp_frame_size = 2048,
                                     .tp_frame_nr = BYTES / 2048};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void fill(uint8_t *bytes, uint8_t seed)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

TEST_ALONE(memory_goes_in_and_out)
{
    struct rsmcore_origin_run *runs = NULL;
    struct stat file;
    size_t count = 0;
    static uint8_t before[BYTES], after[BYTES];
    int fd = open_ring();
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &file), 0);
    assert_int_equal(file.st_size, 0);
    uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *ring = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_ptr_not_equal(ring, MAP_FAILED);
    fill(memory, 1);
    fill(before, 1);
    fill(after, 2);
    assert_int_equal(
        rsmcore_swap_in((uintptr_t)memory, BYTES, RSMCORE_SWAP_FRESH, fd, 0, &runs, &count),
        RSM_ST_OK);
    assert_memory_equal(memory, before, BYTES);
    assert_memory_equal(ring, before, BYTES);
    fill(ring, 2); /* an importer stores */
    assert_memory_equal(memory, after, BYTES);
    assert_int_equal(count, 1);
    struct rsmcore_swap_file swapped;
    assert_true(rsmcore_swap_file_of(fd, &swapped));
    assert_int_equal(rsmcore_swap_out(&runs[0], &swapped, 0), RSM_ST_OK);
    fill(ring, 3);
    assert_memory_equal(memory, after, BYTES);
    free(runs);
    munmap(ring, BYTES);
    munmap(memory, BYTES);
    close(fd);
}

int main(void)
{
    int fd = open_ring();
    if (fd < 0) {
        printf("skipped: no packet socket: %s\n", strerror(errno));
        return 77;
    }
    close(fd);
    return cases_run();
}
