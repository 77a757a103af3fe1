/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm-tcpd: started by the node half of the tcp transport in rsmd, with the socket to it as
 * descriptor 3. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/tcp/server/server.h"

enum { CONTROL = 3 };

/* rsmd's standard error is the journal of its service, or nothing. */
static void to_rsmd(enum rsmcore_log_level level, const char *text)
{
    (void)level;
    fputs("rsm-tcpd: ", stderr);
    fputs(text, stderr);
    fputs("\n", stderr);
}

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
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

static bool is_socket(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

/* Before the sandbox: what OpenSSL opens and asks once is done then. */
static bool encrypt(struct tcp_server *server)
{
    server->tls = tcp_tls_make(true);
    return server->tls != NULL && tcp_tls_rehearse(server->tls);
}

int main(int argc, char **argv)
{
    static struct tcp_server server = {.control = CONTROL, .listener = -1};
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &server.control};
    if (!is_socket(CONTROL)) {
        fputs("rsm-tcpd: rsmd starts this program for controllers of the transport tcp\n", stderr);
        return 2;
    }
    rsmcore_log_to(to_rsmd, RSMCORE_LOG_INFO);
    (void)fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
    share_descriptors(&server);
    bool encrypts = argc > 1 && strcmp(argv[1], TCP_SERVER_ENCRYPTS) == 0;
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (server.epoll < 0 || (encrypts && !encrypt(&server)) ||
        epoll_ctl(server.epoll, EPOLL_CTL_ADD, server.control, &readable) != 0 ||
        !tcp_sandbox_enter())
        return 1;
    tcp_server_run(&server);
    tcp_server_end(&server);
    tcp_tls_free(server.tls);
    return 0;
}
