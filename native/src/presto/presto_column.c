#include "presto/presto_column.h"

#include "seam/arrow_build.h"

static int check_budget(const struct presto_budget *budget, int64_t size_bytes,
                        struct seam_error *error) {
    return size_bytes <= budget->limit_bytes - budget->used_bytes
               ? SEAM_OK
               : seam_fail(error, SEAM_UNSUPPORTED, -1,
                           "the page grows beyond the size limit of %lld bytes",
                           (long long)budget->limit_bytes);
}

int presto_take(struct presto_budget *budget, int64_t size_bytes, void **out,
                struct seam_error *error) {
    SEAM_TRY(check_budget(budget, size_bytes, error));
    SEAM_TRY(seam_alloc(budget->allocator, (size_t)size_bytes, out, error));
    budget->used_bytes += size_bytes;
    return SEAM_OK;
}

static int take_zeros(struct presto_budget *budget, int64_t size_bytes, void **out,
                      struct seam_error *error) {
    SEAM_TRY(presto_take(budget, size_bytes, out, error));
    memset(*out, 0, (size_t)size_bytes);
    return SEAM_OK;
}

int presto_make_children(struct presto_budget *budget, struct presto_column *column, int32_t n,
                         struct seam_error *error) {
    void *block;
    SEAM_TRY(take_zeros(budget, (int64_t)n * (int64_t)sizeof(struct presto_column), &block, error));
    column->children = block;
    column->n_children = n;
    return SEAM_OK;
}

void presto_column_reset(struct presto_column *column) {
    for (int32_t i = 0; i < column->n_children; i++) {
        presto_column_reset(&column->children[i]);
    }
    seam_free(column->children);
    seam_free(column->validity);
    seam_free(column->data);
    seam_free(column->offsets);
    *column = (struct presto_column){0};
}

int64_t presto_data_bytes(const struct presto_type *type, int64_t rows) {
    return type->kind == SEAM_PRESTO_BOOLEAN ? presto_bitmap_bytes(rows) : rows * type->arrow_bytes;
}

static bool has_offsets(const struct presto_type *type) {
    return type->kind == SEAM_PRESTO_BINARY || type->kind == SEAM_PRESTO_TEXT ||
           type->kind == SEAM_PRESTO_ARRAY || type->kind == SEAM_PRESTO_MAP;
}

/* --- nulls in place of anything --- */

int presto_all_null(struct presto_budget *budget, const struct presto_type *type, int64_t rows,
                    struct presto_column *out, struct seam_error *error) {
    void *block;
    *out = (struct presto_column){.type = type, .length = rows, .null_count = rows};
    if (type->kind == SEAM_PRESTO_UNKNOWN) {
        return SEAM_OK;
    }
    int code = take_zeros(budget, presto_bitmap_bytes(rows), &block, error);
    out->validity = code == SEAM_OK ? block : NULL;
    if (code == SEAM_OK && has_offsets(type)) {
        code = take_zeros(budget, (rows + 1) * 4, &block, error);
        out->offsets = code == SEAM_OK ? block : NULL;
    }
    if (code == SEAM_OK && type->n_children == 0) {
        code = take_zeros(budget, has_offsets(type) ? 0 : presto_data_bytes(type, rows), &block,
                          error);
        out->data = code == SEAM_OK ? block : NULL;
    }
    if (code == SEAM_OK && type->n_children > 0) {
        code = presto_make_children(budget, out, type->n_children, error);
    }
    const struct presto_type *child = type + 1;
    for (int32_t i = 0; i < out->n_children && code == SEAM_OK; i++, child = presto_next(child)) {
        code = presto_all_null(budget, child, type->kind == SEAM_PRESTO_ROW ? rows : 0,
                               &out->children[i], error);
    }
    if (code != SEAM_OK) {
        presto_column_reset(out);
    }
    return code;
}

/* --- rows put back --- */

/* Bits of `from` moved to the set bits of `present`; zeros elsewhere. */
static int spread_bits(struct presto_budget *budget, const uint8_t *from, const uint8_t *present,
                       int64_t rows, uint8_t **out, struct seam_error *error) {
    void *block;
    SEAM_TRY(take_zeros(budget, presto_bitmap_bytes(rows), &block, error));
    uint8_t *to = block;
    int64_t taken = 0;
    for (int64_t row = 0; row < rows; row++) {
        if (seam_bit(present, row)) {
            to[row >> 3] |= (uint8_t)(seam_bit(from, taken) << (row & 7));
            taken += 1;
        }
    }
    *out = to;
    return SEAM_OK;
}

static int spread_validity(struct presto_budget *budget, struct presto_column *column,
                           const uint8_t *present, int64_t rows, struct seam_error *error) {
    uint8_t *validity = NULL;
    if (column->validity != NULL) {
        SEAM_TRY(spread_bits(budget, column->validity, present, rows, &validity, error));
    } else {
        void *block;
        SEAM_TRY(presto_take(budget, presto_bitmap_bytes(rows), &block, error));
        validity = memcpy(block, present, (size_t)presto_bitmap_bytes(rows));
    }
    seam_free(column->validity);
    column->validity = validity;
    column->null_count += rows - column->length;
    return SEAM_OK;
}

/* Grows a block to `rows` values and moves the `n` it holds to their places, from the last on. */
static int spread_values(struct presto_budget *budget, void **block, int64_t width, int64_t n,
                         const uint8_t *present, int64_t rows, struct seam_error *error) {
    SEAM_TRY(check_budget(budget, (rows - n) * width, error));
    SEAM_TRY(seam_realloc(budget->allocator, block, (size_t)(rows * width), error));
    budget->used_bytes += (rows - n) * width;
    uint8_t *values = *block;
    int64_t left = n;
    for (int64_t row = rows - 1; row >= 0; row--) {
        if (seam_bit(present, row)) {
            left -= 1;
            memmove(values + row * width, values + left * width, (size_t)width);
        } else {
            memset(values + row * width, 0, (size_t)width);
        }
    }
    return SEAM_OK;
}

/* Rows that are put back own nothing: they begin where they end. */
static int spread_offsets(struct presto_budget *budget, struct presto_column *column,
                          const uint8_t *present, int64_t rows, struct seam_error *error) {
    void *block;
    SEAM_TRY(presto_take(budget, (rows + 1) * 4, &block, error));
    int32_t *offsets = block;
    int64_t taken = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        taken += seam_bit(present, row);
        offsets[row + 1] = column->offsets[taken];
    }
    seam_free(column->offsets);
    column->offsets = offsets;
    return SEAM_OK;
}

static int spread_flat(struct presto_budget *budget, struct presto_column *column,
                       const uint8_t *present, int64_t rows, struct seam_error *error) {
    const struct presto_type *type = column->type;
    if (has_offsets(type)) {
        return spread_offsets(budget, column, present, rows, error);
    }
    if (type->kind == SEAM_PRESTO_BOOLEAN) {
        uint8_t *data;
        SEAM_TRY(spread_bits(budget, column->data, present, rows, &data, error));
        seam_free(column->data);
        column->data = data;
        return SEAM_OK;
    }
    if (type->kind != SEAM_PRESTO_ROW) {
        void *block = column->data;
        int code =
            spread_values(budget, &block, type->arrow_bytes, column->length, present, rows, error);
        column->data = block;
        return code;
    }
    int code = SEAM_OK;
    for (int32_t i = 0; i < column->n_children && code == SEAM_OK; i++) {
        code = presto_spread(budget, &column->children[i], present, rows, error);
    }
    return code;
}

int presto_spread(struct presto_budget *budget, struct presto_column *column,
                  const uint8_t *present, int64_t rows, struct seam_error *error) {
    int code = SEAM_OK;
    if (column->form == PRESTO_IN_RUN) {
        column->length = rows; /* absent rows may repeat the run as well */
        return SEAM_OK;
    }
    if (column->type->kind == SEAM_PRESTO_UNKNOWN && column->form == PRESTO_FLAT) {
        column->length = column->null_count = rows;
        return SEAM_OK;
    }
    if (column->form == PRESTO_IN_DICTIONARY) {
        void *block = column->offsets;
        code = spread_values(budget, &block, 4, column->length, present, rows, error);
        column->offsets = block;
    } else {
        code = spread_flat(budget, column, present, rows, error);
    }
    if (code == SEAM_OK) {
        code = spread_validity(budget, column, present, rows, error);
    }
    column->length = code == SEAM_OK ? rows : column->length;
    return code;
}

/* --- into Arrow --- */

/* Takes over what the column holds when it succeeds. */
static int build(struct presto_budget *budget, struct presto_column *column, int64_t n_buffers,
                 void **buffers, int64_t n_children, struct ArrowArray *children,
                 struct ArrowArray *out, struct seam_error *error) {
    int code = seam_array_build(budget->allocator, column->length, column->null_count, n_buffers,
                                buffers, n_children, children, out, error);
    for (int64_t i = 0; i < n_children && code != SEAM_OK; i++) {
        seam_array_release(&children[i]);
    }
    if (code == SEAM_OK) {
        column->validity = column->data = NULL;
        column->offsets = NULL;
    }
    return code;
}

static int export_dictionary(struct presto_budget *budget, struct presto_column *column,
                             struct ArrowArray *out, struct seam_error *error) {
    struct ArrowArray entries;
    void *buffers[2] = {column->validity, column->offsets};
    SEAM_TRY(presto_export(budget, &column->children[0], &entries, error));
    int code = build(budget, column, 2, buffers, 0, NULL, out, error);
    if (code == SEAM_OK) {
        code = seam_array_set_dictionary(budget->allocator, out, &entries, error);
        if (code != SEAM_OK) {
            seam_array_release(out);
        }
    }
    if (code != SEAM_OK) {
        seam_array_release(&entries);
    }
    return code;
}

/* A run of no rows still has its end, which may lie behind the array's. */
static int export_run(struct presto_budget *budget, struct presto_column *column,
                      struct ArrowArray *out, struct seam_error *error) {
    struct ArrowArray children[2];
    void *end;
    SEAM_TRY(presto_export(budget, &column->children[0], &children[1], error));
    int code = seam_alloc(budget->allocator, sizeof(int32_t), &end, error);
    if (code == SEAM_OK) {
        void *buffers[2] = {NULL, end};
        *(int32_t *)end = column->length == 0 ? 1 : (int32_t)column->length;
        code = seam_array_build(budget->allocator, 1, 0, 2, buffers, 0, NULL, &children[0], error);
        if (code != SEAM_OK) {
            seam_free(end);
        }
    }
    if (code != SEAM_OK) {
        seam_array_release(&children[1]);
        return code;
    }
    column->null_count = 0;
    return build(budget, column, 0, NULL, 2, children, out, error);
}

static int export_children(struct presto_budget *budget, struct presto_column *column,
                           struct ArrowArray *children, struct ArrowArray *out,
                           struct seam_error *error) {
    for (int32_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(presto_export(budget, &column->children[i], &children[i], error));
    }
    if (column->type->kind == SEAM_PRESTO_MAP) {
        SEAM_TRY(seam_array_build_entries(budget->allocator, children, error));
    }
    bool row = column->type->kind == SEAM_PRESTO_ROW;
    void *buffers[2] = {column->validity, column->offsets};
    return build(budget, column, row ? 1 : 2, buffers, row ? column->n_children : 1, children, out,
                 error);
}

static int export_nested(struct presto_budget *budget, struct presto_column *column,
                         struct ArrowArray *out, struct seam_error *error) {
    struct ArrowArray *children;
    int32_t n = column->n_children;
    SEAM_TRY(seam_arrays_new(budget->allocator, n, &children, error));
    return seam_arrays_end(children, n, export_children(budget, column, children, out, error));
}

static int export_flat(struct presto_budget *budget, struct presto_column *column,
                       struct ArrowArray *out, struct seam_error *error) {
    const struct presto_type *type = column->type;
    if (type->kind == SEAM_PRESTO_UNKNOWN) {
        seam_free(column->validity); /* Arrow's arrays of nulls have no buffers */
        column->validity = NULL;
        return build(budget, column, 0, NULL, 0, NULL, out, error);
    }
    if (type->n_children > 0 || type->kind == SEAM_PRESTO_ROW) {
        return export_nested(budget, column, out, error);
    }
    if (has_offsets(type)) {
        void *buffers[3] = {column->validity, column->offsets, column->data};
        return build(budget, column, 3, buffers, 0, NULL, out, error);
    }
    void *buffers[2] = {column->validity, column->data};
    return build(budget, column, 2, buffers, 0, NULL, out, error);
}

int presto_export(struct presto_budget *budget, struct presto_column *column,
                  struct ArrowArray *out, struct seam_error *error) {
    int code;
    switch (column->form) {
    case PRESTO_IN_DICTIONARY:
        code = export_dictionary(budget, column, out, error);
        break;
    case PRESTO_IN_RUN:
        code = export_run(budget, column, out, error);
        break;
    default:
        code = export_flat(budget, column, out, error);
    }
    presto_column_reset(column);
    return code;
}
