/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures as comma-separated values, by RFC 4180 but for the ends of lines, which are Unix's. */
#include <string.h>

#include "show.h"

/* Quoted where it must be. */
static void text_field(FILE *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted)
        fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    if (quoted)
        fputc('"', out);
    fputc(',', out);
}

/* Empty where there is none. */
static void real(FILE *out, bool there, double value)
{
    if (there)
        fprintf(out, "%.10g", value);
}

static void real_field(FILE *out, bool there, double value)
{
    real(out, there, value);
    fputc(',', out);
}

static void write_ours(FILE *out, const struct result *result)
{
    const struct figure *ours = &result->ours;
    bool good = result->failure[0] == '\0';
    real_field(out, good, ours->best);
    real_field(out, good, ours->p50);
    real_field(out, good, ours->p99);
    real_field(out, good, ours->spread);
    real_field(out, good, (double)ours->count);
    real_field(out, good && result->mb_per_s > 0, result->mb_per_s);
}

static void write_limit(FILE *out, const struct result *result)
{
    bool good = result->failure[0] == '\0' && result->limit_name != NULL;
    text_field(out, good ? result->limit_name : "");
    real_field(out, good, result->limit.best);
    real_field(out, good, result->limit.p50);
    real_field(out, good, result->limit.p99);
    real_field(out, good && result->limit_mb_per_s > 0, result->limit_mb_per_s);
    real_field(out, good, result->ratio);
}

static void write_beside(FILE *out, const struct result *result)
{
    for (unsigned i = 0; i < BESIDES; i++) {
        const struct alternative *other = &result->beside[i];
        bool good = result->failure[0] == '\0' && other->p50 > 0;
        fputc(',', out);
        real(out, good, other->p50);
        fputc(',', out);
        real(out, good && other->mb_per_s > 0, other->mb_per_s);
        fputc(',', out);
        real(out, good, other->ratio);
    }
    fputc('\n', out);
}

void show_csv(FILE *out, const struct run *run)
{
    static const char *const verdicts[] = {"", "met", "missed"};
    fputs("operation,bytes,best_ns,p50_ns,p99_ns,spread,samples,mb_per_s,limit,limit_best_ns,"
          "limit_p50_ns,limit_p99_ns,limit_mb_per_s,ratio,target,verdict,error,"
          "ucx_p50_ns,ucx_mb_per_s,ucx_ratio,mpi_p50_ns,mpi_mb_per_s,mpi_ratio\n",
          out);
    for (unsigned i = 0; i < run->count; i++) {
        const struct result *result = &run->results[i];
        bool judged = result->failure[0] == '\0' && result->verdict != VERDICT_NONE;
        text_field(out, result->gauge->name);
        real_field(out, result->bytes != 0, (double)result->bytes);
        write_ours(out, result);
        write_limit(out, result);
        text_field(out, judged ? result->target : "");
        text_field(out, judged ? verdicts[result->verdict] : "");
        fputs(result->failure[0] != '\0' ? "failed" : "", out);
        write_beside(out, result); /* each with a comma before it */
    }
}
