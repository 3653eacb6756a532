/* Streams of a page's columns: their making, measuring and writing. */
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
    int code = seam_alloc(arena->runs.allocator, sizeof **out + columns_bytes + offsets_bytes,
                          &block, error);
    if (code != SEAM_OK) {
        return code;
    }
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

static const struct stream_column *after(const struct stream_column *column) {
    return column + column->type->span;
}

static int64_t flags_bytes(const struct stream_column *column) {
    return 1 + (column->nulls != NULL ? presto_flag_bytes(column->rows) : 0);
}

static int64_t column_bytes(const struct stream_column *column, int32_t flags) {
    const struct presto_type *type = column->type;
    const struct stream_column *child = column + 1;
    int64_t size = 4 + PRESTO_NAMES[type->encoding].size_bytes + 4 + flags_bytes(column);
    for (int32_t i = 0; i < type->n_children; i++, child = after(child)) {
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
    for (int32_t i = 0; i < stream->program->n_columns; i++, column = after(column)) {
        size += column_bytes(column, stream->flags);
    }
    return checked_size(stream, size, size_bytes, error);
}

static const struct stream_column *nth_column(const struct seam_presto_stream *stream, int32_t n) {
    const struct stream_column *column = stream->columns;
    for (int32_t i = 0; i < n; i++) {
        column = after(column);
    }
    return column;
}

int seam_presto_stream_column_size(const struct seam_presto_stream *stream, int32_t column,
                                   int64_t *size_bytes, struct seam_error *error) {
    if (column < 0 || column >= stream->program->n_columns) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there is no column %d among %d", column,
                         stream->program->n_columns);
    }
    int64_t size = column_bytes(nth_column(stream, column), stream->flags);
    return checked_size(stream, size, size_bytes, error);
}

/* --- writing --- */

static uint8_t *put_i32(uint8_t *out, int64_t value) {
    presto_store_i32(out, value);
    return out + 4;
}

static uint8_t *put_stream(uint8_t *out, const struct seam_byte_output *stream) {
    seam_byte_output_copy(stream, out);
    return out + seam_byte_output_bytes(stream);
}

static uint8_t *put_flags(uint8_t *out, const struct stream_column *column) {
    *out++ = column->nulls != NULL;
    return column->nulls == NULL ? out : put_stream(out, column->nulls);
}

static uint8_t *put_column(uint8_t *out, const struct stream_column *column, int32_t flags);

static uint8_t *put_children(uint8_t *out, const struct stream_column *column, int32_t flags) {
    const struct stream_column *child = column + 1;
    for (int32_t i = 0; i < column->type->n_children; i++, child = after(child)) {
        out = put_column(out, child, flags);
    }
    return out;
}

/* Count, offsets with a zero before them, flags: how arrays, maps and rows end. */
static uint8_t *put_offsets(uint8_t *out, const struct stream_column *column) {
    out = put_i32(out, column->rows);
    out = put_i32(out, 0);
    out = put_stream(out, column->offsets);
    return put_flags(out, column);
}

static uint8_t *put_column(uint8_t *out, const struct stream_column *column, int32_t flags) {
    const struct presto_name *name = &PRESTO_NAMES[column->type->encoding];
    out = put_i32(out, name->size_bytes);
    memcpy(out, name->text, (size_t)name->size_bytes);
    out += name->size_bytes;
    switch (column->type->encoding) {
    case PRESTO_VARIABLE_WIDTH:
        out = put_i32(out, column->rows);
        out = put_stream(out, column->offsets);
        out = put_flags(out, column);
        out = put_i32(out, column->end);
        return put_stream(out, &column->values);
    case PRESTO_ARRAY:
        out = put_children(out, column, flags);
        return put_offsets(out, column);
    case PRESTO_MAP:
        out = put_children(out, column, flags);
        out = put_i32(out, -1); /* no hash table */
        return put_offsets(out, column);
    case PRESTO_ROW:
        if (flags & SEAM_PRESTO_NULLS_FIRST) {
            out = put_i32(out, column->rows);
            out = put_flags(out, column);
            out = put_i32(out, column->type->n_children);
            return put_children(out, column, flags);
        }
        out = put_i32(out, column->type->n_children);
        out = put_children(out, column, flags);
        return put_offsets(out, column);
    default:
        out = put_i32(out, column->rows);
        out = put_flags(out, column);
        return put_stream(out, &column->values);
    }
}

void seam_presto_stream_write(const struct seam_presto_stream *stream, uint8_t *out) {
    const struct stream_column *column = stream->columns;
    out = put_i32(out, stream->program->n_columns);
    for (int32_t i = 0; i < stream->program->n_columns; i++, column = after(column)) {
        out = put_column(out, column, stream->flags);
    }
}

void seam_presto_stream_write_column(const struct seam_presto_stream *stream, int32_t column,
                                     uint8_t *out) {
    put_column(out, nth_column(stream, column), stream->flags);
}
