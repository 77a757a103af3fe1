/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

struct daemon daemon_1;
uint64_t page;
int socket_1;

static void begin(const char *option)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    daemon_start(&daemon_1, NULL, option);
}

int daemon_setup(void **state)
{
    begin(NULL);
    return 0;
}

int daemon_teardown(void **state)
{
    daemon_stop(&daemon_1);
    return 0;
}

int exporter_setup(void **state)
{
    begin("--embedded");
    socket_1 = peer_hello(&daemon_1);
    return 0;
}

int exporter_teardown(void **state)
{
    close(socket_1);
    return daemon_teardown(state);
}
