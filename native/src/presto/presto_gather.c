/* Dictionaries and runs written out. */
#include "presto/presto_column.h"

static int64_t row_of(const int32_t *ids, int64_t i) {
    return ids == NULL ? 0 : ids[i];
}

static int gather_bits(struct presto_budget *budget, const uint8_t *from, const int32_t *ids,
                       int64_t n, uint8_t **out, int64_t *set, struct seam_error *error) {
    void *block;
    SEAM_TRY(presto_take(budget, presto_bitmap_bytes(n), &block, error));
    *out = memset(block, 0, (size_t)presto_bitmap_bytes(n));
    *set = 0;
    for (int64_t i = 0; i < n; i++) {
        bool value = seam_bit(from, row_of(ids, i));
        (*out)[i >> 3] |= (uint8_t)(value << (i & 7));
        *set += value;
    }
    return SEAM_OK;
}

static int gather_values(struct presto_budget *budget, const struct presto_column *column,
                         const int32_t *ids, struct presto_column *out, struct seam_error *error) {
    const int64_t width = column->type->arrow_bytes;
    void *block;
    int64_t set;
    if (column->type->kind == SEAM_PRESTO_BOOLEAN) {
        return gather_bits(budget, column->data, ids, out->length, &out->data, &set, error);
    }
    SEAM_TRY(presto_take(budget, out->length * width, &block, error));
    out->data = block;
    for (int64_t i = 0; i < out->length; i++) {
        memcpy(out->data + i * width, column->data + row_of(ids, i) * width, (size_t)width);
    }
    return SEAM_OK;
}

/* Offsets of strings, lists or maps; `*total` is the last of them. */
static int gather_offsets(struct presto_budget *budget, const struct presto_column *column,
                          const int32_t *ids, struct presto_column *out, int64_t *total,
                          struct seam_error *error) {
    void *block;
    SEAM_TRY(presto_take(budget, (out->length + 1) * 4, &block, error));
    out->offsets = block;
    int64_t end = 0;
    out->offsets[0] = 0;
    for (int64_t i = 0; i < out->length && end <= INT32_MAX; i++) {
        int64_t row = row_of(ids, i);
        end += column->offsets[row + 1] - column->offsets[row];
        out->offsets[i + 1] = (int32_t)end;
    }
    *total = end;
    if (end > INT32_MAX) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s' without its dictionary has more than 2^31 - 1 bytes or "
                         "entries: read it with its encodings",
                         column->type->name);
    }
    return SEAM_OK;
}

static int gather_strings(struct presto_budget *budget, const struct presto_column *column,
                          const int32_t *ids, struct presto_column *out, struct seam_error *error) {
    void *block;
    int64_t total;
    SEAM_TRY(gather_offsets(budget, column, ids, out, &total, error));
    SEAM_TRY(presto_take(budget, total, &block, error));
    out->data = block;
    for (int64_t i = 0; i < out->length; i++) {
        int32_t size = out->offsets[i + 1] - out->offsets[i];
        if (size > 0) {
            memcpy(out->data + out->offsets[i], column->data + column->offsets[row_of(ids, i)],
                   (size_t)size);
        }
    }
    return SEAM_OK;
}

static int gather_children(struct presto_budget *budget, const struct presto_column *column,
                           const int32_t *ids, int64_t n, struct presto_column *out,
                           struct seam_error *error) {
    SEAM_TRY(presto_make_children(budget, out, column->n_children, error));
    for (int32_t i = 0; i < out->n_children; i++) {
        SEAM_TRY(presto_gather(budget, &column->children[i], ids, n, &out->children[i], error));
    }
    return SEAM_OK;
}

static int gather_lists(struct presto_budget *budget, const struct presto_column *column,
                        const int32_t *ids, struct presto_column *out, struct seam_error *error) {
    void *block = NULL;
    int64_t total;
    SEAM_TRY(gather_offsets(budget, column, ids, out, &total, error));
    SEAM_TRY(presto_take(budget, total * 4, &block, error));
    int32_t *entries = block;
    for (int64_t i = 0, at = 0; i < out->length; i++) {
        int64_t row = row_of(ids, i);
        for (int32_t entry = column->offsets[row]; entry < column->offsets[row + 1]; entry++) {
            entries[at++] = entry;
        }
    }
    int code = gather_children(budget, column, entries, total, out, error);
    seam_free(entries);
    return code;
}

int presto_gather(struct presto_budget *budget, const struct presto_column *column,
                  const int32_t *ids, int64_t n, struct presto_column *out,
                  struct seam_error *error) {
    int code = SEAM_OK;
    int64_t valid = n;
    *out = (struct presto_column){.type = column->type, .length = n};
    if (column->validity != NULL) {
        code = gather_bits(budget, column->validity, ids, n, &out->validity, &valid, error);
    }
    out->null_count = column->type->kind == SEAM_PRESTO_UNKNOWN ? n : n - valid;
    switch (code == SEAM_OK ? column->type->kind : SEAM_PRESTO_UNKNOWN) {
    case SEAM_PRESTO_UNKNOWN:
        break;
    case SEAM_PRESTO_BINARY:
    case SEAM_PRESTO_TEXT:
        code = gather_strings(budget, column, ids, out, error);
        break;
    case SEAM_PRESTO_ARRAY:
    case SEAM_PRESTO_MAP:
        code = gather_lists(budget, column, ids, out, error);
        break;
    case SEAM_PRESTO_ROW:
        code = gather_children(budget, column, ids, n, out, error);
        break;
    default:
        code = gather_values(budget, column, ids, out, error);
    }
    if (code != SEAM_OK) {
        presto_column_reset(out);
    }
    return code;
}
