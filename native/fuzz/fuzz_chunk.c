/* Chunks made of random bytes, read into random columns: the reader may refuse them, never read
 * beyond them, never make a chain that the engine's side reads beyond, never leak.
 *
 * Input: the tree, two bytes a column; the number of rows; the rest is the chunk. Text that waits
 * to be decompressed gets as many letters. */
#include "input.h"
#include "seam/arrow_build.h"
#include "seam/chunk.h"
#include "seam/engine.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORY_LIMIT = 1 << 24, MAX_COLUMNS = 12, MAX_DEPTH = 4, MAX_TOP = 4 };

/* Columns not yet used, and what the engine takes them for. */
struct pool {
    struct seam_chunk_column columns[MAX_COLUMNS];
    struct seam_engine_slot slots[MAX_COLUMNS];
    int used;
};

static const int32_t KINDS[] = {
    SEAM_COLUMN_BOOLEAN,    SEAM_COLUMN_TINYINT,  SEAM_COLUMN_SHORT,     SEAM_COLUMN_INT,
    SEAM_COLUMN_LONG,       SEAM_COLUMN_DOUBLE,   SEAM_COLUMN_STRING,    SEAM_COLUMN_BINARY,
    SEAM_COLUMN_DATE,       SEAM_COLUMN_DATETIME, SEAM_COLUMN_DECIMAL32, SEAM_COLUMN_DECIMAL64,
    SEAM_COLUMN_DECIMAL128, SEAM_COLUMN_ARRAY,    SEAM_COLUMN_MAP,       SEAM_COLUMN_STRUCT,
};

static int children_of(int32_t kind, uint8_t byte) {
    switch (kind) {
    case SEAM_COLUMN_ARRAY:
        return 1;
    case SEAM_COLUMN_MAP:
        return 2;
    case SEAM_COLUMN_STRUCT:
        return 1 + byte % 3;
    default:
        return 0;
    }
}

static void make_column(struct pool *pool, int index, struct input *input, int depth) {
    int32_t kind = KINDS[take(input) % (sizeof KINDS / sizeof KINDS[0])];
    uint8_t more = take(input);
    int count = children_of(kind, more);
    if (depth >= MAX_DEPTH || pool->used + count > MAX_COLUMNS) {
        kind = SEAM_COLUMN_INT;
        count = 0;
    }
    int first = pool->used;
    pool->used += count;
    pool->columns[index] =
        (struct seam_chunk_column){.kind = kind,
                                   .large = seam_column_has_offsets(kind) && more >> 7,
                                   .required = depth == 0 && (more >> 6 & 1),
                                   .n_children = count,
                                   .children = &pool->columns[first],
                                   .path = "c"};
    pool->slots[index] = (struct seam_engine_slot){.kind = kind,
                                                   .precision = 9,
                                                   .nullable = 1,
                                                   .n_children = count,
                                                   .children = &pool->slots[first],
                                                   .name = "c"};
    for (int i = 0; i < count; i++) {
        make_column(pool, first + i, input, depth + 1);
    }
}

/* What came, by way of the engine. */
static void use(struct seam_chunk_reader *reader, const struct seam_engine_slot *slots,
                int64_t n_slots) {
    void *texts[MAX_COLUMNS] = {NULL};
    for (int64_t i = 0; i < reader->n_texts; i++) {
        texts[i] = malloc((size_t)reader->texts[i].size_bytes);
        memset(texts[i], 'a', (size_t)reader->texts[i].size_bytes);
        reader->words[reader->texts[i].word] = (int64_t)(intptr_t)texts[i];
    }
    struct seam_chain chain = {
        .words = reader->words, .n_words = reader->n_words, .extents = reader->extents};
    struct seam_engine_column column;
    struct ArrowArray array;
    seam_engine_column_init(&column, reader->allocator);
    int code = seam_engine_open(&column, slots, n_slots, &chain, NULL);
    if (code == SEAM_BAD_INPUT || code == SEAM_BAD_ARGUMENT) {
        abort(); /* sizes, flags and offsets were checked */
    }
    if (code == SEAM_OK && seam_engine_export(&column, &array, NULL) == SEAM_OK) {
        seam_array_release(&array);
    }
    for (int64_t i = 0; i < reader->n_texts; i++) {
        free(texts[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {.data = data, .left = size};
    struct pool pool = {.used = 0};
    struct seam_chunk_place places[MAX_TOP] = {{0}};
    int count = 1 + take(&input) % MAX_TOP;
    pool.used = count;
    for (int i = 0; i < count; i++) {
        uint8_t byte = take(&input);
        places[i] = (struct seam_chunk_place){.level = byte & 7, .nullable = byte >> 3 & 1};
        make_column(&pool, i, &input, 0);
    }
    int64_t rows = take(&input) | (take(&input) & 1) << 8;
    /* A copy of just the size, so that the sanitizer sees one byte too many. */
    uint8_t *chunk = malloc(input.left + 1);
    memcpy(chunk + 1, input.data, input.left);
    struct seam_allocator *allocator = seam_allocator_new(MEMORY_LIMIT);
    struct seam_chunk_reader reader = {.data = chunk + 1,
                                       .size_bytes = (int64_t)input.left,
                                       .limit_bytes = 1 << 20,
                                       .allocator = allocator};
    if (seam_chunk_read(&reader, pool.columns, places, count, rows, NULL) == SEAM_OK) {
        use(&reader, pool.slots, count);
    }
    seam_chunk_reader_reset(&reader);
    struct seam_memory_counters counters;
    seam_allocator_counters(allocator, &counters);
    if (counters.live_blocks != 0) {
        abort();
    }
    seam_allocator_release(allocator);
    free(chunk);
    return 0;
}
