/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_get_controller(3RSM), rsm_get_controller_attr(3RSM), rsm_release_controller(3RSM) */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#include "base/fork.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

#define LOOPBACK "loopback"

enum { CONTROLLERS_MAX = 256 }; /* of a node that are looked at: a bound on what a daemon says */

/* Held by the thread that opens a controller, so that none is opened twice. That takes requests to
 * rsmd, which may have to be started: it is taken before controllers_lock, and not by fork(2). */
static pthread_mutex_t opening_lock = PTHREAD_MUTEX_INITIALIZER;

/* All controllers that are open. They and their counts are guarded by controllers_lock, under which
 * no call of the core is made. */
static struct __rsmapi_controller_handle *controllers;

/* The thread that opens a controller is the parent's. */
static void after_fork_in_child(void)
{
    opening_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

RSMCORE_FORK_PART(controllers_lock, RSMCORE_FORK_CONTROLLERS, after_fork_in_child);

struct controller_name {
    char type[MAXNAMELEN];
    unsigned unit;
};

/* Split "sci0" into type and unit; false if no controller can have that name. */
static bool parse_name(const char *text, struct controller_name *name)
{
    size_t length = strnlen(text, MAXNAMELEN);
    if (length == MAXNAMELEN)
        return false;
    size_t type_length = length;
    while (type_length > 0 && text[type_length - 1] >= '0' && text[type_length - 1] <= '9')
        type_length--;
    if (type_length == 0)
        return false;
    memcpy(name->type, text, type_length);
    name->type[type_length] = '\0';
    unsigned long unit = 0;
    for (const char *digit = text + type_length; *digit != '\0'; digit++) {
        unit = unit * 10 + (unsigned long)(*digit - '0');
        if (unit > INT_MAX)
            return false;
    }
    /* There is one loopback, whatever number it is called by. */
    name->unit = strcasecmp(name->type, LOOPBACK) == 0 ? 0 : (unsigned)unit;
    return true;
}

/* The controller of that name, with one reference more, or NULL: it is not open. */
static struct __rsmapi_controller_handle *take_open(const struct controller_name *name)
{
    rsmcore_fork_lock(&controllers_lock);
    struct __rsmapi_controller_handle *found = controllers;
    while (found != NULL && (found->unit != name->unit || strcasecmp(found->type, name->type) != 0))
        found = found->next;
    if (found != NULL)
        found->references++;
    rsmcore_fork_unlock(&controllers_lock);
    return found;
}

static bool same_name(const struct controller_name *one, const struct controller_name *other)
{
    return one->unit == other->unit && strcasecmp(one->type, other->type) == 0;
}

/* The core knows controllers by their configured names, byte for byte. Here sci0 is also SCI0,
 * sci00 and sci; what is not found as it is written is looked for among all. */
static enum rsm_status open_core(const char *text, const struct controller_name *name,
                                 struct rsmcore_controller **opened)
{
    char configured[RSM_PROTO_NAME_MAX];
    struct controller_name other;
    enum rsm_status status = rsmcore_controller_open(text, opened);
    if (status != RSM_ST_NO_CONTROLLER)
        return status;
    for (unsigned unit = 0; unit < CONTROLLERS_MAX; unit++) {
        status = rsmcore_controller_name_of_unit(NULL, unit, configured);
        if (status != RSM_ST_OK)
            return status;
        if (parse_name(configured, &other) && same_name(name, &other))
            return rsmcore_controller_open(configured, opened);
    }
    return RSM_ST_NO_CONTROLLER;
}

/* Open a controller that is not open yet and put it on the list. Called with opening_lock held. */
static int open_new(const char *text, const struct controller_name *name,
                    struct __rsmapi_controller_handle **opened)
{
    struct __rsmapi_controller_handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSMERR_INSUFFICIENT_MEM;
    bool loopback = strcasecmp(name->type, LOOPBACK) == 0;
    enum rsm_status status = open_core(loopback ? LOOPBACK : text, name, &made->core);
    if (status != RSM_ST_OK) {
        free(made);
        return rsmapi_error(RSMAPI_CONTROLLER, status);
    }
    made->tag = RSMAPI_TAG_CONTROLLER;
    made->unit = name->unit;
    memcpy(made->type, name->type, sizeof made->type);
    made->references = 1;
    rsmcore_fork_lock(&controllers_lock);
    LL_PREPEND(controllers, made);
    rsmcore_fork_unlock(&controllers_lock);
    *opened = made;
    return RSM_SUCCESS;
}

/* A controller that was not open a moment ago. A thread that is cancelled meanwhile must not keep
 * the lock. */
static int open_once(const char *text, const struct controller_name *name,
                     struct __rsmapi_controller_handle **opened)
{
    int error = RSM_SUCCESS;
    int cancellable = rsm_cancel_disable();
    pthread_mutex_lock(&opening_lock);
    *opened = take_open(name);
    if (*opened == NULL)
        error = open_new(text, name, opened);
    pthread_mutex_unlock(&opening_lock);
    rsm_cancel_enable(cancellable);
    return error;
}

RSM_API(int, rsm_get_controller)(char *name, rsmapi_controller_handle_t *controller)
{
    RSM_UNCANCELLABLE;
    struct controller_name wanted;
    const char *text = name == NULL ? LOOPBACK : name;
    if (controller == NULL)
        return RSMERR_BAD_CTLR_HNDL;
    if (!parse_name(text, &wanted))
        return RSMERR_CTLR_NOT_PRESENT;

    int error = RSM_SUCCESS;
    struct __rsmapi_controller_handle *found = take_open(&wanted);
    if (found == NULL)
        error = open_once(text, &wanted, &found);
    if (error == RSM_SUCCESS)
        *controller = found;
    return error;
}

/* What the program's word size can express of a limit. */
static size_t limit(uint64_t value)
{
    return (size_t)(value < SIZE_MAX ? value : SIZE_MAX);
}

RSM_API(int, rsm_get_controller_attr)
(rsmapi_controller_handle_t chdl, rsmapi_controller_attr_t *attr)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_controller(chdl))
        return RSMERR_BAD_CTLR_HNDL;
    if (attr == NULL)
        return RSMERR_BAD_ADDR;
    const struct rsm_port_attr *port = rsmcore_controller_attr(chdl->core);
    *attr = (rsmapi_controller_attr_t){
        .attr_direct_access_sizes = port->access_sizes,
        .attr_atomic_sizes = port->atomic_sizes,
        .attr_page_size = limit(port->page_size),
        .attr_max_export_segment_size = limit(port->max_segment_size),
        .attr_tot_export_segment_size = limit(port->total_segment_size),
        .attr_max_export_segments = limit(port->max_segments),
        .attr_max_import_map_size = limit(port->max_map_size),
        .attr_tot_import_map_size = limit(port->total_map_size),
        .attr_max_import_segments = limit(port->max_imports),
    };
    return RSM_SUCCESS;
}

static bool is_unused(const struct __rsmapi_controller_handle *controller)
{
    return controller->references == 0 && controller->holders == 0;
}

/* Close a controller that is neither open nor held, and in no table any more. */
static void close_unused(struct __rsmapi_controller_handle *unused)
{
    rsmcore_controller_close(unused->core);
    free(unused);
}

RSM_API(int, rsm_release_controller)(rsmapi_controller_handle_t chdl)
{
    RSM_UNCANCELLABLE;
    int error = RSMERR_BAD_CTLR_HNDL;
    bool unused = false;
    if (chdl == NULL)
        return error;
    rsmcore_fork_lock(&controllers_lock);
    if (chdl->tag == RSMAPI_TAG_CONTROLLER) {
        error = RSM_SUCCESS;
        if (--chdl->references == 0) {
            rsmapi_tag_clear(&chdl->tag);
            LL_DELETE(controllers, chdl);
            unused = is_unused(chdl);
        }
    }
    rsmcore_fork_unlock(&controllers_lock);
    if (unused)
        close_unused(chdl);
    return error;
}

void rsmapi_controller_hold(struct __rsmapi_controller_handle *controller)
{
    rsmcore_fork_lock(&controllers_lock);
    controller->holders++;
    rsmcore_fork_unlock(&controllers_lock);
}

void rsmapi_controller_drop(struct __rsmapi_controller_handle *controller)
{
    rsmcore_fork_lock(&controllers_lock);
    controller->holders--;
    bool unused = is_unused(controller);
    rsmcore_fork_unlock(&controllers_lock);
    if (unused)
        close_unused(controller);
}
