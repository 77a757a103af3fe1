/* SPDX-License-Identifier: BSD-3-Clause */
/* The importing side: asks for messages and writes them into the exporter's memory. */
#include "parties.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "input.h"
#include "mailbox.h"
#include "report.h"

#include <rsm/rsm_strerror.h>

#define TRIES_MAX 5 /* of one message whose barrier reports a failure */

struct importer {
    const struct options *options;
    struct channel channel;
    struct input input;
    struct pollfd events; /* of the segment */
    uint32_t in;          /* messages in the mailbox since the exporter started */
    unsigned long sent;   /* of which by this importer */
    size_t capacity;      /* bytes of the longest message */
    char *check_buffer;   /* capacity bytes, for -C */
};

/* What a step of the dialogue came to. */
enum outcome {
    OUTCOME_GO_ON,
    OUTCOME_END,           /* no more messages here */
    OUTCOME_EXPORTER_GONE, /* ended in order */
    OUTCOME_FAILED,        /* and the reason was said */
};

/* For the screen. Without a mapping there is no address, only the place in the segment. */
static uintptr_t mailbox_address(const struct importer *importer)
{
    return (uintptr_t)importer->channel.mapped + importer->channel.base;
}

/* ------------------------------------------------------------------ connecting */

/* Errors that an action of another process may cure. */
static bool worth_retrying(int error)
{
    return error == RSMERR_SEG_NOT_PUBLISHED || error == RSMERR_SEG_NOT_PUBLISHED_TO_NODE ||
           error == RSMERR_REMOTE_NODE_UNREACHABLE || error == RSMERR_CONN_ABORTED ||
           error == RSMERR_PERM_DENIED || error == RSMERR_INTERRUPTED || error == RSMERR_TIMEOUT;
}

/* The reason in full when it is new, in short when it is the same again. */
static void explain_refusal(const struct options *options, int error, int former,
                            unsigned long attempt)
{
    if (error == former) {
        complain("still no connection after %lu attempts: %s (%d)", attempt,
                 rsm_strerrorname(error), error);
        return;
    }
    complain("cannot connect to segment 0x%" PRIx32 " of node %" PRIu32 ": %s (%d): %s%s%s",
             options->segment_id, options->node, rsm_strerrorname(error), error,
             rsm_strerror(error), error_hint(error),
             worth_retrying(error) ? "; trying again every second" : "");
}

static bool connect_segment(const struct options *options, rsmapi_controller_handle_t controller,
                            rsm_memseg_import_handle_t *segment)
{
    int former = RSM_SUCCESS;
    for (unsigned long attempt = 1; !stop_requested(); attempt++) {
        narrate("rsm_memseg_import_connect: controller %s, node %" PRIu32 ", segment 0x%" PRIx32,
                options->controller, options->node, options->segment_id);
        int error = rsm_memseg_import_connect(controller, options->node, options->segment_id,
                                              RSM_PERM_RDWR, segment);
        if (error == RSM_SUCCESS)
            return true;
        explain_refusal(options, error, former, attempt);
        if (!worth_retrying(error))
            return false;
        former = error;
        (void)sleep(1);
    }
    return false;
}

static bool post(struct importer *importer)
{
    int error = rsm_intr_signal_post(importer->channel.segment, RSM_SIGPOST_NO_ACCUMULATE);
    return report_call("rsm_intr_signal_post", error) == RSM_SUCCESS;
}

/* Report to the exporter that this importer has connected, or that nothing more comes from it. */
static bool announce(struct importer *importer, enum mailbox_party state)
{
    struct channel *channel = &importer->channel;
    int error = channel_begin(channel);
    if (error == RSM_SUCCESS)
        error = channel_write_word(channel, BOX_IMPORTER, state);
    if (error == RSM_SUCCESS)
        error = channel_end(channel);
    return error == RSM_SUCCESS && post(importer);
}

/* Believe nothing that the segment says before it was compared with what is known here. */
static bool examine_mailbox(struct importer *importer)
{
    const struct options *options = importer->options;
    uint32_t words[BOX_WORDS];
    if (channel_read_header(&importer->channel, words) != RSM_SUCCESS)
        return false;
    size_t max = options->segment_size - options->mailbox_offset - MAILBOX_HEADER_SIZE;
    if (words[BOX_MAGIC] != MAILBOX_MAGIC || words[BOX_CAPACITY] == 0) {
        complain("there is no mailbox at offset %zu of that segment; give both sides the same -l",
                 options->mailbox_offset);
        return false;
    }
    importer->capacity = words[BOX_CAPACITY] < max ? words[BOX_CAPACITY] : max;
    importer->in = words[BOX_IN];
    if (words[BOX_IMPORTER] == PARTY_PRESENT)
        complain("another importer has not taken leave; only one at a time may send messages");
    return announce(importer, PARTY_PRESENT);
}

/* ------------------------------------------------------------------ waiting */

/* Wait for the exporter's post, and for input too if wanted. */
static bool wait_a_little(struct importer *importer, bool for_input)
{
    struct pollfd ready[2] = {importer->events, {.fd = STDIN_FILENO, .events = POLLIN}};
    int error = rsm_intr_signal_wait_pollfd(ready, for_input ? 2 : 1, LOOK_AGAIN_MS, NULL);
    if (error != RSM_SUCCESS && error != RSMERR_TIMEOUT && error != RSMERR_INTERRUPTED) {
        (void)report_call("rsm_intr_signal_wait_pollfd", error);
        return false;
    }
    if (for_input && error == RSM_SUCCESS && ready[1].revents != 0)
        input_fill(&importer->input);
    return true;
}

/* See how the exporter is doing; *printed: it has printed all that was written. */
static enum outcome look_at_exporter(struct importer *importer, bool *printed)
{
    uint32_t words[BOX_WORDS];
    if (stop_requested() || channel_read_header(&importer->channel, words) != RSM_SUCCESS)
        return OUTCOME_FAILED;
    *printed = words[BOX_OUT] == importer->in;
    return words[BOX_EXPORTER] == PARTY_GONE ? OUTCOME_EXPORTER_GONE : OUTCOME_GO_ON;
}

static enum outcome await_printed(struct importer *importer)
{
    for (;;) {
        bool printed = false;
        enum outcome outcome = look_at_exporter(importer, &printed);
        if (printed || outcome == OUTCOME_FAILED)
            return outcome;
        if (outcome == OUTCOME_EXPORTER_GONE) {
            complain("the exporter ended before it had printed message %" PRIu32, importer->in);
            return OUTCOME_FAILED;
        }
        if (!wait_a_little(importer, false))
            return OUTCOME_FAILED;
    }
}

/* ------------------------------------------------------------------ getting a message */

static enum outcome await_line(struct importer *importer)
{
    for (;;) {
        switch (input_next(&importer->input)) {
        case INPUT_LINE:
            return OUTCOME_GO_ON;
        case INPUT_END:
            if (importer->input.error == 0)
                return OUTCOME_END;
            complain("cannot read messages: %s", strerror(importer->input.error));
            return OUTCOME_FAILED;
        case INPUT_NEEDS_MORE:
            break;
        }
        bool printed = false;
        enum outcome outcome = look_at_exporter(importer, &printed);
        if (outcome != OUTCOME_GO_ON)
            return outcome;
        if (!wait_a_little(importer, true))
            return OUTCOME_FAILED;
    }
}

static enum outcome make_line_up(struct importer *importer)
{
    struct input *input = &importer->input;
    int length = snprintf(input->line, input->room, "message %lu from process %ld",
                          importer->sent + 1, (long)getpid());
    input->length = length > 0 ? (size_t)length : 0;
    return OUTCOME_GO_ON;
}

/* The next message, in importer->input. Lines that do not fit are refused and *refused is set. */
static enum outcome get_message(struct importer *importer, bool *refused)
{
    const struct input *input = &importer->input;
    for (;;) {
        (void)printf("Enter msg [0x%" PRIxPTR " %" PRIu32 "]: ", mailbox_address(importer),
                     importer->in);
        (void)fflush(stdout);
        enum outcome outcome =
            importer->options->made_up ? make_line_up(importer) : await_line(importer);
        bool typed = !importer->options->made_up && isatty(STDIN_FILENO);
        if (outcome != OUTCOME_GO_ON) {
            (void)putchar('\n');
            return outcome;
        }
        if (!typed) { /* it has not been shown yet */
            size_t shown = input->length < input->room ? input->length : input->room;
            (void)fwrite(input->line, 1, shown, stdout);
            (void)putchar('\n');
        }
        if (input->length <= importer->capacity)
            return OUTCOME_GO_ON;
        complain("a message of %zu bytes does not fit into the mailbox, which has room for %zu; "
                 "it was not sent (a larger -b on both sides makes room)",
                 input->length, importer->capacity);
        *refused = true;
        if (importer->options->made_up)
            return OUTCOME_FAILED; /* the next one would be no shorter */
    }
}

/* ------------------------------------------------------------------ sending it */

/* Compare what lies in the exporter's memory with what was meant. */
static int check_back(struct importer *importer)
{
    const struct input *input = &importer->input;
    if (input->length == 0)
        return RSM_SUCCESS;
    int error = channel_read_text(&importer->channel, importer->check_buffer, input->length);
    if (error != RSM_SUCCESS)
        return error;
    for (size_t i = 0; i < input->length; i++) {
        if (importer->check_buffer[i] != input->line[i]) {
            complain("byte %zu of the message reads back as 0x%02x instead of 0x%02x", i,
                     (unsigned char)importer->check_buffer[i], (unsigned char)input->line[i]);
            return RSMERR_BARRIER_FAILURE; /* as if the barrier had said so: write it again */
        }
    }
    narrate("message %" PRIu32 " reads back as written", importer->in + 1);
    return RSM_SUCCESS;
}

static int write_once(struct importer *importer)
{
    struct channel *channel = &importer->channel;
    int error = channel_begin(channel);
    if (error == RSM_SUCCESS)
        error = channel_write_message(channel, importer->input.line, importer->input.length);
    if (error == RSM_SUCCESS && importer->options->check_back) {
        error = channel_end(channel);
        if (error == RSM_SUCCESS)
            error = check_back(importer);
        if (error == RSM_SUCCESS)
            error = channel_begin(channel);
    }
    /* The count says that the message is there, so it must not overtake the message. */
    if (error == RSM_SUCCESS)
        error = channel_order(channel);
    if (error == RSM_SUCCESS)
        error = channel_write_word(channel, BOX_IN, importer->in + 1);
    if (error == RSM_SUCCESS)
        error = channel_end(channel);
    return error;
}

/* Writing the same message with the same count again is harmless, so a failure whose extent is
 * unknown is cured by repeating all of it. */
static bool send_message(struct importer *importer)
{
    int error = RSMERR_BARRIER_FAILURE;
    for (int attempt = 0; attempt < TRIES_MAX && error == RSMERR_BARRIER_FAILURE; attempt++)
        error = write_once(importer);
    if (error != RSM_SUCCESS) {
        complain("message %" PRIu32 " was not delivered", importer->in + 1);
        return false;
    }
    importer->in++;
    importer->sent++;
    return post(importer);
}

/* ------------------------------------------------------------------ the dialogue */

static enum outcome one_round(struct importer *importer, bool *refused)
{
    enum outcome outcome = get_message(importer, refused);
    if (outcome != OUTCOME_GO_ON)
        return outcome;
    outcome = await_printed(importer);
    if (outcome == OUTCOME_EXPORTER_GONE) {
        complain("the exporter has ended; the last message was not sent");
        return OUTCOME_FAILED;
    }
    if (outcome != OUTCOME_GO_ON)
        return outcome;
    if (!send_message(importer))
        return OUTCOME_FAILED;
    return importer->options->synchronous ? await_printed(importer) : OUTCOME_GO_ON;
}

static int hold_dialogue(struct importer *importer)
{
    unsigned long count = importer->options->count;
    bool refused = false;
    bool more = true;
    enum outcome outcome = await_printed(importer); /* what a former importer left behind */
    while (outcome == OUTCOME_GO_ON && more) {
        outcome = one_round(importer, &refused);
        more = count == 0 || importer->sent < count;
    }
    if (outcome == OUTCOME_EXPORTER_GONE && more)
        complain("the exporter has ended");
    if (outcome != OUTCOME_FAILED && await_printed(importer) == OUTCOME_FAILED)
        outcome = OUTCOME_FAILED;
    bool left = !importer->channel.broken && announce(importer, PARTY_GONE);
    return outcome != OUTCOME_FAILED && left && !refused ? STATUS_DONE : STATUS_FAILED;
}

static int run_on_channel(struct importer *importer)
{
    int status = STATUS_FAILED;
    if (!examine_mailbox(importer))
        return STATUS_FAILED;
    /* Room for made-up messages in the smallest mailbox; one that does not fit is refused. */
    size_t room = importer->capacity < 80 ? 80 : importer->capacity;
    importer->check_buffer = malloc(importer->capacity);
    if (importer->check_buffer == NULL || !input_init(&importer->input, room)) {
        complain("no memory for messages of %zu bytes", importer->capacity);
        free(importer->check_buffer);
        return STATUS_FAILED;
    }
    int error = rsm_memseg_get_pollfd(importer->channel.segment, &importer->events);
    if (report_call("rsm_memseg_get_pollfd", error) == RSM_SUCCESS) {
        (void)printf("Mbuf is 0x%" PRIxPTR "\n", mailbox_address(importer));
        status = hold_dialogue(importer);
        (void)rsm_memseg_release_pollfd(importer->channel.segment);
    }
    input_release(&importer->input);
    free(importer->check_buffer);
    return status;
}

int run_importer(const struct options *options, rsmapi_controller_handle_t controller)
{
    struct importer importer = {.options = options};
    rsm_memseg_import_handle_t segment;
    int status = STATUS_FAILED;
    if (!connect_segment(options, controller, &segment))
        return STATUS_FAILED;
    if (channel_open(&importer.channel, options, segment) == RSM_SUCCESS) {
        status = run_on_channel(&importer);
        if (channel_close(&importer.channel) != RSM_SUCCESS)
            status = STATUS_FAILED;
    }
    int error = rsm_memseg_import_disconnect(segment);
    if (report_call("rsm_memseg_import_disconnect", error) != RSM_SUCCESS)
        status = STATUS_FAILED;
    narrate("disconnected after %lu messages", importer.sent);
    return status;
}
