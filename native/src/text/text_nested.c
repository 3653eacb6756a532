/* Lists, maps and structs within a field, each cut by the separator of its depth. */
#include "text/text_internal.h"

static void end_of_row(struct text_column *column, int64_t items) {
    ((int32_t *)column->values.data)[column->rows + 1] = (int32_t)items;
    column->rows++;
}

static int append_list(struct seam_text_parser *parser, struct text_column *column,
                       struct piece text, struct seam_error *error) {
    const struct seam_text_format *format = &parser->format;
    uint8_t separator = format->separators[column->level];
    struct text_column *items = column + 1;
    for (const uint8_t *at = text.begin; text.begin < text.end;) {
        const uint8_t *end = seam_text_item_end(at, text.end, separator, format->escape);
        SEAM_TRY(seam_text_append(parser, items, (struct piece){at, end}, error));
        if (end == text.end) {
            break;
        }
        at = end + 1;
    }
    end_of_row(column, items->rows);
    return SEAM_OK;
}

/* The bytes of a key that was appended. */
static struct piece key_bytes(const struct text_column *keys, int64_t row) {
    if (keys->spec.kind == SEAM_TEXT_STRING || keys->spec.kind == SEAM_TEXT_BINARY) {
        const int32_t *offsets = (const int32_t *)keys->values.data;
        return (struct piece){keys->bytes.data + offsets[row], keys->bytes.data + offsets[row + 1]};
    }
    const uint8_t *begin = keys->values.data + row * keys->width_bytes;
    return (struct piece){begin, begin + keys->width_bytes};
}

static bool same_key(const struct text_column *keys, int64_t row, struct piece key) {
    struct piece other = key_bytes(keys, row);
    return piece_size(other) == piece_size(key) &&
           memcmp(other.begin, key.begin, (size_t)piece_size(key)) == 0;
}

static uint64_t hash_of(struct piece key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const uint8_t *at = key.begin; at < key.end; at++) {
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 32;
}

/* The keys of the map that is being read, found by hash once there are many. */
struct seen_keys {
    int64_t first; /* row of the first of them */
    int64_t size;  /* of the map's table, a power of two; 0: none yet */
};

static void remember(int32_t *table, int64_t size, const struct text_column *keys, int64_t row) {
    int64_t at = (int64_t)(hash_of(key_bytes(keys, row)) & (uint64_t)(size - 1));
    while (table[at] >= 0) {
        at = (at + 1) & (size - 1);
    }
    table[at] = (int32_t)row;
}

/* Whether the last key was there before; otherwise it is remembered. */
static int is_repeated(struct text_column *map, struct seen_keys *seen, bool *repeated,
                       struct seam_error *error) {
    enum { FEW = 16 };
    const struct text_column *keys = map + 1;
    int64_t last = keys->rows - 1, count = last - seen->first;
    struct piece key = key_bytes(keys, last);
    *repeated = false;
    if (count < FEW) {
        for (int64_t row = seen->first; row < last && !*repeated; row++) {
            *repeated = same_key(keys, row, key);
        }
        return SEAM_OK;
    }
    if (count * 2 >= seen->size) {
        int64_t size = seen->size == 0 ? FEW * 8 : seen->size * 4;
        map->table.size_bytes = 0;
        SEAM_TRY(seam_buffer_reserve(&map->table, size * 4, error));
        seen->size = size;
        memset(map->table.data, 0xff, (size_t)size * 4);
        for (int64_t row = seen->first; row < last; row++) {
            remember((int32_t *)map->table.data, size, keys, row);
        }
    }
    int32_t *table = (int32_t *)map->table.data;
    int64_t at = (int64_t)(hash_of(key) & (uint64_t)(seen->size - 1));
    for (; table[at] >= 0; at = (at + 1) & (seen->size - 1)) {
        if (same_key(keys, table[at], key)) {
            *repeated = true;
            return SEAM_OK;
        }
    }
    table[at] = (int32_t)last;
    return SEAM_OK;
}

/* Takes the last key back. */
static void forget_last(struct text_column *keys) {
    int64_t row = --keys->rows;
    uint8_t *bits = &keys->validity.data[row >> 3];
    if (!(*bits >> (row & 7) & 1)) {
        *bits |= (uint8_t)(1u << (row & 7));
        keys->null_count--;
    }
    if (keys->spec.kind == SEAM_TEXT_STRING || keys->spec.kind == SEAM_TEXT_BINARY) {
        keys->bytes.size_bytes = ((const int32_t *)keys->values.data)[row];
    }
}

/* Appends an entry; one whose key is null, or was there before, is left out. */
static int append_entry(struct seam_text_parser *parser, struct text_column *map, struct piece key,
                        struct piece value, struct seen_keys *seen, struct seam_error *error) {
    struct text_column *keys = map + 1, *values = keys + 1 + keys->n_below;
    int64_t nulls = keys->null_count;
    bool repeated = false;
    SEAM_TRY(seam_text_append(parser, keys, key, error));
    if (keys->null_count > nulls) {
        forget_last(keys);
        return SEAM_OK;
    }
    SEAM_TRY(is_repeated(map, seen, &repeated, error));
    if (repeated) {
        forget_last(keys);
        return SEAM_OK;
    }
    return seam_text_append(parser, values, value, error);
}

static int append_map(struct seam_text_parser *parser, struct text_column *column,
                      struct piece text, struct seam_error *error) {
    const struct seam_text_format *format = &parser->format;
    uint8_t separator = format->separators[column->level];
    uint8_t of_keys = format->separators[column->level + 1];
    const struct text_column *keys = column + 1;
    struct seen_keys seen = {.first = keys->rows};
    for (const uint8_t *at = text.begin; text.begin < text.end;) {
        const uint8_t *end = seam_text_item_end(at, text.end, separator, format->escape);
        const uint8_t *middle = seam_text_item_end(at, end, of_keys, format->escape);
        struct piece value = {middle == end ? NULL : middle + 1, end};
        SEAM_TRY(append_entry(parser, column, (struct piece){at, middle}, value, &seen, error));
        if (end == text.end) {
            break;
        }
        at = end + 1;
    }
    end_of_row(column, keys->rows);
    return SEAM_OK;
}

static int append_struct(struct seam_text_parser *parser, struct text_column *column,
                         struct piece text, struct seam_error *error) {
    const struct seam_text_format *format = &parser->format;
    int32_t n_fields = column->spec.n_fields, *starts = column->starts;
    seam_text_split(text, format->separators[column->level], format->escape,
                    format->last_takes_rest, n_fields, n_fields, starts);
    struct text_column *child = column + 1;
    for (int32_t i = 0; i < column->spec.n_children; i++, child += 1 + child->n_below) {
        int32_t field = child->spec.field;
        /* A missing field ends before it begins. */
        struct piece value = {text.begin + starts[field], text.begin + starts[field + 1] - 1};
        SEAM_TRY(seam_text_append(parser, child, value, error));
    }
    column->rows++;
    return SEAM_OK;
}

int seam_text_append_nested(struct seam_text_parser *parser, struct text_column *column,
                            struct piece text, struct seam_error *error) {
    switch (column->spec.kind) {
    case SEAM_TEXT_LIST:
        return append_list(parser, column, text, error);
    case SEAM_TEXT_MAP:
        return append_map(parser, column, text, error);
    default:
        return append_struct(parser, column, text, error);
    }
}
