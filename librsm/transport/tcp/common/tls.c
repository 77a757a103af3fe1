/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/common/tls.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* The only suite. Its records need no change of keys, whatever a connection carries, and it is as
 * fast without instructions for AES. */
#define SUITE "TLS_CHACHA20_POLY1305_SHA256"
#define GROUP "X25519"
static const uint8_t suite_id[] = {0x13, 0x03};

enum {
    SECRET_BYTES = 32,   /* of SHA-256 */
    RECEIVED_MAX = 4096, /* of the peer's handshake, many times what it is */
    FROM_CALLER = 0,     /* secrets of the two directions */
    FROM_CALLED = 1,
    DIRECTIONS = 2,
};

struct tcp_tls {
    OSSL_LIB_CTX *library;
    OSSL_PROVIDER *provider;
    BIO_METHOD *method;
    SSL_CTX *context;
    EVP_CIPHER *cipher;
    EVP_KDF *kdf;
    bool answers;
};

struct tcp_handshake {
    struct tcp_tls *tls;
    SSL *ssl;
    int socket;
    bool blocked_read, blocked_write; /* by the socket, in this step */
    uint32_t received;                /* bytes */
    struct tcp_frame hello;
    uint8_t identity[TCP_FRAME_BYTES]; /* the same, encoded */
    uint8_t token[TCP_TOKEN_BYTES];    /* of the calling end */
    tcp_token_find *find;              /* of the other one */
    void *context;
    uint8_t secret[DIRECTIONS][SECRET_BYTES];
    bool has_secret[DIRECTIONS];
};

/* ------------------------------------------------------------------ the socket */

/* Those of OpenSSL could raise SIGPIPE. */
static int socket_write(BIO *bio, const char *bytes, int length)
{
    struct tcp_handshake *handshake = BIO_get_data(bio);
    struct iovec part = {(void *)(uintptr_t)bytes, (size_t)length};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent = sendmsg(handshake->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (sent >= 0)
        return (int)sent;
    handshake->blocked_write = errno == EAGAIN || errno == EINTR;
    if (handshake->blocked_write)
        BIO_set_retry_write(bio);
    return -1;
}

static int socket_read(BIO *bio, char *bytes, int length)
{
    struct tcp_handshake *handshake = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (handshake->received + (uint32_t)length > RECEIVED_MAX)
        return -1;
    ssize_t got = recv(handshake->socket, bytes, (size_t)length, MSG_DONTWAIT);
    if (got >= 0) {
        handshake->received += (uint32_t)got;
        return (int)got;
    }
    handshake->blocked_read = errno == EAGAIN || errno == EINTR;
    if (handshake->blocked_read)
        BIO_set_retry_read(bio);
    return -1;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket of librsm");
    if (method != NULL && BIO_meth_set_write(method, socket_write) == 1 &&
        BIO_meth_set_read(method, socket_read) == 1 &&
        BIO_meth_set_ctrl(method, socket_control) == 1)
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* ------------------------------------------------------------------ tokens */

static SSL_SESSION *session_of(SSL *ssl, const uint8_t *token)
{
    SSL_SESSION *session = SSL_SESSION_new();
    const SSL_CIPHER *suite = SSL_CIPHER_find(ssl, suite_id);
    if (session != NULL && suite != NULL &&
        SSL_SESSION_set1_master_key(session, token, TCP_TOKEN_BYTES) == 1 &&
        SSL_SESSION_set_cipher(session, suite) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

/* OpenSSL asks again if the other end wants another hash, of which there is none. */
static int use_token(SSL *ssl, const EVP_MD *hash, const unsigned char **identity, size_t *length,
                     SSL_SESSION **session)
{
    struct tcp_handshake *handshake = SSL_get_app_data(ssl);
    (void)hash;
    *session = session_of(ssl, handshake->token);
    if (*session == NULL)
        return 0;
    tcp_frame_encode(&handshake->hello, handshake->identity);
    *identity = handshake->identity;
    *length = sizeof handshake->identity;
    return 1;
}

/* Without a session OpenSSL looks for a certificate: there is none, and the handshake fails. */
static int find_token(SSL *ssl, const unsigned char *identity, size_t length, SSL_SESSION **session)
{
    struct tcp_handshake *handshake = SSL_get_app_data(ssl);
    *session = NULL;
    if (length != TCP_FRAME_BYTES)
        return 1;
    handshake->hello = tcp_frame_decode(identity);
    if (handshake->hello.type != TCP_HELLO || !tcp_request_is_sound(&handshake->hello))
        return 1;
    const uint8_t *token = handshake->find(handshake->context, &handshake->hello);
    if (token == NULL)
        return 1;
    *session = session_of(ssl, token);
    return *session != NULL;
}

/* ------------------------------------------------------------------ secrets */

static bool read_hex(const char *text, uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        char *end;
        if (digits[0] == '\0')
            return false;
        bytes[i] = (uint8_t)strtoul(digits, &end, 16);
        if (*end != '\0')
            return false;
    }
    return true;
}

/* A line "LABEL RANDOM SECRET" for each secret of the handshake: how OpenSSL gives them to its
 * user. */
static void take_secret(const SSL *ssl, const char *line)
{
    static const char *const labels[DIRECTIONS] = {"CLIENT_TRAFFIC_SECRET_0 ",
                                                   "SERVER_TRAFFIC_SECRET_0 "};
    struct tcp_handshake *handshake = SSL_get_app_data(ssl);
    const char *secret = strrchr(line, ' ');
    for (unsigned i = 0; i < DIRECTIONS && secret != NULL; i++)
        if (strncmp(line, labels[i], strlen(labels[i])) == 0)
            handshake->has_secret[i] = read_hex(secret + 1, handshake->secret[i], SECRET_BYTES);
}

/* HKDF-Expand-Label(secret, label, "", length) of RFC 8446. */
static bool expand(EVP_KDF_CTX *kdf, const uint8_t *secret, const char *label, uint8_t *bytes,
                   size_t length)
{
    static const char prefix[] = "tls13 ";
    int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)secret,
                                          SECRET_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PREFIX, (void *)(uintptr_t)prefix,
                                          strlen(prefix)),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_LABEL, (void *)(uintptr_t)label,
                                          strlen(label)),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF_CTX_reset(kdf);
    return EVP_KDF_derive(kdf, bytes, length, parameters) == 1;
}

static bool make_keys(const struct tcp_handshake *handshake, struct tcp_record_key keys[DIRECTIONS])
{
    EVP_KDF_CTX *kdf = EVP_KDF_CTX_new(handshake->tls->kdf);
    bool well = kdf != NULL;
    for (unsigned i = 0; i < DIRECTIONS && well; i++)
        well = expand(kdf, handshake->secret[i], "key", keys[i].key, sizeof keys[i].key) &&
               expand(kdf, handshake->secret[i], "iv", keys[i].iv, sizeof keys[i].iv);
    EVP_KDF_CTX_free(kdf);
    return well;
}

/* ------------------------------------------------------------------ what all handshakes need */

/* Nothing follows the handshake: no tickets. Compatibility with middle boxes would have records
 * that are neither handshake nor data. No certificate is believed: the calling end refuses all, and
 * the other one asks for none. */
static bool set_up(SSL_CTX *context, bool answers)
{
    SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(context, answers ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_keylog_callback(context, take_secret);
    if (answers)
        SSL_CTX_set_psk_find_session_callback(context, find_token);
    else
        SSL_CTX_set_psk_use_session_callback(context, use_token);
    SSL_CTX_set_security_level(context, 2); /* whatever openssl.cnf says of all programs */
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_ciphersuites(context, SUITE) == 1 &&
           SSL_CTX_set1_groups_list(context, GROUP) == 1 &&
           SSL_CTX_set_num_tickets(context, 0) == 1;
}

/* The program may end while threads of it use the library: OpenSSL then frees nothing. */
static bool make_context(struct tcp_tls *tls)
{
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    tls->library = OSSL_LIB_CTX_new();
    if (tls->library == NULL)
        return false;
    tls->provider = OSSL_PROVIDER_load(tls->library, "default");
    tls->method = make_method();
    tls->cipher = EVP_CIPHER_fetch(tls->library, "ChaCha20-Poly1305", NULL);
    tls->kdf = EVP_KDF_fetch(tls->library, "TLS13-KDF", NULL);
    tls->context = SSL_CTX_new_ex(tls->library, NULL,
                                  tls->answers ? TLS_server_method() : TLS_client_method());
    return tls->provider != NULL && tls->method != NULL && tls->cipher != NULL &&
           tls->kdf != NULL && tls->context != NULL && set_up(tls->context, tls->answers);
}

struct tcp_tls *tcp_tls_make(bool answers)
{
    struct tcp_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL)
        return NULL;
    tls->answers = answers;
    ERR_set_mark();
    bool well = make_context(tls);
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_pop_to_mark();
    if (well)
        return tls;
    rsm_log_error("tcp: TLS cannot be used: %s", why != NULL ? why : "no memory");
    tcp_tls_free(tls);
    return NULL;
}

void tcp_tls_free(struct tcp_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->context);
    EVP_KDF_free(tls->kdf);
    EVP_CIPHER_free(tls->cipher);
    BIO_meth_free(tls->method);
    if (tls->provider != NULL)
        OSSL_PROVIDER_unload(tls->provider);
    OSSL_LIB_CTX_free(tls->library);
    free(tls);
}

/* ------------------------------------------------------------------ a handshake */

static struct tcp_handshake *begin(struct tcp_tls *tls, int socket)
{
    struct tcp_handshake *handshake = calloc(1, sizeof *handshake);
    if (handshake == NULL)
        return NULL;
    handshake->tls = tls;
    handshake->socket = socket;
    handshake->ssl = SSL_new(tls->context);
    BIO *bio = BIO_new(tls->method);
    if (handshake->ssl == NULL || bio == NULL) {
        BIO_free(bio);
        tcp_handshake_free(handshake);
        return NULL;
    }
    BIO_set_data(bio, handshake);
    BIO_set_init(bio, 1);
    SSL_set_bio(handshake->ssl, bio, bio); /* which is now the other's */
    SSL_set_app_data(handshake->ssl, handshake);
    return handshake;
}

struct tcp_handshake *tcp_handshake_call(struct tcp_tls *tls, int socket,
                                         const struct tcp_frame *hello,
                                         const uint8_t token[TCP_TOKEN_BYTES])
{
    struct tcp_handshake *handshake = begin(tls, socket);
    if (handshake == NULL)
        return NULL;
    handshake->hello = *hello;
    memcpy(handshake->token, token, sizeof handshake->token);
    SSL_set_connect_state(handshake->ssl);
    return handshake;
}

struct tcp_handshake *tcp_handshake_answer(struct tcp_tls *tls, int socket, tcp_token_find *find,
                                           void *context)
{
    struct tcp_handshake *handshake = begin(tls, socket);
    if (handshake == NULL)
        return NULL;
    handshake->find = find;
    handshake->context = context;
    SSL_set_accept_state(handshake->ssl);
    return handshake;
}

void tcp_handshake_free(struct tcp_handshake *handshake)
{
    if (handshake == NULL)
        return;
    SSL_free(handshake->ssl);
    explicit_bzero(handshake, sizeof *handshake);
    free(handshake);
}

/* By the token, and nothing of what follows has been read. */
static bool is_as_agreed(const struct tcp_handshake *handshake)
{
    return SSL_version(handshake->ssl) == TLS1_3_VERSION &&
           SSL_session_reused(handshake->ssl) == 1 && SSL_has_pending(handshake->ssl) == 0 &&
           handshake->has_secret[FROM_CALLER] && handshake->has_secret[FROM_CALLED];
}

/* OpenSSL empties this thread's list of errors before a step. Nothing is left in it behind one, for
 * the program may use OpenSSL, too. */
enum tcp_handshake_state tcp_handshake_step(struct tcp_handshake *handshake)
{
    handshake->blocked_read = handshake->blocked_write = false;
    int done = SSL_do_handshake(handshake->ssl);
    ERR_clear_error();
    if (done == 1)
        return is_as_agreed(handshake) ? TCP_HANDSHAKE_DONE : TCP_HANDSHAKE_FAILED;
    if (handshake->blocked_write)
        return TCP_HANDSHAKE_WRITES;
    return handshake->blocked_read ? TCP_HANDSHAKE_READS : TCP_HANDSHAKE_FAILED;
}

const struct tcp_frame *tcp_handshake_hello(const struct tcp_handshake *handshake)
{
    return &handshake->hello;
}

struct tcp_records *tcp_handshake_records(const struct tcp_handshake *handshake, unsigned batch,
                                          bool ahead)
{
    struct tcp_record_key keys[DIRECTIONS];
    struct tcp_records *records = NULL;
    unsigned own = handshake->tls->answers ? FROM_CALLED : FROM_CALLER;
    if (make_keys(handshake, keys))
        records = tcp_records_make(handshake->tls->cipher, &keys[own], &keys[!own], batch, ahead);
    explicit_bzero(keys, sizeof keys);
    return records;
}

/* ------------------------------------------------------------------ a rehearsal */

static const uint8_t *rehearsed_token(void *context, const struct tcp_frame *hello)
{
    (void)hello;
    return context;
}

/* Send a word from one end to the other. */
static bool crosses(const struct tcp_channel *from, const struct tcp_channel *to)
{
    uint64_t word = 1, got = 0;
    struct iovec parts[] = {{&word, sizeof word}, {&got, sizeof got}};
    struct msghdr out = {.msg_iov = &parts[0], .msg_iovlen = 1};
    struct msghdr in = {.msg_iov = &parts[1], .msg_iovlen = 1};
    return tcp_channel_send(from, &out, 0) == sizeof word &&
           tcp_channel_receive(to, &in) == sizeof got && got == word;
}

static bool rehearse(struct tcp_handshake *ends[2], const int sockets[2])
{
    enum tcp_handshake_state states[2] = {TCP_HANDSHAKE_READS, TCP_HANDSHAKE_READS};
    for (unsigned turn = 0; turn < 8; turn++)
        if (states[turn % 2] != TCP_HANDSHAKE_DONE)
            states[turn % 2] = tcp_handshake_step(ends[turn % 2]);
    if (states[0] != TCP_HANDSHAKE_DONE || states[1] != TCP_HANDSHAKE_DONE)
        return false;
    struct tcp_channel channels[2];
    for (unsigned i = 0; i < 2; i++)
        channels[i] = (struct tcp_channel){sockets[i], tcp_handshake_records(ends[i], 1, true)};
    bool well = channels[0].records != NULL && channels[1].records != NULL &&
                crosses(&channels[0], &channels[1]) && crosses(&channels[1], &channels[0]);
    tcp_records_free(channels[0].records);
    tcp_records_free(channels[1].records);
    return well;
}

bool tcp_tls_rehearse(struct tcp_tls *answers)
{
    uint8_t token[TCP_TOKEN_BYTES] = {1};
    const struct tcp_frame hello = {
        .type = TCP_HELLO, .length = TCP_TOKEN_BYTES, .id = TCP_WIRE_VERSION};
    int sockets[2];
    struct tcp_tls *calls = tcp_tls_make(false);
    bool well = false;
    if (calls != NULL && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0) {
        struct tcp_handshake *ends[2] = {
            tcp_handshake_call(calls, sockets[0], &hello, token),
            tcp_handshake_answer(answers, sockets[1], rehearsed_token, token)};
        well = ends[0] != NULL && ends[1] != NULL && rehearse(ends, sockets);
        tcp_handshake_free(ends[0]);
        tcp_handshake_free(ends[1]);
        close(sockets[0]);
        close(sockets[1]);
    }
    tcp_tls_free(calls);
    if (!well)
        rsm_log_error("tcp: TLS cannot be used: a handshake within the process fails");
    return well;
}
