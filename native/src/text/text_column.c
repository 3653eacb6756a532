/* Columns of the text parser: one value at a time, then handed over. */
#include "base/bits.h"
#include "seam/arrow_build.h"
#include "text/text_internal.h"

static int32_t width_of(int32_t kind) {
    switch (kind) {
    case SEAM_TEXT_BOOL:
    case SEAM_TEXT_INT8:
        return 1;
    case SEAM_TEXT_INT16:
        return 2;
    case SEAM_TEXT_INT64:
    case SEAM_TEXT_DOUBLE:
    case SEAM_TEXT_TIMESTAMP:
        return 8;
    case SEAM_TEXT_DECIMAL:
        return 16;
    case SEAM_TEXT_STRUCT:
        return 0;
    default: /* int32, float, date, offsets */
        return 4;
    }
}

static bool has_bytes(const struct text_column *column) {
    return column->spec.kind == SEAM_TEXT_STRING || column->spec.kind == SEAM_TEXT_BINARY;
}

static bool has_offsets(const struct text_column *column) {
    return has_bytes(column) || column->spec.kind == SEAM_TEXT_LIST ||
           column->spec.kind == SEAM_TEXT_MAP;
}

static int check_spec(const struct seam_text_column *spec, int32_t index,
                      struct seam_error *error) {
    int32_t kind = spec->kind;
    bool known = kind >= SEAM_TEXT_BOOL && kind <= SEAM_TEXT_STRUCT;
    bool good = spec->field >= 0 && spec->n_children >= 0;
    if (kind == SEAM_TEXT_DECIMAL) {
        good = good && spec->precision >= 1 && spec->precision <= 38 && spec->scale >= 0 &&
               spec->scale <= spec->precision;
    } else if (kind == SEAM_TEXT_STRING) {
        good = good && spec->precision >= 0;
    }
    int32_t children = kind == SEAM_TEXT_LIST ? 1 : kind == SEAM_TEXT_MAP ? 2 : 0;
    if (kind == SEAM_TEXT_STRUCT) {
        good = good && spec->n_fields >= 1 && spec->n_fields < INT32_MAX / 8;
    } else {
        good = good && spec->n_children == children;
    }
    return known && good
               ? SEAM_OK
               : seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d is of no kind known", index);
}

static int init_below(struct seam_text_parser *parser, int32_t index, int32_t level,
                      int32_t n_columns, struct seam_error *error) {
    struct text_column *column = &parser->columns[index];
    int32_t child = index + 1, most = -1;
    /* The keys and values of a map are cut by two separators. */
    int32_t below = level + 1 + (column->spec.kind == SEAM_TEXT_MAP);
    if (column->spec.n_children > 0 && below > parser->format.n_separators) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "types are nested deeper than the %d separators reach",
                         parser->format.n_separators);
    }
    for (int32_t i = 0; i < column->spec.n_children; i++) {
        if (child >= n_columns) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a column below %d is missing", index);
        }
        SEAM_TRY(seam_text_column_init(parser, child, below, n_columns, error));
        const struct text_column *made = &parser->columns[child];
        bool struct_field = column->spec.kind == SEAM_TEXT_STRUCT;
        bool key = column->spec.kind == SEAM_TEXT_MAP && i == 0;
        if ((struct_field &&
             (made->spec.field >= column->spec.n_fields || made->spec.field <= most)) ||
            (key && made->spec.kind >= SEAM_TEXT_LIST)) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d is misplaced", child);
        }
        most = made->spec.field;
        child += 1 + made->n_below;
    }
    column->n_below = child - index - 1;
    return SEAM_OK;
}

int seam_text_column_init(struct seam_text_parser *parser, int32_t index, int32_t level,
                          int32_t n_columns, struct seam_error *error) {
    struct text_column *column = &parser->columns[index];
    SEAM_TRY(check_spec(&column->spec, index, error));
    column->level = level;
    column->width_bytes = width_of(column->spec.kind);
    if (column->spec.kind == SEAM_TEXT_DECIMAL) {
        column->limit = (seam_uint128)seam_power_of_ten(column->spec.precision);
    }
    if (column->spec.kind == SEAM_TEXT_STRUCT) {
        void *starts;
        size_t size = ((size_t)column->spec.n_fields + 1) * sizeof *column->starts;
        SEAM_TRY(seam_alloc(parser->allocator, size, &starts, error));
        column->starts = starts;
    }
    return init_below(parser, index, level, n_columns, error);
}

void seam_text_column_reset(struct text_column *column) {
    seam_buffer_reset(&column->values);
    seam_buffer_reset(&column->bytes);
    seam_buffer_reset(&column->validity);
    seam_buffer_reset(&column->table);
    seam_free(column->starts);
    column->starts = NULL;
}

/* Room for so many rows; the bitmap of nulls is made with the first of them. */
static int grow_to(struct text_column *column, int64_t capacity, struct seam_error *error) {
    int64_t extra = has_offsets(column);
    struct seam_buffer *values = &column->values;
    if (column->width_bytes > 0) {
        bool first = values->data == NULL;
        values->size_bytes = first ? 0 : (column->rows + extra) * column->width_bytes;
        int64_t wanted = (capacity + extra) * column->width_bytes;
        SEAM_TRY(seam_buffer_reserve(values, wanted - values->size_bytes, error));
        if (first && extra) {
            memset(values->data, 0, 4);
        }
    }
    SEAM_TRY(seam_buffer_fill(&column->validity, (capacity + 7) / 8, 0xff, error));
    column->capacity = capacity;
    return SEAM_OK;
}

static int grow_rows(struct text_column *column, struct seam_error *error) {
    enum { FIRST_ROWS = 1024 };
    if (column->rows >= INT32_MAX - 8) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "more than 2^31 values in one batch");
    }
    int64_t capacity = column->capacity < FIRST_ROWS ? FIRST_ROWS : column->capacity * 2;
    return grow_to(column, capacity < INT32_MAX - 8 ? capacity : INT32_MAX - 8, error);
}

static int append_null(struct seam_text_parser *parser, struct text_column *column,
                       struct seam_error *error) {
    static const struct piece none = {NULL, NULL};
    int64_t row = column->rows++;
    column->validity.data[row >> 3] &= (uint8_t)~(1u << (row & 7));
    column->null_count++;
    if (has_offsets(column)) {
        int32_t *offsets = (int32_t *)column->values.data;
        offsets[row + 1] = offsets[row];
        return SEAM_OK;
    }
    if (column->width_bytes > 0) {
        memset(column->values.data + row * column->width_bytes, 0, (size_t)column->width_bytes);
        return SEAM_OK;
    }
    struct text_column *child = column + 1;
    for (int32_t i = 0; i < column->spec.n_children; i++, child += 1 + child->n_below) {
        SEAM_TRY(seam_text_append(parser, child, none, error));
    }
    return SEAM_OK;
}

/* Room behind the column's bytes for so many more; the size stays. */
static int reserve_bytes(struct text_column *column, int64_t size, struct seam_error *error) {
    if (size > INT32_MAX - column->bytes.size_bytes) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "the texts of one column pass 2 GiB");
    }
    return seam_buffer_reserve(&column->bytes, size > 0 ? size : 1, error);
}

/* Copies a text without its escapes: `n` and `r` behind one are the ends of a line. */
static int64_t unescaped(struct piece text, uint8_t escape, uint8_t *out) {
    uint8_t *begin = out;
    for (const uint8_t *at = text.begin; at < text.end; at++) {
        if (*at == escape && at + 1 < text.end) {
            at++;
            *out++ = *at == 'n' ? '\n' : *at == 'r' ? '\r' : *at;
        } else {
            *out++ = *at;
        }
    }
    return out - begin;
}

/* Cuts a text to so many characters, or counts them. */
static int64_t cut_characters(const uint8_t *text, int64_t size, int32_t most, int32_t *count) {
    *count = 0;
    for (int64_t i = 0; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            if (*count == most) {
                return i;
            }
            ++*count;
        }
    }
    return size;
}

static int append_string(const struct seam_text_parser *parser, struct text_column *column,
                         struct piece text, struct seam_error *error) {
    int64_t size = piece_size(text);
    int32_t most = column->spec.precision;
    int64_t room = size + (column->spec.scale ? most : 0);
    if (column->bytes.data == NULL ||
        column->bytes.capacity_bytes - column->bytes.size_bytes < room || room > INT32_MAX / 2 ||
        column->bytes.size_bytes > INT32_MAX / 2) {
        SEAM_TRY(reserve_bytes(column, room, error));
    }
    uint8_t *out = column->bytes.data + column->bytes.size_bytes;
    if (parser->format.escape >= 0 && !parser->format.is_csv) {
        size = unescaped(text, (uint8_t)parser->format.escape, out);
    } else if (size > 0) {
        memcpy(out, text.begin, (size_t)size);
    }
    if (most > 0) {
        int32_t count;
        size = cut_characters(out, size, most, &count);
        for (; column->spec.scale && count < most; count++) {
            out[size++] = ' ';
        }
    }
    column->bytes.size_bytes += size;
    ((int32_t *)column->values.data)[column->rows + 1] = (int32_t)column->bytes.size_bytes;
    column->rows++;
    return SEAM_OK;
}

/* The six bits of a letter of base64, of either alphabet; 64: padding, 65: a blank, 66: none. */
static int32_t sextet(uint8_t byte) {
    if (byte >= 'A' && byte <= 'Z') {
        return byte - 'A';
    }
    if (byte >= 'a' && byte <= 'z') {
        return byte - 'a' + 26;
    }
    if (is_digit(byte)) {
        return byte - '0' + 52;
    }
    switch (byte) {
    case '+':
    case '-':
        return 62;
    case '/':
    case '_':
        return 63;
    case '=':
        return 64;
    case ' ':
    case '\n':
    case '\r':
    case '\t':
        return 65;
    default:
        return 66;
    }
}

/* Decodes up to the first padding, lenient about its end; -1 where a letter is none of base64's. */
static int64_t decode_base64(struct piece text, uint8_t *out) {
    uint8_t *begin = out;
    uint32_t bits = 0;
    int32_t n = 0;
    bool ended = false;
    for (const uint8_t *at = text.begin; at < text.end; at++) {
        int32_t six = sextet(*at);
        if (six == 66) {
            return -1;
        }
        ended = ended || six == 64;
        if (six > 63 || ended) {
            continue;
        }
        bits = bits << 6 | (uint32_t)six;
        if (++n % 4 == 0) {
            *out++ = (uint8_t)(bits >> 16);
            *out++ = (uint8_t)(bits >> 8);
            *out++ = (uint8_t)bits;
            bits = 0;
        }
    }
    if (n % 4 >= 2) {
        bits <<= 6 * (4 - n % 4);
        *out++ = (uint8_t)(bits >> 16);
        if (n % 4 == 3) {
            *out++ = (uint8_t)(bits >> 8);
        }
    }
    return out - begin;
}

static int append_binary(struct text_column *column, struct piece text, struct seam_error *error) {
    int64_t size = piece_size(text);
    SEAM_TRY(reserve_bytes(column, size + 3, error));
    uint8_t *out = column->bytes.data + column->bytes.size_bytes;
    int64_t decoded = decode_base64(text, out);
    if (decoded <= 0 && size > 0) {
        memcpy(out, text.begin, (size_t)size);
    } else {
        size = decoded;
    }
    column->bytes.size_bytes += size;
    ((int32_t *)column->values.data)[column->rows + 1] = (int32_t)column->bytes.size_bytes;
    column->rows++;
    return SEAM_OK;
}

static void put(struct text_column *column, const void *value) {
    memcpy(column->values.data + column->rows * column->width_bytes, value,
           (size_t)column->width_bytes);
    column->rows++;
}

static int append_real(struct seam_text_parser *parser, struct text_column *column,
                       struct piece text, struct seam_error *error) {
    bool is_float = column->spec.kind == SEAM_TEXT_FLOAT, valid;
    double value = 0;
    SEAM_TRY(seam_text_real(parser, text, is_float, &value, &valid, error));
    if (!valid) {
        return append_null(parser, column, error);
    }
    if (is_float) {
        float single = (float)value;
        put(column, &single);
    } else {
        put(column, &value);
    }
    return SEAM_OK;
}

static int append_number(struct seam_text_parser *parser, struct text_column *column,
                         struct piece text, struct seam_error *error) {
    static const int64_t most[] = {0, INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX};
    int64_t value = 0;
    seam_int128 decimal = 0;
    uint8_t truth = 0;
    const void *at = &value; /* little-endian: its low bytes are the value */
    bool valid;
    switch (column->spec.kind) {
    case SEAM_TEXT_BOOL:
        valid = seam_text_bool(text, &truth);
        at = &truth;
        break;
    case SEAM_TEXT_DECIMAL:
        valid = seam_text_decimal(text, column->spec.scale, column->limit, &decimal);
        at = &decimal;
        break;
    case SEAM_TEXT_DATE:
        valid = seam_text_date(text, &value);
        break;
    case SEAM_TEXT_TIMESTAMP:
        valid = seam_text_timestamp(text, &value);
        break;
    default: {
        int64_t bound = most[column->spec.kind];
        valid = seam_text_int(text, -bound - 1, bound, &value);
    }
    }
    if (!valid) {
        return append_null(parser, column, error);
    }
    put(column, at);
    return SEAM_OK;
}

static bool is_null(const struct seam_text_format *format, struct piece text) {
    int64_t size = piece_size(text);
    return text.begin == NULL || size < 0 ||
           (size == format->null_text_bytes &&
            (size == 0 || memcmp(text.begin, format->null_text, (size_t)size) == 0));
}

int seam_text_append(struct seam_text_parser *parser, struct text_column *column, struct piece text,
                     struct seam_error *error) {
    if (column->rows == column->capacity) {
        SEAM_TRY(grow_rows(column, error));
    }
    if (is_null(&parser->format, text)) {
        return append_null(parser, column, error);
    }
    switch (column->spec.kind) {
    case SEAM_TEXT_STRING:
        return append_string(parser, column, text, error);
    case SEAM_TEXT_BINARY:
        return append_binary(column, text, error);
    case SEAM_TEXT_FLOAT:
    case SEAM_TEXT_DOUBLE:
        return append_real(parser, column, text, error);
    case SEAM_TEXT_LIST:
    case SEAM_TEXT_MAP:
    case SEAM_TEXT_STRUCT:
        return seam_text_append_nested(parser, column, text, error);
    default:
        return append_number(parser, column, text, error);
    }
}

/* Hands over the column itself, with the children that it takes over. */
static int finish_one(struct seam_text_parser *parser, struct text_column *column,
                      int32_t n_children, struct ArrowArray *children, struct ArrowArray *out,
                      struct seam_error *error) {
    SEAM_TRY(column->capacity == 0 ? grow_to(column, 1, error) : SEAM_OK);
    if (has_bytes(column) && column->bytes.data == NULL) {
        SEAM_TRY(seam_buffer_reserve(&column->bytes, 1, error));
    }
    if (column->spec.kind == SEAM_TEXT_BOOL) {
        seam_pack(column->values.data, column->rows, 0, column->values.data);
    }
    void *validity = column->null_count > 0 ? column->validity.data : NULL;
    void *buffers[3] = {validity, column->values.data, column->bytes.data};
    int32_t n_buffers = has_bytes(column) ? 3 : column->width_bytes == 0 ? 1 : 2;
    SEAM_TRY(seam_array_build(parser->allocator, column->rows, column->null_count, n_buffers,
                              buffers, n_children, children, out, error));
    if (validity == NULL) {
        seam_buffer_reset(&column->validity);
    }
    seam_buffer_init(&column->values, parser->allocator);
    seam_buffer_init(&column->bytes, parser->allocator);
    seam_buffer_init(&column->validity, parser->allocator);
    column->rows = column->capacity = column->null_count = 0;
    return SEAM_OK;
}

static int finish_nested(struct seam_text_parser *parser, struct text_column *column,
                         struct ArrowArray *children, struct ArrowArray *out,
                         struct seam_error *error) {
    struct text_column *child = column + 1;
    int32_t count = column->spec.n_children;
    for (int32_t i = 0; i < count; i++, child += 1 + child->n_below) {
        SEAM_TRY(seam_text_column_finish(parser, child, &children[i], error));
    }
    if (column->spec.kind == SEAM_TEXT_MAP) {
        SEAM_TRY(seam_array_build_entries(parser->allocator, children, error));
        count = 1;
    }
    return finish_one(parser, column, count, children, out, error);
}

int seam_text_column_finish(struct seam_text_parser *parser, struct text_column *column,
                            struct ArrowArray *out, struct seam_error *error) {
    if (column->spec.kind < SEAM_TEXT_LIST) {
        return finish_one(parser, column, 0, NULL, out, error);
    }
    struct ArrowArray *children;
    int32_t n = column->spec.n_children;
    SEAM_TRY(seam_arrays_new(parser->allocator, n, &children, error));
    return seam_arrays_end(children, n, finish_nested(parser, column, children, out, error));
}
