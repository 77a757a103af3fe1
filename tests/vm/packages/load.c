// SPDX-License-Identifier: BSD-3-Clause
/*
 * An exporter and an importer, two processes of one node, with load between them. The importer writes numbers, each
 * behind a barrier. "load: running" is said after the first hundred. At SIGUSR1 both find out whether their segment
 * still works: the importer writes a hundred more, and then the exporter looks what has arrived and withdraws the
 * segment. Each says "NAME: survives" or "NAME: ended, CALL: error N". The status is 0 in both cases.
 */
#include <rsmapi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 100, SEGMENT = 0x500000 };
static char controller_name[] = "sci0";
static volatile sig_atomic_t asked;

static void ask(int number)
{
    asked = 1;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ != RSM_SUCCESS) {                                                                \
            printf("%s: ended, %s: error %d\n", name, #call, code_);                               \
            fflush(stdout);                                                                        \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static void import(rsm_node_id_t node, volatile uint64_t *written)
{
    static const char name[] = "importer";
    rsmapi_controller_handle_t controller;
    rsm_memseg_import_handle_t segment;
    rsmapi_barrier_t barrier;
    uint64_t value = 0;

    TRY(rsm_get_controller(controller_name, &controller));
    TRY(rsm_memseg_import_connect(controller, node, SEGMENT, RSM_PERM_RDWR, &segment));
    TRY(rsm_memseg_import_init_barrier(segment, RSM_BARRIER_NODE, &barrier));
    for (int left = ROUNDS; left > 0;) {
        value++;
        TRY(rsm_memseg_import_open_barrier(&barrier));
        TRY(rsm_memseg_import_put(segment, 0, &value, sizeof(value)));
        TRY(rsm_memseg_import_close_barrier(&barrier));
        *written = value;
        if (value == ROUNDS) {
            puts("load: running");
            fflush(stdout);
        }
        if (asked)
            left--;
        usleep(1000);
    }
    TRY(rsm_memseg_import_destroy_barrier(&barrier));
    TRY(rsm_memseg_import_disconnect(segment));
    puts("importer: survives");
    fflush(stdout);
}

static void export_segment(void)
{
    static const char name[] = "exporter";
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    rsmapi_access_entry_t access;
    rsm_topology_t *topology;
    rsm_memseg_id_t id = SEGMENT;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    volatile uint64_t *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile uint64_t *written =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t arrived;
    pid_t child;

    TRY(rsm_get_controller(controller_name, &controller));
    TRY(rsm_get_interconnect_topology(&topology));
    access.ae_node = topology->topology_hdr.local_nodeid;
    access.ae_permission = RSM_PERM_RDWR;
    TRY(rsm_memseg_export_create(controller, &segment, (void *)memory, size, 0));
    TRY(rsm_memseg_export_publish(segment, &id, &access, 1));
    child = fork();
    if (child == 0) {
        import(access.ae_node, written);
        _exit(0);
    }
    while (!asked)
        usleep(10000);
    kill(child, SIGUSR1);
    waitpid(child, NULL, 0);
    arrived = *memory;
    printf("load: %llu numbers written, the last that arrived is %llu\n",
           (unsigned long long)*written, (unsigned long long)arrived);
    if (arrived < *written)
        printf("load: LOST: a barrier has vouched for more\n");
    TRY(rsm_memseg_export_unpublish(segment));
    TRY(rsm_memseg_export_destroy(segment));
    puts("exporter: survives");
}

int main(void)
{
    struct sigaction action = {.sa_handler = ask};

    sigaction(SIGUSR1, &action, NULL);
    export_segment();
    return 0;
}
