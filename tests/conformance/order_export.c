/* SPDX-License-Identifier: BSD-3-Clause */
/* O, first part: the order of errors, controllers and export side. */
#include "error_order.h"
#include "stage.h"

/* Memory and segments that the calls of one test share. */
static struct {
    uint8_t *memory; /* 4 pages */
    uint8_t *other;  /* 4 pages, too */
    uint8_t *hole;   /* not mapped */
    uint8_t *locked; /* may not be written */
    rsm_memseg_export_handle_t segment;
    rsm_memseg_export_handle_t second;
} my;

enum { COUNT = 2, LENGTHS = 3, OTHER_ID = SEGMENT_ID + 1 };

static void prepare(uint_t flags)
{
    act_as_exporter();
    my.memory = pages(4);
    my.other = pages(4);
    my.hole = pages(4);
    my.locked = pages(4);
    HOLDS(mprotect(my.locked, 4 * PAGE, PROT_READ) == 0);
    my.segment = created(my.memory, COUNT * PAGE, flags);
    my.second = created(my.other, COUNT * PAGE, 0);
    HOLDS(munmap(my.hole, 4 * PAGE) == 0); /* last: nothing is to be mapped there */
}

/* A call in this process or in a forked child, where it is the creator's no more. */
struct in_process {
    int (*call)(unsigned mask);
    unsigned mask;
};

static int call_in_child(void *argument)
{
    const struct in_process *given = argument;
    return given->call(given->mask);
}

static int as_process(bool child, int (*call)(unsigned mask), unsigned mask)
{
    struct in_process given = {.call = call, .mask = mask};
    return child ? in_child(call_in_child, &given) : call(mask);
}

/* ---------------------------------------------------------------- controllers */

enum { GET_RESULT, GET_NAME };
static const struct fault get_faults[] = {
    [GET_RESULT] = {"NULL result", RSMERR_BAD_CTLR_HNDL, ABOUT_RESULT},
    [GET_NAME] = {"unknown name", RSMERR_CTLR_NOT_PRESENT, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

static int call_get(unsigned mask)
{
    rsmapi_controller_handle_t handle;
    int error = get_controller(WITH(GET_NAME) ? "nosuch0" : options.controller,
                               WITH(GET_RESULT) ? NULL : &handle);
    return error == RSM_SUCCESS ? rsm_release_controller(handle) : error;
}

CONFORMANCE(O, 01, "order of errors: get_controller")
{
    static const struct checked_function get = {"get_controller", get_faults, call_get};
    act_as_exporter();
    check_order(&get);
}

enum { ATTR_HANDLE, ATTR_RESULT };
static const struct fault attr_faults[] = {
    [ATTR_HANDLE] = {"NULL controller", RSMERR_BAD_CTLR_HNDL, ABOUT_HANDLE},
    [ATTR_RESULT] = {"NULL result", RSMERR_BAD_ADDR, ABOUT_RESULT},
    {NULL, 0, 0},
};

static int call_attr(unsigned mask)
{
    rsmapi_controller_attr_t attr;
    return rsm_get_controller_attr(WITH(ATTR_HANDLE) ? NULL : controller(),
                                   WITH(ATTR_RESULT) ? NULL : &attr);
}

CONFORMANCE(O, 02, "order of errors: get_controller_attr")
{
    static const struct checked_function get = {"get_controller_attr", attr_faults, call_attr};
    act_as_exporter();
    check_order(&get);
}

/* ---------------------------------------------------------------- export_create */

enum {
    CREATE_CONTROLLER,
    CREATE_RESULT,
    CREATE_NULL,
    CREATE_NO_SIZE,
    CREATE_MISALIGNED,
    CREATE_ODD_SIZE,
    CREATE_HOLE,
    CREATE_LOCKED,
};
static const struct fault create_faults[] = {
    [CREATE_CONTROLLER] = {"NULL controller", RSMERR_BAD_CTLR_HNDL, ABOUT_HANDLE},
    [CREATE_RESULT] = {"NULL result", RSMERR_BAD_SEG_HNDL, ABOUT_RESULT},
    [CREATE_NULL] = {"NULL address", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [CREATE_NO_SIZE] = {"size 0", RSMERR_BAD_LENGTH, ABOUT_LENGTH},
    [CREATE_MISALIGNED] = {"misaligned address", RSMERR_BAD_MEM_ALIGNMENT, ABOUT_ADDRESS},
    [CREATE_ODD_SIZE] = {"misaligned size", RSMERR_BAD_MEM_ALIGNMENT, ABOUT_LENGTH},
    [CREATE_HOLE] = {"unmapped range", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [CREATE_LOCKED] = {"read-only range", RSMERR_PERM_DENIED, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

static int call_create(unsigned mask)
{
    rsm_memseg_export_handle_t segment;
    uint8_t *address = my.other;
    size_t size = PAGE;
    if (WITH(CREATE_LOCKED))
        address = my.locked;
    if (WITH(CREATE_HOLE))
        address = my.hole;
    if (WITH(CREATE_MISALIGNED))
        address += 8;
    if (WITH(CREATE_NULL))
        address = NULL;
    if (WITH(CREATE_ODD_SIZE))
        size = PAGE + 8;
    if (WITH(CREATE_NO_SIZE))
        size = 0;
    int error = rsm_memseg_export_create(WITH(CREATE_CONTROLLER) ? NULL : controller(),
                                         WITH(CREATE_RESULT) ? NULL : &segment, address, size, 0);
    return error == RSM_SUCCESS ? rsm_memseg_export_destroy(segment) : error;
}

CONFORMANCE(O, 03, "order of errors: export_create")
{
    static const struct checked_function create = {"create", create_faults, call_create};
    prepare(0);
    check_order(&create);
}

/* ---------------------------------------------------------------- publish */

enum {
    PUBLISH_NO_ID,
    PUBLISH_HANDLE,
    PUBLISH_NO_LIST,
    PUBLISH_PUBLISHED,
    PUBLISH_RESERVED,
    PUBLISH_CHILD,
    PUBLISH_BAD_NODE,
    PUBLISH_IN_USE,
};
static const struct fault publish_faults[] = {
    [PUBLISH_NO_ID] = {"NULL id", RSMERR_BAD_SEGID, ABOUT_ID},
    [PUBLISH_HANDLE] = {"NULL segment", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE | ABOUT_STATE},
    [PUBLISH_NO_LIST] = {"NULL list", RSMERR_BAD_ACL, ABOUT_LIST},
    [PUBLISH_PUBLISHED] = {"published", RSMERR_SEG_ALREADY_PUBLISHED, ABOUT_STATE},
    [PUBLISH_RESERVED] = {"reserved id", RSMERR_RESERVED_SEGID, ABOUT_ID},
    [PUBLISH_CHILD] = {"not creator", RSMERR_NOT_CREATOR, ABOUT_PROCESS},
    [PUBLISH_BAD_NODE] = {"bad node", RSMERR_BAD_ACL, ABOUT_LIST},
    [PUBLISH_IN_USE] = {"id in use", RSMERR_SEGID_IN_USE, ABOUT_ID},
    {NULL, 0, 0},
};

static int publish_here(unsigned mask)
{
    rsmapi_access_entry_t entry = {WITH(PUBLISH_BAD_NODE) ? 65 : options.exporter_node, 0666};
    rsm_memseg_id_t id = OTHER_ID + 1;
    if (WITH(PUBLISH_IN_USE))
        id = SEGMENT_ID;
    if (WITH(PUBLISH_RESERVED))
        id = 1;
    rsm_memseg_export_handle_t segment = WITH(PUBLISH_PUBLISHED) ? my.second : my.segment;
    return rsm_memseg_export_publish(WITH(PUBLISH_HANDLE) ? NULL : segment,
                                     WITH(PUBLISH_NO_ID) ? NULL : &id,
                                     WITH(PUBLISH_NO_LIST) ? NULL : &entry, 1);
}

static int call_publish(unsigned mask)
{
    int error = as_process(WITH(PUBLISH_CHILD), publish_here, mask);
    return error == RSM_SUCCESS ? rsm_memseg_export_unpublish(my.segment) : error;
}

CONFORMANCE(O, 04, "order of errors: publish")
{
    static const struct checked_function checked = {"publish", publish_faults, call_publish};
    prepare(0);
    publish(my.second, SEGMENT_ID);
    check_order(&checked);
}

/* ---------------------------------------------------------------- republish, unpublish */

enum {
    REPUBLISH_HANDLE,
    REPUBLISH_STATE,
    REPUBLISH_NO_LIST,
    REPUBLISH_CHILD,
    REPUBLISH_BAD_NODE,
};
static const struct fault republish_faults[] = {
    [REPUBLISH_HANDLE] = {"NULL segment", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE | ABOUT_STATE},
    [REPUBLISH_STATE] = {"not published", RSMERR_SEG_NOT_PUBLISHED, ABOUT_STATE},
    [REPUBLISH_NO_LIST] = {"NULL list", RSMERR_BAD_ACL, ABOUT_LIST},
    [REPUBLISH_CHILD] = {"not creator", RSMERR_NOT_CREATOR, ABOUT_PROCESS},
    [REPUBLISH_BAD_NODE] = {"bad node", RSMERR_BAD_ACL, ABOUT_LIST},
    {NULL, 0, 0},
};

static int republish_here(unsigned mask)
{
    rsmapi_access_entry_t entry = {WITH(REPUBLISH_BAD_NODE) ? 65 : options.exporter_node, 0666};
    rsm_memseg_export_handle_t segment = WITH(REPUBLISH_STATE) ? my.segment : my.second;
    return rsm_memseg_export_republish(WITH(REPUBLISH_HANDLE) ? NULL : segment,
                                       WITH(REPUBLISH_NO_LIST) ? NULL : &entry, 1);
}

static int call_republish(unsigned mask)
{
    return as_process(WITH(REPUBLISH_CHILD), republish_here, mask);
}

CONFORMANCE(O, 05, "order of errors: republish")
{
    static const struct checked_function checked = {"republish", republish_faults, call_republish};
    prepare(0);
    publish(my.second, SEGMENT_ID);
    check_order(&checked);
}

/* A segment that is not published has no poll descriptor. */
enum { UNPUBLISH_HANDLE, UNPUBLISH_STATE, UNPUBLISH_CHILD, UNPUBLISH_POLLFD };
static const struct fault unpublish_faults[] = {
    [UNPUBLISH_HANDLE] = {"NULL segment", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE | ABOUT_STATE},
    [UNPUBLISH_STATE] = {"not published", RSMERR_SEG_NOT_PUBLISHED, ABOUT_STATE},
    [UNPUBLISH_CHILD] = {"not creator", RSMERR_NOT_CREATOR, ABOUT_PROCESS},
    [UNPUBLISH_POLLFD] = {"pollfd in use", RSMERR_POLLFD_IN_USE, ABOUT_RESULT},
    {NULL, 0, 0},
};

static int unpublish_here(unsigned mask)
{
    rsm_memseg_export_handle_t segment = WITH(UNPUBLISH_STATE) ? my.segment : my.second;
    struct pollfd entry;
    bool watched = WITH(UNPUBLISH_POLLFD) && !WITH(UNPUBLISH_STATE);
    if (watched && rsm_memseg_get_pollfd(segment, &entry) != RSM_SUCCESS)
        return RSMERR_INTERNAL_ERROR;
    int error = rsm_memseg_export_unpublish(WITH(UNPUBLISH_HANDLE) ? NULL : segment);
    if (watched && rsm_memseg_release_pollfd(segment) != RSM_SUCCESS)
        return RSMERR_INTERNAL_ERROR;
    return error;
}

static int call_unpublish(unsigned mask)
{
    int error = as_process(WITH(UNPUBLISH_CHILD), unpublish_here, mask);
    if (error == RSM_SUCCESS)
        publish(my.second, SEGMENT_ID);
    return error;
}

CONFORMANCE(O, 06, "order of errors: unpublish")
{
    static const struct checked_function checked = {"unpublish", unpublish_faults, call_unpublish};
    prepare(0);
    publish(my.second, SEGMENT_ID);
    check_order(&checked);
}

/* ---------------------------------------------------------------- rebind */

enum {
    REBIND_HANDLE,
    REBIND_NULL,
    REBIND_REFUSED,
    REBIND_CHILD,
    REBIND_SIZE,
    REBIND_MISALIGNED,
    REBIND_HOLE,
    REBIND_LOCKED,
};
static const struct fault rebind_faults[] = {
    [REBIND_HANDLE] = {"NULL segment", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE | ABOUT_STATE},
    [REBIND_NULL] = {"NULL address", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [REBIND_REFUSED] = {"not allowed", RSMERR_REBIND_NOT_ALLOWED, ABOUT_STATE},
    [REBIND_CHILD] = {"not creator", RSMERR_NOT_CREATOR, ABOUT_PROCESS},
    [REBIND_SIZE] = {"other size", RSMERR_BAD_LENGTH, ABOUT_LENGTH},
    [REBIND_MISALIGNED] = {"misaligned address", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [REBIND_HOLE] = {"unmapped range", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [REBIND_LOCKED] = {"read-only range", RSMERR_PERM_DENIED, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

/* Without a fault the memory is what the segment has. */
static int rebind_here(unsigned mask)
{
    uint8_t *address = my.memory;
    if (WITH(REBIND_LOCKED))
        address = my.locked;
    if (WITH(REBIND_HOLE))
        address = my.hole;
    if (WITH(REBIND_MISALIGNED))
        address += 8;
    if (WITH(REBIND_NULL))
        address = NULL;
    rsm_memseg_export_handle_t segment = WITH(REBIND_REFUSED) ? my.second : my.segment;
    return rsm_memseg_export_rebind(WITH(REBIND_HANDLE) ? NULL : segment, address, 0,
                                    (WITH(REBIND_SIZE) ? LENGTHS : COUNT) * PAGE);
}

static int call_rebind(unsigned mask)
{
    return as_process(WITH(REBIND_CHILD), rebind_here, mask);
}

CONFORMANCE(O, 07, "order of errors: rebind")
{
    static const struct checked_function checked = {"rebind", rebind_faults, call_rebind};
    prepare(RSM_ALLOW_REBIND);
    check_order(&checked);
}

/* ---------------------------------------------------------------- local memory */

enum { LOCAL_MISALIGNED, LOCAL_CONTROLLER, LOCAL_RESULT, LOCAL_LENGTH, LOCAL_NULL };
static const struct fault local_faults[] = {
    [LOCAL_MISALIGNED] = {"misaligned address", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [LOCAL_CONTROLLER] = {"NULL controller", RSMERR_BAD_CTLR_HNDL, ABOUT_HANDLE},
    [LOCAL_RESULT] = {"NULL result", RSMERR_BAD_LOCALMEM_HNDL, ABOUT_RESULT},
    [LOCAL_LENGTH] = {"length 0", RSMERR_BAD_LENGTH, ABOUT_LENGTH},
    [LOCAL_NULL] = {"NULL address", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

static int call_local(unsigned mask)
{
    rsm_localmemory_handle_t local;
    uint8_t *address = WITH(LOCAL_NULL) ? NULL : my.other;
    if (WITH(LOCAL_MISALIGNED))
        address += 8;
    int error = rsm_create_localmemory_handle(WITH(LOCAL_CONTROLLER) ? NULL : controller(),
                                              WITH(LOCAL_RESULT) ? NULL : &local, (caddr_t)address,
                                              WITH(LOCAL_LENGTH) ? 0 : PAGE);
    return error == RSM_SUCCESS ? rsm_free_localmemory_handle(controller(), local) : error;
}

CONFORMANCE(O, 08, "order of errors: create_localmemory_handle")
{
    static const struct checked_function checked = {"create_local", local_faults, call_local};
    prepare(0);
    check_order(&checked);
}
