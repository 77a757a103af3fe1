/* SPDX-License-Identifier: BSD-3-Clause */
/* The library against a daemon that lies (hostile.h): replies and descriptors of all kinds, while
 * the program makes RSMAPI calls. A call returns one of RSMAPI's results and in time; memory that
 * it has handed out can be used; in the end no descriptor is left. The first bytes of an input are
 * the program's calls, the others the daemon's answers. */
#include "base/clock.h"
#include "check.h"
#include "control/control.h"
#include "base/log.h"
#include "descriptors.h"
#include "fuzz.h"
#include "hostile.h"
#include "rsm/rsmapi.h"

enum {
    EXPORTS = 2,
    IMPORTS = 3,
    LENGTH = 2 * 4096,
    CALLS_MAX = 20,
    SCRIPT = 64, /* bytes of the program's part at most */
    OWN_MOST_MS = 150,
    CALL_MOST_MS = 65000, /* by the clock: the longest time-out that a client believes, and a bit */
};

static struct {
    rsmapi_controller_handle_t controller;
    struct export_state {
        rsm_memseg_export_handle_t handle;
        uint8_t *memory;
        unsigned polled;
    } exports[EXPORTS];
    struct import_state {
        rsm_memseg_import_handle_t handle;
        volatile uint8_t *mapped;
        unsigned polled;
    } imports[IMPORTS];
} program;

static void check_result(int result)
{
    CHECK(result == RSM_SUCCESS || (result > 0 && result < 128));
}

/* ------------------------------------------------------------------ exporting */

static void touch(volatile uint8_t *memory, bool write)
{
    for (size_t at = 0; at < LENGTH; at += 2048)
        if (write)
            memory[at] = (uint8_t)(memory[at] + 1);
        else
            (void)memory[at];
}

static void create(struct export_state *export)
{
    if (export->handle != NULL || program.controller == NULL)
        return;
    check_result(rsm_memseg_export_create(program.controller, &export->handle, export->memory,
                                          LENGTH, RSM_ALLOW_REBIND));
}

static void destroy(struct export_state *export)
{
    for (; export->handle != NULL && export->polled > 0; export->polled--)
        (void)rsm_memseg_release_pollfd(export->handle);
    if (export->handle != NULL && rsm_memseg_export_destroy(export->handle) == RSM_SUCCESS)
        export->handle = NULL;
}

static void publish(struct export_state *export, struct input *in)
{
    rsmapi_access_entry_t list[] = {{1, RSM_PERM_RDWR}, {2, RSM_PERM_READ}};
    rsm_memseg_id_t id = input_below(in, 4);
    check_result(rsm_memseg_export_publish(export->handle, &id, list, input_below(in, 3)));
}

/* ------------------------------------------------------------------ importing */

static void connect_to(struct import_state *import, struct input *in)
{
    if (import->handle != NULL || program.controller == NULL)
        return;
    check_result(rsm_memseg_import_connect(program.controller, 1 + input_below(in, 2),
                                           input_below(in, 4), RSM_PERM_RDWR, &import->handle));
}

static void unmap(struct import_state *import)
{
    if (import->mapped != NULL && rsm_memseg_import_unmap(import->handle) == RSM_SUCCESS)
        import->mapped = NULL;
}

static void disconnect(struct import_state *import)
{
    unmap(import);
    for (; import->handle != NULL && import->polled > 0; import->polled--)
        (void)rsm_memseg_release_pollfd(import->handle);
    if (import->handle != NULL && rsm_memseg_import_disconnect(import->handle) == RSM_SUCCESS)
        import->handle = NULL;
}

static void map(struct import_state *import)
{
    void *address = NULL;
    if (import->mapped != NULL)
        return;
    int result =
        rsm_memseg_import_map(import->handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, LENGTH);
    check_result(result);
    if (result == RSM_SUCCESS)
        import->mapped = address;
}

static void transfer(struct import_state *import, struct input *in)
{
    static uint8_t buffer[LENGTH];
    off_t offset = input_below(in, 8) * 2048;
    size_t length = 1 + input_below(in, 8) * 1024;
    if (input_u8(in) & 1)
        check_result(rsm_memseg_import_put(import->handle, offset, buffer, length));
    else
        check_result(rsm_memseg_import_get(import->handle, offset, buffer, length));
}

static void pass_barrier(struct import_state *import)
{
    rsmapi_barrier_t barrier;
    if (rsm_memseg_import_init_barrier(import->handle, RSM_BARRIER_NODE, &barrier) != RSM_SUCCESS)
        return;
    if (rsm_memseg_import_open_barrier(&barrier) == RSM_SUCCESS)
        check_result(rsm_memseg_import_close_barrier(&barrier));
    check_result(rsm_memseg_import_destroy_barrier(&barrier));
}

/* ------------------------------------------------------------------ either */

static void look_around(void)
{
    rsm_topology_t *topology = NULL;
    if (rsm_get_interconnect_topology(&topology) != RSM_SUCCESS)
        return;
    CHECK(topology != NULL);
    rsm_free_interconnect_topology(topology);
}

static void use_event(void *handle, unsigned *polled, struct input *in)
{
    struct pollfd entry;
    switch (input_below(in, 4)) {
    case 0:
        check_result(rsm_intr_signal_post(handle, input_below(in, 2)));
        break;
    case 1:
        check_result(rsm_intr_signal_wait(handle, 0));
        break;
    case 2:
        *polled += rsm_memseg_get_pollfd(handle, &entry) == RSM_SUCCESS;
        break;
    default:
        check_result(rsm_intr_signal_wait(handle, 1));
    }
}

static void use_export(struct export_state *export, struct input *in)
{
    if (export->handle == NULL) {
        create(export);
        return;
    }
    switch (input_below(in, 8)) {
    case 0:
    case 1:
        publish(export, in);
        break;
    case 2:
        check_result(rsm_memseg_export_republish(export->handle, NULL, 0));
        break;
    case 3:
        check_result(rsm_memseg_export_unpublish(export->handle));
        break;
    case 4:
        destroy(export);
        break;
    case 5:
        check_result(rsm_memseg_export_rebind(export->handle, export->memory, 0, LENGTH));
        break;
    default:
        use_event(export->handle, &export->polled, in);
    }
}

static void use_import(struct import_state *import, struct input *in)
{
    if (import->handle == NULL) {
        connect_to(import, in);
        return;
    }
    switch (input_below(in, 8)) {
    case 0:
        map(import);
        break;
    case 1:
        unmap(import);
        break;
    case 2:
    case 3:
        transfer(import, in);
        break;
    case 4:
        pass_barrier(import);
        break;
    case 5:
        disconnect(import);
        break;
    default:
        use_event(import->handle, &import->polled, in);
    }
}

static void use_controller(struct input *in)
{
    char name[] = "sci0";
    rsmapi_controller_attr_t attributes;
    if (program.controller == NULL) {
        check_result(rsm_get_controller(name, &program.controller));
        return;
    }
    if (input_below(in, 4) == 0)
        check_result(rsm_get_controller_attr(program.controller, &attributes));
    else
        look_around();
}

/* One call; then whatever memory the program has is used. */
static void call(struct input *in)
{
    int64_t start = rsm_clock_ms(), step = fuzz_step_begin();
    unsigned what = input_below(in, 8);
    if (what < 3)
        use_export(&program.exports[what % EXPORTS], in);
    else if (what < 6)
        use_import(&program.imports[what % IMPORTS], in);
    else
        use_controller(in);
    fuzz_step_end(step, "a call");
    CHECK(rsm_clock_ms() - start < CALL_MOST_MS);
    for (unsigned i = 0; i < EXPORTS; i++)
        touch(program.exports[i].memory, true);
    for (unsigned i = 0; i < IMPORTS; i++)
        if (program.imports[i].mapped != NULL)
            touch(program.imports[i].mapped, false);
}

/* ------------------------------------------------------------------ one input */

static void begin(void)
{
    hostile_prepare();
    hostile_waits_begin();
    rsmcore_control_local_max_ms = OWN_MOST_MS;
    for (unsigned i = 0; i < EXPORTS; i++) {
        void *memory =
            mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        program.exports[i].memory = memory;
    }
}

static void end_program(void)
{
    for (unsigned i = 0; i < IMPORTS; i++) {
        disconnect(&program.imports[i]);
        CHECK(program.imports[i].handle == NULL);
    }
    for (unsigned i = 0; i < EXPORTS; i++) {
        destroy(&program.exports[i]);
        CHECK(program.exports[i].handle == NULL);
        touch(program.exports[i].memory, true);
    }
    if (program.controller != NULL)
        CHECK(rsm_release_controller(program.controller) == RSM_SUCCESS);
    program.controller = NULL;
}

/* Links to daemons that have died leave when they are looked for. */
static void forget_daemons(void)
{
    for (uint32_t node = 1; node <= HOSTILE_NODES; node++)
        CHECK(rsmcore_control_known(node) == NULL);
}

static void run(struct input *in)
{
    struct input calls = {.at = in->at, .left = 0};
    uint8_t length = input_u8(in) % SCRIPT;
    calls = (struct input){.at = in->at, .left = length < in->left ? length : in->left};
    struct input answers = {.at = calls.at + calls.left, .left = in->left - calls.left};
    hostile_start(&answers);
    for (unsigned count = 0; !input_ends(&calls) && count < CALLS_MAX; count++)
        call(&calls);
    end_program();
    hostile_stop();
    forget_daemons();
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    if (program.exports[0].memory == NULL) {
        begin();
        /* An honest session with everything in it, so that what the library keeps is there. */
        static const uint8_t all[] = {29, 7, 0, 0, 0, 0, 3, 1, 0, 3, 0,
                                      0,  3, 6, 0, 3, 3, 2, 0, 3, 3, 1};
        struct input first = {.at = all, .left = sizeof all};
        run(&first);
    }
    unsigned before = descriptors_open();
    run(&in);
    CHECK(descriptors_open() == before);
}
