/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm-tlsd: messages of its socket to rsmd, and what the other end of a TCP connection sends before it is
 * known who that is. An input is a kind and bytes; of a connection, pieces with their lengths, one for each
 * time that the connection is served. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "tls/tlsd.h"

enum { NODE = 7, DAY_S = 86400 };

/* ------------------------------------------------------------------ messages */

/* What makes sense is written as it was read. */
static void read_message(const uint8_t *data, size_t size)
{
    struct rsmd_tls_control message, again;
    uint8_t bytes[RSMD_TLS_CONTROL_MAX];
    if (!rsmd_tls_control_decode(data, size, &message))
        return;
    size_t length = rsmd_tls_control_encode(&message, bytes);
    if (length == 0 || memchr(message.text, '\0', sizeof message.text) == NULL ||
        !rsmd_tls_control_decode(bytes, length, &again) || again.type != message.type ||
        again.id != message.id || again.caller != message.caller || again.node != message.node ||
        again.expires != message.expires || strcmp(again.text, message.text) != 0)
        abort();
}

/* ------------------------------------------------------------------ certificates */

static int memory_file(void)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    return fd;
}

static void extend(X509 *certificate, int what, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, what, value);
    if (extension == NULL || X509_add_ext(certificate, extension, -1) != 1)
        abort();
    X509_EXTENSION_free(extension);
}

/* One that is its own authority. */
static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *made = X509_new();
    if (made == NULL || X509_set_version(made, 2) != 1 ||
        ASN1_INTEGER_set(X509_get_serialNumber(made), 1) != 1 ||
        X509_gmtime_adj(X509_getm_notBefore(made), -DAY_S) == NULL ||
        X509_gmtime_adj(X509_getm_notAfter(made), DAY_S) == NULL ||
        X509_set_pubkey(made, key) != 1 ||
        X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                                   (const unsigned char *)"fuzz", -1, -1, 0) != 1 ||
        X509_set_issuer_name(made, X509_get_subject_name(made)) != 1)
        abort();
    extend(made, NID_basic_constraints, "critical,CA:TRUE");
    extend(made, NID_subject_alt_name, "URI:" TLSD_NAME "7");
    if (X509_sign(made, key, EVP_sha256()) == 0)
        abort();
    return made;
}

static SSL_CTX *make_context(void)
{
    char text[RSMD_TLS_TEXT_MAX] = "";
    uint32_t node = 0;
    uint64_t expires;
    int fds[RSMD_TLS_LOAD_FDS];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key != NULL ? make_certificate(key) : NULL;
    for (int i = 0; i < RSMD_TLS_LOAD_FDS; i++) {
        fds[i] = memory_file();
        FILE *file = fdopen(dup(fds[i]), "w");
        if (file == NULL ||
            (i < 2 ? PEM_write_X509(file, certificate)
                   : PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL)) != 1)
            abort();
        fclose(file);
        if (lseek(fds[i], 0, SEEK_SET) != 0)
            abort();
    }
    SSL_CTX *context = tlsd_load(fds, &tlsd_session_hooks, &node, &expires, text);
    for (int i = 0; i < RSMD_TLS_LOAD_FDS; i++)
        close(fds[i]);
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (context == NULL || node != NODE) {
        fprintf(stderr, "no context: %s\n", text);
        abort();
    }
    return context;
}

/* ------------------------------------------------------------------ a connection */

static void drain(int fd)
{
    char ignored[4096];
    while (recv(fd, ignored, sizeof ignored, MSG_DONTWAIT) > 0)
        continue;
}

/* Each report makes sense to rsmd, and says that a connection has failed: nothing proves a name here. */
static void read_reports(int control)
{
    struct rsmd_tls_control report;
    int got;
    while ((got = rsmd_tls_control_receive(control, &report, NULL)) == 1)
        if (report.type != RSMD_TLS_FAILED || report.id != 1 || report.text[0] == '\0')
            abort();
    if (got < 0)
        abort();
}

static void send_pieces(struct tlsd *tlsd, int network, const uint8_t *data, size_t size)
{
    while (size > 1 && tlsd->sessions != NULL) {
        size_t length = data[0] < size - 1 ? data[0] : size - 1;
        if (data[0] == UINT8_MAX)
            length = size - 1;
        if (length > 0)
            (void)send(network, data + 1, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        tlsd_session_serve(tlsd, tlsd->sessions, &tlsd->sessions->tcp, EPOLLIN);
        drain(network);
        data += 1 + length;
        size -= 1 + length;
    }
}

static void serve_connection(bool caller, const uint8_t *data, size_t size)
{
    static SSL_CTX *context;
    int control[2], tcp[2], plain[2];
    struct rsmd_tls_control start = {.type = RSMD_TLS_START, .id = 1, .caller = caller};
    if (context == NULL)
        context = make_context();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, control) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, tcp) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, plain) != 0)
        abort();
    struct tlsd tlsd = {
        .epoll = epoll_create1(EPOLL_CLOEXEC), .control = {.fd = control[0]}, .context = context};
    tlsd_session_start(&tlsd, &start, tcp[0], plain[0]);
    drain(tcp[1]);
    send_pieces(&tlsd, tcp[1], data, size);
    shutdown(tcp[1], SHUT_WR);
    if (tlsd.sessions != NULL)
        tlsd_session_serve(&tlsd, tlsd.sessions, &tlsd.sessions->tcp, EPOLLIN);
    if (tlsd.sessions != NULL)
        abort(); /* it does not see the end of the connection */
    read_reports(control[1]);
    close(tlsd.epoll);
    close(control[0]);
    close(control[1]);
    close(tcp[1]);
    close(plain[1]);
    ERR_clear_error();
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (size < 1)
        return;
    if (data[0] == 'm')
        read_message(data + 1, size - 1);
    else
        serve_connection(data[0] == 'c', data + 1, size - 1);
}
