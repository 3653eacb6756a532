/* Meta chains into columns whose buffers are those of the chain; copies of them. */
#include "seam/engine.h"

#include "base/offsets.h"
#include "offheap/engine_buffers.h"

#include "seam/vector.h"

#include <stdio.h>
#include <string.h>

void seam_engine_column_init(struct seam_engine_column *column, struct seam_allocator *allocator) {
    *column = (struct seam_engine_column){.allocator = allocator};
}

void seam_engine_column_reset(struct seam_engine_column *column) {
    for (int64_t i = 0; i < column->n_children; i++) {
        seam_engine_column_reset(&column->children[i]);
    }
    for (int i = 0; i < SEAM_ENGINE_BUFFERS; i++) {
        seam_engine_set_buffer(column, i, NULL);
    }
    seam_free(column->children);
    seam_engine_column_init(column, column->allocator);
}

void seam_engine_set_buffer(struct seam_engine_column *column, int index, void *block) {
    uint32_t bit = UINT32_C(1) << index;
    if ((column->owned & bit) != 0) {
        seam_free(column->buffers[index]);
    }
    column->buffers[index] = block;
    column->owned = block == NULL ? column->owned & ~bit : column->owned | bit;
}

bool seam_engine_has_buffer(int32_t kind, int index) {
    switch (index) {
    case SEAM_ENGINE_NULLS:
        return true;
    case SEAM_ENGINE_VALUES:
        return seam_column_width(kind) > 0;
    case SEAM_ENGINE_OFFSETS:
        return seam_column_has_offsets(kind) || kind == SEAM_COLUMN_ARRAY ||
               kind == SEAM_COLUMN_MAP;
    default:
        return seam_column_has_offsets(kind);
    }
}

int64_t seam_engine_last_offset(const struct seam_engine_column *column) {
    int32_t last;
    memcpy(&last, (const uint8_t *)column->buffers[SEAM_ENGINE_OFFSETS] + 4 * column->rows, 4);
    return last;
}

int64_t seam_engine_buffer_bytes(const struct seam_engine_column *column, int index) {
    switch (index) {
    case SEAM_ENGINE_NULLS:
        return column->rows;
    case SEAM_ENGINE_VALUES:
        return column->rows * seam_column_width(column->kind);
    case SEAM_ENGINE_OFFSETS:
        return (column->rows + 1) * (int64_t)sizeof(uint32_t);
    default:
        return seam_engine_last_offset(column);
    }
}

static bool is_borrowed(const struct seam_engine_column *column, int index) {
    return column->buffers[index] != NULL && (column->owned >> index & 1) == 0;
}

int seam_engine_own_buffer(struct seam_engine_column *column, int index, struct seam_error *error) {
    const void *borrowed = column->buffers[index];
    if (!is_borrowed(column, index)) {
        return SEAM_OK;
    }
    size_t size = (size_t)seam_engine_buffer_bytes(column, index);
    void *block;
    SEAM_TRY(seam_alloc(column->allocator, size, &block, error));
    memcpy(block, borrowed, size);
    seam_engine_set_buffer(column, index, block);
    return SEAM_OK;
}

/* Copies borrowed null flags behind the values or offsets, into one block: it is theirs, and as
 * long as they stay the flags do. */
static int own_with_flags(struct seam_engine_column *column, int index, struct seam_error *error) {
    size_t size = (size_t)seam_engine_buffer_bytes(column, index);
    size_t padded = (size + SEAM_ALIGNMENT - 1) / SEAM_ALIGNMENT * SEAM_ALIGNMENT;
    void *block;
    SEAM_TRY(seam_alloc(column->allocator, padded + (size_t)column->rows, &block, error));
    uint8_t *flags = (uint8_t *)block + padded;
    memcpy(block, column->buffers[index], size);
    memcpy(flags, column->buffers[SEAM_ENGINE_NULLS], (size_t)column->rows);
    seam_engine_set_buffer(column, index, block);
    column->buffers[SEAM_ENGINE_NULLS] = flags;
    return SEAM_OK;
}

int seam_engine_own(struct seam_engine_column *column, struct seam_error *error) {
    int first =
        column->buffers[SEAM_ENGINE_VALUES] == NULL ? SEAM_ENGINE_OFFSETS : SEAM_ENGINE_VALUES;
    int together = is_borrowed(column, SEAM_ENGINE_NULLS) && is_borrowed(column, first);
    SEAM_TRY(together ? own_with_flags(column, first, error)
                      : seam_engine_own_buffer(column, SEAM_ENGINE_NULLS, error));
    for (int i = SEAM_ENGINE_VALUES; i < SEAM_ENGINE_BUFFERS; i++) {
        SEAM_TRY(seam_engine_own_buffer(column, i, error));
    }
    for (int64_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(seam_engine_own(&column->children[i], error));
        seam_engine_copied(column, i);
    }
    return SEAM_OK;
}

static void release_of_table(void *table, int64_t index) {
    seam_table_release_column(table, index, NULL); /* it has the column */
}

void seam_engine_release_behind(struct seam_engine_column *column, struct seam_table *table) {
    seam_engine_release_by(column, release_of_table, table);
}

void seam_engine_release_by(struct seam_engine_column *column,
                            void (*release)(void *source, int64_t index), void *source) {
    column->release = release;
    column->source = source;
}

void seam_engine_copied(const struct seam_engine_column *column, int64_t index) {
    if (column->release != NULL) {
        column->release(column->source, index);
    }
}

/* The chain as far as it is read. */
struct walk {
    const struct seam_chain *chain;
    int64_t position; /* of the next word */
};

/* One column to be opened, and how it is called. */
struct place {
    struct walk *walk;
    const struct seam_engine_slot *slot;
    const struct place *parent; /* NULL at the top level */
    struct seam_engine_column *column;
};

enum { PATH_BYTES = 160 };

/* The column's full name, its parents' before it; cut where it is too long. */
static size_t write_path(const struct place *place, char *out) {
    size_t length = place->parent == NULL ? 0 : write_path(place->parent, out);
    int added = snprintf(out + length, PATH_BYTES - length, "%s%s", length > 0 ? "." : "",
                         place->slot->name == NULL ? "" : place->slot->name);
    length += added < 0 ? 0 : (size_t)added;
    return length < PATH_BYTES ? length : PATH_BYTES - 1;
}

static int bad_word(const struct place *place, const char *what, long long found,
                    struct seam_error *error) {
    char path[PATH_BYTES];
    write_path(place, path);
    return seam_fail(error, SEAM_BAD_INPUT, (place->walk->position - 1) * 8,
                     "column '%s' of the meta chain: %s (%lld)", path, what, found);
}

static int next_word(const struct place *place, int64_t *out, struct seam_error *error) {
    struct walk *walk = place->walk;
    walk->position += 1;
    if (walk->chain->n_words >= 0 && walk->position > walk->chain->n_words) {
        return bad_word(place, "the chain ends before it; words", walk->chain->n_words, error);
    }
    *out = walk->chain->words[walk->position - 1];
    return SEAM_OK;
}

/* Borrows the buffer that `word`, the one just read, points at. */
static int borrow(const struct place *place, int64_t word, int index, struct seam_error *error) {
    const struct walk *walk = place->walk;
    int64_t wanted = seam_engine_buffer_bytes(place->column, index);
    if (walk->chain->extents != NULL && walk->chain->extents[walk->position - 1] != wanted) {
        return bad_word(place, "the buffer is not as long as its rows need; bytes",
                        walk->chain->extents[walk->position - 1], error);
    }
    if (word == 0 && wanted > 0) {
        return bad_word(place, "the address is 0, the bytes needed are", wanted, error);
    }
    place->column->buffers[index] = (void *)(intptr_t)word;
    return SEAM_OK;
}

static int borrow_next(const struct place *place, int index, struct seam_error *error) {
    int64_t word = 0;
    SEAM_TRY(next_word(place, &word, error));
    return borrow(place, word, index, error);
}

static int open_nulls(const struct place *place, struct seam_error *error) {
    struct seam_engine_column *column = place->column;
    int64_t count = seam_flags_count(column->buffers[SEAM_ENGINE_NULLS], column->rows);
    if (count < 0) {
        return bad_word(place, "a null flag is neither 0 nor 1; rows", column->rows, error);
    }
    if (!place->slot->nullable) {
        column->buffers[SEAM_ENGINE_NULLS] = NULL;
        return count == 0 ? SEAM_OK
                          : bad_word(place, "the engine has no room for its NULLs", count, error);
    }
    column->null_count = count;
    return SEAM_OK;
}

static int open_offsets(const struct place *place, struct seam_error *error) {
    SEAM_TRY(borrow_next(place, SEAM_ENGINE_OFFSETS, error));
    const struct seam_engine_column *column = place->column;
    const uint8_t *offsets = column->buffers[SEAM_ENGINE_OFFSETS];
    int32_t first;
    memcpy(&first, offsets, sizeof first);
    if (first != 0) {
        return bad_word(place, "the first offset is not 0", first, error);
    }
    return seam_offsets_rise_32(offsets, column->rows)
               ? SEAM_OK
               : bad_word(place, "its offsets fall; the last", seam_engine_last_offset(column),
                          error);
}

static int new_children(struct seam_engine_column *column, int64_t count,
                        struct seam_error *error) {
    void *block = NULL;
    if (count > 0) {
        SEAM_TRY(seam_alloc(column->allocator, (size_t)count * sizeof(struct seam_engine_column),
                            &block, error));
    }
    column->children = block;
    column->n_children = count;
    for (int64_t i = 0; i < column->n_children; i++) {
        seam_engine_column_init(&column->children[i], column->allocator);
    }
    return SEAM_OK;
}

static void describe(struct seam_engine_column *column, const struct seam_engine_slot *slot,
                     int64_t rows) {
    column->kind = slot->kind;
    column->precision = slot->precision;
    column->scale = slot->scale;
    column->rows = rows;
}

/* A block of `size_bytes` times `byte` as buffer `index`. */
static int set_filled(struct seam_engine_column *column, int index, int byte,
                      struct seam_error *error) {
    size_t size = (size_t)seam_engine_buffer_bytes(column, index);
    void *block;
    SEAM_TRY(seam_alloc(column->allocator, size, &block, error));
    memset(block, byte, size);
    seam_engine_set_buffer(column, index, block);
    return SEAM_OK;
}

/* What a word of 0 means: the default in every row. */
static int fill_defaults(struct seam_engine_column *column, const struct seam_engine_slot *slot,
                         int64_t rows, struct seam_error *error) {
    int64_t child_rows = seam_engine_has_buffer(slot->kind, SEAM_ENGINE_OFFSETS) ? 0 : rows;
    describe(column, slot, rows);
    if (!seam_engine_held(slot->kind) && slot->kind != SEAM_COLUMN_DECIMALV2) {
        return SEAM_OK; /* nothing but rows: Arrow's type null */
    }
    if (slot->nullable) {
        column->null_count = rows;
        SEAM_TRY(set_filled(column, SEAM_ENGINE_NULLS, 1, error));
    }
    for (int i = SEAM_ENGINE_VALUES; i < SEAM_ENGINE_BUFFERS; i++) {
        if (seam_engine_has_buffer(slot->kind, i)) {
            SEAM_TRY(set_filled(column, i, 0, error));
        }
    }
    SEAM_TRY(new_children(column, slot->n_children, error));
    for (int64_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(fill_defaults(&column->children[i], &slot->children[i], child_rows, error));
    }
    return SEAM_OK;
}

static int open_column(const struct place *place, int64_t rows, struct seam_error *error);

static int open_children(const struct place *place, int64_t rows, struct seam_error *error) {
    const struct seam_engine_slot *slot = place->slot;
    SEAM_TRY(new_children(place->column, slot->n_children, error));
    for (int64_t i = 0; i < slot->n_children; i++) {
        struct place child = {.walk = place->walk,
                              .slot = &slot->children[i],
                              .parent = place,
                              .column = &place->column->children[i]};
        int asked_for = slot->kind != SEAM_COLUMN_MAP || child.slot->kind != SEAM_COLUMN_UNKNOWN;
        SEAM_TRY(asked_for ? open_column(&child, rows, error)
                           : fill_defaults(child.column, child.slot, rows, error));
    }
    return SEAM_OK;
}

static int not_held(const struct place *place, struct seam_error *error) {
    char path[PATH_BYTES];
    write_path(place, path);
    return seam_fail(error, SEAM_UNSUPPORTED, (place->walk->position - 1) * 8,
                     "column '%s' of the meta chain: type %s is not supported for off-heap columns",
                     path, seam_engine_kind_name(place->slot->kind));
}

static int bad_text(const struct place *place, int64_t row, struct seam_error *error) {
    enum { SHOWN = 40 };
    const struct seam_engine_column *column = place->column;
    char path[PATH_BYTES];
    write_path(place, path);
    int32_t at[2];
    memcpy(at, (const uint8_t *)column->buffers[SEAM_ENGINE_OFFSETS] + 4 * row, sizeof at);
    int length = at[1] - at[0];
    const char *bytes = column->buffers[SEAM_ENGINE_BYTES]; /* NULL where all texts are empty */
    return seam_fail(error, SEAM_BAD_INPUT, (place->walk->position - 1) * 8,
                     "column '%s' of the meta chain: row %lld is no %s: '%.*s'%s", path,
                     (long long)row, seam_engine_texts_form(column->kind),
                     length < SHOWN ? length : SHOWN, bytes != NULL ? bytes + at[0] : "",
                     length < SHOWN ? "" : "..");
}

/* Texts, which are the chain's, become values, which are ours. */
static int open_texts(const struct place *place, struct seam_error *error) {
    struct seam_engine_column *column = place->column;
    void *block = NULL;
    SEAM_TRY(open_offsets(place, error));
    SEAM_TRY(borrow_next(place, SEAM_ENGINE_BYTES, error));
    size_t size = (size_t)seam_engine_buffer_bytes(column, SEAM_ENGINE_VALUES);
    SEAM_TRY(seam_alloc(column->allocator, size, &block, error));
    seam_engine_set_buffer(column, SEAM_ENGINE_VALUES, block);
    const struct seam_engine_texts texts = {.kind = column->kind,
                                            .precision = column->precision,
                                            .scale = column->scale,
                                            .rows = column->rows,
                                            .nulls = column->buffers[SEAM_ENGINE_NULLS],
                                            .offsets = column->buffers[SEAM_ENGINE_OFFSETS],
                                            .bytes = column->buffers[SEAM_ENGINE_BYTES],
                                            .out = block};
    int64_t wrong = seam_engine_texts_read(&texts);
    int code = wrong < 0 ? SEAM_OK : bad_text(place, wrong, error);
    column->buffers[SEAM_ENGINE_OFFSETS] = NULL;
    column->buffers[SEAM_ENGINE_BYTES] = NULL;
    return code;
}

/* What follows the null flags. */
static int open_content(const struct place *place, struct seam_error *error) {
    if (place->walk->chain->as_text && seam_engine_has_texts(place->slot->kind)) {
        return open_texts(place, error);
    }
    switch (place->slot->kind) {
    case SEAM_COLUMN_STRING:
    case SEAM_COLUMN_BINARY:
        SEAM_TRY(open_offsets(place, error));
        return borrow_next(place, SEAM_ENGINE_BYTES, error);
    case SEAM_COLUMN_ARRAY:
    case SEAM_COLUMN_MAP:
        SEAM_TRY(open_offsets(place, error));
        return open_children(place, seam_engine_last_offset(place->column), error);
    case SEAM_COLUMN_STRUCT:
    case SEAM_COLUMN_VARIANT:
        return open_children(place, place->column->rows, error);
    default:
        return seam_engine_held(place->slot->kind) ? borrow_next(place, SEAM_ENGINE_VALUES, error)
                                                   : not_held(place, error);
    }
}

/* Array elements and map keys may be NOT NULL in the engine. */
static int must_be_nullable(const struct place *place) {
    if (place->parent == NULL) {
        return 1;
    }
    const struct seam_engine_slot *parent = place->parent->slot;
    int is_key = parent->kind == SEAM_COLUMN_MAP && place->slot == &parent->children[0];
    return parent->kind != SEAM_COLUMN_ARRAY && !is_key;
}

static int open_column(const struct place *place, int64_t rows, struct seam_error *error) {
    if (must_be_nullable(place) && !place->slot->nullable) {
        char path[PATH_BYTES];
        write_path(place, path);
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "NOT NULL column '%s' is not supported",
                         path);
    }
    int64_t word = 0;
    int code = next_word(place, &word, error);
    if (code != SEAM_OK || word == 0) {
        return code == SEAM_OK ? fill_defaults(place->column, place->slot, rows, error) : code;
    }
    if (!seam_engine_held(place->slot->kind)) {
        return not_held(place, error);
    }
    describe(place->column, place->slot, rows);
    SEAM_TRY(borrow(place, word, SEAM_ENGINE_NULLS, error));
    SEAM_TRY(open_nulls(place, error));
    return open_content(place, error);
}

static int open_chunk(struct seam_engine_column *column, const struct seam_engine_slot *slots,
                      int64_t n_slots, struct walk *walk, struct seam_error *error) {
    int64_t rows = walk->chain->words[0];
    if (rows < 0 || rows > SEAM_VECTOR_LIMIT) {
        return seam_fail(error, SEAM_BAD_INPUT, 0, "the meta chain states %lld rows",
                         (long long)rows);
    }
    column->kind = SEAM_COLUMN_STRUCT;
    column->rows = rows;
    SEAM_TRY(new_children(column, n_slots, error));
    for (int64_t i = 0; i < n_slots; i++) {
        struct place place = {.walk = walk, .slot = &slots[i], .column = &column->children[i]};
        SEAM_TRY(open_column(&place, rows, error));
    }
    if (walk->chain->n_words >= 0 && walk->position != walk->chain->n_words) {
        return seam_fail(error, SEAM_BAD_INPUT, walk->position * 8,
                         "the meta chain has %lld words, the columns asked for take %lld",
                         (long long)walk->chain->n_words, (long long)walk->position);
    }
    return SEAM_OK;
}

int seam_engine_open(struct seam_engine_column *column, const struct seam_engine_slot *slots,
                     int64_t n_slots, const struct seam_chain *chain, struct seam_error *error) {
    struct walk walk = {.chain = chain, .position = 1};
    int code = SEAM_OK;
    seam_engine_column_reset(column);
    for (int64_t i = 0; i < n_slots && code == SEAM_OK; i++) {
        code = seam_engine_slot_check(&slots[i], error);
    }
    if (code == SEAM_OK && (chain->words == NULL || chain->n_words == 0)) {
        code = seam_fail(error, SEAM_BAD_INPUT, 0, "the meta chain is empty");
    }
    if (code == SEAM_OK) {
        code = open_chunk(column, slots, n_slots, &walk, error);
    }
    if (code != SEAM_OK) {
        seam_engine_column_reset(column);
    }
    return code;
}

int seam_engine_fill(struct seam_engine_column *column, const struct seam_engine_slot *slots,
                     int64_t n_slots, const struct seam_chain *chain, struct seam_error *error) {
    SEAM_TRY(seam_engine_open(column, slots, n_slots, chain, error));
    int code = seam_engine_own(column, error);
    if (code != SEAM_OK) {
        seam_engine_column_reset(column);
    }
    return code;
}
