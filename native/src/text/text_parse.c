/* Text cut into rows, and rows into the values of columns. */
#include "seam/arrow_build.h"
#include "text/text_internal.h"

static int check_format(const struct seam_text_format *format, struct seam_error *error) {
    bool good = format->n_fields >= 1 && format->n_fields < INT32_MAX / 8 &&
                format->n_separators >= 1 && format->n_separators <= SEAM_TEXT_MOST_LEVELS &&
                format->escape >= -1 && format->escape <= 255 && format->null_text_bytes >= -1 &&
                (!format->is_csv || (format->quote >= 0 && format->quote <= 255));
    return good ? SEAM_OK : seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a format with wrong numbers");
}

static int copy_format(struct seam_text_parser *parser, const struct seam_text_format *format,
                       struct seam_error *error) {
    parser->format = *format;
    parser->format.null_text = NULL;
    void *block;
    size_t size = format->null_text_bytes > 0 ? (size_t)format->null_text_bytes : 0;
    SEAM_TRY(seam_alloc(parser->allocator, size, &block, error));
    parser->null_text = block;
    if (size > 0) {
        memcpy(block, format->null_text, size);
    }
    parser->format.null_text = parser->null_text;
    SEAM_TRY(seam_alloc(parser->allocator, ((size_t)format->n_fields + 1) * sizeof *parser->starts,
                        &block, error));
    parser->starts = block;
    return SEAM_OK;
}

static int make_columns(struct seam_text_parser *parser, const struct seam_text_column *columns,
                        int32_t n_columns, struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc_zeros(parser->allocator, (int64_t)n_columns + 1, sizeof *parser->columns,
                              &block, error));
    parser->columns = block;
    parser->n_columns = n_columns;
    for (int32_t i = 0; i < n_columns; i++) {
        struct text_column *column = &parser->columns[i];
        column->spec = columns[i];
        seam_buffer_init(&column->values, parser->allocator);
        seam_buffer_init(&column->bytes, parser->allocator);
        seam_buffer_init(&column->validity, parser->allocator);
        seam_buffer_init(&column->table, parser->allocator);
    }
    for (int32_t i = 0; i < n_columns; i += 1 + parser->columns[i].n_below) {
        SEAM_TRY(seam_text_column_init(parser, i, 1, n_columns, error));
        const struct seam_text_column *spec = &parser->columns[i].spec;
        bool fits = spec->field < parser->format.n_fields &&
                    (!parser->format.is_csv || spec->kind == SEAM_TEXT_STRING);
        if (!fits) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d is not in such a row", i);
        }
        parser->n_used = spec->field < parser->n_used ? parser->n_used : spec->field + 1;
    }
    return SEAM_OK;
}

int seam_text_new(struct seam_allocator *allocator, const struct seam_text_format *format,
                  const struct seam_text_column *columns, int32_t n_columns,
                  struct seam_text_parser **out, struct seam_error *error) {
    *out = NULL;
    SEAM_TRY(n_columns < 0 ? seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d columns", n_columns)
                           : check_format(format, error));
    void *block;
    SEAM_TRY(seam_alloc(allocator, sizeof(struct seam_text_parser), &block, error));
    struct seam_text_parser *parser = block;
    *parser = (struct seam_text_parser){.allocator = allocator};
    seam_buffer_init(&parser->scratch, allocator);
    int code = copy_format(parser, format, error);
    if (code == SEAM_OK) {
        code = make_columns(parser, columns, n_columns, error);
    }
    if (code != SEAM_OK) {
        seam_text_free(parser);
        return code;
    }
    *out = parser;
    return SEAM_OK;
}

void seam_text_free(struct seam_text_parser *parser) {
    if (parser == NULL) {
        return;
    }
    for (int32_t i = 0; i < parser->n_columns; i++) {
        seam_text_column_reset(&parser->columns[i]);
    }
    seam_buffer_reset(&parser->scratch);
    seam_free(parser->columns);
    seam_free(parser->starts);
    seam_free(parser->null_text);
    seam_free(parser);
}

int64_t seam_text_rows(const struct seam_text_parser *parser) {
    return parser->rows;
}

/* Bytes that are cut into lines. */
struct lines {
    const uint8_t *data;
    int64_t size;
    bool last;
    int64_t feed; /* the first line feed at or behind where it was last looked for, or `size` */
};

/* Where the line that begins at `from` ends, and what is behind its end; -1: there is no end. */
static int64_t end_of_line(struct lines *lines, int64_t from, int64_t *end) {
    const uint8_t *data = lines->data;
    int64_t size = lines->size;
    if (lines->feed < from) {
        const uint8_t *found = memchr(data + from, '\n', (size_t)(size - from));
        lines->feed = found == NULL ? size : found - data;
    }
    const uint8_t *carriage = memchr(data + from, '\r', (size_t)(lines->feed - from));
    if (carriage != NULL) {
        *end = carriage - data;
        if (*end + 1 < size) {
            return *end + 1 + (data[*end + 1] == '\n');
        }
        return lines->last ? size : -1; /* a line feed may follow */
    }
    *end = lines->feed;
    if (lines->feed < size) {
        return lines->feed + 1;
    }
    return lines->last && from < size ? size : -1;
}

int64_t seam_text_line_end(const uint8_t *data, int64_t size_bytes, int64_t from, int32_t last) {
    struct lines lines = {data, size_bytes, last != 0, -1};
    int64_t end;
    if (from < 0 || from >= size_bytes) {
        return -1;
    }
    return end_of_line(&lines, from, &end);
}

static int append_row(struct seam_text_parser *parser, struct piece row, struct seam_error *error) {
    const struct seam_text_format *format = &parser->format;
    const int32_t *starts = parser->starts;
    const uint8_t *fields = row.begin;
    if (piece_size(row) > INT32_MAX - 16) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "a row of %lld bytes",
                         (long long)piece_size(row));
    }
    if (format->is_csv && parser->n_columns > 0) {
        SEAM_TRY(seam_text_split_csv(parser, row, error));
        fields = parser->scratch.data;
    } else if (parser->n_columns > 0) {
        seam_text_split(row, format->separators[0], format->escape, format->last_takes_rest,
                        format->n_fields, parser->n_used, parser->starts);
    }
    for (int32_t i = 0; i < parser->n_columns; i += 1 + parser->columns[i].n_below) {
        struct text_column *column = &parser->columns[i];
        int32_t field = column->spec.field;
        struct piece value = {fields + starts[field], fields + starts[field + 1] - 1};
        SEAM_TRY(seam_text_append(parser, column, value, error));
    }
    parser->rows++;
    return SEAM_OK;
}

static int refuse_broken(const struct seam_text_parser *parser, struct seam_error *error) {
    return parser->broken ? seam_fail(error, SEAM_BAD_ARGUMENT, -1, "the parser has failed before")
                          : SEAM_OK;
}

int seam_text_parse(struct seam_text_parser *parser, const uint8_t *data, int64_t size_bytes,
                    int32_t last, int64_t last_begin_bytes, int64_t most_rows, int64_t *at_bytes,
                    struct seam_error *error) {
    int code = refuse_broken(parser, error);
    int64_t at = *at_bytes, rows = 0;
    struct lines lines = {data, size_bytes, last != 0, -1};
    if (code == SEAM_OK && (at < 0 || size_bytes < 0)) {
        code = seam_fail(error, SEAM_BAD_ARGUMENT, -1, "text from byte %lld on", (long long)at);
    }
    while (code == SEAM_OK && at < size_bytes && at <= last_begin_bytes && rows < most_rows) {
        int64_t end;
        int64_t next = end_of_line(&lines, at, &end);
        if (next < 0) {
            break;
        }
        code = append_row(parser, (struct piece){data + at, data + end}, error);
        at = code == SEAM_OK ? next : at;
        rows++;
    }
    *at_bytes = at;
    parser->broken = parser->broken || code != SEAM_OK;
    return code;
}

int seam_text_parse_rows(struct seam_text_parser *parser, const uint8_t *data, int64_t size_bytes,
                         const int64_t *offsets, int64_t n_rows, struct seam_error *error) {
    int code = refuse_broken(parser, error);
    for (int64_t i = 0; code == SEAM_OK && i < n_rows; i++) {
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i] || offsets[i + 1] > size_bytes) {
            code = seam_fail(error, SEAM_BAD_ARGUMENT, -1, "row %lld lies outside", (long long)i);
            break;
        }
        code = append_row(parser, (struct piece){data + offsets[i], data + offsets[i + 1]}, error);
    }
    parser->broken = parser->broken || code != SEAM_OK;
    return code;
}

static int finish_columns(struct seam_text_parser *parser, struct ArrowArray *children,
                          struct ArrowArray *out, struct seam_error *error) {
    int32_t n = 0;
    for (int32_t i = 0; i < parser->n_columns; i += 1 + parser->columns[i].n_below) {
        SEAM_TRY(seam_text_column_finish(parser, &parser->columns[i], &children[n++], error));
    }
    void *buffers[1] = {NULL};
    return seam_array_build(parser->allocator, parser->rows, 0, 1, buffers, n, children, out,
                            error);
}

int seam_text_finish(struct seam_text_parser *parser, struct ArrowArray *out,
                     struct seam_error *error) {
    struct ArrowArray *children;
    int32_t n = parser->n_columns;
    SEAM_TRY(refuse_broken(parser, error));
    SEAM_TRY(seam_arrays_new(parser->allocator, n, &children, error));
    int code = seam_arrays_end(children, n, finish_columns(parser, children, out, error));
    parser->broken = code != SEAM_OK;
    parser->rows = code == SEAM_OK ? 0 : parser->rows;
    return code;
}
