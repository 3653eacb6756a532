/* Streams of a page's columns: their making and measuring. */
#include "stream/presto_stream.h"

int seam_presto_stream_new(const struct seam_presto_program *program,
                           struct seam_stream_arena *arena, int32_t flags,
                           struct seam_presto_stream **out, struct seam_error *error) {
    int32_t n_types = 0;
    int32_t n_offsets = 0;
    for (int32_t i = 0; i < program->n_columns; i++) {
        n_types += program->types[n_types].span;
    }
    for (int32_t i = 0; i < n_types; i++) {
        n_offsets += !presto_is_fixed(&program->types[i]);
    }
    size_t columns_bytes = (size_t)n_types * sizeof(struct stream_column);
    size_t offsets_bytes = (size_t)n_offsets * sizeof(struct seam_byte_output);
    void *block;
    *out = NULL;
    SEAM_TRY(seam_alloc(arena->runs.allocator, sizeof **out + columns_bytes + offsets_bytes, &block,
                        error));
    struct seam_presto_stream *stream = block;
    struct seam_byte_output *offsets = (void *)((uint8_t *)(stream + 1) + columns_bytes);
    *stream = (struct seam_presto_stream){.program = program, .flags = flags, .n_types = n_types};
    for (int32_t i = 0; i < n_types; i++) {
        struct stream_column *column = &stream->columns[i];
        *column = (struct stream_column){.type = &program->types[i]};
        seam_byte_output_init(&column->values, arena, 0);
        if (!presto_is_fixed(column->type)) {
            column->offsets = offsets++;
            seam_byte_output_init(column->offsets, arena, 0);
        }
    }
    *out = stream;
    return SEAM_OK;
}

enum { TEXT_BYTES = 10 };

int seam_presto_stream_set_aside(struct seam_presto_stream *stream, int64_t rows,
                                 struct seam_error *error) {
    if (rows < 0 || rows > INT32_MAX) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "memory is set aside for 0 rows to 2^31 - 1, not for %lld",
                         (long long)rows);
    }
    for (int32_t i = 0; i < stream->n_types; i++) {
        struct stream_column *column = &stream->columns[i];
        const struct presto_type *type = column->type;
        int64_t width = type->encoding == PRESTO_VARIABLE_WIDTH ? TEXT_BYTES : type->wire_bytes;
        SEAM_TRY(seam_byte_output_set_aside(&column->values, rows * width, error));
        if (column->offsets != NULL) {
            SEAM_TRY(seam_byte_output_set_aside(column->offsets, 4 * rows, error));
        }
    }
    return SEAM_OK;
}

/* The memory of `offsets` is the stream's, that of `nulls` its own. */
static void clear_column(struct stream_column *column) {
    seam_byte_output_clear(&column->values);
    if (column->offsets != NULL) {
        seam_byte_output_clear(column->offsets);
    }
    if (column->nulls != NULL) {
        seam_byte_output_clear(column->nulls);
        seam_free(column->nulls);
        column->nulls = NULL;
    }
    column->rows = 0;
    column->end = 0;
}

void seam_presto_stream_clear(struct seam_presto_stream *stream) {
    for (int32_t i = 0; i < stream->n_types; i++) {
        clear_column(&stream->columns[i]);
    }
    stream->rows = 0;
    stream->broken = false;
}

void seam_presto_stream_free(struct seam_presto_stream *stream) {
    if (stream != NULL) {
        seam_presto_stream_clear(stream);
        seam_free(stream);
    }
}

int64_t seam_presto_stream_rows(const struct seam_presto_stream *stream) {
    return stream->rows;
}

int32_t seam_presto_stream_broken(const struct seam_presto_stream *stream) {
    return stream->broken;
}

/* --- sizes --- */

static int64_t flags_bytes(const struct stream_column *column) {
    return 1 + (column->nulls != NULL ? presto_flag_bytes(column->rows) : 0);
}

static int64_t column_bytes(const struct stream_column *column, int32_t flags) {
    const struct presto_type *type = column->type;
    const struct stream_column *child = column + 1;
    int64_t size = 4 + PRESTO_NAMES[type->encoding].size_bytes + 4 + flags_bytes(column);
    for (int32_t i = 0; i < type->n_children; i++, child = stream_after(child)) {
        size += column_bytes(child, flags);
    }
    switch (type->encoding) {
    case PRESTO_VARIABLE_WIDTH:
        return size + 4 * column->rows + 4 + seam_byte_output_bytes(&column->values);
    case PRESTO_ARRAY:
        return size + 4 * (column->rows + 1);
    case PRESTO_MAP:
        return size + 4 + 4 * (column->rows + 1);
    case PRESTO_ROW:
        return size + 4 + (flags & SEAM_PRESTO_NULLS_FIRST ? 0 : 4 * (column->rows + 1));
    default:
        return size + seam_byte_output_bytes(&column->values);
    }
}

static int checked_size(const struct seam_presto_stream *stream, int64_t size, int64_t *out,
                        struct seam_error *error) {
    if (stream->broken) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "an append to this serializer failed half-way: clear it first");
    }
    if (size > INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "a page of %lld bytes is larger than 2^31 - 1",
                         (long long)size);
    }
    *out = size;
    return SEAM_OK;
}

int seam_presto_stream_size(const struct seam_presto_stream *stream, int64_t *size_bytes,
                            struct seam_error *error) {
    const struct stream_column *column = stream->columns;
    int64_t size = 4;
    for (int32_t i = 0; i < stream->program->n_columns; i++, column = stream_after(column)) {
        size += column_bytes(column, stream->flags);
    }
    return checked_size(stream, size, size_bytes, error);
}

int seam_presto_stream_column_size(const struct seam_presto_stream *stream, int32_t column,
                                   int64_t *size_bytes, struct seam_error *error) {
    if (column < 0 || column >= stream->program->n_columns) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there is no column %d among %d", column,
                         stream->program->n_columns);
    }
    int64_t size = column_bytes(stream_nth(stream, column), stream->flags);
    return checked_size(stream, size, size_bytes, error);
}
