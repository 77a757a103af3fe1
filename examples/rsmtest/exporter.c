/* SPDX-License-Identifier: BSD-3-Clause */
/* The exporting side: shares its memory and prints what others write into it. */
#include "parties.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mailbox.h"
#include "report.h"

/* How long the importer is given to notice that the exporter is about to end. */
#define FAREWELL_MS 5000

struct exporter {
    const struct options *options;
    rsm_memseg_export_handle_t segment;
    char *memory;
    uint32_t *words; /* the mailbox's header */
    char *text;
    size_t capacity;
};

static uint32_t read_word(const struct exporter *exporter, enum mailbox_word word)
{
    return __atomic_load_n(&exporter->words[word], __ATOMIC_ACQUIRE);
}

static void write_word(struct exporter *exporter, enum mailbox_word word, uint32_t value)
{
    __atomic_store_n(&exporter->words[word], value, __ATOMIC_RELEASE);
}

static bool prepare_mailbox(struct exporter *exporter)
{
    const struct options *options = exporter->options;
    exporter->memory = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), options->segment_size);
    if (exporter->memory == NULL) {
        complain("no memory for a segment of %zu bytes (-b)", options->segment_size);
        return false;
    }
    memset(exporter->memory, 0, options->segment_size);
    exporter->words = (uint32_t *)(void *)(exporter->memory + options->mailbox_offset);
    exporter->text = exporter->memory + options->mailbox_offset + MAILBOX_HEADER_SIZE;
    exporter->capacity = options->segment_size - options->mailbox_offset - MAILBOX_HEADER_SIZE;
    write_word(exporter, BOX_CAPACITY, (uint32_t)exporter->capacity);
    write_word(exporter, BOX_EXPORTER, PARTY_PRESENT);
    write_word(exporter, BOX_MAGIC, MAILBOX_MAGIC);
    return true;
}

static mode_t current_umask(void)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    return mask;
}

static bool publish(struct exporter *exporter, rsmapi_controller_handle_t controller)
{
    const struct options *options = exporter->options;
    narrate("exporting %zu bytes as segment 0x%" PRIx32, options->segment_size,
            options->segment_id);
    int error = rsm_memseg_export_create(controller, &exporter->segment, exporter->memory,
                                         options->segment_size, 0);
    if (report_call("rsm_memseg_export_create", error) != RSM_SUCCESS)
        return false;
    /* With -n, that node and the own one may connect, else every node; with the rights that the
     * umask leaves, either way. */
    mode_t rights = 0666 & ~current_umask();
    rsmapi_access_entry_t list[] = {{options->local_node, rights}, {options->node, rights}};
    uint_t entries = !options->node_given ? 0 : options->node == options->local_node ? 1 : 2;
    rsm_memseg_id_t id = options->segment_id;
    error = rsm_memseg_export_publish(exporter->segment, &id, entries > 0 ? list : NULL, entries);
    if (report_call("rsm_memseg_export_publish", error) != RSM_SUCCESS) {
        (void)rsm_memseg_export_destroy(exporter->segment);
        return false;
    }
    if (options->segment_id == 0)
        (void)printf("Segment id = 0x%" PRIx32 "\n", id);
    return true;
}

static bool withdraw(struct exporter *exporter)
{
    narrate("withdrawing the segment");
    int unpublished = rsm_memseg_export_unpublish(exporter->segment);
    (void)report_call("rsm_memseg_export_unpublish", unpublished);
    int destroyed = rsm_memseg_export_destroy(exporter->segment);
    (void)report_call("rsm_memseg_export_destroy", destroyed);
    return unpublished == RSM_SUCCESS && destroyed == RSM_SUCCESS;
}

/* Wait for a post, or for the time to look again. */
static bool wait_a_little(struct exporter *exporter, int milliseconds)
{
    int error = rsm_intr_signal_wait(exporter->segment, milliseconds);
    if (error == RSM_SUCCESS || error == RSMERR_TIMEOUT || error == RSMERR_INTERRUPTED)
        return true;
    (void)report_call("rsm_intr_signal_wait", error);
    return false;
}

enum arrival { ARRIVAL_MESSAGE, ARRIVAL_END, ARRIVAL_FAILED };

static enum arrival await_message(struct exporter *exporter)
{
    while (!stop_requested()) {
        bool gone = read_word(exporter, BOX_IMPORTER) == PARTY_GONE;
        uint32_t waiting = read_word(exporter, BOX_IN) - read_word(exporter, BOX_OUT);
        if (waiting == 1)
            return ARRIVAL_MESSAGE;
        if (waiting != 0) {
            complain("the importer's counter makes no sense: %" PRIu32 " messages at once",
                     waiting);
            return ARRIVAL_FAILED;
        }
        if (gone)
            return ARRIVAL_END;
        if (!wait_a_little(exporter, LOOK_AGAIN_MS))
            return ARRIVAL_FAILED;
    }
    return ARRIVAL_FAILED;
}

/* The text comes from another process: control characters could drive this terminal. */
static void print_text(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool control = (byte < 0x20 && byte != '\t') || byte == 0x7f;
        (void)putchar(control ? '?' : byte);
    }
    (void)putchar('\n');
}

static bool print_message(struct exporter *exporter)
{
    uint32_t length = read_word(exporter, BOX_LENGTH);
    if (length > exporter->capacity) {
        complain("the importer claims a message of %" PRIu32 " bytes in a mailbox of %zu", length,
                 exporter->capacity);
        return false;
    }
    uint32_t out = read_word(exporter, BOX_OUT);
    (void)printf("msg [0x%" PRIxPTR " %" PRIu32 " %" PRIu32 "] ", (uintptr_t)exporter->words, out,
                 read_word(exporter, BOX_IN));
    print_text(exporter->text, length);
    (void)fflush(stdout); /* printed means seen: only then may the next one come */
    write_word(exporter, BOX_OUT, out + 1);
    int error = rsm_intr_signal_post(exporter->segment, RSM_SIGPOST_NO_ACCUMULATE);
    return report_call("rsm_intr_signal_post", error) == RSM_SUCCESS;
}

static bool print_messages(struct exporter *exporter)
{
    unsigned long count = exporter->options->count;
    for (unsigned long printed = 0; count == 0 || printed < count; printed++) {
        switch (await_message(exporter)) {
        case ARRIVAL_MESSAGE:
            if (!print_message(exporter))
                return false;
            break;
        case ARRIVAL_END:
            narrate("the importer has no more messages");
            return true;
        case ARRIVAL_FAILED:
            return false;
        }
    }
    return true;
}

static int64_t milliseconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Report the end to the importer and let it disconnect first, so that it sees an orderly end
 * instead of a broken connection. Do not wait for one that does not answer. */
static void take_leave(struct exporter *exporter)
{
    write_word(exporter, BOX_EXPORTER, PARTY_GONE);
    (void)rsm_intr_signal_post(exporter->segment, RSM_SIGPOST_NO_ACCUMULATE);
    int64_t deadline = milliseconds_now() + FAREWELL_MS;
    while (read_word(exporter, BOX_IMPORTER) == PARTY_PRESENT) {
        int64_t left = deadline - milliseconds_now();
        if (left <= 0 || !wait_a_little(exporter, left < LOOK_AGAIN_MS ? (int)left : LOOK_AGAIN_MS))
            return;
    }
}

int run_exporter(const struct options *options, rsmapi_controller_handle_t controller)
{
    struct exporter exporter = {.options = options};
    int status = STATUS_FAILED;
    if (!prepare_mailbox(&exporter))
        return STATUS_FAILED;
    if (publish(&exporter, controller)) {
        (void)printf("Mbuf is 0x%" PRIxPTR "\n", (uintptr_t)exporter.words);
        bool printed = print_messages(&exporter);
        take_leave(&exporter);
        if (withdraw(&exporter) && printed)
            status = STATUS_DONE;
    }
    free(exporter.memory);
    return status;
}
