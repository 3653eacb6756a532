/* Columns of the engine as Arrow arrays. A buffer that is ours is turned in place where it can be,
 * a borrowed one on its way into a fresh block. */
#include "offheap/engine_buffers.h"

#include "base/utf8.h"

#include "seam/arrow_build.h"

#include <string.h>

static int bad_value(const struct seam_engine_column *column, int64_t row, const char *what,
                     struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_INPUT, -1, "row %lld of a %s column %s", (long long)row,
                     seam_engine_kind_name(column->kind), what);
}

static bool is_ours(const struct seam_engine_column *column, int index) {
    return (column->owned >> index & 1) != 0;
}

/* Whether a column has nothing but nulls, and no buffers in Arrow. */
static bool is_lacking(const struct seam_engine_column *column) {
    return !seam_engine_held(column->kind) && column->kind != SEAM_COLUMN_DECIMALV2;
}

static int turn_values(struct seam_engine_column *column, struct seam_error *error) {
    uint8_t *in = column->buffers[SEAM_ENGINE_VALUES];
    int64_t bytes = seam_engine_arrow_bytes(column->kind, column->rows);
    void *block = in;
    if (!is_ours(column, SEAM_ENGINE_VALUES) ||
        bytes > seam_engine_buffer_bytes(column, SEAM_ENGINE_VALUES)) {
        SEAM_TRY(seam_alloc(column->allocator, (size_t)bytes, &block, error));
    }
    struct seam_engine_values values = {
        .kind = column->kind,
        .precision = column->precision,
        .rows = column->rows,
        .nulls = column->null_count > 0 ? column->buffers[SEAM_ENGINE_NULLS] : NULL,
        .in = in,
        .out = block};
    int64_t wrong = seam_engine_values_turn(&values);
    if (block != in) {
        seam_engine_set_buffer(column, SEAM_ENGINE_VALUES, block);
    }
    return wrong < 0 ? SEAM_OK
                     : bad_value(column, wrong, seam_engine_values_fault(column->kind), error);
}

static int check_text(const struct seam_engine_column *column, struct seam_error *error) {
    int64_t row = seam_utf8_first_bad(column->buffers[SEAM_ENGINE_BYTES],
                                      column->buffers[SEAM_ENGINE_OFFSETS], column->rows, NULL);
    return row == column->rows ? SEAM_OK : bad_value(column, row, "is not UTF-8", error);
}

/* Null flags as a validity bitmap; none where there are no nulls. */
static int make_validity(struct seam_engine_column *column, void **out, struct seam_error *error) {
    *out = NULL;
    if (column->null_count == 0) {
        return SEAM_OK;
    }
    SEAM_TRY(seam_alloc(column->allocator, (size_t)(column->rows + 7) / 8, out, error));
    seam_flags_to_validity(column->buffers[SEAM_ENGINE_NULLS], column->rows, *out);
    return SEAM_OK;
}

/* Every buffer as Arrow has it: null flags and what is kept otherwise in blocks of ours. */
static int turn_buffers(struct seam_engine_column *column, struct seam_error *error) {
    void *validity = NULL;
    int code = SEAM_OK;
    if (column->kind == SEAM_COLUMN_STRING) {
        code = check_text(column, error);
    }
    if (code == SEAM_OK) {
        code = make_validity(column, &validity, error);
    }
    if (code == SEAM_OK && seam_column_width(column->kind) > 0 &&
        !seam_engine_arrow_agrees(column->kind)) {
        code = turn_values(column, error);
    }
    /* Only now: turning looks at the flags, and these may lie in the block of the values. */
    seam_engine_set_buffer(column, SEAM_ENGINE_NULLS, code == SEAM_OK ? validity : NULL);
    if (code != SEAM_OK) {
        seam_free(validity);
    }
    return code;
}

int seam_engine_turn(struct seam_engine_column *column, struct seam_error *error) {
    SEAM_TRY(is_lacking(column) ? SEAM_OK : turn_buffers(column, error));
    for (int64_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(seam_engine_turn(&column->children[i], error));
    }
    return SEAM_OK;
}

static int build(struct seam_engine_column *column, int64_t n_children, struct ArrowArray *children,
                 struct ArrowArray *out, struct seam_error *error) {
    void *buffers[SEAM_ENGINE_BUFFERS];
    int64_t n_buffers = 0;
    for (int i = 0; i < SEAM_ENGINE_BUFFERS; i++) {
        if (seam_engine_has_buffer(column->kind, i)) {
            buffers[n_buffers++] = column->buffers[i];
        }
    }
    SEAM_TRY(seam_array_build(column->allocator, column->rows, column->null_count, n_buffers,
                              buffers, n_children, children, out, error));
    column->owned = 0; /* the buffers are the array's now */
    return SEAM_OK;
}

/* Type null has no buffers at all. */
static int export_nothing(struct seam_engine_column *column, struct ArrowArray *out,
                          struct seam_error *error) {
    return seam_array_build(column->allocator, column->rows, column->rows, 0, NULL, 0, NULL, out,
                            error);
}

static int export_column(struct seam_engine_column *column, struct ArrowArray *out,
                         struct seam_error *error);

static int export_children(struct seam_engine_column *column, struct ArrowArray *arrays,
                           struct ArrowArray *out, struct seam_error *error) {
    int64_t count = column->n_children;
    for (int64_t i = 0; i < count; i++) {
        SEAM_TRY(export_column(&column->children[i], &arrays[i], error));
        seam_engine_copied(column, i);
    }
    if (column->kind == SEAM_COLUMN_MAP) {
        if (column->children[0].kind != SEAM_COLUMN_UNKNOWN && arrays[0].null_count > 0) {
            return bad_value(column, 0,
                             "or a later one has a key that is NULL, which Arrow has not", error);
        }
        SEAM_TRY(seam_array_build_entries(column->allocator, arrays, error));
        count = 1;
    }
    return build(column, count, arrays, out, error);
}

static int export_nested(struct seam_engine_column *column, struct ArrowArray *out,
                         struct seam_error *error) {
    struct ArrowArray *arrays;
    int64_t n = column->n_children;
    SEAM_TRY(seam_arrays_new(column->allocator, n, &arrays, error));
    return seam_arrays_end(arrays, n, export_children(column, arrays, out, error));
}

static bool is_nested(int32_t kind) {
    return kind == SEAM_COLUMN_ARRAY || kind == SEAM_COLUMN_MAP || kind == SEAM_COLUMN_STRUCT ||
           kind == SEAM_COLUMN_VARIANT;
}

static int export_column(struct seam_engine_column *column, struct ArrowArray *out,
                         struct seam_error *error) {
    if (is_lacking(column)) {
        return export_nothing(column, out, error);
    }
    SEAM_TRY(turn_buffers(column, error));
    for (int i = SEAM_ENGINE_VALUES; i < SEAM_ENGINE_BUFFERS; i++) {
        SEAM_TRY(seam_engine_own_buffer(column, i, error));
    }
    return is_nested(column->kind) ? export_nested(column, out, error)
                                   : build(column, 0, NULL, out, error);
}

int seam_engine_export(struct seam_engine_column *column, struct ArrowArray *out,
                       struct seam_error *error) {
    int code = export_column(column, out, error);
    seam_engine_column_reset(column);
    return code;
}
