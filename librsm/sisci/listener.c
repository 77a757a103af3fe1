/* SPDX-License-Identifier: BSD-3-Clause */
#include "listener.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/fork.h"
#include "base/thread.h"
#include "core/event_sleep.h"

enum {
    ROOM_BYTES = 64 * 1024,
    SLEEPERS = 2,     /* threads that stay where nothing happens */
    IDLE_SLEEPS = 10, /* of RSMCORE_EVENT_LOOK_MS, after which another one ends */
};

/* The lock guards all but the first two. */
struct sisci_listener {
    const struct sisci_listener_type *type;
    void *source;
    struct sisci_listener *prev, *next;
    bool announced;                   /* posts to its event wake who sleeps on it */
    bool due;                         /* it needs a turn, whatever its event says */
    bool runs;                        /* a thread is in a turn of it */
    bool over;                        /* it has had its last turn */
    bool abandoned;                   /* no thread waits for it */
    unsigned sleepers;                /* threads that sleep on its event */
    struct sisci_listener *waits_for; /* which its callback ends */
};

/* What a thread sleeps on: `calls`, unless that is one word too many, and events. */
struct bed {
    unsigned count, room;
    bool sees_calls;
    uint32_t calls_seen;
    unsigned idle_sleeps; /* since it had something to do */
    struct sisci_listener *listeners[RSMCORE_EVENT_SLEEP_MAX];
    struct rsmcore_event *events[RSMCORE_EVENT_SLEEP_MAX];
};

/* That of the calling thread's turn; NULL: it is none of ours. */
static __thread struct sisci_listener *self;

/* The lock guards these; sleepers look at `calls` without it. */
static struct sisci_listener *all;
static unsigned threads;
static unsigned available; /* threads that sleep, and could sleep on more */
static bool called;        /* a thread is on its way to see what there is to do */
static _Atomic uint32_t calls;
/* A listener can be released, or there are no threads any more. */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* Threads and listeners are the parent's. Where a callback forks, the child's thread is the
 * program's alone. */
static void begin_anew(void)
{
    self = NULL;
    all = NULL;
    threads = 0;
    available = 0;
    called = false;
    pthread_cond_init(&ended, NULL);
}

RSMCORE_FORK_PART(lock, RSMCORE_FORK_CALLBACKS, begin_anew);

static struct rsmcore_event *event_of(const struct sisci_listener *listener)
{
    return listener->type->event != NULL ? listener->type->event(listener->source) : NULL;
}

/* The following are called with the lock held. */

static bool can_have_turn(const struct sisci_listener *listener)
{
    return !listener->runs && !listener->over;
}

static bool can_be_released(const struct sisci_listener *listener)
{
    return listener->over && !listener->runs && listener->sleepers == 0;
}

/* Whether there is something to do that its event does not say. */
static bool is_due(const struct sisci_listener *listener)
{
    return can_have_turn(listener) ? listener->due
                                   : listener->abandoned && can_be_released(listener);
}

/* Whether no thread would come to it. */
static bool is_alone(const struct sisci_listener *listener)
{
    return is_due(listener) ||
           (can_have_turn(listener) && listener->sleepers == 0 && event_of(listener) != NULL);
}

/* NULL: none has work. */
static struct sisci_listener *find_work(void)
{
    for (struct sisci_listener *listener = all; listener != NULL; listener = listener->next) {
        const struct rsmcore_event *event = can_have_turn(listener) ? event_of(listener) : NULL;
        if (is_due(listener) || (event != NULL && rsmcore_event_is_due(event)))
            return listener;
    }
    return NULL;
}

static void call_threads(int count)
{
    atomic_fetch_add(&calls, 1);
    rsmcore_event_wake(&calls, count);
}

static void *run(void *unused);

/* See to it that a thread comes to each listener that has work or may get some. False: there is
 * none, and none can be made. */
static bool attend(void)
{
    const struct sisci_listener *listener = all;
    pthread_t thread;
    while (listener != NULL && !is_alone(listener))
        listener = listener->next;
    if (listener == NULL || called)
        return true;
    if (available > 0)
        call_threads(1);
    else if (rsm_thread_start(&thread, "sisci-callback", 0, run, NULL) != 0)
        return false;
    else
        threads += pthread_detach(thread) == 0;
    called = true;
    return true;
}

/* The calling one. */
static void thread_ends(void)
{
    if (--threads == 0)
        pthread_cond_broadcast(&ended);
}

/* Put those that no thread sleeps on into a bed, or the others. */
static void lay_in(struct bed *bed, bool others)
{
    for (struct sisci_listener *listener = all; listener != NULL; listener = listener->next) {
        struct rsmcore_event *event = can_have_turn(listener) ? event_of(listener) : NULL;
        if (event == NULL || (listener->sleepers > 0) != others || bed->count == bed->room)
            continue;
        bed->listeners[bed->count] = listener;
        bed->events[bed->count++] = event;
    }
}

/* Those on which no thread sleeps go first. */
static void go_to_bed(struct bed *bed)
{
    unsigned max = rsmcore_event_sleep_max();
    bed->count = 0;
    bed->room = max > 1 ? max - 1 : 1;
    lay_in(bed, false);
    if (max > 1)
        lay_in(bed, true);
    bed->sees_calls = max > 1 || bed->count == 0;
    bed->calls_seen = atomic_load(&calls);
    for (unsigned i = 0; i < bed->count; i++)
        bed->listeners[i]->sleepers++;
    available += bed->count < bed->room;
}

static void get_up(struct bed *bed)
{
    available -= bed->count < bed->room;
    for (unsigned i = 0; i < bed->count; i++)
        if (--bed->listeners[i]->sleepers == 0 && bed->listeners[i]->over)
            pthread_cond_broadcast(&ended);
}

/* Whether the others suffice, of a thread that has got up. If it has had something to do since, the
 * listeners of its bed may have gone. */
static bool is_spare(const struct bed *bed)
{
    if (all == NULL || bed->idle_sleeps < IDLE_SLEEPS)
        return all == NULL;
    bool spare = bed->count == bed->room || available >= SLEEPERS;
    for (unsigned i = 0; i < bed->count && spare; i++)
        spare = bed->listeners[i]->over || bed->listeners[i]->sleepers >= SLEEPERS;
    return spare;
}

static void release(struct sisci_listener *listener)
{
    listener->type->finish(listener->source);
    free(listener);
}

/* Called with the lock held. What is taken out is the caller's to release. */
static void take_out(struct sisci_listener *listener)
{
    DL_DELETE(all, listener);
    if (all == NULL)
        call_threads(INT_MAX); /* to their end */
}

/* Called with the lock held. */
static void begin_turn(struct sisci_listener *listener)
{
    if (listener->announced)
        rsmcore_event_retract(event_of(listener));
    listener->announced = false;
    listener->runs = true;
    listener->due = false;
}

/* Called with the lock held. What has been posted meanwhile woke no thread. */
static void end_turn(struct sisci_listener *listener, bool last)
{
    struct rsmcore_event *event = last ? NULL : event_of(listener);
    listener->runs = false;
    listener->over = last;
    if (event != NULL) {
        rsmcore_event_announce(event);
        listener->announced = true;
        listener->due |= rsmcore_event_is_due(event);
    }
    if (last && listener->sleepers > 0)
        call_threads(INT_MAX);
    if (last)
        pthread_cond_broadcast(&ended);
}

/* A program that ends the thread in its callback gets no more callbacks of that resource. */
static void end_with_thread(void *listener)
{
    rsmcore_fork_lock(&lock);
    end_turn(listener, true);
    thread_ends();
    (void)attend();
    rsmcore_fork_unlock(&lock);
}

/* Until there is nothing to do, also for the moment in which the next event would not find the
 * thread asleep. False: there may be more later. */
static bool take_turns(struct sisci_listener *listener)
{
    const struct rsmcore_event *event;
    enum sisci_turn turn;
    do {
        /* What a child finds there is its parent's. */
        turn = listener->type->take_turn(listener->source);
        event = turn == SISCI_TURN_IDLE ? event_of(listener) : NULL;
    } while (self != NULL &&
             (turn == SISCI_TURN_AGAIN || (event != NULL && rsmcore_event_is_due_soon(event))));
    return turn == SISCI_TURN_LAST;
}

/* Called with the lock held, which is released meanwhile. False: this is a child's thread now. */
static bool serve(struct sisci_listener *listener)
{
    bool last;
    begin_turn(listener);
    (void)attend();
    rsmcore_fork_unlock(&lock);
    self = listener;
    pthread_cleanup_push(end_with_thread, listener);
    last = take_turns(listener);
    pthread_cleanup_pop(0);
    bool is_own = self != NULL;
    self = NULL;
    rsmcore_fork_lock(&lock);
    if (is_own)
        end_turn(listener, last);
    return is_own;
}

/* Called with the lock held, which is released meanwhile. */
static bool do_work(struct sisci_listener *listener)
{
    if (!listener->over)
        return serve(listener);
    take_out(listener);
    rsmcore_fork_unlock(&lock);
    release(listener);
    rsmcore_fork_lock(&lock);
    return true;
}

/* A fault on memory of the core is the core's to handle, and kills where its signal is blocked. */
static void allow_faults(void)
{
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

/* Returns the listener whose event has come, if it is known. */
static struct sisci_listener *sleep_in(struct bed *bed)
{
    go_to_bed(bed);
    (void)attend(); /* it may be too narrow */
    rsmcore_fork_unlock(&lock);
    unsigned woken = rsmcore_event_sleep(bed->events, bed->count, bed->sees_calls ? &calls : NULL,
                                         bed->calls_seen);
    rsmcore_fork_lock(&lock);
    get_up(bed);
    bed->idle_sleeps++;
    struct sisci_listener *woke = woken < bed->count ? bed->listeners[woken] : NULL;
    return woke != NULL && can_have_turn(woke) && rsmcore_event_is_due(bed->events[woken]) ? woke
                                                                                           : NULL;
}

static void *run(void *unused)
{
    struct bed bed = {.count = 0};
    struct sisci_listener *work = NULL;
    bool is_own = true;
    (void)unused;
    allow_faults();
    rsmcore_fork_lock(&lock);
    while (is_own) {
        called = false;
        if (work == NULL)
            work = find_work();
        if (work == NULL && is_spare(&bed))
            break;
        if (work != NULL) {
            bed.idle_sleeps = 0;
            is_own = do_work(work);
            work = NULL;
        } else {
            work = sleep_in(&bed);
        }
    }
    if (is_own)
        thread_ends();
    rsmcore_fork_unlock(&lock);
    return NULL;
}

sci_error_t sisci_listener_start(const struct sisci_listener_type *type, void *source,
                                 struct sisci_listener **listener)
{
    struct sisci_listener *made = calloc(1, sizeof *made);
    if (made == NULL)
        return SCI_ERR_NOSPC;
    made->type = type;
    made->source = source;
    made->due = true;
    rsmcore_fork_lock(&lock);
    DL_APPEND(all, made);
    bool attended = attend();
    if (!attended)
        DL_DELETE(all, made);
    rsmcore_fork_unlock(&lock);
    if (!attended) {
        free(made);
        return SCI_ERR_NOSPC;
    }
    *listener = made;
    return SCI_ERR_OK;
}

void sisci_listener_wake(struct sisci_listener *listener)
{
    rsmcore_fork_lock(&lock);
    listener->due = true;
    (void)attend();
    rsmcore_fork_unlock(&lock);
}

void sisci_listener_wake_next(struct sisci_listener *listener)
{
    rsmcore_fork_lock(&lock);
    listener->due = true;
    rsmcore_fork_unlock(&lock);
}

bool sisci_in_callback(void)
{
    return self != NULL;
}

/* Whether a callback of `listener` waits, over others maybe, for the calling thread's. Called with
 * the lock held. */
static bool waits_for_self(const struct sisci_listener *listener)
{
    while (listener != NULL && listener != self)
        listener = listener->waits_for;
    return listener != NULL;
}

/* Called with the lock held, which is released meanwhile. */
static void await_last_turn(struct sisci_listener *listener)
{
    if (self != NULL)
        self->waits_for = listener;
    while (!can_be_released(listener))
        rsmcore_fork_wait(&lock, &ended);
    take_out(listener);
    if (self != NULL)
        self->waits_for = NULL;
    else
        while (all == NULL && threads > 0)
            rsmcore_fork_wait(&lock, &ended);
}

bool sisci_listener_end(struct sisci_listener *listener)
{
    rsmcore_fork_lock(&lock);
    bool abandon = self != NULL && waits_for_self(listener);
    if (abandon)
        listener->abandoned = true;
    else
        await_last_turn(listener);
    rsmcore_fork_unlock(&lock);
    if (!abandon)
        release(listener);
    return !abandon;
}

__attribute__((noinline)) void sisci_call_deep(void (*call)(void *), void *argument)
{
    /* Keep the compiler from removing it, before and after the call. */
    char room[ROOM_BYTES];
    __asm__ volatile("" : : "r"(room) : "memory");
    call(argument);
    __asm__ volatile("" : : "r"(room) : "memory");
}
