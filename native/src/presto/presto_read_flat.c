/* Columns without others in them, out of payloads. */
#include "presto/presto_read.h"

#include "base/offsets.h"
#include "base/utf8.h"

/* Null flags of out->length rows; sets validity and null count. */
int presto_read_flags(struct presto_reader *reader, int64_t mark, struct presto_column *out) {
    const uint8_t *at;
    void *validity;
    const struct presto_type *type = out->type;
    SEAM_TRY(presto_need(reader, type, 1, "null flags", &at));
    if (*at > 1) {
        return PRESTO_FAIL(reader, reader->position - 1,
                           "column '%s': whether it has null flags is %d, not 0 or 1", type->name,
                           *at);
    }
    if (*at == 0) {
        return SEAM_OK;
    }
    SEAM_TRY(presto_need(reader, type, presto_flag_bytes(out->length), "null flags", &at));
    SEAM_TRY(
        presto_take(&reader->budget, presto_bitmap_bytes(out->length), &validity, reader->error));
    out->validity = validity;
    out->null_count = out->length - presto_flags_to_validity(at, out->length, validity);
    if (out->null_count == 0) {
        presto_set_mark(reader, mark, SEAM_PRESTO_MARK_FLAGS);
        seam_free(out->validity);
        out->validity = NULL;
    }
    return SEAM_OK;
}

int presto_read_fixed(struct presto_reader *reader, int64_t mark, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const uint8_t *wire;
    void *data;
    SEAM_TRY(presto_read_count(reader, type, "the number of rows", &out->length));
    SEAM_TRY(presto_read_flags(reader, mark, out));
    const int64_t at = reader->position;
    const int64_t present = out->length - out->null_count;
    SEAM_TRY(presto_need(reader, type, present * type->wire_bytes, "values", &wire));
    if (type->kind == SEAM_PRESTO_UNKNOWN) {
        return present == 0 ? SEAM_OK
                            : PRESTO_FAIL(reader, at, "column '%s' of type unknown has %lld values",
                                          type->name, (long long)present);
    }
    SEAM_TRY(
        presto_take(&reader->budget, presto_data_bytes(type, out->length), &data, reader->error));
    out->data = data;
    int64_t good = out->validity == NULL ? presto_decode(type, wire, present, data)
                                         : presto_decode_sparse(type, wire, present, out->validity,
                                                                out->length, data);
    if (good < present) {
        return PRESTO_FAIL(reader, at + good * type->wire_bytes,
                           "column '%s': value %lld is none of its type", type->name,
                           (long long)good);
    }
    return SEAM_OK;
}

/* Bare nulls, which are written as bytes whatever the type. */
int presto_read_bare_nulls(struct presto_reader *reader, int64_t mark, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const int64_t at = reader->position;
    SEAM_TRY(presto_read_count(reader, type, "the number of rows", &out->length));
    SEAM_TRY(presto_read_flags(reader, mark, out));
    if (out->null_count != out->length) {
        return PRESTO_FAIL(reader, at, "column '%s' needs %s, and BYTE_ARRAY stands for nulls only",
                           type->name, PRESTO_NAMES[type->encoding].text);
    }
    int64_t rows = out->length;
    presto_column_reset(out);
    reader->trace->marks.data[mark] = 0;
    presto_set_mark(reader, mark, SEAM_PRESTO_MARK_BARE);
    return presto_all_null(&reader->budget, type, rows, out, reader->error);
}

/* Ends that never fall. The first row begins at 0, so none may be negative either. */
int64_t presto_first_fall(const int32_t *offsets, int64_t rows) {
    int64_t row = seam_offsets_rise_32((const uint8_t *)offsets, rows) ? rows : 0;
    while (row < rows && offsets[row + 1] >= offsets[row]) {
        row += 1;
    }
    return row;
}

static int check_text(struct presto_reader *reader, const struct presto_column *out, int64_t at) {
    int64_t row =
        seam_utf8_first_bad(out->data, (const uint8_t *)out->offsets, out->length, out->validity);
    return row == out->length
               ? SEAM_OK
               : PRESTO_FAIL(reader, at + out->offsets[row], "column '%s': row %lld is not UTF-8",
                             out->type->name, (long long)row);
}

/* Values of one size that a page keeps like strings. */
static int slices_to_fixed(struct presto_reader *reader, struct presto_column *out, int64_t at) {
    const int64_t size = out->type->arrow_bytes;
    void *data;
    SEAM_TRY(presto_take(&reader->budget, out->length * size, &data, reader->error));
    uint8_t *values = memset(data, 0, (size_t)(out->length * size));
    for (int64_t row = 0; row < out->length; row++) {
        bool null = out->validity != NULL && !((out->validity[row >> 3] >> (row & 7)) & 1);
        int32_t begin = out->offsets[row];
        if (null) {
            continue;
        }
        if (out->offsets[row + 1] - begin != size) {
            seam_free(data);
            return PRESTO_FAIL(reader, at + begin, "column '%s': row %lld has %d bytes, not %lld",
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

static int read_ends(struct presto_reader *reader, struct presto_column *out) {
    const uint8_t *wire;
    void *block;
    const int64_t at = reader->position;
    SEAM_TRY(presto_need(reader, out->type, out->length * 4, "offsets", &wire));
    SEAM_TRY(presto_take(&reader->budget, (out->length + 1) * 4, &block, reader->error));
    out->offsets = block;
    out->offsets[0] = 0;
    memcpy(out->offsets + 1, wire, (size_t)out->length * 4);
    int64_t fall = presto_first_fall(out->offsets, out->length);
    return fall == out->length
               ? SEAM_OK
               : PRESTO_FAIL(reader, at + fall * 4,
                             "column '%s': row %lld ends at %d, before it begins", out->type->name,
                             (long long)fall, out->offsets[fall + 1]);
}

int presto_read_variable(struct presto_reader *reader, int64_t mark, struct presto_column *out) {
    const struct presto_type *type = out->type;
    const uint8_t *wire;
    void *data;
    int64_t total;
    SEAM_TRY(presto_read_count(reader, type, "the number of rows", &out->length));
    SEAM_TRY(read_ends(reader, out));
    SEAM_TRY(presto_read_flags(reader, mark, out));
    SEAM_TRY(presto_read_count(reader, type, "the number of bytes", &total));
    if (total != out->offsets[out->length]) {
        return PRESTO_FAIL(reader, reader->position - 4,
                           "column '%s': %lld bytes, but its last row ends at %d", type->name,
                           (long long)total, out->offsets[out->length]);
    }
    const int64_t at = reader->position;
    SEAM_TRY(presto_need(reader, type, total, "bytes", &wire));
    SEAM_TRY(presto_take(&reader->budget, total, &data, reader->error));
    out->data = memcpy(data, wire, (size_t)total);
    if (type->kind == SEAM_PRESTO_SLICE) {
        return slices_to_fixed(reader, out, at);
    }
    bool checked = type->kind == SEAM_PRESTO_TEXT && !presto_reads(reader, SEAM_PRESTO_ANY_BYTES);
    return checked ? check_text(reader, out, at) : SEAM_OK;
}
