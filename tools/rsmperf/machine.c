/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static void find_processor(struct machine *machine, const char *architecture)
{
    char line[256];
    snprintf(machine->processor, sizeof machine->processor, "%s", architecture);
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || value == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(machine->processor, sizeof machine->processor, "%.*s",
                 (int)sizeof machine->processor - 1, value + 2);
        break;
    }
    if (file != NULL)
        fclose(file);
}

void machine_look(struct machine *machine)
{
    struct utsname name;
    cpu_set_t mask;
    *machine = (struct machine){.processors = 1};
    if (uname(&name) == 0) {
        snprintf(machine->system, sizeof machine->system, "%s %s", name.sysname, name.release);
        find_processor(machine, name.machine);
    }
    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        machine->processors = (unsigned)CPU_COUNT(&mask);
    if (getloadavg(&machine->load, 1) != 1)
        machine->load = -1;
}

/* Before this process kept to any. */
static cpu_set_t usable;
static bool limited;

void machine_keep_to(unsigned place)
{
    cpu_set_t one;
    if (!limited && sched_getaffinity(0, sizeof usable, &usable) < 0)
        return;
    if (CPU_COUNT(&usable) < 2)
        return;
    limited = true;
    place %= (unsigned)CPU_COUNT(&usable);
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &usable) && place-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            /* failure is harmless: figures are noisier without */
            (void)sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

void machine_keep_to_none(void)
{
    if (limited)
        (void)sched_setaffinity(0, sizeof usable, &usable);
}
