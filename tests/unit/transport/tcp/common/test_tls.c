/* SPDX-License-Identifier: BSD-3-Clause */
/* Handshakes between two ends: of these, of OpenSSL's own, and of parties that have no token, another
 * one, or something else to say. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "cases.h"
#include "transport/tcp/common/tls.h"

enum { TURNS = 20, TOKEN = 0x42, GRANT = 7 };

static struct tcp_tls *calls, *answers;

struct ends {
    int caller, called; /* sockets */
    struct tcp_handshake *call, *answer;
    uint8_t token[TCP_TOKEN_BYTES]; /* what the called end has for the grant */
    unsigned asked;
    struct tcp_frame hello; /* what the caller shows */
};

static const uint8_t *token_of(void *context, const struct tcp_frame *hello)
{
    struct ends *ends = context;
    ends->asked++;
    return hello->offset == GRANT ? ends->token : NULL;
}

static int begin(void **state)
{
    struct ends *ends = calloc(1, sizeof *ends);
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    ends->caller = sockets[0];
    ends->called = sockets[1];
    memset(ends->token, TOKEN, sizeof ends->token);
    ends->hello = (struct tcp_frame){
        .type = TCP_HELLO, .length = TCP_TOKEN_BYTES, .offset = GRANT, .id = TCP_WIRE_VERSION};
    ends->answer = tcp_handshake_answer(answers, ends->called, token_of, ends);
    assert_non_null(ends->answer);
    *state = ends;
    return 0;
}

static int end(void **state)
{
    struct ends *ends = *state;
    tcp_handshake_free(ends->call);
    tcp_handshake_free(ends->answer);
    close(ends->caller);
    close(ends->called);
    free(ends);
    return 0;
}

static void call(struct ends *ends, uint8_t token)
{
    uint8_t bytes[TCP_TOKEN_BYTES];
    memset(bytes, token, sizeof bytes);
    ends->call = tcp_handshake_call(calls, ends->caller, &ends->hello, bytes);
    assert_non_null(ends->call);
}

static bool goes_on(enum tcp_handshake_state state)
{
    return state == TCP_HANDSHAKE_READS || state == TCP_HANDSHAKE_WRITES;
}

/* Both ends by turns; whether both have come to their ends well. */
static bool shake_hands(struct ends *ends)
{
    enum tcp_handshake_state call = TCP_HANDSHAKE_READS, answer = TCP_HANDSHAKE_READS;
    for (unsigned i = 0; i < TURNS; i++) {
        if (goes_on(call))
            call = tcp_handshake_step(ends->call);
        if (goes_on(answer))
            answer = tcp_handshake_step(ends->answer);
        if (call == TCP_HANDSHAKE_FAILED)
            (void)shutdown(ends->caller, SHUT_WR);
        if (answer == TCP_HANDSHAKE_FAILED)
            (void)shutdown(ends->called, SHUT_WR);
    }
    assert_false(goes_on(call) || goes_on(answer));
    assert_int_equal(call, answer);
    return call == TCP_HANDSHAKE_DONE;
}

static void crosses(const struct tcp_channel *from, const struct tcp_channel *to, const char *text)
{
    char got[32] = "";
    struct iovec parts[] = {{(void *)(uintptr_t)text, strlen(text)}, {got, sizeof got - 1}};
    const struct msghdr out = {.msg_iov = &parts[0], .msg_iovlen = 1};
    struct msghdr in = {.msg_iov = &parts[1], .msg_iovlen = 1};
    assert_int_equal(tcp_channel_send(from, &out, 0), strlen(text));
    assert_int_equal(tcp_channel_receive(to, &in), strlen(text));
    assert_string_equal(got, text);
}

static void both_have_the_token(void **state)
{
    struct ends *ends = *state;
    call(ends, TOKEN);
    assert_true(shake_hands(ends));
    assert_int_equal(ends->asked, 1);
    const struct tcp_frame *hello = tcp_handshake_hello(ends->answer);
    assert_true(hello->type == TCP_HELLO && hello->offset == GRANT);
    const struct tcp_channel caller = {ends->caller, tcp_handshake_records(ends->call, 1, true)};
    const struct tcp_channel called = {ends->called, tcp_handshake_records(ends->answer, 1, true)};
    crosses(&caller, &called, "there");
    crosses(&called, &caller, "and back");
    tcp_records_free(caller.records);
    tcp_records_free(called.records);
}

static void another_token_is_refused(void **state)
{
    struct ends *ends = *state;
    call(ends, TOKEN + 1);
    assert_false(shake_hands(ends));
    assert_int_equal(ends->asked, 1);
}

static void an_unknown_grant_is_refused(void **state)
{
    struct ends *ends = *state;
    ends->hello.offset++;
    call(ends, TOKEN);
    assert_false(shake_hands(ends));
    assert_int_equal(ends->asked, 1);
}

/* An identity of the right length that is no HELLO. */
static void a_hello_that_makes_no_sense_is_refused(void **state)
{
    struct ends *ends = *state;
    ends->hello.type = TCP_PUT;
    call(ends, TOKEN);
    assert_false(shake_hands(ends));
    assert_int_equal(ends->asked, 0);
}

/* ------------------------------------------------------------------ what strangers send */

static uint8_t wire[8192];

/* What the caller has sent so far goes to nobody. */
static size_t intercept(struct ends *ends)
{
    assert_int_equal(tcp_handshake_step(ends->call), TCP_HANDSHAKE_READS);
    ssize_t got = recv(ends->called, wire, sizeof wire, MSG_DONTWAIT);
    assert_true(got > 0);
    return (size_t)got;
}

static void send_all(const struct ends *ends, const void *bytes, size_t length)
{
    assert_int_equal(send(ends->caller, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL), length);
}

static void the_token_is_not_sent(void **state)
{
    struct ends *ends = *state;
    uint8_t token[TCP_TOKEN_BYTES], identity[TCP_FRAME_BYTES];
    memset(token, TOKEN, sizeof token);
    tcp_frame_encode(&ends->hello, identity);
    call(ends, TOKEN);
    size_t length = intercept(ends);
    assert_null(memmem(wire, length, token, 8));
    assert_non_null(memmem(wire, length, identity, sizeof identity)); /* it is looked for well */
}

/* Who repeats it does not know what he would have to answer. */
static void a_first_message_that_is_repeated_leads_nowhere(void **state)
{
    struct ends *ends = *state;
    call(ends, TOKEN);
    size_t length = intercept(ends);
    send_all(ends, wire, length);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_READS);
    assert_int_equal(ends->asked, 1);
    send_all(ends, wire, length);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_FAILED);
}

static void a_stalled_caller_is_waited_for_without_waiting(void **state)
{
    struct ends *ends = *state;
    call(ends, TOKEN);
    size_t length = intercept(ends);
    for (size_t i = 0; i < length; i++) {
        assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_READS);
        send_all(ends, wire + i, 1);
    }
    assert_int_equal(ends->asked, 0);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_READS);
    assert_int_equal(ends->asked, 1);
}

static void every_changed_byte_is_noticed(void **state)
{
    struct ends *ends = *state;
    call(ends, TOKEN);
    size_t length = intercept(ends);
    for (size_t i = 0; i < length; i++) {
        void *other;
        (void)begin(&other);
        struct ends *changed = other;
        wire[i] ^= 0x10;
        send_all(changed, wire, length);
        enum tcp_handshake_state now = tcp_handshake_step(changed->answer);
        wire[i] ^= 0x10;
        /* Lengths may announce more than has come. */
        assert_true(now == TCP_HANDSHAKE_FAILED || now == TCP_HANDSHAKE_READS);
        (void)shutdown(changed->caller, SHUT_WR);
        assert_int_equal(tcp_handshake_step(changed->answer), TCP_HANDSHAKE_FAILED);
        (void)end(&other);
    }
}

static void what_is_no_tls_is_refused(void **state)
{
    struct ends *ends = *state;
    uint8_t hello[TCP_FRAME_BYTES + TCP_TOKEN_BYTES];
    tcp_frame_encode(&ends->hello, hello);
    memset(hello + TCP_FRAME_BYTES, TOKEN, TCP_TOKEN_BYTES);
    send_all(ends, hello, sizeof hello);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_FAILED);
    assert_int_equal(ends->asked, 0);
}

/* A handshake of many small messages, or a long one. */
static void what_is_sent_is_bounded(void **state)
{
    struct ends *ends = *state;
    static uint8_t bytes[5 + 16384] = {22, 3, 1, 0x40, 0, 1, 1, 0, 0};
    send_all(ends, bytes, sizeof bytes);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_FAILED);
    int left = 0;
    assert_int_equal(ioctl(ends->called, FIONREAD, &left), 0);
    assert_true(left >= 16384 - 4096);
}

static void an_end_is_noticed(void **state)
{
    struct ends *ends = *state;
    call(ends, TOKEN);
    assert_int_equal(tcp_handshake_step(ends->call), TCP_HANDSHAKE_READS);
    (void)shutdown(ends->called, SHUT_RDWR);
    assert_int_equal(tcp_handshake_step(ends->call), TCP_HANDSHAKE_FAILED);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_FAILED);
}

/* The program may use OpenSSL, too, and asks its list of errors what has failed. */
static void no_errors_are_left(void **state)
{
    struct ends *ends = *state;
    call(ends, TOKEN);
    send(ends->called, "no handshake", 12, MSG_DONTWAIT);
    assert_int_equal(tcp_handshake_step(ends->call), TCP_HANDSHAKE_FAILED);
    assert_int_equal(ERR_get_error(), 0);
}

/* ------------------------------------------------------------------ OpenSSL's own ends */

static int show_token(SSL *ssl, const EVP_MD *hash, const unsigned char **identity, size_t *length,
                      SSL_SESSION **session)
{
    static uint8_t bytes[TCP_FRAME_BYTES], token[TCP_TOKEN_BYTES];
    const struct ends *ends = SSL_get_app_data(ssl);
    static const uint8_t suite[] = {0x13, 0x03};
    (void)hash;
    tcp_frame_encode(&ends->hello, bytes);
    memset(token, TOKEN, sizeof token);
    *session = SSL_SESSION_new();
    assert_int_equal(SSL_SESSION_set1_master_key(*session, token, sizeof token), 1);
    assert_int_equal(SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, suite)), 1);
    assert_int_equal(SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION), 1);
    *identity = bytes;
    *length = sizeof bytes;
    return 1;
}

static SSL *openssl_end(const SSL_METHOD *method, struct ends *ends, int socket)
{
    SSL_CTX *context = SSL_CTX_new(method);
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context);
    assert_int_equal(SSL_set_fd(ssl, socket), 1);
    SSL_set_app_data(ssl, ends);
    return ssl;
}

/* The records are those of TLS 1.3: OpenSSL reads them, and they read OpenSSL's. */
static void openssl_understands_it(void **state)
{
    struct ends *ends = *state;
    char text[16] = "";
    SSL *ssl = openssl_end(TLS_client_method(), ends, ends->caller);
    SSL_set_psk_use_session_callback(ssl, show_token);
    SSL_set_connect_state(ssl);
    assert_int_equal(fcntl(ends->caller, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(SSL_do_handshake(ssl), -1);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_READS);
    assert_int_equal(SSL_do_handshake(ssl), 1);
    assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_DONE);
    const struct tcp_channel called = {ends->called, tcp_handshake_records(ends->answer, 1, true)};
    struct iovec parts[] = {{text, sizeof text}, {(char[]){"reply"}, 5}};
    struct msghdr in = {.msg_iov = &parts[0], .msg_iovlen = 1};
    const struct msghdr out = {.msg_iov = &parts[1], .msg_iovlen = 1};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(SSL_write(ssl, "request", 7), 7);
        assert_int_equal(tcp_channel_receive(&called, &in), 7);
        assert_memory_equal(text, "request", 7);
        assert_int_equal(tcp_channel_send(&called, &out, 0), 5);
        assert_int_equal(SSL_read(ssl, text, sizeof text), 5);
        assert_memory_equal(text, "reply", 5);
    }
    tcp_records_free(called.records);
    SSL_free(ssl);
}

/* TLS 1.2, and 1.3 without a token. */
static void other_clients_are_refused(void **state)
{
    struct ends *ends = *state;
    for (unsigned old = 0; old < 2; old++) {
        tcp_handshake_free(ends->answer);
        ends->answer = tcp_handshake_answer(answers, ends->called, token_of, ends);
        SSL *ssl = openssl_end(TLS_client_method(), ends, ends->caller);
        assert_int_equal(SSL_set_max_proto_version(ssl, old ? TLS1_2_VERSION : 0), 1);
        SSL_set_connect_state(ssl);
        assert_int_equal(fcntl(ends->caller, F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(SSL_do_handshake(ssl), -1);
        assert_int_equal(tcp_handshake_step(ends->answer), TCP_HANDSHAKE_FAILED);
        assert_int_equal(SSL_do_handshake(ssl), -1);
        assert_int_equal(SSL_get_error(ssl, -1), SSL_ERROR_SSL);
        ERR_clear_error();
        SSL_free(ssl);
    }
    assert_int_equal(ends->asked, 0);
}

static void give_certificate(SSL *ssl)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), 0));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), 3600));
    assert_int_equal(X509_set_pubkey(certificate, key), 1);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_use_certificate(ssl, certificate), 1);
    assert_int_equal(SSL_use_PrivateKey(ssl, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

/* Who takes the exporter's place has a certificate at best, and the caller believes none. */
static void a_server_without_the_token_is_refused(void **state)
{
    struct ends *ends = *state;
    SSL *ssl = openssl_end(TLS_server_method(), ends, ends->called);
    give_certificate(ssl);
    SSL_set_accept_state(ssl);
    assert_int_equal(fcntl(ends->called, F_SETFL, O_NONBLOCK), 0);
    call(ends, TOKEN);
    assert_int_equal(tcp_handshake_step(ends->call), TCP_HANDSHAKE_READS);
    assert_int_equal(SSL_do_handshake(ssl), -1);
    assert_int_equal(SSL_get_error(ssl, -1), SSL_ERROR_WANT_READ); /* it has answered */
    assert_int_equal(tcp_handshake_step(ends->call), TCP_HANDSHAKE_FAILED);
    ERR_clear_error();
    SSL_free(ssl);
}

static void it_can_be_rehearsed(void **state)
{
    (void)state;
    assert_true(tcp_tls_rehearse(answers));
    assert_false(tcp_tls_rehearse(calls)); /* two who call */
}

static int make_both(void **state)
{
    (void)state;
    calls = tcp_tls_make(false);
    answers = tcp_tls_make(true);
    return calls != NULL && answers != NULL ? 0 : -1;
}

static int free_both(void **state)
{
    (void)state;
    tcp_tls_free(calls);
    tcp_tls_free(answers);
    return 0;
}

static void to_nobody(enum rsmcore_log_level level, const char *text)
{
    (void)level, (void)text;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(both_have_the_token),
        TEST(another_token_is_refused),
        TEST(an_unknown_grant_is_refused),
        TEST(a_hello_that_makes_no_sense_is_refused),
        TEST(the_token_is_not_sent),
        TEST(a_first_message_that_is_repeated_leads_nowhere),
        TEST(a_stalled_caller_is_waited_for_without_waiting),
        TEST(every_changed_byte_is_noticed),
        TEST(what_is_no_tls_is_refused),
        TEST(what_is_sent_is_bounded),
        TEST(an_end_is_noticed),
        TEST(no_errors_are_left),
        TEST(openssl_understands_it),
        TEST(other_clients_are_refused),
        TEST(a_server_without_the_token_is_refused),
        cmocka_unit_test(it_can_be_rehearsed),
    };
    rsmcore_log_to(to_nobody, RSMCORE_LOG_DEBUG);
    return cmocka_run_group_tests(tests, make_both, free_both);
}
