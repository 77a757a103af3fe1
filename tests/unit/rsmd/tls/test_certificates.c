/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsm-tlsd reads in certificates, and files that it refuses. */
#include <fcntl.h>
#include <openssl/pem.h>
#include <time.h>

#include "certificates.h"
#include "cases.h"
#include "tls/tlsd.h"

static struct authority ours;
static const struct tlsd_hooks none;

static int begin(void **state)
{
    (void)state;
    certificates_begin();
    ours = authority_new("ours");
    authority_write(&ours, "ca");
    return 0;
}

static int end(void **state)
{
    (void)state;
    certificates_end();
    authority_free(&ours);
    return 0;
}

#define FILE_TEST(function) TEST_BETWEEN(function, begin, end)

FILE_TEST(which_node_it_names)
{
    static const struct {
        const char *names;
        uint32_t node;
    } cases[] = {
        {"URI:rsm:node:1", 1},
        {"URI:rsm:node:65535", 65535},
        {"DNS:alpha,URI:rsm:node:7,IP:10.0.0.1", 7},
        {"URI:https://example.org/,URI:rsm:node:7", 7},
        {"", 0},
        {"URI:rsm:node:", 0},
        {"URI:rsm:node:0", 0},
        {"URI:rsm:node:65536", 0},
        {"URI:rsm:node:1 ", 1}, /* the blank is not part of it */
        {"URI:rsm:node:1x", 0},
        {"URI:rsm:node:-1", 0},
        {"URI:RSM:node:1", 0},
        {"URI:rsm:node:111111111111111111111111111111", 0},
        {"DNS:rsm:node:1", 0},
        {"URI:rsm:node:1,URI:rsm:node:2", 0},
        {"URI:rsm:node:1,URI:rsm:node:1", 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        certificates_write(&ours, "node", cases[i].names, -60, 3600);
        FILE *file = fopen(certificates_path("node.pem"), "r");
        X509 *certificate = file != NULL ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
        assert_non_null(certificate);
        fclose(file);
        if (tlsd_node_of(certificate) != cases[i].node)
            fail_msg("'%s' names node %u", cases[i].names, (unsigned)tlsd_node_of(certificate));
        uint64_t now = (uint64_t)time(NULL);
        assert_in_range(tlsd_expiry_of(certificate), now + 3500, now + 3600);
        X509_free(certificate);
    }
}

/* NULL, and the text, or a context. */
static SSL_CTX *load(const char *ca, const char *certificate, const char *key, uint32_t *node,
                     char text[RSMD_TLS_TEXT_MAX])
{
    const char *const files[] = {ca, certificate, key};
    int fds[RSMD_TLS_LOAD_FDS];
    uint64_t expires;
    for (unsigned i = 0; i < RSMD_TLS_LOAD_FDS; i++) {
        fds[i] = open(certificates_path(files[i]), O_RDONLY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
    }
    *text = '\0';
    SSL_CTX *context = tlsd_load(fds, &none, node, &expires, text);
    for (unsigned i = 0; i < RSMD_TLS_LOAD_FDS; i++)
        close(fds[i]);
    return context;
}

static void write_text(const char *file, const char *text)
{
    FILE *stream = fopen(certificates_path(file), "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    fclose(stream);
}

FILE_TEST(files_that_fit_and_that_do_not)
{
    char text[RSMD_TLS_TEXT_MAX];
    uint32_t node = 0;
    struct authority other = authority_new("other");
    certificates_write(&ours, "one", "URI:rsm:node:1", -60, 3600);
    certificates_write(&ours, "two", "URI:rsm:node:2", -60, 3600);
    certificates_write(&ours, "future", "URI:rsm:node:1", 3600, 7200);
    certificates_write(&ours, "unnamed", "DNS:alpha", -60, 3600);
    certificates_write(&other, "alien", "URI:rsm:node:1", -60, 3600);
    authority_free(&other);
    write_text("empty", "");
    write_text("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    SSL_CTX *context = load("ca.pem", "one.pem", "one.key", &node, text);
    assert_non_null(context);
    assert_int_equal(node, 1);
    assert_string_equal(text, "");
    SSL_CTX_free(context);
    const struct {
        const char *ca, *certificate, *key, *text;
    } cases[] = {
        {"empty", "one.pem", "one.key", "tls-ca: expected certificates in PEM"},
        {"broken", "one.pem", "one.key", "tls-ca: expected certificates in PEM"},
        {"one.key", "one.pem", "one.key", "tls-ca: expected certificates in PEM"},
        {"ca.pem", "empty", "one.key", "tls-certificate: expected a certificate in PEM"},
        {"ca.pem", "broken", "one.key", "tls-certificate: expected a certificate in PEM"},
        {"ca.pem", "one.pem", "one.pem", "tls-key: expected a private key in PEM, not encrypted"},
        {"ca.pem", "one.pem", "two.key", "tls-key: it is not the key of the certificate"},
        {"ca.pem", "alien.pem", "alien.key", "is not signed by the CA in tls-ca"},
        {"ca.pem", "future.pem", "future.key", "is not valid yet: is the clock right?"},
        {"ca.pem", "unnamed.pem", "unnamed.key", "names no node: expected one name URI:rsm:node:N"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(load(cases[i].ca, cases[i].certificate, cases[i].key, &node, text));
        if (strstr(text, cases[i].text) == NULL)
            fail_msg("case %u: '%s'", i, text);
    }
}
