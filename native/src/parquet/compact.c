#include "compact.h"

#include "base/varint.h"

#include <stddef.h>

enum { MOST_DEPTH = 32 };

int compact_fail(const struct compact *in, int code, const char *what) {
    if (in->column >= 0) {
        return seam_fail(in->error, code, in->at, "%s: row group %lld, column %lld: %s", in->part,
                         (long long)in->row_group, (long long)in->column, what);
    }
    return seam_fail(in->error, code, in->at, "%s: %s", in->part, what);
}

int compact_take(struct compact *in, uint64_t size_bytes) {
    if (size_bytes > (uint64_t)(in->size_bytes - in->at)) {
        return compact_fail(in, SEAM_BAD_INPUT, "it ends within a value");
    }
    in->at += (int64_t)size_bytes;
    return SEAM_OK;
}

int compact_byte(struct compact *in, uint8_t *out) {
    int code = compact_take(in, 1);
    *out = code ? 0 : in->data[in->at - 1];
    return code;
}

int compact_varint(struct compact *in, uint64_t *out) {
    const uint8_t *at = in->data + in->at;
    const uint8_t *end = seam_varint_until(at, in->data + in->size_bytes, out);
    if (end == NULL) {
        return compact_fail(in, SEAM_BAD_INPUT, "a number does not end in 64 bits");
    }
    in->at += end - at;
    return SEAM_OK;
}

int compact_integer(struct compact *in, int64_t *out) {
    uint64_t value = 0;
    int code = compact_varint(in, &value);
    *out = seam_zigzag(value);
    return code;
}

/* The next field's head; `field` is the one before it, all 0 at first. */
int compact_next_field(struct compact *in, struct compact_field *field) {
    uint8_t head = 0;
    int code = compact_byte(in, &head);
    if (code || head == 0) {
        field->type = 0;
        return code;
    }
    field->type = head & 0xf;
    if (head >> 4) {
        field->number += head >> 4;
    } else {
        code = compact_integer(in, &field->number);
    }
    if (code == SEAM_OK && (field->number < 1 || field->number > INT16_MAX)) {
        return compact_fail(in, SEAM_BAD_INPUT, "a field's number is out of range");
    }
    return code;
}

int compact_list_head(struct compact *in, int32_t *type, uint64_t *count) {
    uint8_t head = 0;
    int code = compact_byte(in, &head);
    *type = head & 0xf;
    *count = head >> 4;
    if (code == SEAM_OK && *count == 0xf) {
        code = compact_varint(in, count);
    }
    if (code == SEAM_OK && *count > (uint64_t)(in->size_bytes - in->at)) {
        return compact_fail(in, SEAM_BAD_INPUT, "a list of more elements than bytes are left");
    }
    return code;
}

static int skip_struct(struct compact *in, int depth) {
    struct compact_field field = {0, 0};
    SEAM_TRY(compact_next_field(in, &field));
    while (field.type) {
        SEAM_TRY(compact_skip(in, field.type, 0, depth));
        SEAM_TRY(compact_next_field(in, &field));
    }
    return SEAM_OK;
}

static int skip_list(struct compact *in, int depth) {
    int32_t type = 0;
    uint64_t count = 0;
    SEAM_TRY(compact_list_head(in, &type, &count));
    for (uint64_t i = 0; i < count; i++) {
        SEAM_TRY(compact_skip(in, type, 1, depth));
    }
    return SEAM_OK;
}

/* A boolean takes a byte as an element, and none as a field. */
int compact_skip(struct compact *in, int32_t type, int is_element, int depth) {
    uint64_t value = 0;
    if (depth > MOST_DEPTH) {
        return compact_fail(in, SEAM_BAD_INPUT, "values lie too deep within each other");
    }
    switch (type) {
    case TRUE_FIELD:
    case FALSE_FIELD:
        return is_element ? compact_take(in, 1) : SEAM_OK;
    case BYTE:
        return compact_take(in, 1);
    case INT16:
    case INT32:
    case INT64:
        return compact_varint(in, &value);
    case DOUBLE:
        return compact_take(in, 8);
    case BINARY: {
        int code = compact_varint(in, &value);
        return code ? code : compact_take(in, value);
    }
    case LIST:
    case SET:
        return skip_list(in, depth + 1);
    case STRUCT:
        return skip_struct(in, depth + 1);
    case UUID:
        return compact_take(in, 16);
    default: /* MAP among them, which no struct of Parquet has */
        return compact_fail(in, SEAM_BAD_INPUT, "a value of an unknown type");
    }
}

/* A list of structs, whose head is read. */
int compact_structs(struct compact *in, const struct compact_field *field, uint64_t *count) {
    int32_t type = 0;
    if (field->type != LIST) {
        return compact_fail(in, SEAM_BAD_INPUT, "a list is of another type");
    }
    SEAM_TRY(compact_list_head(in, &type, count));
    if (*count && type != STRUCT) {
        return compact_fail(in, SEAM_BAD_INPUT, "a list holds no structs");
    }
    return SEAM_OK;
}

int compact_number(struct compact *in, const struct compact_field *field, int64_t *out) {
    if (field->type != INT16 && field->type != INT32 && field->type != INT64) {
        return compact_fail(in, SEAM_BAD_INPUT, "a number is of another type");
    }
    return compact_integer(in, out);
}

int compact_struct(struct compact *in, compact_reader *read, void *to) {
    struct compact_field field = {0, 0};
    SEAM_TRY(compact_next_field(in, &field));
    while (field.type) {
        SEAM_TRY(read(in, &field, to));
        SEAM_TRY(compact_next_field(in, &field));
    }
    return SEAM_OK;
}
