/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded conversations with rsmd, of this and former versions of the protocol, held again with
 * the rsmd of this build: test_wire FILE... It says what it said then, up to numbers that are its
 * own choice; or, if it does not speak the protocol of the recording any more, RSM_ST_VERSION to
 * the first HELLO and nothing else. */
#include "protocol/sharedmem.h"
#include "cluster/proto.h"
#include "rsm/transport.h"
#include "wire.h"

enum { LINE_MAX_BYTES = 2 * WIRE_BYTES_MAX, IDS_MAX = 256, FIELDS_MAX = 1024, STATUS_AT = 16 };

/* A field of a message as recorded. */
struct field {
    size_t offset, length;
    char name[64];
    bool any;
    const char *space; /* of ids; NULL: it is none */
};

struct message {
    uint8_t bytes[WIRE_BYTES_MAX];
    size_t length;
    struct field fields[FIELDS_MAX];
    unsigned field_count;
    char fds[1024]; /* their kinds, in words; "" if there are none */
};

/* What a recorded id is now. */
struct id {
    const char *space;
    uint32_t recorded, now;
    uint32_t generation; /* of a slot, when it was told */
};

static const char *file_name;
static unsigned line_number;
static unsigned version; /* of the recording */
static FILE *file;
static char line[LINE_MAX_BYTES];
static bool have_line; /* `line` is still to be looked at */
static struct daemon served;
static int sockets[128], tables[128]; /* descriptors; 0: none */
static struct id ids[IDS_MAX];
static unsigned id_count;

/* ------------------------------------------------------------------ reading */

#define WRONG(...)                                                                                 \
    do {                                                                                           \
        print_error("%s:%u: ", file_name, line_number);                                            \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

/* The next line with something in it, without its comment. */
static bool next_line(void)
{
    if (have_line) {
        have_line = false;
        return true;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line_number++;
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " ")] != '\0')
            return true;
    }
    return false;
}

static void read_field(struct message *message)
{
    char kind[32] = "";
    int digits = 0, end = 0;
    struct field *field = &message->fields[message->field_count++];
    assert_true(message->field_count <= FIELDS_MAX);
    memset(field, 0, sizeof *field);
    if (sscanf(line, " %*[0-9a-f]%n %63s %31s", &end, field->name, kind) < 1)
        WRONG("not a field: %s", line);
    const char *hex = line + strspn(line, " ");
    digits = end - (int)(hex - line);
    field->offset = message->length;
    field->length = (size_t)digits / 2;
    for (size_t i = 0; i < field->length; i++) {
        const char pair[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        assert_true(message->length < sizeof message->bytes);
        message->bytes[message->length++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    field->any = strcmp(kind, "any") == 0;
    field->space = strcmp(kind, "id:slot") == 0     ? "slot"
                   : strcmp(kind, "id:object") == 0 ? "object"
                                                    : NULL;
}

/* The message whose head line has just been read. */
static void read_message(struct message *message)
{
    memset(message, 0, sizeof *message);
    while (next_line()) {
        if (strncmp(line, "fds ", 4) == 0) {
            snprintf(message->fds, sizeof message->fds, "%.1000s", line + 4);
        } else if (line[0] == ' ') {
            read_field(message);
        } else {
            have_line = true;
            return;
        }
    }
}

/* ------------------------------------------------------------------ ids */

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static struct id *find_id(const char *space, uint32_t recorded)
{
    for (unsigned i = 0; i < id_count; i++)
        if (ids[i].space == space && ids[i].recorded == recorded)
            return &ids[i];
    return NULL;
}

/* 0 is "none" in every message. */
static void put_ids(struct message *message)
{
    for (unsigned i = 0; i < message->field_count; i++) {
        const struct field *field = &message->fields[i];
        uint32_t recorded = word_at(message->bytes + field->offset);
        if (field->space == NULL || recorded == 0)
            continue;
        const struct id *id = find_id(field->space, recorded);
        if (id == NULL)
            WRONG("%s %u has not been told before", field->name, (unsigned)recorded);
        memcpy(message->bytes + field->offset, &id->now, sizeof id->now);
    }
}

static uint32_t generation_at(char letter, uint32_t slot)
{
    uint32_t value = 0;
    off_t at = RSM_GENERATION_TABLE_HEADER + (off_t)slot * (off_t)sizeof value;
    assert_true(tables[(int)letter] > 0);
    assert_int_equal(pread(tables[(int)letter], &value, sizeof value, at), sizeof value);
    return value;
}

static void take_id(char letter, const struct field *field, uint32_t recorded, uint32_t now)
{
    struct id *id = find_id(field->space, recorded);
    if (id == NULL) {
        assert_true(id_count < IDS_MAX && (recorded == 0) == (now == 0));
        id = &ids[id_count++];
        *id = (struct id){.space = field->space, .recorded = recorded, .now = now};
    }
    /* Slots rest and come again, and a reply may tell of a new connection on an old one. */
    if (strcmp(field->space, "slot") == 0) {
        id->now = now;
        id->generation = generation_at(letter, now);
    }
    if (id->now != now)
        WRONG("%s is %u, which was %u before", field->name, (unsigned)now, (unsigned)id->now);
}

/* ------------------------------------------------------------------ comparing */

static void compare_field(char letter, const struct message *recorded, const struct field *field,
                          const uint8_t *now)
{
    const uint8_t *then = recorded->bytes + field->offset;
    if (field->any)
        return;
    if (field->space != NULL) {
        take_id(letter, field, word_at(then), word_at(now));
        return;
    }
    if (memcmp(then, now, field->length) == 0)
        return;
    print_error("%s was:", field->name);
    for (size_t i = 0; i < field->length; i++)
        print_error(" %02x", then[i]);
    print_error("; is:");
    for (size_t i = 0; i < field->length; i++)
        print_error(" %02x", now[i]);
    print_error("\n");
    WRONG("%s is another than it was", field->name);
}

/* Bytes of a field as they are now: strings and blobs that may be anything have their own length.
 */
static size_t length_now(const struct field *field, const uint8_t *now, size_t left)
{
    if (!field->any || field->length <= 8)
        return field->length;
    return left >= 4 && (size_t)word_at(now) + 4 <= left ? 4 + (size_t)word_at(now) : field->length;
}

static void compare_fds(const struct message *recorded, const struct rsm_packet_fds *fds)
{
    char now[1024] = "", text[64];
    for (unsigned i = 0; i < fds->count; i++) {
        wire_describe_fd(fds->fds[i], text);
        size_t used = strlen(now);
        snprintf(now + used, sizeof now - used, "%s%s", i > 0 ? " " : "", text);
    }
    if (strcmp(now, recorded->fds) != 0)
        WRONG("the descriptors are \"%s\", and were \"%s\"", now, recorded->fds);
}

/* The table that comes with the reply to HELLO, from which generations are told. */
static void keep_table(char letter, const struct rsm_packet_fds *fds)
{
    if (letter != WIRE_PEER && tables[(int)letter] == 0 && fds->count == 1)
        tables[(int)letter] = fcntl(fds->fds[0], F_DUPFD_CLOEXEC, 3);
}

/* ------------------------------------------------------------------ steps */

/* A daemon that no longer speaks this version says so, in a header that has not changed, and hangs
 * up. */
static bool refuses_version(char letter, const uint8_t *now, size_t length)
{
    uint8_t more[WIRE_BYTES_MAX];
    struct rsm_packet_fds fds;
    if (version == RSM_PROTO_VERSION || letter == WIRE_PEER || length != RSM_PROTO_HEADER ||
        word_at(now) != RSM_PROTO_MAGIC || word_at(now + STATUS_AT) != RSM_ST_VERSION)
        return false;
    assert_int_equal(wire_receive(sockets[(int)letter], letter, more, &fds, true), 0);
    print_message("%s: protocol %u is refused with RSM_ST_VERSION\n", file_name, version);
    return true;
}

static bool hear(char letter, const char *name)
{
    static struct message recorded;
    static uint8_t now[WIRE_BYTES_MAX];
    struct rsm_packet_fds fds;
    read_message(&recorded);
    size_t length =
        wire_receive(sockets[(int)letter], letter, now, &fds, strcmp(name, "PING") == 0);
    if (refuses_version(letter, now, length))
        return false;
    size_t at = 0;
    for (unsigned i = 0; i < recorded.field_count; i++) {
        const struct field *field = &recorded.fields[i];
        size_t have = length_now(field, now + at, length - at);
        if (at + have > length)
            WRONG("the message ends before %s", field->name);
        compare_field(letter, &recorded, field, now + at);
        at += have;
        if (i == 0)
            keep_table(letter, &fds);
    }
    if (at != length)
        WRONG("%zu bytes more than there were", length - at);
    compare_fds(&recorded, &fds);
    wire_keep_fds(&fds);
    return true;
}

static void say(char letter)
{
    static struct message recorded;
    struct rsm_packet_fds fds = {.count = 0};
    char *rest = recorded.fds;
    read_message(&recorded);
    put_ids(&recorded);
    for (const char *kind; (kind = strtok_r(rest, " ", &rest)) != NULL;)
        fds.fds[fds.count++] = wire_make_fd(kind);
    wire_send(sockets[(int)letter], letter, recorded.bytes, recorded.length, &fds);
    rsm_packet_fds_close(&fds);
}

static void expect_end(char letter)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    struct rsm_packet_fds fds;
    if (wire_receive(sockets[(int)letter], letter, bytes, &fds, true) != 0)
        WRONG("the daemon goes on with %c", letter);
}

static void hang_up(char letter)
{
    int *const of[] = {&sockets[(int)letter], &tables[(int)letter]};
    for (unsigned i = 0; i < 2; i++) {
        if (*of[i] > 0)
            close(*of[i]);
        *of[i] = 0;
    }
}

/* Deaths are noticed a moment later. */
static void expect_moved(char letter, uint32_t recorded)
{
    const struct id *id = find_id("slot", recorded);
    if (id == NULL)
        WRONG("slot %u has not been told", (unsigned)recorded);
    for (int tries = PEER_WAIT_MS / 10; tries > 0; tries--) {
        if (generation_at(letter, id->now) != id->generation)
            return;
        usleep(10000);
    }
    WRONG("the generation in slot %u has not moved", (unsigned)id->now);
}

/* False: the conversation is over. */
static bool play_step(void)
{
    char name[64] = "", letter = 0;
    unsigned number = 0;
    if (sscanf(line, "protocol %u", &number) == 1) {
        version = number;
    } else if (sscanf(line, "open %c", &letter) == 1) {
        sockets[(int)letter] = wire_open(&served, letter);
    } else if (sscanf(line, "close %c", &letter) == 1) {
        hang_up(letter);
    } else if (sscanf(line, "end %c", &letter) == 1) {
        expect_end(letter);
        hang_up(letter);
    } else if (sscanf(line, "moved %c %u", &letter, &number) == 2) {
        expect_moved(letter, number);
    } else if (sscanf(line, "> %c %63s", &letter, name) == 2) {
        say(letter);
    } else if (sscanf(line, "< %c %63s", &letter, name) == 2) {
        return hear(letter, name);
    } else {
        WRONG("not a step: %s", line);
    }
    return true;
}

static void play(void **state)
{
    file_name = *state;
    file = fopen(file_name, "r");
    assert_non_null(file);
    line_number = id_count = version = 0;
    have_line = false;
    wire_daemon_start(&served);
    bool go_on = true;
    unsigned steps = 0;
    for (; go_on && next_line(); steps++)
        go_on = play_step();
    assert_true(version > 0 && steps > 3);
    for (int letter = 'a'; letter <= 'z'; letter++)
        hang_up((char)letter);
    wire_drop_fds();
    fclose(file);
    daemon_stop(&served);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[64];
    size_t count = 0;
    for (int i = 1; i < argc && count < sizeof tests / sizeof tests[0]; i++)
        tests[count++] =
            (struct CMUnitTest){.name = argv[i], .test_func = play, .initial_state = argv[i]};
    if (count == 0 || argc - 1 > (int)count) {
        fprintf(stderr, "usage: test_wire FILE... (64 at most)\n");
        return 2;
    }
    return _cmocka_run_group_tests("wire", tests, count, NULL, NULL);
}
