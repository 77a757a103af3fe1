/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapter.h"

#include <stddef.h>

#include "base/fork.h"
#include "sisci_api.h"

/* Those that have been looked up. The lock is not held while the daemon is asked. */
static struct {
    struct rsmcore_controller *controller; /* NULL: not yet */
    unsigned generation;                   /* of the process that looked it up */
} known[SISCI_ADAPTERS_MAX];
static unsigned generation; /* one more in each forked child */

/* What the parent has looked up is not the child's, which may be of another node. It is given up
 * when the child asks: here nothing is called. */
static void begin_anew(void)
{
    generation++;
}

RSMCORE_FORK_PART(lock, RSMCORE_FORK_ADAPTERS, begin_anew);

static struct rsmcore_controller *find_known(unsigned number)
{
    struct rsmcore_controller *parents = NULL;
    rsmcore_fork_lock(&lock);
    struct rsmcore_controller *found = known[number].controller;
    if (found != NULL && known[number].generation != generation) {
        parents = found;
        known[number].controller = found = NULL;
    }
    if (found != NULL)
        rsmcore_controller_hold(found);
    rsmcore_fork_unlock(&lock);
    if (parents != NULL)
        rsmcore_controller_close(parents);
    return found;
}

/* Two threads may have opened it at once: then there are two, for as long as the other is used. */
static void remember(unsigned number, struct rsmcore_controller *controller)
{
    rsmcore_fork_lock(&lock);
    if (known[number].controller == NULL) {
        known[number].controller = rsmcore_controller_hold(controller);
        known[number].generation = generation;
    }
    rsmcore_fork_unlock(&lock);
}

sci_error_t sisci_adapter_open(unsigned number, struct rsmcore_controller **controller)
{
    if (number >= SISCI_ADAPTERS_MAX)
        return SCI_ERR_ILLEGAL_ADAPTERNO;
    *controller = find_known(number);
    if (*controller != NULL)
        return SCI_ERR_OK;
    enum rsm_status status = rsmcore_controller_open_adapter(number, controller);
    if (status == RSM_ST_OK)
        remember(number, *controller);
    return sisci_error(SISCI_LOCAL, status);
}

sci_error_t sisci_adapter_check(unsigned number)
{
    struct rsmcore_controller *controller;
    sci_error_t error = sisci_adapter_open(number, &controller);
    if (error == SCI_ERR_OK)
        rsmcore_controller_close(controller);
    return error;
}

sci_error_t sisci_node(unsigned id, uint32_t *node)
{
    if (id == SCI_LOCAL_HOST)
        return sisci_error(SISCI_LOCAL, rsmcore_local_node(node));
    *node = id;
    return id <= RSM_NODE_ID_MAX ? SCI_ERR_OK : SCI_ERR_ILLEGAL_NODEID;
}

void sisci_adapters_forget(void)
{
    for (unsigned i = 0; i < SISCI_ADAPTERS_MAX; i++) {
        rsmcore_fork_lock(&lock);
        struct rsmcore_controller *controller = known[i].controller;
        known[i].controller = NULL;
        rsmcore_fork_unlock(&lock);
        if (controller != NULL)
            rsmcore_controller_close(controller);
    }
}
