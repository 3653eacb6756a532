/* Meta chains made of random bytes, with true sizes, read into random trees of columns: the
 * engine's side may refuse them, never read beyond a buffer, never hand out an array that breaks
 * Arrow's rules, never leak. Both ways to Arrow must agree.
 *
 * Input: the tree, a few bytes a column; how many words and rows there are; then per word a size
 * byte and that many bytes of content; a size byte of 255 makes a word of 0. Random addresses are
 * left out: no reader could tell them from memory. Memory is limited: columns that the file lacks
 * may have as many rows as an offset says, and nothing behind them. */
#include "input.h"
#include "seam/arrow_build.h"
#include "seam/engine.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORY_LIMIT = 1 << 24, MAX_SLOTS = 12, MAX_WORDS = 1 + 3 * MAX_SLOTS, MAX_DEPTH = 5 };

/* A block of exactly `size` bytes, so that the sanitizer sees one byte too many. */
static void *take_block(struct input *input, size_t size) {
    uint8_t *block = malloc(size);
    for (size_t i = 0; i < size && block != NULL; i++) {
        block[i] = take(input);
    }
    return block;
}

/* Slots not yet used. */
struct pool {
    struct seam_engine_slot slots[MAX_SLOTS];
    int used;
};

static struct seam_engine_slot *take_slots(struct pool *pool, int count) {
    struct seam_engine_slot *taken = &pool->slots[pool->used];
    pool->used += count;
    return taken;
}

static int children_of(int32_t kind, struct input *input) {
    switch (kind) {
    case SEAM_COLUMN_ARRAY:
        return 1;
    case SEAM_COLUMN_MAP:
    case SEAM_COLUMN_VARIANT:
        return 2;
    case SEAM_COLUMN_STRUCT:
        return take(input) % 4;
    default:
        return 0;
    }
}

/* A tree that is a type, nearly always. */
static void make_slot(struct pool *pool, struct seam_engine_slot *slot, struct input *input,
                      int depth) {
    uint8_t first = take(input);
    int32_t kind = first % 26;
    kind = kind > SEAM_COLUMN_VARIANT ? SEAM_ENGINE_LARGEINT + kind - SEAM_COLUMN_VARIANT : kind;
    int count = children_of(kind, input);
    if (depth >= MAX_DEPTH || pool->used + count > MAX_SLOTS) {
        kind = SEAM_COLUMN_INT;
        count = 0;
    }
    *slot = (struct seam_engine_slot){
        .kind = kind, .nullable = first % 5 != 0, .n_children = count, .name = "c"};
    if (seam_column_is_decimal(kind)) {
        slot->precision = take(input) % 40;
        slot->scale = slot->precision / 2;
    }
    struct seam_engine_slot *children = take_slots(pool, count);
    slot->children = children;
    for (int i = 0; i < count; i++) {
        make_slot(pool, &children[i], input, depth + 1);
        children[i].kind = kind == SEAM_COLUMN_VARIANT ? SEAM_COLUMN_BINARY : children[i].kind;
        children[i].n_children = kind == SEAM_COLUMN_VARIANT ? 0 : children[i].n_children;
    }
}

static void require(int rule) {
    if (!rule) {
        abort();
    }
}

/* The sum of a buffer's bytes, so that the sanitizer sees each of them read. */
static uint64_t sum_of(const void *buffer, int64_t size_bytes) {
    const uint8_t *bytes = buffer;
    uint64_t sum = (uint64_t)size_bytes;
    for (int64_t i = 0; i < size_bytes; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

static int64_t value_bytes(const struct seam_engine_slot *slot, int64_t rows) {
    switch (slot->kind) {
    case SEAM_COLUMN_BOOLEAN:
        return (rows + 7) / 8;
    case SEAM_COLUMN_TIME:
        return 4 * rows;
    default:
        return rows * (seam_column_is_decimal(slot->kind) ? 16 : seam_column_width(slot->kind));
    }
}

static uint64_t check_array(const struct seam_engine_slot *slot, const struct ArrowArray *array);

static uint64_t check_offsets(const struct seam_engine_slot *slot, const struct ArrowArray *array) {
    const int32_t *offsets = array->buffers[1];
    require(offsets[0] == 0);
    for (int64_t i = 0; i < array->length; i++) {
        require(offsets[i + 1] >= offsets[i]);
    }
    int32_t last = offsets[array->length];
    uint64_t sum = sum_of(offsets, 4 * (array->length + 1));
    if (seam_column_has_offsets(slot->kind)) {
        require(array->n_buffers == 3 && array->n_children == 0);
        return sum + sum_of(array->buffers[2], last);
    }
    require(array->n_buffers == 2 && array->n_children == 1 && array->children[0]->length == last);
    if (slot->kind == SEAM_COLUMN_ARRAY) {
        return sum + check_array(slot->children, array->children[0]);
    }
    const struct ArrowArray *entries = array->children[0];
    require(entries->n_children == 2 && entries->null_count == 0);
    return sum + check_array(&slot->children[0], entries->children[0]) +
           check_array(&slot->children[1], entries->children[1]);
}

static uint64_t check_array(const struct seam_engine_slot *slot, const struct ArrowArray *array) {
    if (array->n_buffers == 0) { /* type null */
        require(array->null_count == array->length);
        return (uint64_t)array->length;
    }
    require((array->null_count > 0) == (array->buffers[0] != NULL));
    uint64_t sum = array->null_count > 0 ? sum_of(array->buffers[0], (array->length + 7) / 8) : 0;
    if (seam_column_has_offsets(slot->kind) || slot->kind == SEAM_COLUMN_ARRAY ||
        slot->kind == SEAM_COLUMN_MAP) {
        return sum + check_offsets(slot, array);
    }
    require(array->n_children == slot->n_children);
    for (int64_t i = 0; i < array->n_children; i++) {
        require(array->children[i]->length == array->length);
        sum += check_array(&slot->children[i], array->children[i]);
    }
    return array->n_buffers < 2 ? sum
                                : sum + sum_of(array->buffers[1], value_bytes(slot, array->length));
}

/* Reads the chain by `open`, and sums up what comes out. */
static int read_all(int (*open)(struct seam_engine_column *, const struct seam_engine_slot *,
                                int64_t, const struct seam_chain *, struct seam_error *),
                    const struct seam_engine_slot *root, const struct seam_chain *chain,
                    uint64_t *sum) {
    struct seam_error error;
    struct seam_engine_column column;
    struct ArrowArray array;
    struct seam_memory_counters counters;
    struct seam_allocator *allocator = seam_allocator_new(MEMORY_LIMIT);
    seam_engine_column_init(&column, allocator);
    int code = open(&column, root->children, root->n_children, chain, &error);
    code = code ? code : seam_engine_export(&column, &array, &error);
    *sum = 0;
    if (code == SEAM_OK) {
        *sum = check_array(root, &array);
        seam_array_release(&array);
    }
    seam_allocator_counters(allocator, &counters);
    require(counters.live_blocks == 0);
    seam_allocator_release(allocator);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {.data = data, .left = size};
    int64_t words[MAX_WORDS] = {0};
    int64_t extents[MAX_WORDS] = {0};
    void *blocks[MAX_WORDS] = {NULL};
    struct pool pool = {.used = 0};
    uint8_t first = take(&input);
    struct seam_engine_slot root = {.kind = SEAM_COLUMN_STRUCT, .n_children = first % 5};
    struct seam_engine_slot *children = take_slots(&pool, root.n_children);
    root.children = children;
    for (int i = 0; i < root.n_children; i++) {
        make_slot(&pool, &children[i], &input, 0);
    }
    words[0] = (int8_t)take(&input);
    int64_t n_words = take(&input) % (MAX_WORDS + 1);
    for (int i = 1; i < MAX_WORDS; i++) {
        uint8_t length = take(&input);
        if (length != 255) {
            blocks[i] = take_block(&input, length);
            words[i] = (int64_t)(intptr_t)blocks[i];
            extents[i] = length;
        }
    }
    struct seam_chain chain = {
        .words = words, .n_words = n_words, .extents = extents, .as_text = first >> 7};
    uint64_t by_columns, in_one_pass;
    int code = read_all(seam_engine_fill, &root, &chain, &by_columns);
    int other = read_all(seam_engine_open, &root, &chain, &in_one_pass);
    require(code == SEAM_NO_MEMORY || (code == other && by_columns == in_one_pass));
    for (int i = 0; i < MAX_WORDS; i++) {
        free(blocks[i]);
    }
    return 0;
}
