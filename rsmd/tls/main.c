/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm-tlsd: started by rsmd where rsm.conf has auth = tls, with the socket to it as
 * descriptor 3. */
#include <fcntl.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tls/tlsd.h"

enum { CONTROL = 3 };

/* Each connection takes two. */
static void raise_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* What opens files must have happened before the sandbox; no configuration of the host's library
 * weakens what this program asks for. */
static bool prepare_library(void)
{
    unsigned char bytes[16];
    return OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS |
                                OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
                            NULL) == 1 &&
           RAND_bytes(bytes, sizeof bytes) == 1;
}

int main(void)
{
    static struct tlsd tlsd = {.control = {.fd = CONTROL}};
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &tlsd.control};
    struct stat status;
    if (fstat(CONTROL, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        fputs("rsm-tlsd: rsmd starts this program where rsm.conf has auth = tls\n", stderr);
        return 2;
    }
    (void)fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
    (void)signal(SIGPIPE, SIG_IGN); /* the TLS library writes without MSG_NOSIGNAL */
    raise_limit();
    snprintf(tlsd.text, sizeof tlsd.text, "the certificates have not been read yet");
    tlsd.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (tlsd.epoll < 0 || epoll_ctl(tlsd.epoll, EPOLL_CTL_ADD, CONTROL, &readable) != 0 ||
        !prepare_library() || !tlsd_sandbox_enter())
        return 1;
    tlsd_run(&tlsd);
    return 0;
}
