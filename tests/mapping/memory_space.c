/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory_space.h"

#include <string.h>

struct mapping_space space;
struct mapping_page pages[PAGES];
uint8_t remote[PAGES * PAGE_BYTES];
_Alignas(64) uint8_t copy[sizeof remote];
uint64_t time_us;
enum rsm_status answer;
unsigned reads;
uint64_t bytes_read;
unsigned read_us;

static _Alignas(64) uint8_t twins[sizeof remote];
static _Alignas(64) uint8_t buffer[(MAPPING_BUFFER_PAGES + 1) * PAGE_BYTES];
static uint64_t clean[PAGES / 64], clean_words, stretched[MAPPING_STRETCHES][PAGE_BYTES / 64];

static enum rsm_status put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length)
{
    if (answer != RSM_ST_OK)
        return answer;
    memcpy(remote + offset, src, length);
    return RSM_ST_OK;
}

static enum rsm_status put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 unsigned width, size_t count)
{
    return put(conn, offset, src, width * count);
}

static enum rsm_status putv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done)
{
    for (*done = 0; *done < count; ++*done)
        (void)put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return RSM_ST_OK;
}

static enum rsm_status get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    reads++;
    bytes_read += length;
    time_us += read_us * length / PAGE_BYTES;
    memcpy(dst, remote + offset, length);
    return RSM_ST_OK;
}

static enum rsm_status nothing(struct rsm_conn *conn)
{
    return RSM_ST_OK;
}

static const struct rsm_import_ops ops = {.put = put,
                                          .put_elems = put_elems,
                                          .putv = putv,
                                          .get = get,
                                          .order = nothing,
                                          .complete = nothing,
                                          .health = nothing};
static struct rsm_conn fabric = {.ops = &ops};

static bool protect(struct mapping_space *of, uint32_t first, uint32_t count,
                    enum mapping_state state)
{
    return true;
}

static uint64_t now(void)
{
    return time_us;
}

static void woken(struct mapping_space *of)
{
}

static void release_pages(struct mapping_space *of, uint32_t first, uint32_t count)
{
    memset(copy + first * PAGE_BYTES, 0, count * PAGE_BYTES);
    memset(twins + first * PAGE_BYTES, 0, count * PAGE_BYTES);
}

static void release_entries(struct mapping_space *of, uint32_t first, uint32_t count)
{
    memset(&pages[first], 0, count * sizeof pages[0]);
}

int memory_space_begin(void **state)
{
    memset(remote, 0, sizeof remote);
    memset(copy, 0, sizeof copy);
    memset(pages, 0, sizeof pages);
    memset(clean, 0, sizeof clean);
    clean_words = 0;
    answer = RSM_ST_OK;
    reads = 0;
    bytes_read = 0;
    read_us = 0;
    space = (struct mapping_space){.inner = &fabric,
                                   .size = sizeof remote,
                                   .page_size = PAGE_BYTES,
                                   .page_count = PAGES,
                                   .rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                   .options = mapping_options_default(),
                                   .copy = copy,
                                   .twins = twins,
                                   .buffer = buffer,
                                   .scratch = buffer + MAPPING_BUFFER_PAGES * PAGE_BYTES,
                                   .page = pages,
                                   .clean = clean,
                                   .clean_words = &clean_words,
                                   .protect = protect,
                                   .now = now,
                                   .woken = woken,
                                   .release_pages = release_pages,
                                   .release_entries = release_entries,
                                   .dirty_first = MAPPING_NO_PAGE,
                                   .dirty_last = MAPPING_NO_PAGE,
                                   .streak = MAPPING_NO_PAGE,
                                   .latest = MAPPING_NO_PAGE};
    for (unsigned i = 0; i < MAPPING_STRETCHES; i++)
        space.stretches[i].bytes = stretched[i];
    return 0;
}

int memory_space_end(void **state)
{
    answer = RSM_ST_OK;
    mapping_flush(&space);
    return 0;
}
