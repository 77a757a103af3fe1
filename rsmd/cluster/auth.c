/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/internal.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/codec.h"
#include "cluster/munge.h"
#include "common/worker.h"

enum {
    JOBS_PER_NODE = 2, /* a proof to make, and one to check */
    CLAIM_VERSION = 1,
    CLAIM_BYTES = 256, /* more than any claim has */
    WHY_BYTES = 240,   /* less than RSM_CLUSTER_TEXT_MAX */
};

/* What jobs need: the last of daemon and running jobs frees it. */
struct method {
    atomic_uint users;
    struct rsmd_munge *munge; /* NULL: no credentials */
    char socket[RSM_PROTO_PATH_MAX];
};

struct rsmd_auth {
    struct method *method;
    struct rsmd_worker *worker;
};

struct rsmd_auth_job {
    struct rsmd_job job;
    struct method *method;
    rsmd_auth_done *done;
    void *context;
    uint32_t prover, verifier; /* nodes */
    bool prove;
    bool ours; /* the failure is this host's */
    uint8_t claim[CLAIM_BYTES];
    size_t claim_length;
    struct rsm_cluster_proof proof;
    char why[WHY_BYTES];
};

/* ------------------------------------------------------------------ claims */

static void write_end(struct rsm_codec *c, const struct rsmd_address *end)
{
    uint8_t address[16] = {0};
    uint16_t family = end->socket.ss_family, port = 0;
    if (family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&end->socket;
        memcpy(address, &in->sin_addr, sizeof in->sin_addr);
        port = ntohs(in->sin_port);
    } else if (family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&end->socket;
        memcpy(address, &in6->sin6_addr, sizeof address);
        port = ntohs(in6->sin6_port);
    }
    rsm_codec_u16(c, &family);
    rsm_codec_bytes(c, address, sizeof address);
    rsm_codec_u16(c, &port);
}

static void write_party(struct rsm_codec *c, const struct rsm_cluster_hello *hello)
{
    struct rsm_cluster_hello copy = *hello;
    rsm_codec_u32(c, &copy.from);
    rsm_codec_u64(c, &copy.incarnation);
    rsm_codec_bytes(c, copy.nonce, sizeof copy.nonce);
}

static size_t write_claim(const struct rsmd_auth_claim *claim, uint8_t bytes[CLAIM_BYTES])
{
    struct rsm_codec c = rsm_encoder(bytes, CLAIM_BYTES);
    uint32_t magic = RSM_CLUSTER_MAGIC, version = CLAIM_VERSION;
    rsm_codec_u32(&c, &magic);
    rsm_codec_u32(&c, &version);
    write_party(&c, claim->prover);
    write_party(&c, claim->verifier);
    write_end(&c, claim->prover_end);
    write_end(&c, claim->verifier_end);
    return CLAIM_BYTES - c.left;
}

/* ------------------------------------------------------------------ in the thread */

static void fail(struct rsmd_auth_job *job, const char *why)
{
    job->ours = true;
    snprintf(job->why, sizeof job->why, "%s", why);
}

static void broken(struct rsmd_auth_job *job, uint32_t node, const char *why)
{
    job->ours = true;
    snprintf(job->why, sizeof job->why, "MUNGE on the host of node %u fails: %.150s",
             (unsigned)node, why);
}

static void bad(struct rsmd_auth_job *job, const char *why)
{
    snprintf(job->why, sizeof job->why, "node %u does not accept the credential of node %u: %.130s",
             (unsigned)job->verifier, (unsigned)job->prover, why);
}

static void prove(struct rsmd_auth_job *job)
{
    char why[WHY_BYTES] = "";
    if (job->method->munge == NULL)
        return; /* an empty proof */
    size_t length = rsmd_munge_encode(job->method->munge, job->claim, job->claim_length,
                                      (char *)job->proof.credential, sizeof job->proof.credential,
                                      why, sizeof why);
    job->proof.length = (uint32_t)length;
    if (length == 0)
        broken(job, job->prover, why);
}

static void check_content(struct rsmd_auth_job *job, const struct rsmd_munge_content *content)
{
    char why[WHY_BYTES];
    if (content->uid != 0 && content->uid != geteuid()) {
        snprintf(why, sizeof why, "it is that of user %u, who is neither root nor user %u",
                 (unsigned)content->uid, (unsigned)geteuid());
        bad(job, why);
    } else if (content->length != job->claim_length ||
               memcmp(content->payload, job->claim, job->claim_length) != 0) {
        bad(job, "it is for another connection (are addresses translated between the hosts?)");
    }
}

static void check_credential(struct rsmd_auth_job *job)
{
    struct rsmd_munge_content content;
    char why[WHY_BYTES];
    switch (rsmd_munge_decode(job->method->munge, (const char *)job->proof.credential, &content,
                              why, sizeof why)) {
    case RSMD_MUNGE_GOOD:
        check_content(job, &content);
        return;
    case RSMD_MUNGE_BAD:
        bad(job, why);
        return;
    case RSMD_MUNGE_BROKEN:
        broken(job, job->verifier, why);
    }
}

static void check(struct rsmd_auth_job *job)
{
    struct rsm_cluster_proof *proof = &job->proof;
    bool munge = job->method->munge != NULL;
    if (munge == (proof->length == 0)) {
        snprintf(job->why, sizeof job->why, "node %u has auth = %s, and node %u auth = %s",
                 (unsigned)job->prover, munge ? "none" : "munge", (unsigned)job->verifier,
                 munge ? "munge" : "none");
    } else if (munge && (proof->length == sizeof proof->credential ||
                         memchr(proof->credential, 0, proof->length) != NULL)) {
        bad(job, "it is no MUNGE credential");
    } else if (munge) {
        proof->credential[proof->length] = '\0';
        check_credential(job);
    }
}

static void run(struct rsmd_job *base)
{
    struct rsmd_auth_job *job = (struct rsmd_auth_job *)base;
    if (job->prove)
        prove(job);
    else
        check(job);
}

/* ------------------------------------------------------------------ in the event loop */

static void let_go(struct method *method)
{
    if (atomic_fetch_sub(&method->users, 1) != 1)
        return;
    rsmd_munge_free(method->munge);
    free(method);
}

static void on_done(struct rsmd_job *base)
{
    struct rsmd_auth_job *job = (struct rsmd_auth_job *)base;
    job->done(job->context, job->why[0] != '\0' ? job->why : NULL, job->ours,
              job->prove ? &job->proof : NULL);
}

static void free_job(struct rsmd_job *base)
{
    struct rsmd_auth_job *job = (struct rsmd_auth_job *)base;
    let_go(job->method);
    free(job);
}

/* NULL: out of memory, and done() has been called. */
static struct rsmd_auth_job *new_job(rsmd_auth_done *done, void *context)
{
    struct rsmd_auth_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        done(context, "out of memory", true, NULL);
        return NULL;
    }
    job->done = done;
    job->context = context;
    return job;
}

static struct rsmd_auth_job *submit(struct rsmd_auth *auth, struct rsmd_auth_job *job,
                                    const struct rsmd_auth_claim *claim)
{
    job->job.run = run;
    job->job.done = on_done;
    job->job.free = free_job;
    job->prover = claim->prover->from;
    job->verifier = claim->verifier->from;
    job->claim_length = write_claim(claim, job->claim);
    job->method = auth->method;
    atomic_fetch_add(&auth->method->users, 1);
    if (job->method->munge != NULL && rsmd_worker_submit(auth->worker, &job->job))
        return job;
    if (job->method->munge == NULL)
        run(&job->job); /* makes no call that can block */
    else
        fail(job, "too many handshakes at once");
    on_done(&job->job);
    free_job(&job->job);
    return NULL;
}

struct rsmd_auth_job *rsmd_auth_prove(struct rsmd_auth *auth, const struct rsmd_auth_claim *claim,
                                      rsmd_auth_done *done, void *context)
{
    struct rsmd_auth_job *job = new_job(done, context);
    if (job == NULL)
        return NULL;
    job->prove = true;
    return submit(auth, job, claim);
}

struct rsmd_auth_job *rsmd_auth_check(struct rsmd_auth *auth, const struct rsmd_auth_claim *claim,
                                      const struct rsm_cluster_proof *proof, rsmd_auth_done *done,
                                      void *context)
{
    struct rsmd_auth_job *job = new_job(done, context);
    if (job == NULL)
        return NULL;
    job->proof = *proof;
    return submit(auth, job, claim);
}

void rsmd_auth_cancel(struct rsmd_auth_job *job)
{
    if (job != NULL)
        rsmd_job_cancel(&job->job);
}

static struct method *make_method(const struct rsmd_conf *conf, const char *library, char *why,
                                  size_t why_size)
{
    char reason[200];
    struct method *method = calloc(1, sizeof *method);
    snprintf(why, why_size, "out of memory");
    if (method == NULL)
        return NULL;
    atomic_init(&method->users, 1);
    if (conf->auth != RSMD_AUTH_MUNGE)
        return method; /* with tls, the certificates have proved it all */
    memcpy(method->socket, conf->munge_socket, sizeof method->socket);
    method->munge = rsmd_munge_load(library, method->socket, reason, sizeof reason);
    if (method->munge != NULL)
        return method;
    snprintf(why, why_size, "auth = munge needs %s: %s", library, reason);
    let_go(method);
    return NULL;
}

struct rsmd_auth *rsmd_auth_start(struct event_base *base, const struct rsmd_conf *conf,
                                  const char *library, char *why, size_t why_size)
{
    struct method *method = make_method(conf, library, why, why_size);
    struct rsmd_worker_limits limits = rsmd_worker_single;
    if (method == NULL)
        return NULL;
    limits.waiting +=
        JOBS_PER_NODE * conf->node_count; /* at the start all links are made at the same time */
    struct rsmd_auth *auth = calloc(1, sizeof *auth);
    struct rsmd_worker *worker = auth != NULL ? rsmd_worker_new(base, &limits) : NULL;
    if (worker == NULL) {
        free(auth);
        let_go(method);
        return NULL;
    }
    *auth = (struct rsmd_auth){.method = method, .worker = worker};
    return auth;
}

void rsmd_auth_widen(struct rsmd_auth *auth)
{
    rsmd_worker_widen(auth->worker, JOBS_PER_NODE);
}

void rsmd_auth_end(struct rsmd_auth *auth)
{
    if (auth == NULL)
        return;
    rsmd_worker_end(auth->worker);
    let_go(auth->method);
    free(auth);
}
