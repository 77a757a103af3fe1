/* SPDX-License-Identifier: BSD-3-Clause */
#include "notifier.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "core/import_view.h"
#include "core/interrupt.h"
#include "order.h"
#include "stores.h"

enum {
    STACK_BYTES = 128 << 10,
    PAUSE_MS = 10,   /* while the exporter's queue is full */
    ENDING_MS = 200, /* then a queue that stays full is given up */
};

struct sisci_notifier {
    const struct sisci_connection *connection;
    struct rsmcore_import *import; /* of the connection */
    struct rsmcore_import *view;   /* of the map */
    pthread_t thread;
    struct rsmcore_trigger *trigger; /* the thread's; NULL: the exporter had none the last time */
    pthread_mutex_t lock;            /* guards what follows */
    pthread_cond_t wake;
    bool stop;
    struct sisci_stores stored; /* and not reported */
};

static void wrote(void *argument, uint64_t offset, uint64_t length)
{
    struct sisci_notifier *notifier = argument;
    pthread_mutex_lock(&notifier->lock);
    sisci_stores_add(&notifier->stored, offset, length);
    pthread_cond_signal(&notifier->wake);
    pthread_mutex_unlock(&notifier->lock);
}

/* ------------------------------------------------------------------ telling the exporter */

static void forget(struct sisci_notifier *notifier)
{
    if (notifier->trigger != NULL)
        rsmcore_interrupt_disconnect(notifier->trigger);
    notifier->trigger = NULL;
}

static enum rsm_status find(struct sisci_notifier *notifier)
{
    const struct sisci_connection *to = notifier->connection;
    if (notifier->trigger != NULL)
        return RSM_ST_OK;
    return rsmcore_interrupt_connect(to->controller, to->node, RSM_INTERRUPT_STORES, to->id,
                                     &notifier->trigger);
}

/* An exporter that has registered no flag has no such interrupt, and one that has made its segment
 * anew has another. */
static enum rsm_status trigger(struct sisci_notifier *notifier, const uint8_t *bytes, size_t length)
{
    bool known = notifier->trigger != NULL;
    enum rsm_status status = find(notifier);
    if (status == RSM_ST_OK)
        status = rsmcore_interrupt_trigger(notifier->trigger, bytes, length);
    if (status == RSM_ST_OK || status == RSM_ST_NO_RESOURCES)
        return status;
    forget(notifier);
    return known && status == RSM_ST_NOT_FOUND ? trigger(notifier, bytes, length) : status;
}

static bool stops(struct sisci_notifier *notifier)
{
    pthread_mutex_lock(&notifier->lock);
    bool stop = notifier->stop;
    pthread_mutex_unlock(&notifier->lock);
    return stop;
}

/* The data first. What failed is counted, and a sequence reports it. */
static void report(struct sisci_notifier *notifier, const struct sisci_stores *stored)
{
    uint8_t bytes[SISCI_STORES_BYTES];
    size_t length = sisci_stores_write(stored, bytes);
    int64_t give_up = RSM_DEADLINE_NEVER;
    if (rsmcore_import_complete(notifier->import) == RSM_ST_ABORTED)
        return;
    while (trigger(notifier, bytes, length) == RSM_ST_NO_RESOURCES &&
           !rsm_deadline_has_passed(give_up) && !rsmcore_import_aborted(notifier->import)) {
        const struct timespec pause = rsm_timespec(PAUSE_MS * RSM_NS_PER_MS);
        nanosleep(&pause, NULL);
        if (give_up == RSM_DEADLINE_NEVER && stops(notifier))
            give_up = rsm_deadline(ENDING_MS);
    }
}

static void *run(void *argument)
{
    struct sisci_notifier *notifier = argument;
    pthread_mutex_lock(&notifier->lock);
    while (!notifier->stop || notifier->stored.count > 0) {
        if (notifier->stored.count == 0) {
            pthread_cond_wait(&notifier->wake, &notifier->lock);
            continue;
        }
        const struct sisci_stores stored = notifier->stored;
        notifier->stored.count = 0;
        pthread_mutex_unlock(&notifier->lock);
        report(notifier, &stored);
        pthread_mutex_lock(&notifier->lock);
    }
    pthread_mutex_unlock(&notifier->lock);
    forget(notifier);
    return NULL;
}

/* ------------------------------------------------------------------ beginning and end */

static void free_notifier(struct sisci_notifier *notifier)
{
    pthread_cond_destroy(&notifier->wake);
    pthread_mutex_destroy(&notifier->lock);
    free(notifier);
}

static sci_error_t start(struct sisci_notifier *notifier)
{
    enum rsm_status status =
        rsmcore_import_view_make(notifier->import, wrote, notifier, &notifier->view);
    if (status != RSM_ST_OK)
        return sisci_error(SISCI_TRANSFER, status);
    if (!sisci_order_add(notifier->view)) {
        rsmcore_import_view_end(notifier->view);
        return SCI_ERR_NOSPC;
    }
    if (rsm_thread_start(&notifier->thread, "rsm-notify", STACK_BYTES, run, notifier) == 0)
        return SCI_ERR_OK;
    sisci_order_forget(notifier->view);
    rsmcore_import_view_end(notifier->view);
    return SCI_ERR_NOSPC;
}

sci_error_t sisci_notifier_start(const struct sisci_connection *connection, bool unconditional,
                                 struct sisci_notifier **notifier)
{
    struct sisci_notifier *made = calloc(1, sizeof *made);
    if (made == NULL)
        return SCI_ERR_NOSPC;
    made->connection = connection;
    made->import = atomic_load(&connection->import);
    made->stored.unconditional = unconditional;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    sci_error_t error = start(made);
    if (error == SCI_ERR_OK)
        *notifier = made;
    else
        free_notifier(made);
    return error;
}

struct rsmcore_import *sisci_notifier_import(const struct sisci_notifier *notifier)
{
    return notifier->view;
}

void sisci_notifier_end(struct sisci_notifier *notifier)
{
    pthread_mutex_lock(&notifier->lock);
    notifier->stop = true;
    pthread_cond_signal(&notifier->wake);
    pthread_mutex_unlock(&notifier->lock);
    pthread_join(notifier->thread, NULL);
    sisci_order_forget(notifier->view);
    rsmcore_import_view_end(notifier->view);
    free_notifier(notifier);
}
