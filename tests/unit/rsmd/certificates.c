/* SPDX-License-Identifier: BSD-3-Clause */
#include "certificates.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

static char directory[64];

const char *certificates_begin(void)
{
    strcpy(directory, "/tmp/rsm-certificates-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return directory;
}

void certificates_end(void)
{
    DIR *open_one = opendir(directory);
    assert_non_null(open_one);
    for (const struct dirent *entry; (entry = readdir(open_one)) != NULL;)
        if (entry->d_name[0] != '.')
            assert_int_equal(unlinkat(dirfd(open_one), entry->d_name, 0), 0);
    closedir(open_one);
    assert_int_equal(rmdir(directory), 0);
}

const char *certificates_path(const char *file)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", directory, file);
    return path;
}

/* ------------------------------------------------------------------ files */

static FILE *create(const char *file, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", file, suffix);
    int fd = open(certificates_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(stream);
    return stream;
}

static void write_certificate(X509 *certificate, const char *file)
{
    FILE *stream = create(file, "pem");
    assert_int_equal(PEM_write_X509(stream, certificate), 1);
    assert_int_equal(fclose(stream), 0);
}

static void write_key(EVP_PKEY *key, const char *file)
{
    FILE *stream = create(file, "key");
    assert_int_equal(PEM_write_PrivateKey(stream, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(stream), 0);
}

/* ------------------------------------------------------------------ certificates */

static void extend(X509 *certificate, X509 *issuer, int what, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, what, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static X509 *blank(EVP_PKEY *key, const char *name, long from, long until)
{
    X509 *made = X509_new();
    uint32_t serial = 0;
    assert_non_null(made);
    assert_int_equal(RAND_bytes((unsigned char *)&serial, sizeof serial), 1);
    assert_int_equal(X509_set_version(made, 2), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(made), (long)(serial >> 1)), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(made), from));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(made), until));
    assert_int_equal(X509_set_pubkey(made, key), 1);
    assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                                                (const unsigned char *)name, -1, -1, 0),
                     1);
    return made;
}

struct authority authority_new(const char *name)
{
    struct authority made = {.key = EVP_EC_gen("P-256")};
    assert_non_null(made.key);
    made.certificate = blank(made.key, name, -3600, 365L * 24 * 3600);
    assert_int_equal(
        X509_set_issuer_name(made.certificate, X509_get_subject_name(made.certificate)), 1);
    extend(made.certificate, made.certificate, NID_basic_constraints, "critical,CA:TRUE");
    extend(made.certificate, made.certificate, NID_key_usage, "critical,keyCertSign");
    extend(made.certificate, made.certificate, NID_subject_key_identifier, "hash");
    assert_true(X509_sign(made.certificate, made.key, EVP_sha256()) > 0);
    return made;
}

void authority_free(struct authority *authority)
{
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->key);
}

void authority_write(const struct authority *authority, const char *file)
{
    write_certificate(authority->certificate, file);
}

void certificates_write(const struct authority *authority, const char *file, const char *names,
                        long from, long until)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    X509 *made = blank(key, file, from, until);
    assert_int_equal(X509_set_issuer_name(made, X509_get_subject_name(authority->certificate)), 1);
    extend(made, authority->certificate, NID_authority_key_identifier, "keyid:always");
    if (*names != '\0')
        extend(made, authority->certificate, NID_subject_alt_name, names);
    assert_true(X509_sign(made, authority->key, EVP_sha256()) > 0);
    write_certificate(made, file);
    write_key(key, file);
    X509_free(made);
    EVP_PKEY_free(key);
}
