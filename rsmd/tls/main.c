/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm-tlsd: started by rsmd where rsm.conf has auth = tls, with the socket to it as
 * descriptor 3. */
#include <openssl/rand.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "helper/program.h"
#include "tls/tlsd.h"

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
    static struct tlsd tlsd = {.control = {.fd = RSM_HELPER_CONTROL}};
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &tlsd.control};
    static const int calls[] = {
        SYS_read, SYS_write, SYS_sendto, SYS_ppoll,
#ifdef SYS_poll
        SYS_poll,
#endif
    };
    if (!rsm_helper_begin("rsm-tlsd", "where rsm.conf has auth = tls"))
        return 2;
    (void)signal(SIGPIPE, SIG_IGN); /* the TLS library writes without MSG_NOSIGNAL */
    snprintf(tlsd.text, sizeof tlsd.text, "the certificates have not been read yet");
    tlsd.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (tlsd.epoll < 0 ||
        epoll_ctl(tlsd.epoll, EPOLL_CTL_ADD, RSM_HELPER_CONTROL, &readable) != 0 ||
        !prepare_library() ||
        !rsm_helper_enter_sandbox("rsm-tlsd", calls, sizeof calls / sizeof calls[0]))
        return 1;
    tlsd_run(&tlsd);
    return 0;
}
