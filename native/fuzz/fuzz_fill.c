/* Meta chains made of random bytes, with true sizes: the engine's side may refuse them, never read
 * beyond a buffer, never hand out an array that breaks Arrow's rules, never leak.
 *
 * Input: per column a kind byte, then per word a size byte and that many bytes of content; a size
 * byte of 255 makes a word of 0. The first bytes say how many columns, rows and words there are.
 * Random addresses are left out: no reader could tell them from memory. */
#include "seam/arrow_build.h"
#include "seam/engine.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 4, MAX_WORDS = 1 + 3 * MAX_COLUMNS };

struct input {
    const uint8_t *data;
    size_t left;
};

static uint8_t take(struct input *input) {
    if (input->left == 0) {
        return 0;
    }
    input->left -= 1;
    return *input->data++;
}

/* A block of exactly `size` bytes, so that the sanitizer sees one byte too many. */
static void *take_block(struct input *input, size_t size) {
    uint8_t *block = malloc(size);
    for (size_t i = 0; i < size && block != NULL; i++) {
        block[i] = take(input);
    }
    return block;
}

static void check_array(const struct ArrowArray *array, int strings) {
    int64_t sum = 0;
    for (int64_t i = 0; strings && i < array->length; i++) {
        const int32_t *offsets = array->buffers[1];
        if (offsets[0] != 0 || offsets[i + 1] < offsets[i]) {
            abort();
        }
    }
    const uint8_t *bytes = strings ? array->buffers[2] : array->buffers[1];
    int64_t size =
        strings ? ((const int32_t *)array->buffers[1])[array->length] : array->length / 8;
    for (int64_t i = 0; i < size; i++) {
        sum += bytes[i];
    }
    if (sum < 0 || (array->null_count > 0) != (array->buffers[0] != NULL)) {
        abort();
    }
}

static int read_column(struct seam_chain_reader *reader, struct input *kinds,
                       struct seam_allocator *allocator) {
    struct seam_error error;
    struct seam_engine_column column;
    struct ArrowArray array;
    struct seam_engine_slot slot = {
        .type = {.kind = take(kinds) % 24, .precision = take(kinds) % 40, .scale = 0},
        .nullable = 1,
        .name = "c"};
    seam_engine_column_init(&column, allocator);
    int code = seam_engine_fill(&column, &slot, reader, &error);
    code = code ? code : seam_engine_export(&column, &array, &error);
    if (code == SEAM_OK) {
        check_array(&array, seam_column_has_offsets(slot.type.kind));
        seam_array_release(&array);
    }
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {.data = data, .left = size};
    int64_t words[MAX_WORDS] = {0};
    int64_t extents[MAX_WORDS] = {0};
    void *blocks[MAX_WORDS] = {NULL};
    struct input kinds = {.data = data, .left = size < 2 * MAX_COLUMNS ? size : 2 * MAX_COLUMNS};
    input.data += kinds.left;
    input.left -= kinds.left;
    uint8_t columns = take(&input) % (MAX_COLUMNS + 1);
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
    struct seam_chain chain = {.words = words, .n_words = n_words, .extents = extents};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_chain_reader reader;
    int code = seam_chain_reader_init(&reader, &chain, NULL);
    for (int i = 0; i < columns && code == SEAM_OK; i++) {
        code = read_column(&reader, &kinds, allocator);
    }
    code = code ? code : seam_chain_reader_finish(&reader, NULL);
    struct seam_memory_counters counters;
    seam_allocator_counters(allocator, &counters);
    if (counters.live_blocks != 0) {
        abort();
    }
    seam_allocator_release(allocator);
    for (int i = 0; i < MAX_WORDS; i++) {
        free(blocks[i]);
    }
    return 0;
}
