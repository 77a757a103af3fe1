/* SPDX-License-Identifier: BSD-3-Clause */
#include "sisci.h"

#include <sys/time.h>

enum { ALARM_US = 2000 };

const char conformance_api[] = "SISCI";

const char *code_name(int code)
{
    return SCIGetErrorString((sci_error_t)code);
}

static sci_desc_t open_desc(void)
{
    sci_desc_t opened = NULL;
    sci_error_t error;
    SCIInitialize(0, &error);
    if (error == SCI_ERR_OK)
        SCIOpen(&opened, 0, &error);
    return error == SCI_ERR_OK ? opened : NULL;
}

sci_desc_t desc(void)
{
    static sci_desc_t opened;
    static pid_t opener; /* a forked child has none of its parent's */
    if (opened == NULL || opener != getpid()) {
        opened = open_desc();
        opener = getpid();
    }
    return opened;
}

/* The daemon has ended by then, and threads that listened to it with it: they are waited for. */
static void end_library(void)
{
    SCITerminate();
}

void begin_as_a(void)
{
    act_as_exporter();
    HOLDS(desc() != NULL && atexit(end_library) == 0);
}

struct actor *b_start(void)
{
    return importer_start();
}

unsigned node_a(void)
{
    return options.exporter_node;
}

unsigned node_b(void)
{
    return options.importer_node;
}

static void on_alarm(int signal)
{
}

static void set_alarms(suseconds_t every_us)
{
    const struct itimerval timer = {.it_interval = {.tv_usec = every_us},
                                    .it_value = {.tv_usec = every_us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void alarms_begin(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    set_alarms(ALARM_US);
}

void alarms_end(void)
{
    set_alarms(0);
}

bool long_run(void)
{
    return getenv("RSM_CONFORMANCE_LONG") != NULL;
}

void *no_handle(unsigned which)
{
    static struct {
        char bytes[64];
    } memory;
    void *const handles[NO_HANDLES] = {NULL, (void *)8, &memory, &which, (void *)UINTPTR_MAX};
    return handles[which];
}

static bool sleeps(pid_t thread)
{
    char path[64], state = '\0';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = thread != 0 ? fopen(path, "re") : NULL;
    if (file != NULL) {
        HOLDS(fscanf(file, "%*d %*s %c", &state) == 1);
        fclose(file);
    }
    return state == 'S';
}

void await_sleep(_Atomic pid_t *thread)
{
    int64_t deadline = now_ms() + LONG_MS;
    for (int seen = 0; seen < 10 && now_ms() < deadline; usleep(2000))
        seen = sleeps(atomic_load(thread)) ? seen + 1 : 0;
}
