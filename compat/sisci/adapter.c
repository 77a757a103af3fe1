/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapter.h"

#include <pthread.h>
#include <stddef.h>

#include "sisci_api.h"

/* Those that have been looked up. The lock is not held while the daemon is asked. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsmcore_controller *known[SISCI_ADAPTERS_MAX];

static struct rsmcore_controller *find_known(unsigned number)
{
    pthread_mutex_lock(&lock);
    struct rsmcore_controller *found = known[number];
    if (found != NULL)
        rsmcore_controller_hold(found);
    pthread_mutex_unlock(&lock);
    return found;
}

/* Two threads may have opened it at once: then there are two, for as long as the other is used. */
static void remember(unsigned number, struct rsmcore_controller *controller)
{
    pthread_mutex_lock(&lock);
    if (known[number] == NULL)
        known[number] = rsmcore_controller_hold(controller);
    pthread_mutex_unlock(&lock);
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
        pthread_mutex_lock(&lock);
        struct rsmcore_controller *controller = known[i];
        known[i] = NULL;
        pthread_mutex_unlock(&lock);
        if (controller != NULL)
            rsmcore_controller_close(controller);
    }
}
