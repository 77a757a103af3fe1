/* SPDX-License-Identifier: BSD-3-Clause */
/* How many pages a load reads at once. A program that goes upward or downward through a mapping
 * gets more with each step; one that comes back to a page of the last step before it was through
 * goes slower than pages stay, and gets fewer. Any other load reads its page alone. */
#include "mapping/space.h"

enum {
    PAGES_AT_ONCE = MAPPING_BUFFER_PAGES / 2, /* the other half is for the second read */
    GROWTH = 4,
    LONG_US = 1000, /* other faults of the mapping wait for a read */
};

static bool goes_on(const struct mapping_stream *stream, uint32_t page)
{
    return page + 1 >= stream->first && page <= stream->next;
}

/* What the stream had read ahead becomes NONE. */
static void drop(struct mapping_space *space, struct mapping_stream *stream)
{
    uint32_t page = stream->from;
    while ((page = mapping_next_clean(space, page, stream->end)) != MAPPING_NO_PAGE) {
        uint32_t end = mapping_ahead_end(space, page);
        if (end > page)
            mapping_drop_clean(space, page, end - page);
        page = end > page ? end : page + 1;
    }
    stream->from = stream->end = 0;
}

/* The stream that comes to the page, or a new one in place of the one that was used longest ago. */
static struct mapping_stream *stream_at(struct mapping_space *space, uint32_t page)
{
    struct mapping_stream *oldest = &space->streams[0];
    for (unsigned i = 0; i < MAPPING_STREAMS; i++) {
        struct mapping_stream *stream = &space->streams[i];
        if (goes_on(stream, page))
            return stream;
        if (stream->used < oldest->used)
            oldest = stream;
    }
    drop(space, oldest);
    *oldest = (struct mapping_stream){.first = page, .next = page};
    return oldest;
}

/* A stream is one from its third page on. memcpy(3) goes downward where source and destination lie
 * alike in their pages. */
static void adapt(struct mapping_stream *stream, uint32_t page)
{
    bool down = page < stream->first, back = !down && page < stream->next;
    uint32_t limit = stream->limit != 0 ? stream->limit : PAGES_AT_ONCE;
    if (back) {
        stream->window /= 2;
    } else if (down != stream->down) {
        stream->down = down;
        stream->window = stream->steps = 1;
    } else if (stream->steps > 1) {
        stream->window *= GROWTH;
    }
    if (stream->window == 0)
        stream->window = 1;
    if (stream->window > limit)
        stream->window = limit;
    if (stream->steps < 2)
        stream->steps++;
}

static bool is_none(const struct mapping_space *space, uint32_t page)
{
    return page < space->page_count && space->page[page].state == MAPPING_NONE;
}

/* The pages from @p page on in the stream's direction. Below page 0 there is none, either. */
static struct mapping_readahead pages_of(const struct mapping_space *space,
                                         const struct mapping_stream *stream, uint32_t page)
{
    uint32_t max = mapping_cache_max(space), count = 1;
    max = stream->window < max ? stream->window : max;
    while (count < max && is_none(space, stream->down ? page - count : page + count))
        count++;
    return (struct mapping_readahead){
        .first = stream->down ? page + 1 - count : page, .count = count, .wanted = page};
}

/* Its last run has been read ahead. */
static void remember(struct mapping_stream *stream)
{
    bool empty = stream->from == stream->end;
    stream->from = empty || stream->first < stream->from ? stream->first : stream->from;
    stream->end = stream->next > stream->end ? stream->next : stream->end;
}

struct mapping_readahead mapping_ahead(struct mapping_space *space, uint32_t page)
{
    struct mapping_stream *stream = stream_at(space, page);
    adapt(stream, page);
    struct mapping_readahead pages = pages_of(space, stream, page);
    stream->first = pages.first;
    stream->next = pages.first + pages.count;
    stream->used = ++space->stream_turn;
    if (pages.count > 1)
        remember(stream);
    return pages;
}

/* What took long may have been the machine, not the fabric: the limit rises again. */
static void set_limit(struct mapping_stream *stream, uint64_t us)
{
    uint32_t count = stream->next - stream->first;
    if (us > LONG_US && count > 1)
        stream->limit = count / 2;
    else if (us < LONG_US / GROWTH)
        stream->limit = stream->limit < PAGES_AT_ONCE ? stream->limit * 2 : 0;
}

void mapping_ahead_took(struct mapping_space *space, uint64_t us)
{
    for (unsigned i = 0; i < MAPPING_STREAMS; i++)
        if (space->streams[i].used == space->stream_turn)
            set_limit(&space->streams[i], us);
}

void mapping_ahead_drop(struct mapping_space *space)
{
    for (unsigned i = 0; i < MAPPING_STREAMS; i++) {
        struct mapping_stream *stream = &space->streams[i];
        drop(space, stream);
        if (stream->next - stream->first > 1) /* it is perhaps about to be shown */
            remember(stream);
    }
}

uint32_t mapping_ahead_end(const struct mapping_space *space, uint32_t page)
{
    uint64_t since = space->page[page].since;
    while (page < space->page_count && space->page[page].state == MAPPING_RO &&
           space->page[page].ahead > 0 && space->page[page].since == since)
        page++;
    return page;
}

uint64_t mapping_ahead_stay(const struct mapping_space *space, uint32_t page)
{
    uint64_t refresh = space->options.refresh_us;
    return refresh + refresh * space->page[page].ahead / PAGES_AT_ONCE;
}
