/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport `best`: its options, and the bytes in which the halves name a part. */
#include "transport/best.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "transport/registry.h"

/* ------------------------------------------------------------------ options */

static bool is_named(const struct rsmcore_best_options *options, const char *transport)
{
    bool found = false;
    for (unsigned i = 0; i < options->count; i++)
        found |= strcmp(options->parts[i].transport, transport) == 0;
    return found;
}

/* Names separated by colons, each once. */
static bool read_order(const char *text, struct rsmcore_best_options *options)
{
    options->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ":");
        if (options->count == RSMCORE_BEST_PARTS || length >= RSM_TRANSPORT_NAME_MAX)
            return false;
        struct rsmcore_best_part part = {.device = ""};
        memcpy(part.transport, at, length);
        if (!rsmcore_transport_name_valid(part.transport) || is_named(options, part.transport) ||
            strcmp(part.transport, RSMCORE_BEST_NAME) == 0)
            return false;
        options->parts[options->count++] = part;
        at += length;
        if (*at == '\0')
            return true;
    }
}

static bool append(char text[RSMCORE_BEST_TEXT], const char *word)
{
    size_t used = strlen(text);
    int length = snprintf(text + used, RSMCORE_BEST_TEXT - used, "%s%s", used > 0 ? "," : "", word);
    return length > 0 && (size_t)length < RSMCORE_BEST_TEXT - used;
}

/* PART.NAME=VALUE; NAME device is the part's device. */
static bool read_of_part(const char *word, struct rsmcore_best_options *options)
{
    static const char device[] = "device=";
    for (unsigned i = 0; i < options->count; i++) {
        struct rsmcore_best_part *part = &options->parts[i];
        size_t length = strlen(part->transport);
        if (strncmp(word, part->transport, length) != 0 || word[length] != '.')
            continue;
        word += length + 1;
        if (strncmp(word, device, sizeof device - 1) == 0)
            return snprintf(part->device, sizeof part->device, "%s", word + sizeof device - 1) <
                   (int)sizeof part->device;
        return append(part->options, word);
    }
    return false;
}

/* The words of one kind: `order=`, which comes first whatever its place, or the others. */
static bool read_words(const char *text, bool order, struct rsmcore_best_options *options)
{
    static const char separators[] = ", \t", name[] = "order=";
    char word[RSMCORE_BEST_TEXT];
    for (; *text != '\0'; text += strcspn(text, separators)) {
        text += strspn(text, separators);
        size_t length = strcspn(text, separators);
        if (length == 0)
            break;
        bool is_order = strncmp(text, name, sizeof name - 1) == 0;
        if (is_order != order)
            continue;
        if (length >= sizeof word)
            return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (is_order ? !read_order(word + sizeof name - 1, options) : !read_of_part(word, options))
            return false;
    }
    return true;
}

bool rsmcore_best_read(const struct rsm_controller_info *info, struct rsmcore_best_options *options)
{
    const char *text = info->options != NULL ? info->options : "";
    if (info->device != NULL && info->device[0] != '\0') {
        rsm_log_error("the best transport has no device of its own: write verbs.device=%s among "
                      "the options, if it is that one's",
                      info->device);
        return false;
    }
    if (read_order(RSM_TRANSPORT_BEST_ORDER, options) && read_words(text, true, options) &&
        read_words(text, false, options))
        return true;
    rsm_log_error("expected order=NAME:NAME..., at most %d transports and each once, or options "
                  "of these as NAME.OPTION=VALUE: %s",
                  RSMCORE_BEST_PARTS, text);
    return false;
}

struct rsm_controller_info rsmcore_best_info(const struct rsm_controller_info *info,
                                             const struct rsmcore_best_part *part)
{
    struct rsm_controller_info of_part = *info;
    of_part.device = part->device;
    of_part.options = part->options;
    return of_part;
}

/* ------------------------------------------------------------------ requests and offers */

void rsmcore_best_asked_codec(struct rsm_codec *codec, struct rsmcore_best_asked *asked)
{
    rsm_codec_string(codec, asked->transport, sizeof asked->transport);
    rsm_codec_count(codec, &asked->length, sizeof asked->data);
    rsm_codec_bytes(codec, asked->data, asked->length);
}

bool rsmcore_best_asked_find(const uint8_t *request, uint32_t length, const char *transport,
                             struct rsmcore_best_asked *asked)
{
    struct rsm_codec codec = rsm_decoder(request, length);
    while (codec.left > 0 && !codec.bad) {
        rsmcore_best_asked_codec(&codec, asked);
        if (!codec.bad && strcmp(asked->transport, transport) == 0)
            return true;
    }
    return false;
}

bool rsmcore_best_wrap(struct rsm_offer *offer, const char *transport)
{
    char name[RSM_TRANSPORT_NAME_MAX];
    uint8_t head[2 * RSM_TRANSPORT_NAME_MAX];
    snprintf(name, sizeof name, "%s", transport);
    struct rsm_codec codec = rsm_encoder(head, sizeof head);
    rsm_codec_string(&codec, name, sizeof name);
    uint32_t length = (uint32_t)(sizeof head - codec.left);
    if (codec.bad || offer->blob_len > sizeof offer->blob - length)
        return false;
    memmove(offer->blob + length, offer->blob, offer->blob_len);
    memcpy(offer->blob, head, length);
    offer->blob_len += length;
    return true;
}

void rsmcore_best_name(const char *transport, const uint8_t *blob, uint32_t length,
                       char name[RSM_TRANSPORT_NAME_MAX])
{
    struct rsm_codec codec = rsm_decoder(blob, length);
    if (strcmp(transport, RSMCORE_BEST_NAME) == 0)
        rsm_codec_string(&codec, name, RSM_TRANSPORT_NAME_MAX);
    else
        snprintf(name, RSM_TRANSPORT_NAME_MAX, "%s", transport);
    if (codec.bad || !rsmcore_transport_name_valid(name))
        name[0] = '\0';
}

bool rsmcore_best_unwrap(struct rsm_offer *offer, char transport[RSM_TRANSPORT_NAME_MAX])
{
    struct rsm_codec codec = rsm_decoder(offer->blob, offer->blob_len);
    rsm_codec_string(&codec, transport, RSM_TRANSPORT_NAME_MAX);
    if (codec.bad)
        return false;
    memmove(offer->blob, codec.at, codec.left);
    offer->blob_len = (uint32_t)codec.left;
    return true;
}
