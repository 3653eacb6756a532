/* Arrays, maps and rows out of payloads. */
#include "presto/presto_read.h"

/* The n + 1 offsets of arrays, maps and rows. */
static int read_offsets(struct presto_reader *reader, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const uint8_t *wire;
    void *block;
    SEAM_TRY(presto_read_count(reader, type, "the number of rows", &out->length));
    const int64_t at = reader->position;
    SEAM_TRY(presto_need(reader, type, (out->length + 1) * 4, "offsets", &wire));
    SEAM_TRY(presto_take(&reader->budget, (out->length + 1) * 4, &block, reader->error));
    out->offsets = memcpy(block, wire, (size_t)(out->length + 1) * 4);
    return out->offsets[0] == 0 ? SEAM_OK
                                : PRESTO_FAIL(reader, at, "column '%s': offsets begin at %d, not 0",
                                              type->name, out->offsets[0]);
}

/* Offsets of arrays and maps never fall, null rows span nothing, and the last one is the number of
 * entries. */
static int check_spans(struct presto_reader *reader, const struct presto_column *out, int64_t at) {
    int64_t entries = out->children[0].length;
    int64_t fall = presto_first_fall(out->offsets, out->length);
    if (fall < out->length) {
        return PRESTO_FAIL(reader, at + 4 + fall * 4,
                           "column '%s': row %lld ends at %d, before it begins", out->type->name,
                           (long long)fall, out->offsets[fall + 1]);
    }
    if (out->offsets[out->length] != entries) {
        return PRESTO_FAIL(reader, at, "column '%s': offsets end at %d, but it has %lld entries",
                           out->type->name, out->offsets[out->length], (long long)entries);
    }
    for (int64_t row = 0; out->validity != NULL && row < out->length; row++) {
        bool null = !((out->validity[row >> 3] >> (row & 7)) & 1);
        if (null && out->offsets[row] != out->offsets[row + 1]) {
            return PRESTO_FAIL(reader, at + 4 + row * 4,
                               "column '%s': row %lld is null but has entries", out->type->name,
                               (long long)row);
        }
    }
    return SEAM_OK;
}

int presto_read_array(struct presto_reader *reader, int64_t mark, int depth,
                      struct presto_column *out) {
    int code = presto_make_children(&reader->budget, out, 1, reader->error);
    code = code == SEAM_OK ? presto_read_column(reader, out->type + 1, depth + 1, out->children)
                           : code;
    const int64_t at = reader->position + 4;
    code = code == SEAM_OK ? read_offsets(reader, out) : code;
    code = code == SEAM_OK ? presto_read_flags(reader, mark, out) : code;
    return code == SEAM_OK ? check_spans(reader, out, at) : code;
}

/* Hash tables are passed over: nothing here looks keys up by them. Their shape is checked. */
static int read_hash_table(struct presto_reader *reader, int64_t mark,
                           const struct presto_type *type, int64_t entries) {
    int32_t length;
    const uint8_t *slots;
    const int64_t at = reader->position;
    int code = presto_read_i32(reader, type, "the length of the hash table", &length);
    if (code != SEAM_OK || length == -1) {
        return code;
    }
    if (length != entries * 2) {
        return PRESTO_FAIL(reader, at, "column '%s': a hash table of %d slots for %lld entries",
                           type->name, length, (long long)entries);
    }
    code = presto_need(reader, type, (int64_t)length * 4, "slots of the hash table", &slots);
    for (int64_t i = 0; code == SEAM_OK && i < length; i++) {
        int32_t slot = (int32_t)seam_load32(slots + i * 4);
        if (slot < -1 || slot >= entries) {
            code = PRESTO_FAIL(reader, at + 4 + i * 4,
                               "column '%s': slot %lld of the hash table holds %d", type->name,
                               (long long)i, slot);
        }
    }
    presto_set_mark(reader, mark, SEAM_PRESTO_MARK_HASH);
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
static int read_entries(struct presto_reader *reader, int64_t mark, int depth,
                        struct presto_column *out) {
    const struct presto_type *key = out->type + 1;
    const int64_t begin = reader->position;
    int code = presto_make_children(&reader->budget, out, 2, reader->error);
    code = code == SEAM_OK ? presto_read_column(reader, key, depth + 1, &out->children[0]) : code;
    if (code == SEAM_OK && any_null(&out->children[0])) {
        code = PRESTO_FAIL(reader, begin, "column '%s': a key is null", out->type->name);
    }
    const int64_t second = reader->position;
    code = code == SEAM_OK
               ? presto_read_column(reader, presto_next(key), depth + 1, &out->children[1])
               : code;
    if (code == SEAM_OK && out->children[0].length != out->children[1].length) {
        code = PRESTO_FAIL(reader, second, "column '%s': %lld keys, %lld values", out->type->name,
                           (long long)out->children[0].length, (long long)out->children[1].length);
    }
    return code == SEAM_OK ? read_hash_table(reader, mark, out->type, out->children[0].length)
                           : code;
}

int presto_read_map(struct presto_reader *reader, int64_t mark, int depth,
                    struct presto_column *out) {
    int code = read_entries(reader, mark, depth, out);
    const int64_t at = reader->position + 4;
    code = code == SEAM_OK ? read_offsets(reader, out) : code;
    code = code == SEAM_OK ? presto_read_flags(reader, mark, out) : code;
    return code == SEAM_OK ? check_spans(reader, out, at) : code;
}

static int read_fields(struct presto_reader *reader, int depth, struct presto_column *out) {
    const struct presto_type *type = out->type;
    int64_t fields;
    int code = presto_read_count(reader, type, "the number of fields", &fields);
    if (code == SEAM_OK && fields != type->n_children) {
        code =
            PRESTO_FAIL(reader, reader->position - 4, "column '%s': %lld fields, its type has %d",
                        type->name, (long long)fields, type->n_children);
    }
    code = code == SEAM_OK
               ? presto_make_children(&reader->budget, out, type->n_children, reader->error)
               : code;
    const struct presto_type *child = type + 1;
    for (int32_t i = 0; i < out->n_children && code == SEAM_OK; i++, child = presto_next(child)) {
        code = presto_read_column(reader, child, depth + 1, &out->children[i]);
    }
    return code;
}

/* Offsets of rows say once more which rows are present, by their number up to each. Velox passes
 * over them, and has had a writer that puts 0 where a row is null. */
static int check_row_offsets(struct presto_reader *reader, const struct presto_column *out,
                             int64_t at) {
    const bool zeros = presto_reads(reader, SEAM_PRESTO_VELOX);
    int32_t wanted = 0;
    for (int64_t row = 0; row < out->length; row++) {
        int32_t present = out->validity == NULL || ((out->validity[row >> 3] >> (row & 7)) & 1);
        int32_t offset = out->offsets[row + 1];
        wanted += present;
        if (offset != wanted && (present || !zeros || offset != 0)) {
            return PRESTO_FAIL(reader, at + 4 + row * 4,
                               "column '%s': row %lld is %s, but its offset is %d, not %d",
                               out->type->name, (long long)row, present ? "present" : "null",
                               offset, wanted);
        }
    }
    return SEAM_OK;
}

/* Fields hold present rows only; in Arrow they are as long as the row column itself. */
static int spread_fields(struct presto_reader *reader, struct presto_column *out, int64_t at) {
    int64_t present = out->length - out->null_count;
    for (int32_t i = 0; i < out->n_children; i++) {
        if (out->children[i].length != present) {
            return PRESTO_FAIL(reader, at, "column '%s' has %lld rows, its field '%s' %lld",
                               out->type->name, (long long)present, out->children[i].type->name,
                               (long long)out->children[i].length);
        }
    }
    for (int32_t i = 0; out->null_count > 0 && i < out->n_children; i++) {
        SEAM_TRY(presto_spread(&reader->budget, &out->children[i], out->validity, out->length,
                               reader->error));
    }
    return SEAM_OK;
}

int presto_read_row(struct presto_reader *reader, int64_t mark, int depth,
                    struct presto_column *out) {
    int code;
    int64_t at = reader->position;
    if (presto_reads(reader, SEAM_PRESTO_NULLS_FIRST)) {
        code = presto_read_count(reader, out->type, "the number of rows", &out->length);
        code = code == SEAM_OK ? presto_read_flags(reader, mark, out) : code;
        code = code == SEAM_OK ? read_fields(reader, depth, out) : code;
    } else {
        code = read_fields(reader, depth, out);
        at = reader->position + 4;
        code = code == SEAM_OK ? read_offsets(reader, out) : code;
        code = code == SEAM_OK ? presto_read_flags(reader, mark, out) : code;
        code = code == SEAM_OK ? check_row_offsets(reader, out, at) : code;
        seam_free(out->offsets);
        out->offsets = NULL;
    }
    return code == SEAM_OK ? spread_fields(reader, out, at) : code;
}

/* --- values that stand alone --- */

/* A map or row by itself, as constants of plans hold it: without count, offsets and flags. */
int presto_read_element(struct presto_reader *reader, int64_t mark, int depth,
                        struct presto_column *out) {
    void *offsets;
    const int64_t at = reader->position;
    out->length = 1;
    if (out->type->encoding == PRESTO_ROW) {
        SEAM_TRY(read_fields(reader, depth, out));
        return spread_fields(reader, out, at);
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
