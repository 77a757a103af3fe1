/* SPDX-License-Identifier: BSD-3-Clause */
/* What is in a credential of another host that MUNGE finds good, or does not: payload, user, times. A
 * member of the realm can put anything there. The verifier takes none but root's and its own user's, of
 * this connection, in whole; else there is a reason, in one line. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cluster/internal.h"
#include "cluster/munge.h"
#include "conf/conf.h"
#include "fuzz.h"
#include "fuzz_munge.h"
#include "input.h"
#include "loop.h"

enum { WAIT_S = 15 };

static struct {
    struct event_base *base;
    struct rsmd_auth *auth;
    struct munge_content *content;
    struct rsm_cluster_proof proof;
    bool done, good;
} world;

static void begin(void)
{
    static struct rsmd_conf conf;
    char why[256];
    rsmd_conf_defaults(&conf);
    conf.auth = RSMD_AUTH_MUNGE;
    void *library = dlopen(FUZZ_MUNGE_CONTENT, RTLD_NOW);
    CHECK(library != NULL);
    world.content = dlsym(library, "munge_content");
    world.base = event_base_new();
    CHECK(world.content != NULL && world.base != NULL);
    world.auth = rsmd_auth_start(world.base, &conf, FUZZ_MUNGE_CONTENT, why, sizeof why);
    CHECK(world.auth != NULL);
}

static void on_done(void *context, const char *why, bool ours,
                    const struct rsm_cluster_proof *proof)
{
    (void)context, (void)ours;
    world.done = true;
    world.good = why == NULL;
    CHECK(why == NULL || (why[0] != '\0' && strchr(why, '\n') == NULL));
    if (proof != NULL)
        world.proof = *proof;
}

static void await(void)
{
    const struct timespec moment = {.tv_nsec = 20000};
    time_t end = time(NULL) + WAIT_S;
    for (loop_turn(world.base); !world.done && time(NULL) < end; loop_turn(world.base))
        nanosleep(&moment, NULL);
    CHECK(world.done);
    world.done = false;
}

/* A connection whose parties the input names. */
struct parties {
    struct rsm_cluster_hello prover, verifier;
    struct rsmd_address ends[2];
};

static void name_parties(struct input *in, struct parties *parties)
{
    memset(parties, 0, sizeof *parties);
    parties->prover.from = 1 + input_below(in, 2);
    parties->prover.incarnation = input_below(in, 2);
    input_bytes(in, parties->prover.nonce, input_below(in, 4));
    parties->verifier.from = 3;
    for (unsigned i = 0; i < 2; i++) {
        struct sockaddr_in *address = (struct sockaddr_in *)&parties->ends[i].socket;
        address->sin_family = AF_INET;
        address->sin_port = htons((uint16_t)input_below(in, 4));
        parties->ends[i].length = sizeof *address;
    }
}

static struct rsmd_auth_claim claim_of(const struct parties *parties)
{
    return (struct rsmd_auth_claim){&parties->prover, &parties->verifier, &parties->ends[0],
                                    &parties->ends[1]};
}

/* What goes into a credential for that connection. */
static struct munge_content prove(const struct parties *parties)
{
    struct rsmd_auth_claim claim = claim_of(parties);
    rsmd_auth_prove(world.auth, &claim, on_done, NULL);
    await();
    CHECK(world.good);
    return *world.content;
}

/* What MUNGE finds in the credential: what was put there, but for what the input changes. */
static void change_content(struct input *in, struct munge_content *content)
{
    static const int results[] = {0, 8, 9, 14, 15, 16, 17, 18};
    content->result = input_below(in, 4) != 3 ? 0 : results[input_below(in, 8)];
    if (input_below(in, 16) == 15)
        content->result = (int)input_number(in);
    content->uid = input_below(in, 4) != 3 ? geteuid() : (uint32_t)input_number(in);
    content->encoded = (uint32_t)input_number(in); /* as the credential has them */
    content->decoded = (uint32_t)input_number(in);
    switch (input_below(in, 8)) {
    case 5:
        content->length = input_bytes(in, content->payload, input_u8(in));
        break;
    case 6:
        content->length = (size_t)input_u8(in) * 4;
        break;
    case 7:
        content->payload[input_u8(in)] ^= input_u8(in);
        break;
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    struct parties told, here;
    struct munge_content made, wanted;
    if (world.base == NULL)
        begin();
    name_parties(&in, &told);
    made = prove(&told);
    here = told;
    if (input_below(&in, 4) == 3)
        name_parties(&in, &here);
    wanted = prove(&here);
    *world.content = made;
    change_content(&in, world.content);
    struct rsmd_auth_claim claim = claim_of(&here);
    rsmd_auth_check(world.auth, &claim, &world.proof, on_done, NULL);
    await();
    const struct munge_content *found = world.content;
    bool right = found->result == 0 && (found->uid == 0 || found->uid == geteuid()) &&
                 found->length == wanted.length &&
                 memcmp(found->payload, wanted.payload, wanted.length) == 0;
    CHECK(world.good == right);
}
