/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of recordings, decoded and encoded without a daemon: on a big-endian processor, too, whose
 * words have another order than the messages. Each decimal number that a recording gives for a field's bytes
 * was written by the processor that recorded it. */
#include <ctype.h>

#include "cases.h"
#include "cluster/proto.h"
#include "protocol/proto.h"

enum { BYTES_MAX = RSM_PROTO_MESSAGE_MAX + 64, LINE_MAX_BYTES = 2 * BYTES_MAX + 256 };

/* A message of a recording. */
struct message {
    char letter;
    uint8_t bytes[BYTES_MAX];
    size_t length;
    /* What the recording says in decimal of these fields; 0: nothing. */
    unsigned long type, peer_timeout, extent_length;
};

static unsigned checked, values;

static size_t bytes_of(const char *hex, uint8_t *into)
{
    size_t count = 0;
    for (; isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1]); hex += 2) {
        const char digits[3] = {hex[0], hex[1], '\0'};
        into[count++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return count;
}

static void add_field(struct message *m, const char *line)
{
    char name[64] = "";
    const char *hex = line + strspn(line, " "), *said = strstr(line, "  # ");
    unsigned long number = said != NULL ? strtoul(said + 4, NULL, 10) : 0;
    assert_int_equal(sscanf(hex, "%*s %63s", name), 1);
    m->length += bytes_of(hex, m->bytes + m->length);
    if (strcmp(name, "type") == 0)
        m->type = number;
    if (strcmp(name, "peer_timeout_ms") == 0)
        m->peer_timeout = number;
    if (strcmp(name, "length") == 0)
        m->extent_length = number;
}

static void check_value(unsigned long said, uint64_t decoded)
{
    if (said == 0)
        return;
    assert_int_equal(decoded, said);
    values++;
}

static void check_control(const struct message *m)
{
    static struct rsm_msg msg;
    static uint8_t again[BYTES_MAX];
    assert_int_equal(rsm_msg_decode(&msg, m->bytes, m->length), RSM_ST_OK);
    assert_int_equal(rsm_msg_encode(&msg, again, sizeof again), m->length);
    assert_memory_equal(again, m->bytes, m->length);
    check_value(m->type, msg.type);
    if (msg.type == (RSM_MSG_HELLO | RSM_MSG_REPLY) && msg.status == RSM_ST_OK)
        check_value(m->peer_timeout, msg.u.hello_reply.peer_timeout_ms);
    if (msg.type == RSM_MSG_EXTENT_ALLOC)
        check_value(m->extent_length, msg.u.extent_alloc.length);
}

static void check_cluster(const struct message *m)
{
    static struct rsm_cluster_msg msg;
    static uint8_t again[BYTES_MAX];
    assert_int_equal(rsm_cluster_decode(&msg, m->bytes, m->length), RSM_ST_OK);
    assert_int_equal(rsm_cluster_encode(&msg, again, sizeof again), m->length);
    assert_memory_equal(again, m->bytes, m->length);
    check_value(m->type, msg.type);
}

static void check(const struct message *m)
{
    if (m->length == 0)
        return;
    if (m->letter == 'p')
        check_cluster(m);
    else
        check_control(m);
    checked++;
}

static void recording(void **state)
{
    static char line[LINE_MAX_BYTES];
    static struct message m;
    FILE *file = fopen(*state, "r");
    assert_non_null(file);
    checked = 0;
    m = (struct message){.letter = 0};
    while (fgets(line, sizeof line, file) != NULL) {
        if (m.letter != 0 && line[0] == ' ') {
            add_field(&m, line);
            continue;
        }
        check(&m);
        m = (struct message){.letter = 0};
        if ((line[0] == '>' || line[0] == '<') && line[1] == ' ')
            m.letter = line[2];
    }
    check(&m);
    fclose(file);
    assert_true(checked > 2);
}

/* The recordings do say numbers. */
static void numbers_were_compared(void **state)
{
    assert_true(values > 10);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[64];
    size_t count = 0;
    for (int i = 1; i < argc && count < 63; i++)
        tests[count++] =
            (struct CMUnitTest){.name = argv[i], .test_func = recording, .initial_state = argv[i]};
    if (count == 0 || argc - 1 > (int)count) {
        fprintf(stderr, "usage: test_bytes FILE... (63 at most)\n");
        return 2;
    }
    tests[count++] =
        (struct CMUnitTest){.name = "numbers_were_compared", .test_func = numbers_were_compared};
    return _cmocka_run_group_tests("bytes", tests, count, NULL, NULL);
}
