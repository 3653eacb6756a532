#include "seam/chunk.h"

#include "base/offsets.h"
#include "offheap/engine_buffers.h"

#include "seam/streamvbyte.h"
#include "seam/vector.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ENCODED_FROM_BYTES = 256,
    ROWS_PER_BYTE = 4, /* the narrowest row is a byte, of which Stream VByte makes 5 / 16 */
};

static const uint8_t NOTHING[1];

void seam_chunk_reader_reset(struct seam_chunk_reader *reader) {
    for (int64_t i = 0; i < reader->n_blocks; i++) {
        seam_free(reader->blocks[i]);
    }
    seam_free(reader->words); /* and what lies behind them */
    reader->words = reader->extents = NULL;
    reader->texts = NULL;
    reader->blocks = NULL;
    reader->n_words = reader->n_texts = reader->n_blocks = 0;
}

/* The column that is read. */
struct cursor {
    struct seam_chunk_reader *reader;
    const struct seam_chunk_column *column;
    int32_t level;
    struct seam_error *error;
};

__attribute__((format(printf, 4, 5))) static int fail(const struct cursor *cursor, int code,
                                                      int64_t at, const char *format, ...) {
    char what[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return seam_fail(cursor->error, code, at, "column '%.150s': %s", cursor->column->path, what);
}

/* The next `size_bytes` bytes. */
static int take(const struct cursor *cursor, uint64_t size_bytes, const char *prefix,
                const char *what, const uint8_t **out) {
    struct seam_chunk_reader *reader = cursor->reader;
    int64_t left = reader->size_bytes - reader->at;
    if (size_bytes > (uint64_t)left) {
        return fail(cursor, SEAM_BAD_INPUT, reader->at, "%s%s takes %llu bytes where %lld are left",
                    prefix, what, (unsigned long long)size_bytes, (long long)left);
    }
    *out = reader->data + reader->at;
    reader->at += (int64_t)size_bytes;
    return SEAM_OK;
}

/* A number without a sign, of 4 or 8 bytes. */
static int take_number(const struct cursor *cursor, int width, const char *prefix, const char *what,
                       uint64_t *out) {
    const uint8_t *bytes = NULL;
    int code = take(cursor, (uint64_t)width, prefix, what, &bytes);
    *out = 0;
    if (code == SEAM_OK) {
        memcpy(out, bytes, (size_t)width); /* little-endian: what is missing is high */
    }
    return code;
}

static int spend(const struct cursor *cursor, int64_t size_bytes, int64_t at) {
    struct seam_chunk_reader *reader = cursor->reader;
    if (size_bytes > reader->limit_bytes - reader->decoded_bytes) {
        return fail(cursor, SEAM_UNSUPPORTED, at,
                    "its chunk holds more than size_limit, %lld bytes",
                    (long long)reader->limit_bytes);
    }
    reader->decoded_bytes += size_bytes;
    return SEAM_OK;
}

/* A block that goes with the chain. */
static int new_block(const struct cursor *cursor, int64_t size_bytes, uint8_t **out) {
    struct seam_chunk_reader *reader = cursor->reader;
    void *block = NULL;
    SEAM_TRY(seam_alloc(reader->allocator, (size_t)size_bytes, &block, cursor->error));
    reader->blocks[reader->n_blocks++] = block;
    *out = block;
    return SEAM_OK;
}

static int64_t next_word(const struct cursor *cursor) {
    return cursor->reader->n_words++;
}

/* An address of 0 would say that the column is missing. */
static void set_word(const struct cursor *cursor, int64_t word, const uint8_t *buffer,
                     int64_t size_bytes) {
    cursor->reader->words[word] = (int64_t)(intptr_t)(size_bytes > 0 ? buffer : NOTHING);
    cursor->reader->extents[word] = size_bytes;
}

static int decode_integers(const struct cursor *cursor, int64_t size_bytes, const char *what,
                           int rising, int64_t start, const uint8_t **out) {
    const uint8_t *stream = NULL;
    uint64_t encoded = 0;
    uint8_t *block = NULL;
    SEAM_TRY(take_number(cursor, 8, "encoded size of ", what, &encoded));
    int64_t stream_at = cursor->reader->at;
    SEAM_TRY(take(cursor, encoded, "", what, &stream));
    if ((int64_t)encoded < seam_streamvbyte_least(size_bytes)) {
        return fail(cursor, SEAM_BAD_INPUT, stream_at, "%s: %llu bytes cannot hold %lld", what,
                    (unsigned long long)encoded, (long long)size_bytes);
    }
    SEAM_TRY(spend(cursor, size_bytes, start));
    SEAM_TRY(new_block(cursor, size_bytes, &block));
    struct seam_error inner;
    *out = block;
    int code = seam_streamvbyte_decode(stream, (int64_t)encoded, stream_at, rising, block,
                                       size_bytes, &inner);
    return code ? fail(cursor, code, inner.offset, "%s: %s", what, inner.message) : SEAM_OK;
}

/* Values of fixed width, flags or offsets: as many bytes as the rows need. */
static int take_integers(const struct cursor *cursor, int64_t wanted, const char *what, int rising,
                         int width, const uint8_t **out) {
    int64_t start = cursor->reader->at;
    uint64_t size = 0;
    SEAM_TRY(take_number(cursor, width, "size of ", what, &size));
    if (size != (uint64_t)wanted) {
        return fail(cursor, SEAM_BAD_INPUT, start, "%s: %llu bytes where the rows need %lld", what,
                    (unsigned long long)size, (long long)wanted);
    }
    return (cursor->level & SEAM_CHUNK_INTEGERS) != 0 && size >= ENCODED_FROM_BYTES
               ? decode_integers(cursor, wanted, what, rising, start, out)
               : take(cursor, size, "", what, out);
}

static int read_flags(const struct cursor *cursor, int64_t rows) {
    int64_t start = cursor->reader->at;
    const uint8_t *flags = NULL;
    int64_t word = next_word(cursor);
    int code = take_integers(cursor, rows, "null flags", 0, 4, &flags);
    int64_t count = code == SEAM_OK ? seam_flags_count(flags, rows) : 0;
    if (count < 0) {
        return fail(cursor, SEAM_BAD_INPUT, start, "a null flag is neither 0 nor 1");
    }
    if (count > 0 && cursor->column->required) {
        return fail(cursor, SEAM_BAD_INPUT, start, "NULL where its field has none");
    }
    set_word(cursor, word, flags, rows);
    return code;
}

static uint64_t offset_at(const uint8_t *offsets, int64_t i, int width) {
    uint64_t offset = 0;
    memcpy(&offset, offsets + i * width, (size_t)width);
    return offset;
}

/* Why offsets cannot be, or SEAM_OK. */
static int check_offsets(const struct cursor *cursor, const uint8_t *offsets, int64_t rows,
                         int width, int64_t start) {
    uint64_t before = offset_at(offsets, 0, width);
    if (before != 0) {
        return fail(cursor, SEAM_BAD_INPUT, start, "the first offset is %llu, not 0",
                    (unsigned long long)before);
    }
    for (int64_t i = 1; i <= rows; i++) {
        uint64_t offset = offset_at(offsets, i, width);
        if (offset < before) {
            return fail(cursor, SEAM_BAD_INPUT, start, "offset %lld is less than that before",
                        (long long)i);
        }
        before = offset;
    }
    return before <= SEAM_VECTOR_LIMIT ? SEAM_OK
                                       : fail(cursor, SEAM_BAD_INPUT, start,
                                              "the last offset is %llu, the most are 2^31 - 16",
                                              (unsigned long long)before);
}

/* Offsets of 32 bits in a block: those of 64 that were checked. */
static int narrow(const struct cursor *cursor, const uint8_t *offsets, int64_t rows,
                  const uint8_t **out) {
    uint8_t *block;
    SEAM_TRY(new_block(cursor, 4 * (rows + 1), &block));
    for (int64_t i = 0; i <= rows; i++) {
        memcpy(block + 4 * i, offsets + 8 * i, 4);
    }
    *out = block;
    return SEAM_OK;
}

/* Offsets, which become the word `word`, and the last of them. */
static int read_offsets(const struct cursor *cursor, int64_t rows, int64_t word, int64_t *last) {
    int large = cursor->column->large;
    int width = large ? 8 : 4;
    int64_t start = cursor->reader->at;
    const uint8_t *offsets = NULL;
    SEAM_TRY(take_integers(cursor, (rows + 1) * width, "offsets", !large, width, &offsets));
    int good = !large && offset_at(offsets, 0, 4) == 0 && seam_offsets_rise_32(offsets, rows) &&
               offset_at(offsets, rows, 4) <= SEAM_VECTOR_LIMIT;
    SEAM_TRY(good ? SEAM_OK : check_offsets(cursor, offsets, rows, width, start));
    if (large) {
        SEAM_TRY(narrow(cursor, offsets, rows, &offsets));
    }
    *last = (int64_t)offset_at(offsets, rows, 4);
    set_word(cursor, word, offsets, 4 * (rows + 1));
    return SEAM_OK;
}

/* The bytes of text, which become the word `word`, now or when they are decompressed. */
static int read_bytes(const struct cursor *cursor, int64_t word, uint64_t *size) {
    struct seam_chunk_reader *reader = cursor->reader;
    int64_t start = reader->at;
    const uint8_t *bytes = NULL;
    int code = take_number(cursor, cursor->column->large ? 8 : 4, "size of ", "the bytes", size);
    if (code != SEAM_OK || (cursor->level & SEAM_CHUNK_TEXT) == 0 || *size < ENCODED_FROM_BYTES ||
        *size > SEAM_CHUNK_LZ4_BYTES) {
        code = code ? code : take(cursor, *size, "", "bytes", &bytes);
        if (code == SEAM_OK) {
            set_word(cursor, word, bytes, (int64_t)*size);
        }
        return code;
    }
    uint64_t encoded = 0;
    code = take_number(cursor, 8, "encoded size of ", "the bytes", &encoded);
    int64_t block_at = reader->at;
    code = code ? code : take(cursor, encoded, "", "bytes", &bytes);
    if (code == SEAM_OK && *size > SEAM_CHUNK_LZ4_RATIO * encoded) {
        return fail(cursor, SEAM_BAD_INPUT, block_at, "an LZ4 block of %llu bytes cannot hold %llu",
                    (unsigned long long)encoded, (unsigned long long)*size);
    }
    code = code ? code : spend(cursor, (int64_t)*size, start);
    if (code == SEAM_OK) {
        reader->texts[reader->n_texts++] =
            (struct seam_chunk_text){.word = word,
                                     .at = block_at,
                                     .encoded_bytes = (int64_t)encoded,
                                     .size_bytes = (int64_t)*size,
                                     .path = cursor->column->path};
        reader->words[word] = 0;
        reader->extents[word] = (int64_t)*size;
    }
    return code;
}

static int read_text(const struct cursor *cursor, int64_t rows) {
    int64_t start = cursor->reader->at;
    int64_t offsets = next_word(cursor), bytes = next_word(cursor);
    uint64_t size = 0;
    int64_t last = 0;
    SEAM_TRY(read_bytes(cursor, bytes, &size));
    SEAM_TRY(read_offsets(cursor, rows, offsets, &last));
    if ((uint64_t)last != size) {
        return fail(cursor, SEAM_BAD_INPUT, start, "%llu bytes where the last offset is %lld",
                    (unsigned long long)size, (long long)last);
    }
    return SEAM_OK;
}

static int read_content(const struct cursor *cursor, int64_t rows);

static int read_children(const struct cursor *cursor, int64_t rows) {
    for (int32_t i = 0; i < cursor->column->n_children; i++) {
        struct cursor child = *cursor;
        child.column = &cursor->column->children[i];
        SEAM_TRY(read_flags(&child, rows));
        SEAM_TRY(read_content(&child, rows));
    }
    return SEAM_OK;
}

/* What follows the null flags. */
static int read_content(const struct cursor *cursor, int64_t rows) {
    int32_t kind = cursor->column->kind;
    if (seam_column_has_offsets(kind)) {
        return read_text(cursor, rows);
    }
    if (kind == SEAM_COLUMN_STRUCT) {
        return read_children(cursor, rows);
    }
    int64_t word = next_word(cursor);
    if (kind == SEAM_COLUMN_ARRAY || kind == SEAM_COLUMN_MAP) {
        int64_t last = 0;
        int code = read_offsets(cursor, rows, word, &last);
        return code ? code : read_children(cursor, last);
    }
    const uint8_t *values = NULL;
    int64_t size_bytes = rows * seam_column_width(kind);
    SEAM_TRY(take_integers(cursor, size_bytes, "values", 0, 4, &values));
    set_word(cursor, word, values, size_bytes);
    return SEAM_OK;
}

/* Words of a column: its null flags, and what its kind has. */
static int64_t words_of(const struct seam_chunk_column *column) {
    int64_t count = column->kind == SEAM_COLUMN_STRUCT      ? 1
                    : seam_column_has_offsets(column->kind) ? 3
                                                            : 2;
    for (int32_t i = 0; i < column->n_children; i++) {
        count += words_of(&column->children[i]);
    }
    return count;
}

/* Room for the chain of `n_words` words, in one block. A word has two blocks at most: offsets of 64
 * bits are decoded, then made narrow. One more is for the flags of columns without any. */
static int make_room(struct seam_chunk_reader *reader, int64_t n_words, struct seam_error *error) {
    size_t words = (size_t)n_words;
    size_t size = words * (2 * sizeof(int64_t) + sizeof(struct seam_chunk_text)) +
                  (2 * words + 1) * sizeof(void *);
    void *block;
    seam_chunk_reader_reset(reader);
    SEAM_TRY(seam_alloc(reader->allocator, size, &block, error));
    reader->words = block;
    reader->extents = reader->words + n_words;
    reader->texts = (struct seam_chunk_text *)(reader->extents + n_words);
    reader->blocks = (void **)(reader->texts + n_words);
    return SEAM_OK;
}

static int read_top(const struct cursor *cursor, const struct seam_chunk_place *place, int64_t rows,
                    uint8_t **no_nulls) {
    int code = SEAM_OK;
    if (rows > ROWS_PER_BYTE * cursor->reader->size_bytes) {
        return fail(cursor, SEAM_BAD_INPUT, cursor->reader->at, "%lld bytes cannot hold %lld rows",
                    (long long)cursor->reader->size_bytes, (long long)rows);
    }
    if (place->nullable) {
        code = read_flags(cursor, rows);
    } else {
        if (*no_nulls == NULL) {
            SEAM_TRY(new_block(cursor, rows, no_nulls));
            memset(*no_nulls, 0, (size_t)rows);
        }
        set_word(cursor, next_word(cursor), *no_nulls, rows);
    }
    return code ? code : read_content(cursor, rows);
}

int seam_chunk_read(struct seam_chunk_reader *reader, const struct seam_chunk_column *columns,
                    struct seam_chunk_place *places, int64_t n_columns, int64_t rows,
                    struct seam_error *error) {
    if (rows < 0 || rows > SEAM_VECTOR_LIMIT) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "no chunk has %lld rows", (long long)rows);
    }
    int64_t n_words = 1;
    for (int64_t i = 0; i < n_columns; i++) {
        n_words += words_of(&columns[i]);
    }
    SEAM_TRY(make_room(reader, n_words, error));
    uint8_t *no_nulls = NULL;
    reader->words[0] = rows;
    reader->extents[0] = 0;
    reader->n_words = 1;
    for (int64_t i = 0; i < n_columns; i++) {
        struct cursor cursor = {
            .reader = reader, .column = &columns[i], .level = places[i].level, .error = error};
        places[i].at = reader->at;
        places[i].word = reader->n_words;
        SEAM_TRY(read_top(&cursor, &places[i], rows, &no_nulls));
    }
    return SEAM_OK;
}
