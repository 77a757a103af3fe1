/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs.h"
#include "json.h"
#include "show.h"

enum { FORMAT_VERSION = 1 };

static void write_figure(struct json *json, const struct figure *figure, double mb_per_s)
{
    json_real(json, "best_ns", figure->best);
    json_real(json, "p50_ns", figure->p50);
    json_real(json, "p99_ns", figure->p99);
    json_real(json, "spread", figure->spread);
    json_number(json, "samples", figure->count);
    json_real_or_null(json, "mb_per_s", mb_per_s);
}

static void write_limit(struct json *json, const struct result *result)
{
    if (result->limit_name == NULL) {
        json_null(json, "limit");
        json_null(json, "ratio");
        return;
    }
    json_open(json, "limit", '{');
    json_string(json, "name", result->limit_name);
    write_figure(json, &result->limit, result->limit_mb_per_s);
    json_close(json, '{');
    json_real(json, "ratio", result->ratio);
}

static void write_target(struct json *json, const struct result *result)
{
    if (result->verdict == VERDICT_NONE) {
        json_null(json, "target");
        return;
    }
    json_open(json, "target", '{');
    json_string(json, "text", result->target);
    json_bool(json, "met", result->verdict == VERDICT_MET);
    json_close(json, '{');
}

/* An object for each that was asked for. */
static void write_beside(struct json *json, const struct run *run, const struct result *result)
{
    json_open(json, "beside", '{');
    for (unsigned i = 0; i < BESIDES; i++) {
        const struct alternative *other = &result->beside[i];
        if (!run->options->beside[i])
            continue;
        if (other->p50 == 0) {
            json_null(json, beside_names[i]);
            continue;
        }
        json_open(json, beside_names[i], '{');
        json_real(json, "p50_ns", other->p50);
        json_real_or_null(json, "mb_per_s", other->mb_per_s);
        json_real(json, "ratio", other->ratio);
        json_close(json, '{');
    }
    json_close(json, '{');
}

static void write_result(struct json *json, const struct run *run, const struct result *result)
{
    json_open(json, NULL, '{');
    json_string(json, "operation", result->gauge->name);
    json_number_or_null(json, "bytes", result->bytes);
    if (result->failure[0] != '\0') {
        json_string(json, "error", result->failure);
    } else {
        write_figure(json, &result->ours, result->mb_per_s);
        json_bool(json, "noisy", result_is_noisy(result));
        write_limit(json, result);
        write_target(json, result);
        write_beside(json, run, result);
    }
    json_close(json, '{');
}

static void write_machine(struct json *json, const struct machine *machine)
{
    json_open(json, "machine", '{');
    json_string(json, "processor", machine->processor);
    json_number(json, "processors", machine->processors);
    json_string(json, "system", machine->system);
    if (machine->load >= 0)
        json_real(json, "load", machine->load);
    else
        json_null(json, "load");
    json_close(json, '{');
}

void show_json(FILE *out, const struct run *run)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_number(&json, "rsmperf", FORMAT_VERSION);
    json_string(&json, "version", RSM_RELEASE);
    write_machine(&json, &run->machine);
    json_string(&json, "controller", run->options->controller);
    json_number(&json, "node", run->node);
    json_number(&json, "server_node", run->server_node);
    json_number(&json, "importers", run->options->importers);
    json_bool(&json, "registered", run->options->registered);
    json_number(&json, "time_ms", run->options->time_ms);
    json_open(&json, "figures", '[');
    for (unsigned i = 0; i < run->count; i++)
        write_result(&json, run, &run->results[i]);
    json_close(&json, '[');
    if (run->failure[0] != '\0')
        json_string(&json, "error", run->failure);
    json_close(&json, '{');
    fputc('\n', out);
}
