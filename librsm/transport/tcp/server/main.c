/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm-tcpd: started by the node half of the tcp transport in rsmd, with the socket to it as
 * descriptor 3. */
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "helper/program.h"
#include "transport/tcp/server/server.h"

/* Each connection is one. Strangers have a part of them. */
static void share_descriptors(struct tcp_server *server)
{
    enum { PART = 8 };
    struct rlimit files;
    server->strangers_max = TCP_STRANGERS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    if (files.rlim_max / PART < TCP_STRANGERS_MAX)
        server->strangers_max = (unsigned)files.rlim_max / PART;
}

/* Before the sandbox: what OpenSSL opens and asks once is done then. */
static bool encrypt(struct tcp_server *server)
{
    server->tls = tcp_tls_make(true);
    return server->tls != NULL && tcp_tls_rehearse(server->tls);
}

int main(int argc, char **argv)
{
    static struct tcp_server server = {.control = RSM_HELPER_CONTROL, .listener = -1};
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &server.control};
    static const int calls[] = {SYS_accept4, SYS_setsockopt, SYS_sched_yield};
    if (!rsm_helper_begin("rsm-tcpd", "for controllers of the transport tcp"))
        return 2;
    share_descriptors(&server);
    bool encrypts = argc > 1 && strcmp(argv[1], TCP_SERVER_ENCRYPTS) == 0;
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (server.epoll < 0 || (encrypts && !encrypt(&server)) ||
        epoll_ctl(server.epoll, EPOLL_CTL_ADD, server.control, &readable) != 0 ||
        !rsm_helper_enter_sandbox("rsm-tcpd", calls, sizeof calls / sizeof calls[0]))
        return 1;
    tcp_server_run(&server);
    tcp_server_end(&server);
    tcp_tls_free(server.tls);
    return 0;
}
