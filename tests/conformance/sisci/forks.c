/* SPDX-License-Identifier: BSD-3-Clause */
/* Beyond the list of checks: forked children, which begin anew. */
#include <semaphore.h>

#include "sisci.h"

#ifdef __SANITIZE_THREAD__
#define NEEDS_THREADS_IN_CHILD() does_not_apply("the thread sanitizer allows a child no threads")
#else
#define NEEDS_THREADS_IN_CHILD() (void)0
#endif

enum { CHILD_S = 60 };

/* What a child does; it is 0 if all of it holds, else the number of the line. */
typedef int child_function(void *argument);

#define CHILD_NEEDS(condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__ % 256;                                                                 \
    } while (0)

/* The status of a child that does this. */
static int in_child(child_function *function, void *argument)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_S); /* for hangs */
        _exit(function(argument));
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/* ---------------------------------------------------------------- another node */

static int ask_as_other_node(void *unused)
{
    unsigned node = 0;
    act_as_importer();
    CHILD_NEEDS(ERROR_OF(SCIInitialize, 0) == SCI_ERR_OK);
    CHILD_NEEDS(ERROR_OF(SCIGetLocalNodeId, ADAPTER, &node, 0) == SCI_ERR_OK && node == node_b());
    CHILD_NEEDS(ERROR_OF(SCIGetLocalNodeId, 5, &node, 0) == SCI_ERR_NO_SUCH_ADAPTERNO);
    CHILD_NEEDS(desc() != NULL);
    SCITerminate();
    return 0;
}

CONFORMANCE(X, 18, "a child may be of another node, and has the adapters of that one")
{
    unsigned node;
    APPLIES_IF(!two_hosts() && !one_node(), "the daemons of two hosts have their configuration");
    serve_configured(node_a(), "[controller a0]\ntransport = shm\nadapter = 5\n"
                               "[controller c0]\ntransport = shm\nadapter = 0\n");
    begin_as_a();
    SUCCEEDS(SCIGetLocalNodeId, 5, &node, 0);
    SUCCEEDS(SCIGetLocalNodeId, ADAPTER, &node, 0);
    EXPECT(0, in_child(ask_as_other_node, NULL));
    SUCCEEDS(SCIGetLocalNodeId, 5, &node, 0);
    EXPECT((int)node_a(), (int)node);
    SCITerminate();
}

/* ---------------------------------------------------------------- in a callback */

struct slow {
    sem_t entered;
    atomic_bool returned;
};

static sci_callback_action_t take_time(void *argument, sci_local_interrupt_t interrupt,
                                       sci_error_t status)
{
    struct slow *slow = argument;
    sem_post(&slow->entered);
    usleep(300000);
    atomic_store(&slow->returned, true);
    return SCI_CALLBACK_CONTINUE;
}

static void *remove_it(void *interrupt)
{
    return (void *)(uintptr_t)ERROR_OF(SCIRemoveInterrupt, interrupt, 0);
}

/* The child's thread is none of the library's: what it ends has ended when it returns, also what another
 * thread was removing. */
static int close_while_removing(void *unused)
{
    static struct slow slow;
    sci_local_interrupt_t made;
    sci_remote_interrupt_t own;
    sci_desc_t other;
    pthread_t thread;
    unsigned number = 9;
    sem_init(&slow.entered, 0, 0);
    CHILD_NEEDS(desc() != NULL);
    CHILD_NEEDS(ERROR_OF(SCIOpen, &other, 0) == SCI_ERR_OK);
    CHILD_NEEDS(ERROR_OF(SCICreateInterrupt, other, &made, ADAPTER, &number, take_time, &slow,
                         SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK) == SCI_ERR_OK);
    CHILD_NEEDS(ERROR_OF(SCIConnectInterrupt, desc(), &own, SCI_LOCAL_HOST, ADAPTER, number, 0,
                         0) == SCI_ERR_OK);
    CHILD_NEEDS(ERROR_OF(SCITriggerInterrupt, own, 0) == SCI_ERR_OK);
    while (sem_wait(&slow.entered) != 0)
        continue;
    CHILD_NEEDS(pthread_create(&thread, NULL, remove_it, made) == 0);
    while (ERROR_OF(SCIWaitForInterrupt, made, 0, 0) != SCI_ERR_ILLEGAL_PARAMETER)
        usleep(1000);
    CHILD_NEEDS(ERROR_OF(SCIClose, other, 0) == SCI_ERR_OK);
    CHILD_NEEDS(atomic_load(&slow.returned));
    CHILD_NEEDS(pthread_join(thread, NULL) == 0);
    SCITerminate();
    return 0;
}

struct forker {
    sem_t has_ended;
    int status;
};

static sci_callback_action_t fork_in_callback(void *argument, sci_local_interrupt_t interrupt,
                                              sci_error_t status)
{
    struct forker *forker = argument;
    forker->status = in_child(close_while_removing, NULL);
    sem_post(&forker->has_ended);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(X, 19, "a callback forks, and the child's functions wait as they do elsewhere")
{
    static struct forker forker;
    sci_local_interrupt_t made;
    sci_remote_interrupt_t own;
    unsigned number = 1;
    NEEDS_THREADS_IN_CHILD();
    begin_as_a();
    sem_init(&forker.has_ended, 0, 0);
    SUCCEEDS(SCICreateInterrupt, desc(), &made, ADAPTER, &number, fork_in_callback, &forker,
             SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCIConnectInterrupt, desc(), &own, node_a(), ADAPTER, number, 0, 0);
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    while (sem_wait(&forker.has_ended) != 0)
        continue;
    EXPECT(0, forker.status);
    SCITerminate();
}
