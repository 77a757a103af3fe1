/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsmapi/handle.h"

#include <unistd.h>

struct rsmapi_segment *rsmapi_segment_of(void *handle)
{
    struct rsmapi_segment *segment = handle;
    if (segment == NULL || (segment->tag != RSMAPI_TAG_EXPORT && segment->tag != RSMAPI_TAG_IMPORT))
        return NULL;
    return segment;
}

void rsmapi_segment_init(struct rsmapi_segment *segment, uint32_t tag, struct rsmcore_event *event)
{
    segment->tag = tag;
    segment->event = event;
    segment->pollfd_references = 0;
    segment->pollfd = -1;
    segment->next_pollfd = NULL;
    pthread_mutex_init(&segment->lock, NULL);
}

void rsmapi_segment_end(struct rsmapi_segment *segment)
{
    rsmapi_tag_clear(&segment->tag);
    pthread_mutex_destroy(&segment->lock);
}

/* Volatile, or the compiler would see a store to memory that is freed next and drop it. */
void rsmapi_tag_clear(uint32_t *tag)
{
    *(volatile uint32_t *)tag = 0;
}

size_t rsmapi_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}
