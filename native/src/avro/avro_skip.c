/* Passing over Avro data without keeping it. */
#include "avro/avro_internal.h"

/* Moves behind a length and as many bytes. */
static const char *skip_bytes(const uint8_t **at, const uint8_t *end) {
    uint64_t word;
    const uint8_t *p = seam_varint(*at, &word);
    if (p == NULL) {
        return "a length has more than 64 bits";
    }
    int64_t size = seam_zigzag(word);
    if (size < 0) {
        return "a length is negative";
    }
    if (size > end - p) {
        return "a value passes the end of its record";
    }
    *at = p + size;
    return NULL;
}

static const char *skip_varint(const uint8_t **at) {
    uint64_t word;
    const uint8_t *p = seam_varint(*at, &word);
    if (p == NULL) {
        return "a number has more than 64 bits";
    }
    *at = p;
    return NULL;
}

static const char *skip_fixed(const uint8_t **at, const uint8_t *end, int64_t size) {
    if (size > end - *at) {
        return "a value passes the end of its record";
    }
    *at += size;
    return NULL;
}

static const char *skip_items(const struct seam_avro_decoder *decoder, const struct node *node,
                              int64_t count, const uint8_t **at, const uint8_t *end, int depth) {
    int32_t item = decoder->children[node->first_child];
    bool map = node->kind == SEAM_AVRO_MAP;
    if (!map && decoder->nodes[item].min_bytes == 0) {
        return NULL; /* any number of items takes no bytes */
    }
    for (int64_t i = 0; i < count; i++) {
        const char *wrong = *at > end ? "a value passes the end of its record" : NULL;
        if (wrong == NULL && map) {
            wrong = skip_bytes(at, end);
        }
        if (wrong == NULL) {
            wrong = seam_avro_skip(decoder, item, at, end, depth + 1);
        }
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

/* Arrays and maps: runs of items, each behind its count, until a count of 0. A negative count is
 * followed by the run's size in bytes, so that the run can be jumped over. */
static const char *skip_runs(const struct seam_avro_decoder *decoder, const struct node *node,
                             const uint8_t **at, const uint8_t *end, int depth) {
    for (;;) {
        uint64_t word;
        if (*at > end) {
            return "a value passes the end of its record";
        }
        const uint8_t *p = seam_varint(*at, &word);
        if (p == NULL) {
            return "a count has more than 64 bits";
        }
        int64_t count = seam_zigzag(word);
        if (count == 0) {
            *at = p;
            return NULL;
        }
        const char *wrong;
        if (count < 0) {
            *at = p;
            wrong = p > end ? "a value passes the end of its record" : skip_bytes(at, end);
        } else {
            *at = p;
            wrong = skip_items(decoder, node, count, at, end, depth);
        }
        if (wrong != NULL) {
            return wrong;
        }
    }
}

static const char *skip_union(const struct seam_avro_decoder *decoder, const struct node *node,
                              const uint8_t **at, const uint8_t *end, int depth) {
    uint64_t word;
    const uint8_t *p = seam_varint(*at, &word);
    int64_t branch = p == NULL ? -1 : seam_zigzag(word);
    if (branch < 0 || branch >= node->n_children) {
        return "a union has no such branch";
    }
    *at = p;
    return seam_avro_skip(decoder, decoder->children[node->first_child + branch], at, end,
                          depth + 1);
}

static const char *skip_record(const struct seam_avro_decoder *decoder, const struct node *node,
                               const uint8_t **at, const uint8_t *end, int depth) {
    for (int32_t i = 0; i < node->n_children; i++) {
        const char *wrong =
            seam_avro_skip(decoder, decoder->children[node->first_child + i], at, end, depth + 1);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

const char *seam_avro_skip(const struct seam_avro_decoder *decoder, int32_t index,
                           const uint8_t **at, const uint8_t *end, int depth) {
    const struct node *node = &decoder->nodes[index];
    if (depth > MAX_DEPTH) {
        return "types are nested too deeply";
    }
    if (*at > end) {
        return "a value passes the end of its record";
    }
    switch (node->kind) {
    case SEAM_AVRO_NULL:
        return NULL;
    case SEAM_AVRO_BOOLEAN:
        return skip_fixed(at, end, 1);
    case SEAM_AVRO_INT:
    case SEAM_AVRO_LONG:
    case SEAM_AVRO_ENUM:
        return skip_varint(at);
    case SEAM_AVRO_FLOAT:
        return skip_fixed(at, end, 4);
    case SEAM_AVRO_DOUBLE:
        return skip_fixed(at, end, 8);
    case SEAM_AVRO_FIXED:
        return skip_fixed(at, end, node->size);
    case SEAM_AVRO_BYTES:
    case SEAM_AVRO_STRING:
        return skip_bytes(at, end);
    case SEAM_AVRO_UNION:
        return skip_union(decoder, node, at, end, depth);
    case SEAM_AVRO_RECORD:
        return skip_record(decoder, node, at, end, depth);
    default:
        return skip_runs(decoder, node, at, end, depth);
    }
}
