/* SPDX-License-Identifier: BSD-3-Clause */
/* Ask the source again and again. It may take its time: a thread waits for it. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/worker.h"
#include "members/members.h"

struct rsmd_members_refresh {
    struct rsmd_worker *worker;
    struct event *timer;
    struct rsmd_conf_members rules;
    struct rsmd_members current;          /* by these rules; none, where they are new */
    struct question *asked;               /* NULL: the thread is idle */
    bool again;                           /* the rules have changed meanwhile */
    char failure[RSMD_MEMBERS_WHY_BYTES]; /* the latest one in the log; "": it went well */
    rsmd_members_changed *changed;
    void *context;
};

struct question {
    struct rsmd_job job;
    struct rsmd_members_refresh *refresh;
    struct rsmd_conf_members rules;
    struct rsmd_members found;
    bool answered;
    char why[RSMD_MEMBERS_WHY_BYTES];
};

static void wait_s(struct rsmd_members_refresh *refresh, uint32_t seconds)
{
    const struct timeval pause = {.tv_sec = seconds};
    evtimer_add(refresh->timer, &pause);
}

/* ------------------------------------------------------------------ a question */

static void run(struct rsmd_job *job)
{
    struct question *question = (struct question *)job;
    question->answered = rsmd_members_ask(&question->rules, &question->found, question->why);
}

static void free_question(struct rsmd_job *job)
{
    struct question *question = (struct question *)job;
    rsmd_members_free(&question->found);
    free(question);
}

/* One line for each new reason: the source may be away for days. */
static void note_failure(struct rsmd_members_refresh *refresh, const char *why)
{
    if (strcmp(refresh->failure, why) != 0)
        rsm_log_warning("the members stay as they are: %s", why);
    memcpy(refresh->failure, why, sizeof refresh->failure);
}

static void note_success(struct rsmd_members_refresh *refresh)
{
    char source[RSM_PROTO_NAME_MAX + 8];
    rsmd_members_source_text(&refresh->rules, source, sizeof source);
    if (refresh->failure[0] != '\0')
        rsm_log_info("%s answers again", source);
    refresh->failure[0] = '\0';
}

static void take(struct rsmd_members_refresh *refresh, struct rsmd_members *found)
{
    char why[RSMD_MEMBERS_WHY_BYTES];
    if (!rsmd_members_same(&refresh->current, found) &&
        !refresh->changed(refresh->context, found, why)) {
        note_failure(refresh, why);
        return;
    }
    note_success(refresh);
    rsmd_members_free(&refresh->current);
    refresh->current = *found;
    *found = (struct rsmd_members){.list = NULL};
}

static void on_done(struct rsmd_job *job)
{
    struct question *question = (struct question *)job;
    struct rsmd_members_refresh *refresh = question->refresh;
    refresh->asked = NULL;
    if (refresh->again) {
        refresh->again = false;
        wait_s(refresh, 0);
    } else if (question->answered) {
        wait_s(refresh, question->found.ttl_s);
        take(refresh, &question->found);
    } else {
        note_failure(refresh, question->why);
        wait_s(refresh, RSMD_MEMBERS_RETRY_S);
    }
}

static void ask(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_members_refresh *refresh = argument;
    if (refresh->rules.source == RSMD_NODES_FILE)
        return;
    struct question *question = calloc(1, sizeof *question);
    if (question != NULL) {
        question->job.run = run;
        question->job.done = on_done;
        question->job.free = free_question;
        question->refresh = refresh;
        question->rules = refresh->rules;
    }
    if (question != NULL && rsmd_worker_submit(refresh->worker, &question->job)) {
        refresh->asked = question;
        return;
    }
    free(question);
    wait_s(refresh, RSMD_MEMBERS_RETRY_S);
}

/* ------------------------------------------------------------------ from start to end */

static bool copy(struct rsmd_members *to, const struct rsmd_members *from)
{
    *to = *from;
    if (from->count == 0)
        return true;
    to->list = malloc(from->count * sizeof *to->list);
    if (to->list != NULL)
        memcpy(to->list, from->list, from->count * sizeof *to->list);
    else
        to->count = 0;
    return to->list != NULL;
}

struct rsmd_members_refresh *rsmd_members_refresh_start(struct event_base *base,
                                                        const struct rsmd_conf_members *rules,
                                                        const struct rsmd_members *first,
                                                        rsmd_members_changed *changed,
                                                        void *context)
{
    struct rsmd_members_refresh *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->rules = *rules;
    made->changed = changed;
    made->context = context;
    made->worker = rsmd_worker_new(base, &rsmd_worker_single);
    made->timer = evtimer_new(base, ask, made);
    if (made->worker == NULL || made->timer == NULL || !copy(&made->current, first)) {
        rsmd_members_refresh_end(made);
        return NULL;
    }
    wait_s(made, first->ttl_s);
    return made;
}

void rsmd_members_refresh_now(struct rsmd_members_refresh *refresh,
                              const struct rsmd_conf_members *rules)
{
    if (refresh == NULL)
        return;
    if (!rsmd_conf_same_source(&refresh->rules, rules))
        rsmd_members_free(&refresh->current);
    refresh->rules = *rules;
    refresh->again = refresh->asked != NULL;
    evtimer_del(refresh->timer);
    if (refresh->asked == NULL)
        wait_s(refresh, 0);
}

const struct rsmd_members *rsmd_members_current(const struct rsmd_members_refresh *refresh,
                                                const struct rsmd_conf_members *rules)
{
    return refresh != NULL && refresh->current.count > 0 &&
                   rsmd_conf_same_source(&refresh->rules, rules)
               ? &refresh->current
               : NULL;
}

bool rsmd_members_refresh_end(struct rsmd_members_refresh *refresh)
{
    if (refresh == NULL)
        return true;
    bool idle = refresh->asked == NULL;
    if (!idle)
        rsmd_job_cancel(&refresh->asked->job);
    rsmd_worker_end(refresh->worker);
    if (refresh->timer != NULL)
        event_free(refresh->timer);
    rsmd_members_free(&refresh->current);
    free(refresh);
    return idle;
}
