/* Payloads into columns: what every column begins with, and encodings around others. */
#include "presto/presto_read.h"

#include "seam/arrow_build.h"

/* `size` more bytes, or a refusal that says what they were to be. */
int presto_need(struct presto_reader *reader, const struct presto_type *type, int64_t size,
                const char *what, const uint8_t **out) {
    if (size > presto_remaining(reader)) {
        return PRESTO_FAIL(reader, reader->position,
                           "column '%s': %s take %lld bytes, %lld are left of the page", type->name,
                           what, (long long)size, (long long)presto_remaining(reader));
    }
    *out = reader->payload + reader->position;
    reader->position += size;
    return SEAM_OK;
}

int presto_read_i32(struct presto_reader *reader, const struct presto_type *type, const char *what,
                    int32_t *out) {
    const uint8_t *at;
    int code = presto_need(reader, type, 4, what, &at);
    *out = code == SEAM_OK ? (int32_t)seam_load32(at) : 0;
    return code;
}

/* A number of rows, fields or bytes. Rows are held to the size limit even where they take no bytes:
 * a run of 2^31 rows is 30 bytes long. */
int presto_read_count(struct presto_reader *reader, const struct presto_type *type,
                      const char *what, int64_t *out) {
    int32_t count;
    int code = presto_read_i32(reader, type, what, &count);
    if (code == SEAM_OK && count < 0) {
        code = PRESTO_FAIL(reader, reader->position - 4, "column '%s': %s is %d", type->name, what,
                           count);
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

static int read_encoding(struct presto_reader *reader, const struct presto_type *type,
                         enum presto_encoding *out) {
    int32_t size;
    const uint8_t *name;
    const int64_t at = reader->position;
    SEAM_TRY(presto_read_i32(reader, type, "the length of the encoding's name", &size));
    if (size <= 0 || size > presto_remaining(reader)) {
        return PRESTO_FAIL(reader, at,
                           "column '%s': the encoding's name is %d bytes long, %lld are left",
                           type->name, size, (long long)presto_remaining(reader));
    }
    SEAM_TRY(presto_need(reader, type, size, "the encoding's name", &name));
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
    return PRESTO_FAIL(reader, at + 4, "column '%s': there is no encoding '%s'", type->name, shown);
}

/* A place for the marks of the column that begins here. */
int presto_open_mark(struct presto_reader *reader, int64_t *mark) {
    struct seam_buffer *marks = &reader->trace->marks;
    SEAM_TRY(seam_buffer_reserve(marks, 1, reader->error));
    *mark = marks->size_bytes++;
    marks->data[*mark] = 0;
    return SEAM_OK;
}

void presto_set_mark(struct presto_reader *reader, int64_t mark, int32_t bits) {
    reader->trace->marks.data[mark] |= (uint8_t)bits;
    reader->trace->any |= bits;
}

static bool is_element(const struct presto_type *type, enum presto_encoding encoding) {
    return (encoding == PRESTO_MAP_ELEMENT && type->encoding == PRESTO_MAP) ||
           (encoding == PRESTO_ROW_ELEMENT && type->encoding == PRESTO_ROW);
}

/* --- encodings around others --- */

/* Writes out what a dictionary or run stands for, in its place. */
static int flatten(struct presto_reader *reader, struct presto_column *out) {
    struct presto_column flat;
    SEAM_TRY(presto_gather(&reader->budget, &out->children[0], out->offsets, out->length, &flat,
                           reader->error));
    presto_column_reset(out);
    *out = flat;
    return SEAM_OK;
}

static int read_ids(struct presto_reader *reader, struct presto_column *out) {
    const uint8_t *wire;
    void *block;
    const int64_t at = reader->position;
    const int64_t entries = out->children[0].length;
    SEAM_TRY(presto_need(reader, out->type, out->length * 4, "ids", &wire));
    SEAM_TRY(presto_take(&reader->budget, out->length * 4, &block, reader->error));
    out->offsets = memcpy(block, wire, (size_t)out->length * 4);
    uint32_t highest = 0;
    for (int64_t i = 0; i < out->length; i++) {
        uint32_t id = (uint32_t)out->offsets[i];
        highest = id > highest ? id : highest;
    }
    for (int64_t i = 0; highest >= entries && i < out->length; i++) {
        if ((uint32_t)out->offsets[i] >= entries) {
            return PRESTO_FAIL(reader, at + i * 4, "column '%s': id %d of row %lld in %lld entries",
                               out->type->name, out->offsets[i], (long long)i, (long long)entries);
        }
    }
    return SEAM_OK;
}

static int read_dictionary(struct presto_reader *reader, int64_t mark, int depth,
                           struct presto_column *out) {
    const uint8_t *source;
    struct seam_buffer *sources = &reader->trace->sources;
    const int64_t place = sources->size_bytes; /* before those of dictionaries inside */
    SEAM_TRY(seam_buffer_reserve(sources, SEAM_PRESTO_SOURCE_BYTES, reader->error));
    sources->size_bytes += SEAM_PRESTO_SOURCE_BYTES;
    presto_set_mark(reader, mark, SEAM_PRESTO_MARK_DICTIONARY);
    out->form = PRESTO_IN_DICTIONARY;
    SEAM_TRY(presto_read_count(reader, out->type, "the number of rows", &out->length));
    SEAM_TRY(presto_make_children(&reader->budget, out, 1, reader->error));
    SEAM_TRY(presto_read_column(reader, out->type, depth + 1, out->children));
    SEAM_TRY(read_ids(reader, out));
    SEAM_TRY(presto_need(reader, out->type, SEAM_PRESTO_SOURCE_BYTES,
                         "the source of the dictionary", &source));
    memcpy(sources->data + place, source, SEAM_PRESTO_SOURCE_BYTES);
    return presto_reads(reader, SEAM_PRESTO_FLATTEN) ? flatten(reader, out) : SEAM_OK;
}

static int read_run(struct presto_reader *reader, int64_t mark, int depth,
                    struct presto_column *out) {
    presto_set_mark(reader, mark, SEAM_PRESTO_MARK_RUN);
    out->form = PRESTO_IN_RUN;
    int code = presto_read_count(reader, out->type, "the number of rows", &out->length);
    code = code == SEAM_OK ? presto_make_children(&reader->budget, out, 1, reader->error) : code;
    const int64_t at = reader->position;
    code = code == SEAM_OK ? presto_read_column(reader, out->type, depth + 1, out->children) : code;
    if (code == SEAM_OK && out->children[0].length != 1) {
        code = PRESTO_FAIL(reader, at, "column '%s': a run of %lld rows, not of one",
                           out->type->name, (long long)out->children[0].length);
    }
    return code == SEAM_OK && presto_reads(reader, SEAM_PRESTO_FLATTEN) ? flatten(reader, out)
                                                                        : code;
}

static int read_flat(struct presto_reader *reader, enum presto_encoding encoding, int64_t mark,
                     int depth, int64_t at, struct presto_column *out) {
    if (encoding != out->type->encoding) {
        if (encoding == PRESTO_BYTE_ARRAY) {
            return presto_read_bare_nulls(reader, mark, out);
        }
        if (reader->alone && depth == 1 && is_element(out->type, encoding)) {
            return presto_read_element(reader, mark, depth, out);
        }
        return PRESTO_FAIL(reader, at, "column '%s' needs %s, this is %s", out->type->name,
                           PRESTO_NAMES[out->type->encoding].text, PRESTO_NAMES[encoding].text);
    }
    switch (encoding) {
    case PRESTO_VARIABLE_WIDTH:
        return presto_read_variable(reader, mark, out);
    case PRESTO_ARRAY:
        return presto_read_array(reader, mark, depth, out);
    case PRESTO_MAP:
        return presto_read_map(reader, mark, depth, out);
    case PRESTO_ROW:
        return presto_read_row(reader, mark, depth, out);
    default:
        return presto_read_fixed(reader, mark, out);
    }
}

int presto_read_column(struct presto_reader *reader, const struct presto_type *type, int depth,
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
    code = code == SEAM_OK ? presto_open_mark(reader, &mark) : code;
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

static int read_columns(struct presto_reader *reader, const struct seam_presto_program *program,
                        int64_t rows, struct presto_column *page) {
    int32_t columns;
    *page = (struct presto_column){.type = &WHOLE, .length = rows};
    int code = presto_read_i32(reader, &WHOLE, "the number of columns", &columns);
    if (code == SEAM_OK && columns != program->n_columns) {
        code = PRESTO_FAIL(reader, 0, "the page has %d columns, the schema %d", columns,
                           program->n_columns);
    }
    code = code == SEAM_OK
               ? presto_make_children(&reader->budget, page, program->n_columns, reader->error)
               : code;
    const struct presto_type *type = program->types;
    for (int32_t i = 0; i < page->n_children && code == SEAM_OK; i++, type = presto_next(type)) {
        const int64_t at = reader->position;
        code = presto_read_column(reader, type, 1, &page->children[i]);
        if (code == SEAM_OK && page->children[i].length != rows) {
            code = PRESTO_FAIL(reader, at, "column '%s' has %lld rows, the page %lld", type->name,
                               (long long)page->children[i].length, (long long)rows);
        }
    }
    if (code == SEAM_OK && presto_remaining(reader) > 0) {
        code = PRESTO_FAIL(reader, reader->position, "%lld bytes are left behind the last column",
                           (long long)presto_remaining(reader));
    }
    return code;
}

int seam_presto_read(struct seam_allocator *allocator, const struct seam_presto_program *program,
                     const uint8_t *payload, int64_t size_bytes, int64_t rows,
                     const struct seam_presto_read_options *options,
                     struct seam_presto_trace *trace, struct ArrowArray *out,
                     struct seam_error *error) {
    struct presto_reader reader = {
        .payload = payload,
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
    struct presto_reader reader = {
        .payload = bytes,
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
        code = presto_read_column(&reader, program->types, 1, &page.children[0]);
    }
    if (code != SEAM_OK) {
        presto_column_reset(&page);
        return code;
    }
    page.length = page.children[0].length;
    *used_bytes = reader.position;
    return presto_export(&reader.budget, &page, out, error);
}
