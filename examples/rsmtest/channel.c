/* SPDX-License-Identifier: BSD-3-Clause */
#include "channel.h"

#include <string.h>

#include "report.h"

/* Report a failed call, and remember when the connection is gone for good. */
static int judge(struct channel *channel, const char *call, int error)
{
    if (error == RSMERR_CONN_ABORTED)
        channel->broken = true;
    return report_call(call, error);
}

static off_t word_offset(const struct channel *channel, enum mailbox_word word)
{
    return (off_t)(channel->base + (size_t)word * sizeof(uint32_t));
}

static off_t text_offset(const struct channel *channel)
{
    return (off_t)(channel->base + MAILBOX_HEADER_SIZE);
}

static uint32_t *mapped_word(const struct channel *channel, size_t word)
{
    return (uint32_t *)(void *)(channel->mapped + channel->base) + word;
}

static int map_segment(struct channel *channel, size_t size)
{
    void *address = NULL; /* a value here would be taken as the wanted place */
    int error =
        rsm_memseg_import_map(channel->segment, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, size);
    if (error == RSM_SUCCESS)
        channel->mapped = address;
    return judge(channel, "rsm_memseg_import_map", error);
}

int channel_open(struct channel *channel, const struct options *options,
                 rsm_memseg_import_handle_t segment)
{
    *channel = (struct channel){
        .segment = segment,
        .access = options->access,
        .base = options->mailbox_offset,
    };
    /* Spans are marked explicitly here, for put and get as well as for loads and stores. */
    int error = rsm_memseg_import_set_mode(segment, RSM_BARRIER_MODE_EXPLICIT);
    if (judge(channel, "rsm_memseg_import_set_mode", error) != RSM_SUCCESS)
        return error;
    if (options->access == ACCESS_MAPPED) {
        error = map_segment(channel, options->segment_size);
        if (error != RSM_SUCCESS)
            return error;
    }
    error = rsm_memseg_import_init_barrier(segment, RSM_BARRIER_NODE, &channel->barrier);
    if (judge(channel, "rsm_memseg_import_init_barrier", error) != RSM_SUCCESS &&
        channel->mapped != NULL)
        (void)rsm_memseg_import_unmap(segment);
    return error;
}

int channel_close(struct channel *channel)
{
    int error = rsm_memseg_import_destroy_barrier(&channel->barrier);
    (void)judge(channel, "rsm_memseg_import_destroy_barrier", error);
    if (channel->mapped == NULL)
        return error;
    int unmap_error = rsm_memseg_import_unmap(channel->segment);
    channel->mapped = NULL;
    (void)judge(channel, "rsm_memseg_import_unmap", unmap_error);
    return error != RSM_SUCCESS ? error : unmap_error;
}

int channel_begin(struct channel *channel)
{
    return judge(channel, "rsm_memseg_import_open_barrier",
                 rsm_memseg_import_open_barrier(&channel->barrier));
}

int channel_order(struct channel *channel)
{
    return judge(channel, "rsm_memseg_import_order_barrier",
                 rsm_memseg_import_order_barrier(&channel->barrier));
}

int channel_end(struct channel *channel)
{
    return judge(channel, "rsm_memseg_import_close_barrier",
                 rsm_memseg_import_close_barrier(&channel->barrier));
}

int channel_read_header(struct channel *channel, uint32_t words[BOX_WORDS])
{
    int error = channel_begin(channel);
    if (error != RSM_SUCCESS)
        return error;
    if (channel->mapped != NULL) {
        for (size_t word = 0; word < BOX_WORDS; word++)
            words[word] = __atomic_load_n(mapped_word(channel, word), __ATOMIC_ACQUIRE);
    } else {
        error = rsm_memseg_import_get32(channel->segment, word_offset(channel, BOX_MAGIC), words,
                                        BOX_WORDS);
        if (judge(channel, "rsm_memseg_import_get32", error) != RSM_SUCCESS)
            return error;
    }
    return channel_end(channel);
}

/* By get in every way of access, so that -C compares what another path sees. */
int channel_read_text(struct channel *channel, char *text, size_t length)
{
    int error = channel_begin(channel);
    if (error != RSM_SUCCESS)
        return error;
    error = rsm_memseg_import_get(channel->segment, text_offset(channel), text, length);
    if (judge(channel, "rsm_memseg_import_get", error) != RSM_SUCCESS)
        return error;
    return channel_end(channel);
}

/* Length and text lie in different places here and side by side there: one gathered write. */
static int gather_message(struct channel *channel, char *text, size_t length)
{
    uint32_t length_word = (uint32_t)length;
    rsm_iovec_t parts[] = {
        {
            .io_type = RSM_VA_TYPE,
            .local.vaddr = (caddr_t)&length_word,
            .remote_offset = (size_t)word_offset(channel, BOX_LENGTH),
            .transfer_length = sizeof length_word,
        },
        {
            .io_type = RSM_VA_TYPE,
            .local.vaddr = text,
            .remote_offset = (size_t)text_offset(channel),
            .transfer_length = length,
        },
    };
    rsm_scat_gath_t request = {
        .io_request_count = 2,
        .remote_handle = channel->segment,
        .iovec = parts,
    };
    return judge(channel, "rsm_memseg_import_putv", rsm_memseg_import_putv(&request));
}

int channel_write_message(struct channel *channel, char *text, size_t length)
{
    if (channel->access == ACCESS_GATHER)
        return gather_message(channel, text, length);
    if (channel->mapped != NULL) {
        memcpy(channel->mapped + text_offset(channel), text, length);
    } else {
        int error = rsm_memseg_import_put(channel->segment, text_offset(channel), text, length);
        if (judge(channel, "rsm_memseg_import_put", error) != RSM_SUCCESS)
            return error;
    }
    return channel_write_word(channel, BOX_LENGTH, (uint32_t)length);
}

int channel_write_word(struct channel *channel, enum mailbox_word word, uint32_t value)
{
    if (channel->mapped != NULL) {
        __atomic_store_n(mapped_word(channel, word), value, __ATOMIC_RELEASE);
        return RSM_SUCCESS;
    }
    return judge(channel, "rsm_memseg_import_put32",
                 rsm_memseg_import_put32(channel->segment, word_offset(channel, word), &value, 1));
}
