/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "protocol/proto_limits.h"
#include "tls/tlsd.h"

enum { FILE_MAX = 256 * 1024, CHAIN_MAX = 32 * 1024, CHAIN_DEPTH = 4 };

static const char *const files[RSMD_TLS_LOAD_FDS] = {"tls-ca", "tls-certificate", "tls-key"};

/* ------------------------------------------------------------------ one certificate */

static uint32_t node_of_name(const GENERAL_NAME *name)
{
    uint32_t node = 0;
    if (name->type != GEN_URI)
        return 0;
    const char *text = (const char *)ASN1_STRING_get0_data(name->d.uniformResourceIdentifier);
    int length = ASN1_STRING_length(name->d.uniformResourceIdentifier);
    char copy[sizeof TLSD_NAME + 8];
    if (length <= 0 || length >= (int)sizeof copy ||
        strncmp(text, TLSD_NAME, sizeof TLSD_NAME - 1) != 0)
        return 0;
    memcpy(copy, text, (size_t)length);
    copy[length] = '\0';
    if (strlen(copy) != (size_t)length ||
        !rsm_number(copy + sizeof TLSD_NAME - 1, 1, RSM_NODE_ID_MAX, &node))
        return 0;
    return node;
}

uint32_t tlsd_node_of(X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    uint32_t found = 0;
    unsigned count = 0;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        uint32_t node = node_of_name(sk_GENERAL_NAME_value(names, i));
        count += node != 0;
        found = node != 0 ? node : found;
    }
    GENERAL_NAMES_free(names);
    return count == 1 ? found : 0;
}

uint64_t tlsd_expiry_of(const X509 *certificate)
{
    struct tm broken;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &broken) != 1)
        return 0;
    time_t when = timegm(&broken);
    return when > 0 ? (uint64_t)when : 0;
}

const char *tlsd_refusal(int error, int depth, bool own)
{
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        if (depth > 0)
            return own ? "the CA in tls-ca has expired" : "the CA of its certificate has expired";
        return own ? "this node's certificate has expired: make a new one, see rsm-cert(8)"
                   : "its certificate has expired: its host needs a new one, see rsm-cert(8)";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return own ? "this node's certificate is not valid yet: is the clock right?"
                   : "its certificate is not valid yet: are the clocks of both hosts right?";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return own ? "this node's certificate is not signed by the CA in tls-ca"
                   : "its certificate is not signed by the CA in tls-ca of this host";
    case X509_V_ERR_APPLICATION_VERIFICATION:
        return own ? "this node's certificate names no node: expected one name URI:rsm:node:N"
                   : "its certificate names no node: expected one name URI:rsm:node:N";
    default:
        return X509_verify_cert_error_string(error);
    }
}

/* ------------------------------------------------------------------ files */

/* Read one into memory. NULL: @p text says why. */
static BIO *read_file(int fd, const char *name, char text[RSMD_TLS_TEXT_MAX])
{
    static char bytes[FILE_MAX];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof bytes && ((got = read(fd, bytes + length, sizeof bytes - length)) > 0 ||
                                     (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    BIO *memory = length < sizeof bytes ? BIO_new(BIO_s_mem()) : NULL;
    bool copied = memory != NULL && BIO_write(memory, bytes, (int)length) == (int)length;
    OPENSSL_cleanse(bytes, length);
    if (copied)
        return memory;
    snprintf(text, RSMD_TLS_TEXT_MAX, "%s cannot be read, or is too long", name);
    BIO_free(memory);
    return NULL;
}

static bool fail(char text[RSMD_TLS_TEXT_MAX], const char *name, const char *what)
{
    snprintf(text, RSMD_TLS_TEXT_MAX, "%s: %s", name, what);
    return false;
}

static bool take_ca(SSL_CTX *context, BIO *file, char text[RSMD_TLS_TEXT_MAX])
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    unsigned count = 0;
    X509 *one;
    bool well = true;
    while (well && (one = PEM_read_bio_X509(file, NULL, NULL, NULL)) != NULL) {
        well = X509_STORE_add_cert(store, one) == 1;
        X509_free(one);
        count++;
    }
    return (well && count > 0) || fail(text, files[0], "expected certificates in PEM");
}

static bool take_certificate(SSL_CTX *context, BIO *file, char text[RSMD_TLS_TEXT_MAX])
{
    X509 *one = PEM_read_bio_X509(file, NULL, NULL, NULL);
    bool well = one != NULL && SSL_CTX_use_certificate(context, one) == 1;
    X509_free(one);
    while (well && (one = PEM_read_bio_X509(file, NULL, NULL, NULL)) != NULL) {
        well = SSL_CTX_add1_chain_cert(context, one) == 1;
        X509_free(one);
    }
    return well || fail(text, files[1], "expected a certificate in PEM");
}

static int no_password(char *buffer, int size, int writes, void *context)
{
    (void)buffer, (void)size, (void)writes, (void)context;
    return -1;
}

static bool take_key(SSL_CTX *context, BIO *file, char text[RSMD_TLS_TEXT_MAX])
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(file, NULL, no_password, NULL);
    bool well = key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1;
    bool is_key = key != NULL;
    EVP_PKEY_free(key);
    if (!is_key)
        return fail(text, files[2], "expected a private key in PEM, not encrypted by a password");
    return (well && SSL_CTX_check_private_key(context) == 1) ||
           fail(text, files[2], "it is not the key of the certificate in tls-certificate");
}

/* ------------------------------------------------------------------ the whole */

/* Check this node's certificate as the others will. */
static bool check_own(SSL_CTX *context, uint32_t *node, uint64_t *expires,
                      char text[RSMD_TLS_TEXT_MAX])
{
    X509 *own = SSL_CTX_get0_certificate(context);
    STACK_OF(X509) *chain = NULL;
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    SSL_CTX_get0_chain_certs(context, &chain);
    bool begun = check != NULL &&
                 X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(context), own, chain) == 1;
    const char *why = begun ? NULL : "out of memory";
    if (begun && X509_verify_cert(check) != 1)
        why = tlsd_refusal(X509_STORE_CTX_get_error(check), X509_STORE_CTX_get_error_depth(check),
                           true);
    X509_STORE_CTX_free(check);
    *node = tlsd_node_of(own);
    *expires = tlsd_expiry_of(own);
    if (why == NULL && *node == 0)
        why = tlsd_refusal(X509_V_ERR_APPLICATION_VERIFICATION, 0, true);
    return why == NULL || fail(text, files[1], why);
}

static SSL_CTX *new_context(const struct tlsd_hooks *hooks)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    if (context == NULL)
        return NULL;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, hooks->verify);
    SSL_CTX_set_verify_depth(context, CHAIN_DEPTH);
    SSL_CTX_set_max_cert_list(context, CHAIN_MAX);
    /* The one ticket informs the end that has called that its certificate is accepted. Without a
     * context of sessions the library refuses to resume one. */
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, hooks->confirmed);
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_num_tickets(context, 1) == 1)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

SSL_CTX *tlsd_load(const int fds[RSMD_TLS_LOAD_FDS], const struct tlsd_hooks *hooks, uint32_t *node,
                   uint64_t *expires, char text[RSMD_TLS_TEXT_MAX])
{
    bool (*const take[RSMD_TLS_LOAD_FDS])(SSL_CTX *, BIO *, char *) = {take_ca, take_certificate,
                                                                       take_key};
    SSL_CTX *context = new_context(hooks);
    bool well = context != NULL;
    if (!well)
        snprintf(text, RSMD_TLS_TEXT_MAX, "the TLS library fails: out of memory?");
    for (unsigned i = 0; i < RSMD_TLS_LOAD_FDS && well; i++) {
        BIO *file = read_file(fds[i], files[i], text);
        well = file != NULL && take[i](context, file, text);
        BIO_free(file);
    }
    well = well && check_own(context, node, expires, text);
    ERR_clear_error();
    if (well)
        return context;
    SSL_CTX_free(context);
    return NULL;
}
