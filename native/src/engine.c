#include "seam/engine.h"

#include "seam/vector.h"

#include <string.h>

int seam_chain_reader_init(struct seam_chain_reader *reader, const struct seam_chain *chain,
                           struct seam_error *error) {
    *reader = (struct seam_chain_reader){.chain = *chain, .position = 1};
    if (chain->words == NULL || chain->n_words == 0) {
        return seam_fail(error, SEAM_BAD_INPUT, 0, "the meta chain is empty");
    }
    reader->rows = chain->words[0];
    if (reader->rows < 0 || reader->rows > SEAM_VECTOR_LIMIT) {
        return seam_fail(error, SEAM_BAD_INPUT, 0, "the meta chain states %lld rows",
                         (long long)reader->rows);
    }
    return SEAM_OK;
}

int seam_chain_reader_finish(const struct seam_chain_reader *reader, struct seam_error *error) {
    if (reader->chain.n_words >= 0 && reader->position != reader->chain.n_words) {
        return seam_fail(error, SEAM_BAD_INPUT, reader->position * 8,
                         "the meta chain has %lld words, the columns asked for take %lld",
                         (long long)reader->chain.n_words, (long long)reader->position);
    }
    return SEAM_OK;
}

void seam_engine_column_init(struct seam_engine_column *column, struct seam_allocator *allocator) {
    *column = (struct seam_engine_column){.allocator = allocator};
}

void seam_engine_column_reset(struct seam_engine_column *column) {
    seam_free(column->nulls);
    seam_free(column->data);
    seam_free(column->offsets);
    seam_free(column->bytes);
    seam_engine_column_init(column, column->allocator);
}

/* One fill. */
struct fill {
    struct seam_engine_column *column;
    const char *name;
    struct seam_chain_reader *reader;
};

static int bad_word(const struct fill *fill, const char *what, long long found,
                    struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_INPUT, (fill->reader->position - 1) * 8,
                     "column '%s' of the meta chain: %s (%lld)", fill->name, what, found);
}

/* The next word. */
static int next_word(const struct fill *fill, int64_t *out, struct seam_error *error) {
    struct seam_chain_reader *reader = fill->reader;
    reader->position += 1;
    if (reader->chain.n_words >= 0 && reader->position > reader->chain.n_words) {
        return bad_word(fill, "the chain ends before it; words", reader->chain.n_words, error);
    }
    *out = reader->chain.words[reader->position - 1];
    return SEAM_OK;
}

/* Copies the buffer of `size_bytes` bytes which the word just read points at. */
static int copy_buffer(const struct fill *fill, int64_t word, int64_t size_bytes, void **out,
                       struct seam_error *error) {
    const struct seam_chain_reader *reader = fill->reader;
    if (reader->chain.extents != NULL &&
        reader->chain.extents[reader->position - 1] != size_bytes) {
        return bad_word(fill, "the buffer is not as long as its rows need; bytes",
                        reader->chain.extents[reader->position - 1], error);
    }
    if (word == 0 && size_bytes > 0) {
        return bad_word(fill, "the address is 0, the bytes needed are", size_bytes, error);
    }
    void *block;
    int code = seam_alloc(fill->column->allocator, (size_t)size_bytes, &block, error);
    if (code == SEAM_OK && size_bytes > 0) {
        memcpy(block, (const void *)(intptr_t)word, (size_t)size_bytes);
    }
    if (code == SEAM_OK) {
        *out = block;
    }
    return code;
}

static int count_nulls(const struct fill *fill, struct seam_error *error) {
    const uint8_t *nulls = fill->column->nulls;
    int64_t count = 0;
    uint8_t all = 0;
    for (int64_t i = 0; i < fill->column->rows; i++) {
        count += nulls[i];
        all |= nulls[i];
    }
    fill->column->null_count = count;
    return all > 1 ? bad_word(fill, "a null flag is neither 0 nor 1; their bits", all, error)
                   : SEAM_OK;
}

static int check_offsets(const struct fill *fill, struct seam_error *error) {
    const int32_t *offsets = fill->column->offsets;
    int falls = 0;
    for (int64_t i = 0; i < fill->column->rows; i++) {
        falls |= offsets[i + 1] < offsets[i];
    }
    if (offsets[0] != 0) {
        return bad_word(fill, "the first offset is not 0", offsets[0], error);
    }
    return falls ? bad_word(fill, "its offsets fall; the last", offsets[fill->column->rows], error)
                 : SEAM_OK;
}

static int fill_strings(const struct fill *fill, struct seam_error *error) {
    struct seam_engine_column *column = fill->column;
    int64_t word = 0;
    void *block = NULL;
    int code = next_word(fill, &word, error);
    if (code == SEAM_OK) {
        code =
            copy_buffer(fill, word, (column->rows + 1) * (int64_t)sizeof(int32_t), &block, error);
    }
    column->offsets = block;
    if (code == SEAM_OK) {
        code = check_offsets(fill, error);
    }
    if (code == SEAM_OK) {
        code = next_word(fill, &word, error);
    }
    block = NULL;
    if (code == SEAM_OK) {
        code = copy_buffer(fill, word, column->offsets[column->rows], &block, error);
    }
    column->bytes = block;
    return code;
}

static int fill_values(const struct fill *fill, struct seam_error *error) {
    int64_t width = seam_column_width(fill->column->type.kind);
    int64_t word = 0;
    void *block = NULL;
    int code = next_word(fill, &word, error);
    if (code == SEAM_OK) {
        code = copy_buffer(fill, word, fill->column->rows * width, &block, error);
    }
    fill->column->data = block;
    return code;
}

/* A block of `size_bytes` times `byte`. */
static int filled_block(const struct fill *fill, int64_t size_bytes, int byte, void **out,
                        struct seam_error *error) {
    int code = seam_alloc(fill->column->allocator, (size_t)size_bytes, out, error);
    if (code == SEAM_OK) {
        memset(*out, byte, (size_t)size_bytes);
    }
    return code;
}

/* What a word of 0 means: NULL in every row. */
static int fill_defaults(const struct fill *fill, struct seam_error *error) {
    struct seam_engine_column *column = fill->column;
    int64_t rows = column->rows;
    void *blocks[3] = {NULL, NULL, NULL};
    int strings = seam_column_has_offsets(column->type.kind);
    int64_t width = strings ? (int64_t)sizeof(int32_t) : seam_column_width(column->type.kind);
    int code = filled_block(fill, rows, 1, &blocks[0], error);
    if (code == SEAM_OK) {
        code = filled_block(fill, (rows + strings) * width, 0, &blocks[1], error);
    }
    if (code == SEAM_OK && strings) {
        code = filled_block(fill, 0, 0, &blocks[2], error);
    }
    column->nulls = blocks[0];
    column->data = strings ? NULL : blocks[1];
    column->offsets = strings ? blocks[1] : NULL;
    column->bytes = blocks[2];
    column->null_count = rows;
    return code;
}

static int fill_column(const struct fill *fill, struct seam_error *error) {
    int64_t word = 0;
    int code = next_word(fill, &word, error);
    if (code != SEAM_OK || word == 0) {
        return code == SEAM_OK ? fill_defaults(fill, error) : code;
    }
    void *block = NULL;
    code = copy_buffer(fill, word, fill->column->rows, &block, error);
    fill->column->nulls = block;
    if (code == SEAM_OK) {
        code = count_nulls(fill, error);
    }
    if (code != SEAM_OK) {
        return code;
    }
    return seam_column_has_offsets(fill->column->type.kind) ? fill_strings(fill, error)
                                                            : fill_values(fill, error);
}

int seam_engine_fill(struct seam_engine_column *column, const struct seam_engine_slot *slot,
                     struct seam_chain_reader *reader, struct seam_error *error) {
    struct fill fill = {.column = column, .name = slot->name, .reader = reader};
    int code = seam_column_type_check(&slot->type, error);
    if (code != SEAM_OK) {
        return code;
    }
    if (seam_column_is_nested(slot->type.kind) || slot->type.kind == SEAM_COLUMN_BYTE ||
        slot->type.kind == SEAM_COLUMN_DECIMALV2) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "an engine's %s column '%s' is not supported",
                         seam_column_kind_name(slot->type.kind), slot->name);
    }
    if (slot->type.kind == SEAM_COLUMN_UNKNOWN) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "an engine's column '%s' needs a type",
                         slot->name);
    }
    if (!slot->nullable) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "NOT NULL column '%s' is not supported",
                         slot->name);
    }
    column->type = slot->type;
    column->rows = reader->rows;
    code = fill_column(&fill, error);
    if (code != SEAM_OK) {
        seam_engine_column_reset(column);
    }
    return code;
}
