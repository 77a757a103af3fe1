/* SPDX-License-Identifier: BSD-3-Clause */
/* Beside conformance S-06 to S-19: failures of the file, and words that no document has. */
#include "unit/rsmapi/rsmapi_test.h"

static char path[] = "/tmp/rsm.segmentid.XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) < 0)
        return -1;
    return setenv("RSM_SEGMENTID_FILE", path, 1);
}

static int remove_file(void **state)
{
    return unlink(path);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

TEST(a_file_that_cannot_be_read_is_bad_configuration)
{
    rsm_memseg_id_t base;
    uint32_t length;
    write_file("reserved foo 600000 10\n");
    assert_int_equal(setenv("RSM_SEGMENTID_FILE", "/nonexistent", 1), 0);
    assert_int_equal(rsm_get_segmentid_range("foo", &base, &length), RSMERR_BAD_CONF);
    assert_int_equal(setenv("RSM_SEGMENTID_FILE", "/", 1), 0); /* opens, but does not read */
    assert_int_equal(rsm_get_segmentid_range("foo", &base, &length), RSMERR_BAD_CONF);
    assert_int_equal(setenv("RSM_SEGMENTID_FILE", path, 1), 0);
    inject_fdopen.error = ENOMEM;
    assert_int_equal(rsm_get_segmentid_range("foo", &base, &length), RSMERR_BAD_CONF);
    inject_fd_place.error = EMFILE;
    assert_int_equal(rsm_get_segmentid_range("foo", &base, &length), RSMERR_BAD_CONF);
    assert_int_equal(rsm_get_segmentid_range("foo", &base, &length), RSM_SUCCESS);
}

#define SIXTY_FOUR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define COMMENT_254                                                                                \
    "#" SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR                                                           \
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

TEST(lines_mean_what_they_always_did)
{
    static const struct {
        const char *text;
        int error;
        uint32_t base, length;
    } cases[] = {
        {"reserved foo 0x600000 1000\n", RSM_SUCCESS, 0x600000, 1000},
        {"reserved foo 600000 1000\n", RSM_SUCCESS, 0x600000, 1000},
        {" \t reserved\tfoo \t 600000   1000 \n", RSM_SUCCESS, 0x600000, 1000},
        {"RESERVED FOO 600000 1000\n", RSM_SUCCESS, 0x600000, 1000},
        {"reserve foo 600000 1000\n", RSM_SUCCESS, 0x600000, 1000},
        {"reserved foo 600000 1000", RSM_SUCCESS, 0x600000, 1000},
        {"reserved foo 600000 1000x and more\n", RSM_SUCCESS, 0x600000, 1000},
        {"reserved foo bath length\n", RSM_SUCCESS, 0xba, 0},
        {"# comment\n  \t# another one\nreserved foo 1 2\n", RSM_SUCCESS, 1, 2},
        {"reserved foo 1 2\nreserved foo 3 4\n", RSM_SUCCESS, 1, 2},
        {"reserved foo 1 2\nthree fields only\n", RSM_SUCCESS, 1, 2},
        {"reserved bar x y\nnonsense bar x y\nreserved foo 1 2\n", RSM_SUCCESS, 1, 2},
        {"reserved foo ffffffff 4294967295\n", RSM_SUCCESS, 0xffffffff, 4294967295u},
        {"", RSMERR_BAD_APPID, 0, 0},
        {"reserved bar 1 2\n", RSMERR_BAD_APPID, 0, 0},
        {"other foo 1 2\n", RSMERR_BAD_CONF, 0, 0},
        {"reserved foo 1\nreserved foo 1 2\n", RSMERR_BAD_CONF, 0, 0},
        {"reserved bar 1\nreserved foo 1 2\n", RSMERR_BAD_CONF, 0, 0},
        {"\nreserved foo 1 2\n", RSMERR_BAD_CONF, 0, 0},
        {" \t \nreserved foo 1 2\n", RSMERR_BAD_CONF, 0, 0},
        {"reserved foo 100000000 2\n", RSMERR_BAD_CONF, 0, 0},
        {"reserved foo 1 4294967296\n", RSMERR_BAD_CONF, 0, 0},
        {"reserved foo 1 99999999999999999999999\n", RSMERR_BAD_CONF, 0, 0},
        {"reserved foo none 2\n", RSM_SUCCESS, 0, 2},
        {"reserved foo 1 -1\n", RSMERR_BAD_CONF, 0, 0},
        /* What follows the 255th character is a line of its own. */
        {COMMENT_254 "\nreserved foo 1 2\n", RSM_SUCCESS, 1, 2},
        {COMMENT_254 "c three fields\nreserved foo 1 2\n", RSMERR_BAD_CONF, 0, 0},
    };
    assert_int_equal(strlen(COMMENT_254), 254);
    for (size_t i = 0; i < COUNT(cases); i++) {
        rsm_memseg_id_t base = 77;
        uint32_t length = 88;
        write_file(cases[i].text);
        int error = rsm_get_segmentid_range("foo", &base, &length);
        if (error != cases[i].error)
            fail_msg("\"%s\": %d, expected %d", cases[i].text, error, cases[i].error);
        bool success = error == RSM_SUCCESS;
        assert_int_equal(base, success ? cases[i].base : 77);
        assert_int_equal(length, success ? cases[i].length : 88);
    }
    assert_int_equal(fake.opens, 0);
}

TEST(without_an_override_the_configured_file_is_asked)
{
    rsm_memseg_id_t base;
    uint32_t length;
    /* The build's file, whether or not this machine has one: no application is called that. */
    assert_int_equal(unsetenv("RSM_SEGMENTID_FILE"), 0);
    int error = rsm_get_segmentid_range("no.such.application", &base, &length);
    assert_true(error == RSMERR_BAD_CONF || error == RSMERR_BAD_APPID);
}

TESTS_BETWEEN(make_file, remove_file)
