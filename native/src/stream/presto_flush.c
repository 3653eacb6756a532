/* Streams of a page's columns written out: into one place, or as pieces that stay where they are.
 */
#include "stream/presto_stream.h"

/* Ranges with at least so many bytes are worth a piece of their own. */
enum { PIECE_BYTES = 1 << 14 };

/* Where a payload goes. Without a list of pieces everything is copied to `at`. */
struct flush {
    uint8_t *at;
    uint8_t *begun; /* of what was copied since the last piece */
    struct seam_piece *pieces;
    int64_t n_pieces;
    int32_t flags;
};

static void put_i32(struct flush *flush, int64_t value) {
    seam_store32(flush->at, value);
    flush->at += 4;
}

/* What was copied since the last piece becomes one. */
static void end_copied(struct flush *flush) {
    if (flush->at > flush->begun) {
        flush->pieces[flush->n_pieces++] =
            (struct seam_piece){.data = flush->begun, .size_bytes = flush->at - flush->begun};
        flush->begun = flush->at;
    }
}

static bool is_piece(const struct seam_byte_output *stream, int64_t size_bytes) {
    return !stream->is_bits && size_bytes >= PIECE_BYTES;
}

static const struct seam_byte_range *ranges_of(const struct seam_byte_output *stream) {
    return stream->more == NULL ? &stream->first : stream->more;
}

/* Copies small ranges and lists large ones. */
static void put_ranges(struct flush *flush, const struct seam_byte_output *stream) {
    int64_t left = stream->size;
    for (const struct seam_byte_range *range = ranges_of(stream); left > 0; range++) {
        const int64_t size = left < range->size ? left : range->size;
        left -= size;
        if (is_piece(stream, size)) {
            end_copied(flush);
            flush->pieces[flush->n_pieces++] =
                (struct seam_piece){.data = range->buffer, .size_bytes = size};
        } else {
            memcpy(flush->at, range->buffer, (size_t)size);
            flush->at += size;
        }
    }
}

static void put_stream(struct flush *flush, const struct seam_byte_output *stream) {
    if (flush->pieces != NULL && !stream->is_bits) {
        put_ranges(flush, stream);
        return;
    }
    seam_byte_output_copy(stream, flush->at);
    flush->at += seam_byte_output_bytes(stream);
}

static void put_flags(struct flush *flush, const struct stream_column *column) {
    *flush->at++ = column->nulls != NULL;
    if (column->nulls != NULL) {
        put_stream(flush, column->nulls);
    }
}

static void put_column(struct flush *flush, const struct stream_column *column);

static void put_children(struct flush *flush, const struct stream_column *column) {
    const struct stream_column *child = column + 1;
    for (int32_t i = 0; i < column->type->n_children; i++, child = stream_after(child)) {
        put_column(flush, child);
    }
}

/* Count, offsets with a zero before them, flags: how arrays, maps and rows end. */
static void put_offsets(struct flush *flush, const struct stream_column *column) {
    put_i32(flush, column->rows);
    put_i32(flush, 0);
    put_stream(flush, column->offsets);
    put_flags(flush, column);
}

static void put_row(struct flush *flush, const struct stream_column *column) {
    if (flush->flags & SEAM_PRESTO_NULLS_FIRST) {
        put_i32(flush, column->rows);
        put_flags(flush, column);
        put_i32(flush, column->type->n_children);
        put_children(flush, column);
        return;
    }
    put_i32(flush, column->type->n_children);
    put_children(flush, column);
    put_offsets(flush, column);
}

static void put_column(struct flush *flush, const struct stream_column *column) {
    const struct presto_name *name = &PRESTO_NAMES[column->type->encoding];
    put_i32(flush, name->size_bytes);
    memcpy(flush->at, name->text, (size_t)name->size_bytes);
    flush->at += name->size_bytes;
    switch (column->type->encoding) {
    case PRESTO_VARIABLE_WIDTH:
        put_i32(flush, column->rows);
        put_stream(flush, column->offsets);
        put_flags(flush, column);
        put_i32(flush, column->end);
        put_stream(flush, &column->values);
        return;
    case PRESTO_ARRAY:
        put_children(flush, column);
        put_offsets(flush, column);
        return;
    case PRESTO_MAP:
        put_children(flush, column);
        put_i32(flush, -1); /* no hash table */
        put_offsets(flush, column);
        return;
    case PRESTO_ROW:
        put_row(flush, column);
        return;
    default:
        put_i32(flush, column->rows);
        put_flags(flush, column);
        put_stream(flush, &column->values);
    }
}

static void put_columns(struct flush *flush, const struct seam_presto_stream *stream) {
    const struct stream_column *column = stream->columns;
    flush->flags = stream->flags;
    put_i32(flush, stream->program->n_columns);
    for (int32_t i = 0; i < stream->program->n_columns; i++, column = stream_after(column)) {
        put_column(flush, column);
    }
}

void seam_presto_stream_write(const struct seam_presto_stream *stream, uint8_t *out) {
    struct flush flush = {.at = out};
    put_columns(&flush, stream);
}

void seam_presto_stream_write_column(const struct seam_presto_stream *stream, int32_t column,
                                     uint8_t *out) {
    struct flush flush = {.at = out, .flags = stream->flags};
    put_column(&flush, stream_nth(stream, column));
}

/* --- pieces --- */

static void count_stream(const struct seam_byte_output *stream, int64_t *n, int64_t *size_bytes) {
    int64_t left = stream == NULL ? 0 : stream->size;
    for (const struct seam_byte_range *range = left > 0 ? ranges_of(stream) : NULL; left > 0;
         range++) {
        const int64_t size = left < range->size ? left : range->size;
        left -= size;
        if (is_piece(stream, size)) {
            *n += 1;
            *size_bytes += size;
        }
    }
}

int64_t seam_presto_stream_apart(const struct seam_presto_stream *stream, int64_t *apart_bytes) {
    int64_t n = 0;
    *apart_bytes = 0;
    for (int32_t i = 0; i < stream->n_types; i++) {
        count_stream(&stream->columns[i].values, &n, apart_bytes);
        count_stream(stream->columns[i].offsets, &n, apart_bytes);
    }
    return n == 0 ? 1 : 2 * n + 1;
}

int64_t seam_presto_stream_pieces(const struct seam_presto_stream *stream, uint8_t *out,
                                  struct seam_piece *pieces) {
    struct flush flush = {.at = out, .begun = out, .pieces = pieces};
    put_columns(&flush, stream);
    end_copied(&flush);
    return flush.n_pieces;
}
