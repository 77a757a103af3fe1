/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Certificates for tests, right and wrong ones, in a directory of the test's own. */
#ifndef TESTS_RSMD_CERTIFICATES_H
#define TESTS_RSMD_CERTIFICATES_H

#include <openssl/x509.h>

struct authority {
    EVP_PKEY *key;
    X509 *certificate;
};

/** The directory, which certificates_end() removes with all in it. */
const char *certificates_begin(void);
void certificates_end(void);

/** The path of a file in it. */
const char *certificates_path(const char *file);

struct authority authority_new(const char *name);
void authority_free(struct authority *authority);

/** Write FILE.pem and FILE.key, signed by @p authority: with these names, separated by commas, as
 *  "URI:rsm:node:1"; "" for none. Valid from now + @p from to now + @p until seconds. */
void certificates_write(const struct authority *authority, const char *file, const char *names,
                        long from, long until);

/** Write the certificate of a CA as FILE.pem. */
void authority_write(const struct authority *authority, const char *file);

#endif
