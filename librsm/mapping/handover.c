/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that waits in a page fault of its own code leaves it for a signal. The handler then runs
 * at the instruction that stored, with its registers. */
#include "mapping/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "mapping/decode.h"
#include "mapping/signal.h"

/* A thread that has not moved after so long does not get its signal. The machine's load does not
 * matter: a thread that waits for a processor is not one that waits for a page. */
enum { TIMEOUT_MS = 2 };
/* Signals in a row that lead to nothing at one instruction; and faults in a row of a thread that
 * has gone on when one looks. */
enum { FRUITLESS = 16, RESTLESS = 256 };
/* Time-outs that a thread gets which does not block its signal. */
enum { TIMEOUTS = 16 };

/* ---------------------------------------------------------------- the faulting thread */

/* What the kernel says of a thread. */
enum where {
    IN_A_FAULT, /* of its own code: it sleeps at *pc */
    IN_A_CALL,  /* the kernel's own access */
    ON_ITS_WAY, /* it runs, or has gone */
    UNKNOWN,    /* the kernel does not say */
};

static enum where parse(char *line, uint64_t *pc)
{
    char *next;
    if (strncmp(line, "running", 7) == 0)
        return ON_ITS_WAY;
    long number = strtol(line, &next, 10);
    if (next == line || *next != ' ')
        return UNKNOWN;
    if (number != -1)
        return IN_A_CALL;
    (void)strtoull(next, &next, 16);
    line = next;
    *pc = strtoull(line, &next, 16);
    return next != line && *next == '\n' ? IN_A_FAULT : UNKNOWN;
}

static int open_of(pid_t thread, const char *file)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", (long)thread, file);
    return rsmcore_fd_place(open(path, O_RDONLY | O_CLOEXEC));
}

static enum where where_is(struct mapping_hand *hand, uint64_t *pc)
{
    char line[256];
    if (hand->fd < 0)
        hand->fd = open_of(hand->thread, "syscall");
    if (hand->fd < 0)
        return errno == ENOENT ? ON_ITS_WAY : UNKNOWN;
    ssize_t length = pread(hand->fd, line, sizeof line - 1, 0);
    if (length <= 0) {
        close(hand->fd);
        hand->fd = -1;
        return length < 0 && errno == ESRCH ? ON_ITS_WAY : UNKNOWN;
    }
    line[length] = '\0';
    return parse(line, pc);
}

static bool blocks(pid_t thread, int signal)
{
    char text[4096];
    int fd = open_of(thread, "status");
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return false;
    text[length] = '\0';
    const char *mask = strstr(text, "\nSigBlk:\t");
    return mask != NULL && (strtoull(mask + 9, NULL, 16) >> (signal - 1) & 1);
}

/* ---------------------------------------------------------------- */

void mapping_hands_init(struct mapping_hands *hands)
{
    *hands = (struct mapping_hands){.pending = 0};
    for (unsigned i = 0; i < MAPPING_HANDS; i++)
        hands->hand[i].fd = -1;
}

void mapping_hands_end(struct mapping_hands *hands)
{
    for (unsigned i = 0; i < MAPPING_HANDS; i++)
        if (hands->hand[i].fd >= 0)
            close(hands->hand[i].fd);
    mapping_hands_init(hands);
}

static void settle(struct mapping_hands *hands, struct mapping_hand *hand)
{
    hands->pending -= hand->pending;
    hand->pending = hand->suspected = false;
}

static void await(struct mapping_hands *hands, struct mapping_hand *hand)
{
    hand->pending = true;
    hand->since = rsm_clock_ns();
    hands->pending++;
}

/* What is known of the thread, or the place of the one that was seen longest ago. One whose signal
 * is on its way is not forgotten as long as there is another. */
static struct mapping_hand *hand_of(struct mapping_hands *hands, pid_t thread)
{
    struct mapping_hand *oldest = &hands->hand[0];
    for (struct mapping_hand *hand = hands->hand; hand < hands->hand + MAPPING_HANDS; hand++) {
        if (hand->thread == thread) {
            hand->used = ++hands->turn;
            return hand;
        }
        if (hand->pending != oldest->pending ? oldest->pending : hand->used < oldest->used)
            oldest = hand;
    }
    settle(hands, oldest);
    if (oldest->fd >= 0)
        close(oldest->fd);
    /* Nothing is known of its mask, so that is looked up. */
    *oldest =
        (struct mapping_hand){.thread = thread, .fd = -1, .blocks = true, .used = ++hands->turn};
    return oldest;
}

void mapping_hands_seen(struct mapping_hands *hands, pid_t thread)
{
    for (struct mapping_hand *hand = hands->hand; hand < hands->hand + MAPPING_HANDS; hand++)
        if (hand->thread == thread)
            settle(hands, hand);
}

/* Whether signal after signal has led to nothing: something keeps them from the thread, or the
 * handler sees another instruction than the kernel. A @p pc of 0: it was not where it faulted. */
static bool is_fruitless(struct mapping_hand *hand, uintptr_t address, uint64_t pc)
{
    unsigned seen = mapping_signal_progress(hand->thread);
    bool same = hand->address == address && hand->pc == pc && hand->progress == seen;
    hand->address = address;
    hand->pc = pc;
    hand->progress = seen;
    hand->fruitless = same ? hand->fruitless + 1 : 0;
    return hand->fruitless >= (pc != 0 ? FRUITLESS : RESTLESS);
}

enum mapping_handed mapping_hand_over(struct mapping_hands *hands, pid_t thread, uintptr_t address)
{
    uint64_t pc;
    struct mapping_hand *hand = hand_of(hands, thread);
    settle(hands, hand);
    switch (where_is(hand, &pc)) {
    case IN_A_FAULT:
        break;
    case IN_A_CALL:
        return MAPPING_HANDED_TO_CALL;
    case ON_ITS_WAY:
        return is_fruitless(hand, address, 0) ? MAPPING_HANDED_TO_NOBODY : MAPPING_HANDED_OVER;
    default:
        return MAPPING_HANDED_TO_NOBODY;
    }
    int signal = mapping_signal();
    if (signal == 0 || is_fruitless(hand, address, pc))
        return MAPPING_HANDED_TO_NOBODY;
    hand->blocks = hand->blocks && blocks(thread, signal);
    if (hand->blocks)
        return MAPPING_HANDED_TO_DEAF;
    if (!mapping_signal_send(thread, signal, address, pc))
        return errno == ESRCH ? MAPPING_HANDED_OVER : MAPPING_HANDED_TO_NOBODY;
    hand->timeouts = 0;
    await(hands, hand);
    return MAPPING_HANDED_OVER;
}

int mapping_hands_timeout(const struct mapping_hands *hands)
{
    return hands->pending > 0 ? TIMEOUT_MS : -1;
}

static bool is_at_its_store(struct mapping_hand *hand)
{
    uint64_t pc;
    return where_is(hand, &pc) == IN_A_FAULT && pc == hand->pc;
}

void mapping_hands_look(struct mapping_hands *hands)
{
    int64_t now = rsm_clock_ns();
    for (struct mapping_hand *hand = hands->hand;
         hands->pending > 0 && hand < hands->hand + MAPPING_HANDS; hand++) {
        if (!hand->pending || hand->suspected || now - hand->since < TIMEOUT_MS * RSM_NS_PER_MS)
            continue;
        hand->suspected = is_at_its_store(hand);
        if (!hand->suspected)
            settle(hands, hand);
    }
}

struct mapping_hand *mapping_hands_suspect(struct mapping_hands *hands)
{
    for (struct mapping_hand *hand = hands->hand;
         hands->pending > 0 && hand < hands->hand + MAPPING_HANDS; hand++)
        if (hand->suspected) {
            settle(hands, hand);
            return hand;
        }
    return NULL;
}

/* A thread that is being woken where another processor takes its time looks as if it slept. */
enum mapping_handed mapping_hand_judge(struct mapping_hands *hands, struct mapping_hand *hand)
{
    if (!is_at_its_store(hand))
        return MAPPING_HANDED_OVER;
    hand->blocks = blocks(hand->thread, mapping_signal());
    if (hand->blocks)
        return MAPPING_HANDED_TO_DEAF;
    if (++hand->timeouts == TIMEOUTS)
        return MAPPING_HANDED_TO_NOBODY;
    await(hands, hand);
    return MAPPING_HANDED_OVER;
}

bool mapping_handover_is_possible(void)
{
    struct mapping_hand self = {.thread = (pid_t)syscall(SYS_gettid), .fd = -1};
    uint64_t pc;
    if (!MAPPING_HAS_DECODER)
        return false;
    enum where where = where_is(&self, &pc);
    if (self.fd >= 0)
        close(self.fd);
    return where != UNKNOWN && mapping_signal() != 0;
}
