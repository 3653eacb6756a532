/* Payloads into columns. */
#include "presto/presto_column.h"

#include "base/utf8.h"
#include "seam/arrow_build.h"
#include "seam/presto_page.h"

struct reader {
    const uint8_t *payload;
    int64_t size_bytes;
    int64_t position;
    const struct seam_presto_read_options *options;
    struct presto_budget budget;
    struct seam_presto_trace *trace;
    struct seam_error *error;
    bool alone; /* one column or value, not a page */
};

/* The code stands outside the call, so that the compiler sees that it is not 0. */
#define FAIL(reader, at, ...)                                                                      \
    (seam_fail((reader)->error, SEAM_BAD_INPUT, (reader)->options->base_bytes + (at),              \
               __VA_ARGS__),                                                                       \
     SEAM_BAD_INPUT)

static bool flag(const struct reader *reader, int32_t wanted) {
    return (reader->options->flags & wanted) != 0;
}

static int64_t remaining(const struct reader *reader) {
    return reader->size_bytes - reader->position;
}

/* `size` more bytes, or a refusal that says what they were to be. */
static int need(struct reader *reader, const struct presto_type *type, int64_t size,
                const char *what, const uint8_t **out) {
    if (size > remaining(reader)) {
        return FAIL(reader, reader->position,
                    "column '%s': %s take %lld bytes, %lld are left of the page", type->name, what,
                    (long long)size, (long long)remaining(reader));
    }
    *out = reader->payload + reader->position;
    reader->position += size;
    return SEAM_OK;
}

static int read_i32(struct reader *reader, const struct presto_type *type, const char *what,
                    int32_t *out) {
    const uint8_t *at;
    int code = need(reader, type, 4, what, &at);
    *out = code == SEAM_OK ? presto_load_i32(at) : 0;
    return code;
}

/* A number of rows, fields or bytes. Rows are held to the size limit even where they take no bytes:
 * a run of 2^31 rows is 30 bytes long. */
static int read_count(struct reader *reader, const struct presto_type *type, const char *what,
                      int64_t *out) {
    int32_t count;
    int code = read_i32(reader, type, what, &count);
    if (code == SEAM_OK && count < 0) {
        code = FAIL(reader, reader->position - 4, "column '%s': %s is %d", type->name, what, count);
    }
    if (code == SEAM_OK && count > reader->options->size_limit) {
        code = seam_fail(reader->error, SEAM_UNSUPPORTED,
                         reader->options->base_bytes + reader->position - 4,
                         "column '%s': %s %d is beyond the size limit of %lld", type->name, what,
                         count, (long long)reader->options->size_limit);
    }
    *out = count;
    return code;
}

/* --- what every column begins with --- */

static int read_encoding(struct reader *reader, const struct presto_type *type,
                         enum presto_encoding *out) {
    int32_t size;
    const uint8_t *name;
    const int64_t at = reader->position;
    int code = read_i32(reader, type, "the length of the encoding's name", &size);
    if (code == SEAM_OK && (size <= 0 || size > remaining(reader))) {
        code = FAIL(reader, at, "column '%s': the encoding's name is %d bytes long, %lld are left",
                    type->name, size, (long long)remaining(reader));
    }
    code = code == SEAM_OK ? need(reader, type, size, "the encoding's name", &name) : code;
    if (code != SEAM_OK) {
        return code;
    }
    for (int i = 0; i < PRESTO_N_ENCODINGS; i++) {
        if (PRESTO_NAMES[i].size_bytes == size &&
            memcmp(PRESTO_NAMES[i].text, name, (size_t)size) == 0) {
            *out = (enum presto_encoding)i;
            return SEAM_OK;
        }
    }
    char shown[32] = {0};
    for (int i = 0; i < size && i < (int)sizeof shown - 1; i++) {
        shown[i] = name[i] >= ' ' && name[i] < 127 ? (char)name[i] : '?';
    }
    return FAIL(reader, at + 4, "column '%s': there is no encoding '%s'", type->name, shown);
}

/* A place for the marks of the column that begins here. */
static int open_mark(struct reader *reader, int64_t *mark) {
    struct seam_buffer *marks = &reader->trace->marks;
    int code = seam_buffer_reserve(marks, 1, reader->error);
    if (code == SEAM_OK) {
        *mark = marks->size_bytes++;
        marks->data[*mark] = 0;
    }
    return code;
}

static void set_mark(struct reader *reader, int64_t mark, int32_t bits) {
    reader->trace->marks.data[mark] |= (uint8_t)bits;
    reader->trace->any |= bits;
}

/* Null flags of out->length rows; sets validity and null count. */
static int read_flags(struct reader *reader, int64_t mark, struct presto_column *out) {
    const uint8_t *at;
    void *validity;
    const struct presto_type *type = out->type;
    int code = need(reader, type, 1, "null flags", &at);
    if (code == SEAM_OK && *at > 1) {
        code = FAIL(reader, reader->position - 1,
                    "column '%s': whether it has null flags is %d, not 0 or 1", type->name, *at);
    }
    if (code != SEAM_OK || *at == 0) {
        return code;
    }
    code = need(reader, type, presto_flag_bytes(out->length), "null flags", &at);
    if (code != SEAM_OK) {
        return code;
    }
    code = presto_take(&reader->budget, presto_bitmap_bytes(out->length), &validity, reader->error);
    if (code != SEAM_OK) {
        return code;
    }
    out->validity = validity;
    out->null_count = out->length - presto_flags_to_validity(at, out->length, validity);
    if (out->null_count == 0) {
        set_mark(reader, mark, SEAM_PRESTO_MARK_FLAGS);
        seam_free(out->validity);
        out->validity = NULL;
    }
    return SEAM_OK;
}

/* --- flat columns --- */

static int read_fixed(struct reader *reader, int64_t mark, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const uint8_t *wire;
    void *data;
    int code = read_count(reader, type, "the number of rows", &out->length);
    code = code == SEAM_OK ? read_flags(reader, mark, out) : code;
    if (code != SEAM_OK) {
        return code;
    }
    const int64_t at = reader->position;
    const int64_t present = out->length - out->null_count;
    code = need(reader, type, present * type->wire_bytes, "values", &wire);
    if (code == SEAM_OK && type->kind == SEAM_PRESTO_UNKNOWN) {
        return present == 0 ? SEAM_OK
                            : FAIL(reader, at, "column '%s' of type unknown has %lld values",
                                   type->name, (long long)present);
    }
    code = code == SEAM_OK ? presto_take(&reader->budget, presto_data_bytes(type, out->length),
                                         &data, reader->error)
                           : code;
    if (code != SEAM_OK) {
        return code;
    }
    out->data = data;
    int64_t good = out->validity == NULL ? presto_decode(type, wire, present, data)
                                         : presto_decode_sparse(type, wire, present, out->validity,
                                                                out->length, data);
    if (good < present) {
        return FAIL(reader, at + good * type->wire_bytes,
                    "column '%s': value %lld is none of its type", type->name, (long long)good);
    }
    return SEAM_OK;
}

/* Bare nulls, which are written as bytes whatever the type. */
static int read_bare_nulls(struct reader *reader, int64_t mark, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const int64_t at = reader->position;
    int code = read_count(reader, type, "the number of rows", &out->length);
    code = code == SEAM_OK ? read_flags(reader, mark, out) : code;
    if (code != SEAM_OK) {
        return code;
    }
    if (out->null_count != out->length) {
        return FAIL(reader, at, "column '%s' needs %s, and BYTE_ARRAY stands for nulls only",
                    type->name, PRESTO_NAMES[type->encoding].text);
    }
    int64_t rows = out->length;
    presto_column_reset(out);
    reader->trace->marks.data[mark] = 0;
    set_mark(reader, mark, SEAM_PRESTO_MARK_BARE);
    return presto_all_null(&reader->budget, type, rows, out, reader->error);
}

/* Ends that never fall. The first row begins at 0, so none may be negative either. */
static int64_t first_fall(const int32_t *offsets, int64_t rows) {
    int32_t bad = 0;
    for (int64_t i = 0; i < rows; i++) {
        bad |= -(offsets[i + 1] < offsets[i]);
    }
    for (int64_t i = 0; bad != 0 && i < rows; i++) {
        if (offsets[i + 1] < offsets[i]) {
            return i;
        }
    }
    return rows;
}

static int check_text(struct reader *reader, const struct presto_column *out, int64_t at) {
    int ascii;
    if (seam_utf8_valid(out->data, out->offsets[out->length], &ascii) && ascii) {
        return SEAM_OK;
    }
    for (int64_t row = 0; row < out->length; row++) {
        bool null = out->validity != NULL && !((out->validity[row >> 3] >> (row & 7)) & 1);
        int32_t begin = out->offsets[row];
        if (!null && !seam_utf8_valid(out->data + begin, out->offsets[row + 1] - begin, &ascii)) {
            return FAIL(reader, at + begin, "column '%s': row %lld is not UTF-8", out->type->name,
                        (long long)row);
        }
    }
    return SEAM_OK;
}

/* Values of one size that a page keeps like strings. */
static int slices_to_fixed(struct reader *reader, struct presto_column *out, int64_t at) {
    const int64_t size = out->type->arrow_bytes;
    void *data;
    int code = presto_take(&reader->budget, out->length * size, &data, reader->error);
    if (code != SEAM_OK) {
        return code;
    }
    uint8_t *values = memset(data, 0, (size_t)(out->length * size));
    for (int64_t row = 0; row < out->length; row++) {
        bool null = out->validity != NULL && !((out->validity[row >> 3] >> (row & 7)) & 1);
        int32_t begin = out->offsets[row];
        if (null) {
            continue;
        }
        if (out->offsets[row + 1] - begin != size) {
            seam_free(data);
            return FAIL(reader, at + begin, "column '%s': row %lld has %d bytes, not %lld",
                        out->type->name, (long long)row, out->offsets[row + 1] - begin,
                        (long long)size);
        }
        memcpy(values + row * size, out->data + begin, (size_t)size);
    }
    seam_free(out->data);
    seam_free(out->offsets);
    out->data = data;
    out->offsets = NULL;
    return SEAM_OK;
}

static int read_ends(struct reader *reader, struct presto_column *out) {
    const uint8_t *wire;
    void *block;
    const int64_t at = reader->position;
    int code = need(reader, out->type, out->length * 4, "offsets", &wire);
    code = code == SEAM_OK
               ? presto_take(&reader->budget, (out->length + 1) * 4, &block, reader->error)
               : code;
    if (code != SEAM_OK) {
        return code;
    }
    out->offsets = block;
    out->offsets[0] = 0;
    memcpy(out->offsets + 1, wire, (size_t)out->length * 4);
    int64_t fall = first_fall(out->offsets, out->length);
    return fall == out->length
               ? SEAM_OK
               : FAIL(reader, at + fall * 4, "column '%s': row %lld ends at %d, before it begins",
                      out->type->name, (long long)fall, out->offsets[fall + 1]);
}

static int read_variable(struct reader *reader, int64_t mark, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const uint8_t *wire;
    void *data;
    int64_t total;
    int code = read_count(reader, type, "the number of rows", &out->length);
    code = code == SEAM_OK ? read_ends(reader, out) : code;
    code = code == SEAM_OK ? read_flags(reader, mark, out) : code;
    code = code == SEAM_OK ? read_count(reader, type, "the number of bytes", &total) : code;
    if (code != SEAM_OK) {
        return code;
    }
    if (total != out->offsets[out->length]) {
        return FAIL(reader, reader->position - 4,
                    "column '%s': %lld bytes, but its last row ends at %d", type->name,
                    (long long)total, out->offsets[out->length]);
    }
    const int64_t at = reader->position;
    code = need(reader, type, total, "bytes", &wire);
    code = code == SEAM_OK ? presto_take(&reader->budget, total, &data, reader->error) : code;
    if (code != SEAM_OK) {
        return code;
    }
    out->data = memcpy(data, wire, (size_t)total);
    if (type->kind == SEAM_PRESTO_SLICE) {
        return slices_to_fixed(reader, out, at);
    }
    bool checked = type->kind == SEAM_PRESTO_TEXT && !flag(reader, SEAM_PRESTO_ANY_BYTES);
    return checked ? check_text(reader, out, at) : SEAM_OK;
}

/* --- nested columns --- */

static int read_column(struct reader *reader, const struct presto_type *type, int depth,
                       struct presto_column *out);

/* The n + 1 offsets of arrays, maps and rows. */
static int read_offsets(struct reader *reader, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const uint8_t *wire;
    void *block;
    int code = read_count(reader, type, "the number of rows", &out->length);
    const int64_t at = reader->position;
    code = code == SEAM_OK ? need(reader, type, (out->length + 1) * 4, "offsets", &wire) : code;
    code = code == SEAM_OK
               ? presto_take(&reader->budget, (out->length + 1) * 4, &block, reader->error)
               : code;
    if (code != SEAM_OK) {
        return code;
    }
    out->offsets = memcpy(block, wire, (size_t)(out->length + 1) * 4);
    if (out->offsets[0] != 0) {
        return FAIL(reader, at, "column '%s': offsets begin at %d, not 0", type->name,
                    out->offsets[0]);
    }
    int64_t fall = first_fall(out->offsets, out->length);
    return fall == out->length ? SEAM_OK
                               : FAIL(reader, at + 4 + fall * 4,
                                      "column '%s': row %lld ends at %d, before it begins",
                                      type->name, (long long)fall, out->offsets[fall + 1]);
}

/* Null rows of arrays and maps span nothing, and the last offset is the number of entries. */
static int check_spans(struct reader *reader, const struct presto_column *out, int64_t at) {
    int64_t entries = out->children[0].length;
    if (out->offsets[out->length] != entries) {
        return FAIL(reader, at, "column '%s': offsets end at %d, but it has %lld entries",
                    out->type->name, out->offsets[out->length], (long long)entries);
    }
    for (int64_t row = 0; out->validity != NULL && row < out->length; row++) {
        bool null = !((out->validity[row >> 3] >> (row & 7)) & 1);
        if (null && out->offsets[row] != out->offsets[row + 1]) {
            return FAIL(reader, at + 4 + row * 4, "column '%s': row %lld is null but has entries",
                        out->type->name, (long long)row);
        }
    }
    return SEAM_OK;
}

static int read_array(struct reader *reader, int64_t mark, int depth, struct presto_column *out) {
    int code = presto_make_children(&reader->budget, out, 1, reader->error);
    code = code == SEAM_OK ? read_column(reader, out->type + 1, depth + 1, out->children) : code;
    const int64_t at = reader->position + 4;
    code = code == SEAM_OK ? read_offsets(reader, out) : code;
    code = code == SEAM_OK ? read_flags(reader, mark, out) : code;
    return code == SEAM_OK ? check_spans(reader, out, at) : code;
}

/* Hash tables are passed over: nothing here looks keys up by them. Their shape is checked. */
static int read_hash_table(struct reader *reader, int64_t mark, const struct presto_type *type,
                           int64_t entries) {
    int32_t length;
    const uint8_t *slots;
    const int64_t at = reader->position;
    int code = read_i32(reader, type, "the length of the hash table", &length);
    if (code != SEAM_OK || length == -1) {
        return code;
    }
    if (length != entries * 2) {
        return FAIL(reader, at, "column '%s': a hash table of %d slots for %lld entries",
                    type->name, length, (long long)entries);
    }
    code = need(reader, type, (int64_t)length * 4, "slots of the hash table", &slots);
    for (int64_t i = 0; code == SEAM_OK && i < length; i++) {
        int32_t slot = presto_load_i32(slots + i * 4);
        if (slot < -1 || slot >= entries) {
            code = FAIL(reader, at + 4 + i * 4, "column '%s': slot %lld of the hash table holds %d",
                        type->name, (long long)i, slot);
        }
    }
    set_mark(reader, mark, SEAM_PRESTO_MARK_HASH);
    return code;
}

/* Whether any row is null, however the column is encoded. */
static bool any_null(const struct presto_column *column) {
    switch (column->form) {
    case PRESTO_IN_RUN:
        return column->length > 0 && any_null(&column->children[0]);
    case PRESTO_IN_DICTIONARY:
        return column->length > 0 && any_null(&column->children[0]);
    default:
        return column->null_count > 0;
    }
}

/* Keys, values and hash table of all maps of a column. */
static int read_entries(struct reader *reader, int64_t mark, int depth, struct presto_column *out) {
    const struct presto_type *key = out->type + 1;
    const int64_t begin = reader->position;
    int code = presto_make_children(&reader->budget, out, 2, reader->error);
    code = code == SEAM_OK ? read_column(reader, key, depth + 1, &out->children[0]) : code;
    if (code == SEAM_OK && any_null(&out->children[0])) {
        code = FAIL(reader, begin, "column '%s': a key is null", out->type->name);
    }
    const int64_t second = reader->position;
    code = code == SEAM_OK ? read_column(reader, presto_next(key), depth + 1, &out->children[1])
                           : code;
    if (code == SEAM_OK && out->children[0].length != out->children[1].length) {
        code = FAIL(reader, second, "column '%s': %lld keys, %lld values", out->type->name,
                    (long long)out->children[0].length, (long long)out->children[1].length);
    }
    return code == SEAM_OK ? read_hash_table(reader, mark, out->type, out->children[0].length)
                           : code;
}

static int read_map(struct reader *reader, int64_t mark, int depth, struct presto_column *out) {
    int code = read_entries(reader, mark, depth, out);
    const int64_t at = reader->position + 4;
    code = code == SEAM_OK ? read_offsets(reader, out) : code;
    code = code == SEAM_OK ? read_flags(reader, mark, out) : code;
    return code == SEAM_OK ? check_spans(reader, out, at) : code;
}

static int read_fields(struct reader *reader, int depth, struct presto_column *out) {
    const struct presto_type *type = out->type;
    int64_t fields;
    int code = read_count(reader, type, "the number of fields", &fields);
    if (code == SEAM_OK && fields != type->n_children) {
        code = FAIL(reader, reader->position - 4, "column '%s': %lld fields, its type has %d",
                    type->name, (long long)fields, type->n_children);
    }
    code = code == SEAM_OK
               ? presto_make_children(&reader->budget, out, type->n_children, reader->error)
               : code;
    const struct presto_type *child = type + 1;
    for (int32_t i = 0; i < out->n_children && code == SEAM_OK; i++, child = presto_next(child)) {
        code = read_column(reader, child, depth + 1, &out->children[i]);
    }
    return code;
}

/* Offsets of rows say once more which rows are present. */
static int check_row_offsets(struct reader *reader, const struct presto_column *out, int64_t at) {
    for (int64_t row = 0; row < out->length; row++) {
        int32_t present = out->validity == NULL || ((out->validity[row >> 3] >> (row & 7)) & 1);
        if (out->offsets[row + 1] - out->offsets[row] != present) {
            return FAIL(reader, at + 4 + row * 4,
                        "column '%s': row %lld is %s, but its offset grows by %d", out->type->name,
                        (long long)row, present ? "present" : "null",
                        out->offsets[row + 1] - out->offsets[row]);
        }
    }
    return SEAM_OK;
}

/* Fields hold present rows only; in Arrow they are as long as the row column itself. */
static int spread_fields(struct reader *reader, struct presto_column *out, int64_t at) {
    int64_t present = out->length - out->null_count;
    for (int32_t i = 0; i < out->n_children; i++) {
        if (out->children[i].length != present) {
            return FAIL(reader, at, "column '%s' has %lld rows, its field '%s' %lld",
                        out->type->name, (long long)present, out->children[i].type->name,
                        (long long)out->children[i].length);
        }
    }
    int code = SEAM_OK;
    for (int32_t i = 0; out->null_count > 0 && i < out->n_children && code == SEAM_OK; i++) {
        code = presto_spread(&reader->budget, &out->children[i], out->validity, out->length,
                             reader->error);
    }
    return code;
}

static int read_row(struct reader *reader, int64_t mark, int depth, struct presto_column *out) {
    int code;
    int64_t at = reader->position;
    if (flag(reader, SEAM_PRESTO_NULLS_FIRST)) {
        code = read_count(reader, out->type, "the number of rows", &out->length);
        code = code == SEAM_OK ? read_flags(reader, mark, out) : code;
        code = code == SEAM_OK ? read_fields(reader, depth, out) : code;
    } else {
        code = read_fields(reader, depth, out);
        at = reader->position + 4;
        code = code == SEAM_OK ? read_offsets(reader, out) : code;
        code = code == SEAM_OK ? read_flags(reader, mark, out) : code;
        code = code == SEAM_OK ? check_row_offsets(reader, out, at) : code;
        seam_free(out->offsets);
        out->offsets = NULL;
    }
    return code == SEAM_OK ? spread_fields(reader, out, at) : code;
}

/* --- values that stand alone --- */

/* A map or row by itself, as constants of plans hold it: without count, offsets and flags. */
static int read_element(struct reader *reader, int64_t mark, int depth, struct presto_column *out) {
    void *offsets;
    const int64_t at = reader->position;
    out->length = 1;
    if (out->type->encoding == PRESTO_ROW) {
        int code = read_fields(reader, depth, out);
        return code == SEAM_OK ? spread_fields(reader, out, at) : code;
    }
    int code = read_entries(reader, mark, depth, out);
    code = code == SEAM_OK
               ? presto_take(&reader->budget, 2 * sizeof *out->offsets, &offsets, reader->error)
               : code;
    if (code == SEAM_OK) {
        out->offsets = offsets;
        out->offsets[0] = 0;
        out->offsets[1] = (int32_t)out->children[0].length;
    }
    return code;
}

static bool is_element(const struct presto_type *type, enum presto_encoding encoding) {
    return (encoding == PRESTO_MAP_ELEMENT && type->encoding == PRESTO_MAP) ||
           (encoding == PRESTO_ROW_ELEMENT && type->encoding == PRESTO_ROW);
}

/* --- encodings around others --- */

/* Writes out what a dictionary or run stands for, in its place. */
static int flatten(struct reader *reader, struct presto_column *out) {
    struct presto_column flat;
    int code = presto_gather(&reader->budget, &out->children[0], out->offsets, out->length, &flat,
                             reader->error);
    if (code == SEAM_OK) {
        presto_column_reset(out);
        *out = flat;
    }
    return code;
}

static int read_ids(struct reader *reader, struct presto_column *out) {
    const uint8_t *wire;
    void *block;
    const int64_t at = reader->position;
    const int64_t entries = out->children[0].length;
    int code = need(reader, out->type, out->length * 4, "ids", &wire);
    code = code == SEAM_OK ? presto_take(&reader->budget, out->length * 4, &block, reader->error)
                           : code;
    if (code != SEAM_OK) {
        return code;
    }
    out->offsets = memcpy(block, wire, (size_t)out->length * 4);
    uint32_t highest = 0;
    for (int64_t i = 0; i < out->length; i++) {
        uint32_t id = (uint32_t)out->offsets[i];
        highest = id > highest ? id : highest;
    }
    for (int64_t i = 0; highest >= entries && i < out->length; i++) {
        if ((uint32_t)out->offsets[i] >= entries) {
            return FAIL(reader, at + i * 4, "column '%s': id %d of row %lld in %lld entries",
                        out->type->name, out->offsets[i], (long long)i, (long long)entries);
        }
    }
    return SEAM_OK;
}

static int read_dictionary(struct reader *reader, int64_t mark, int depth,
                           struct presto_column *out) {
    const uint8_t *source;
    struct seam_buffer *sources = &reader->trace->sources;
    const int64_t place = sources->size_bytes; /* before those of dictionaries inside */
    int code = seam_buffer_reserve(sources, SEAM_PRESTO_SOURCE_BYTES, reader->error);
    if (code != SEAM_OK) {
        return code;
    }
    sources->size_bytes += SEAM_PRESTO_SOURCE_BYTES;
    set_mark(reader, mark, SEAM_PRESTO_MARK_DICTIONARY);
    out->form = PRESTO_IN_DICTIONARY;
    code = read_count(reader, out->type, "the number of rows", &out->length);
    code = code == SEAM_OK ? presto_make_children(&reader->budget, out, 1, reader->error) : code;
    code = code == SEAM_OK ? read_column(reader, out->type, depth + 1, out->children) : code;
    code = code == SEAM_OK ? read_ids(reader, out) : code;
    code = code == SEAM_OK ? need(reader, out->type, SEAM_PRESTO_SOURCE_BYTES,
                                  "the source of the dictionary", &source)
                           : code;
    if (code != SEAM_OK) {
        return code;
    }
    memcpy(sources->data + place, source, SEAM_PRESTO_SOURCE_BYTES);
    return flag(reader, SEAM_PRESTO_FLATTEN) ? flatten(reader, out) : SEAM_OK;
}

static int read_run(struct reader *reader, int64_t mark, int depth, struct presto_column *out) {
    set_mark(reader, mark, SEAM_PRESTO_MARK_RUN);
    out->form = PRESTO_IN_RUN;
    int code = read_count(reader, out->type, "the number of rows", &out->length);
    code = code == SEAM_OK ? presto_make_children(&reader->budget, out, 1, reader->error) : code;
    const int64_t at = reader->position;
    code = code == SEAM_OK ? read_column(reader, out->type, depth + 1, out->children) : code;
    if (code == SEAM_OK && out->children[0].length != 1) {
        code = FAIL(reader, at, "column '%s': a run of %lld rows, not of one", out->type->name,
                    (long long)out->children[0].length);
    }
    return code == SEAM_OK && flag(reader, SEAM_PRESTO_FLATTEN) ? flatten(reader, out) : code;
}

static int read_flat(struct reader *reader, enum presto_encoding encoding, int64_t mark, int depth,
                     int64_t at, struct presto_column *out) {
    if (encoding != out->type->encoding) {
        if (encoding == PRESTO_BYTE_ARRAY) {
            return read_bare_nulls(reader, mark, out);
        }
        if (reader->alone && depth == 1 && is_element(out->type, encoding)) {
            return read_element(reader, mark, depth, out);
        }
        return FAIL(reader, at, "column '%s' needs %s, this is %s", out->type->name,
                    PRESTO_NAMES[out->type->encoding].text, PRESTO_NAMES[encoding].text);
    }
    switch (encoding) {
    case PRESTO_VARIABLE_WIDTH:
        return read_variable(reader, mark, out);
    case PRESTO_ARRAY:
        return read_array(reader, mark, depth, out);
    case PRESTO_MAP:
        return read_map(reader, mark, depth, out);
    case PRESTO_ROW:
        return read_row(reader, mark, depth, out);
    default:
        return read_fixed(reader, mark, out);
    }
}

static int read_column(struct reader *reader, const struct presto_type *type, int depth,
                       struct presto_column *out) {
    enum presto_encoding encoding;
    int64_t mark;
    const int64_t at = reader->position;
    *out = (struct presto_column){.type = type};
    if (depth > reader->options->depth_limit) {
        return seam_fail(reader->error, SEAM_UNSUPPORTED, reader->options->base_bytes + at,
                         "column '%s': nested beyond the depth limit of %d", type->name,
                         reader->options->depth_limit);
    }
    int code = read_encoding(reader, type, &encoding);
    code = code == SEAM_OK ? open_mark(reader, &mark) : code;
    if (code == SEAM_OK) {
        if (encoding == PRESTO_DICTIONARY) {
            code = read_dictionary(reader, mark, depth, out);
        } else if (encoding == PRESTO_RLE) {
            code = read_run(reader, mark, depth, out);
        } else {
            code = read_flat(reader, encoding, mark, depth, at, out);
        }
    }
    if (code != SEAM_OK) {
        presto_column_reset(out);
    }
    return code;
}

/* --- the page --- */

static const struct presto_type WHOLE = {.kind = SEAM_PRESTO_ROW, .name = "(page)"};

static int read_columns(struct reader *reader, const struct seam_presto_program *program,
                        int64_t rows, struct presto_column *page) {
    int32_t columns;
    *page = (struct presto_column){.type = &WHOLE, .length = rows};
    int code = read_i32(reader, &WHOLE, "the number of columns", &columns);
    if (code == SEAM_OK && columns != program->n_columns) {
        code =
            FAIL(reader, 0, "the page has %d columns, the schema %d", columns, program->n_columns);
    }
    code = code == SEAM_OK
               ? presto_make_children(&reader->budget, page, program->n_columns, reader->error)
               : code;
    const struct presto_type *type = program->types;
    for (int32_t i = 0; i < page->n_children && code == SEAM_OK; i++, type = presto_next(type)) {
        const int64_t at = reader->position;
        code = read_column(reader, type, 1, &page->children[i]);
        if (code == SEAM_OK && page->children[i].length != rows) {
            code = FAIL(reader, at, "column '%s' has %lld rows, the page %lld", type->name,
                        (long long)page->children[i].length, (long long)rows);
        }
    }
    if (code == SEAM_OK && remaining(reader) > 0) {
        code = FAIL(reader, reader->position, "%lld bytes are left behind the last column",
                    (long long)remaining(reader));
    }
    return code;
}

int seam_presto_read(struct seam_allocator *allocator, const struct seam_presto_program *program,
                     const uint8_t *payload, int64_t size_bytes, int64_t rows,
                     const struct seam_presto_read_options *options,
                     struct seam_presto_trace *trace, struct ArrowArray *out,
                     struct seam_error *error) {
    struct reader reader = {.payload = payload,
                            .size_bytes = size_bytes,
                            .options = options,
                            .budget = {.allocator = allocator, .limit_bytes = options->size_limit},
                            .trace = trace,
                            .error = error};
    struct presto_column page;
    if (rows < 0 || rows > SEAM_PRESTO_MAX_ROWS) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a page of %lld rows", (long long)rows);
    }
    if (rows > options->size_limit) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "%lld rows are beyond the size limit of %lld",
                         (long long)rows, (long long)options->size_limit);
    }
    int code = read_columns(&reader, program, rows, &page);
    if (code != SEAM_OK) {
        presto_column_reset(&page);
        return code;
    }
    return presto_export(&reader.budget, &page, out, error);
}

int seam_presto_read_column(struct seam_allocator *allocator,
                            const struct seam_presto_program *program, const uint8_t *bytes,
                            int64_t size_bytes, const struct seam_presto_read_options *options,
                            struct seam_presto_trace *trace, int64_t *used_bytes,
                            struct ArrowArray *out, struct seam_error *error) {
    struct reader reader = {.payload = bytes,
                            .size_bytes = size_bytes,
                            .options = options,
                            .budget = {.allocator = allocator, .limit_bytes = options->size_limit},
                            .trace = trace,
                            .error = error,
                            .alone = true};
    struct presto_column page = {.type = &WHOLE};
    if (program->n_columns != 1) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d types came for a column that is alone",
                         program->n_columns);
    }
    int code = presto_make_children(&reader.budget, &page, 1, error);
    if (code == SEAM_OK) {
        code = read_column(&reader, program->types, 1, &page.children[0]);
    }
    if (code != SEAM_OK) {
        presto_column_reset(&page);
        return code;
    }
    page.length = page.children[0].length;
    *used_bytes = reader.position;
    return presto_export(&reader.budget, &page, out, error);
}
