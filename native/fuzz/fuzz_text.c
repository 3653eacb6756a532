/* Text of random bytes under random columns: the parser may refuse columns, never read beyond the
 * text, never hand out an array that breaks Arrow's rules, never leak.
 *
 * Input: a byte of options, delimiters, a byte that says how many columns there are, the columns
 * (five bytes each), then the text. */
#include "input.h"
#include "seam/arrow_build.h"
#include "seam/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 12, MAX_FIELDS = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct seam_text_column column_of(struct input *input) {
    struct seam_text_column column = {.kind = take(input) % 15, .field = take(input) % MAX_FIELDS};
    column.precision = take(input) % 39;
    column.scale = take(input) % 39;
    column.n_children = column.kind == SEAM_TEXT_LIST  ? 1
                        : column.kind == SEAM_TEXT_MAP ? 2
                                                       : take(input) % 3;
    if (column.kind < SEAM_TEXT_LIST) {
        column.n_children = 0;
    }
    column.n_fields = column.kind == SEAM_TEXT_STRUCT ? MAX_FIELDS : 0;
    return column;
}

/* Reads every byte that an array promises, and all below it. */
static void read_array(const struct ArrowArray *array, uint64_t *sum) {
    const uint8_t *valid = array->buffers[0];
    int64_t nulls = 0;
    for (int64_t row = 0; row < array->length; row++) {
        nulls += valid != NULL && !(valid[row / 8] >> (row % 8) & 1);
    }
    if (nulls != array->null_count) {
        abort();
    }
    if (array->n_buffers == 3) {
        const int32_t *ends = array->buffers[1];
        for (int64_t row = 0; row < array->length; row++) {
            if (ends[row + 1] < ends[row]) {
                abort();
            }
            for (int32_t at = ends[row]; at < ends[row + 1]; at++) {
                *sum += ((const uint8_t *)array->buffers[2])[at];
            }
        }
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        read_array(array->children[i], sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct seam_text_column columns[MAX_COLUMNS];
    uint8_t options = take(&input);
    struct seam_text_format format = {.is_csv = options & 1,
                                      .n_fields = MAX_FIELDS,
                                      .n_separators = 8,
                                      .quote = '"',
                                      .escape = options & 2 ? '\\' : -1,
                                      .last_takes_rest = options >> 2 & 1,
                                      .null_text = (const uint8_t *)"\\N",
                                      .null_text_bytes = options & 8 ? 2 : -1};
    for (int32_t i = 0; i < format.n_separators; i++) {
        format.separators[i] = (uint8_t)(options & 16 ? ",;:!|/#%"[i] : take(&input));
    }
    int32_t n_columns = take(&input) % (MAX_COLUMNS + 1);
    for (int32_t i = 0; i < n_columns; i++) {
        columns[i] = column_of(&input);
    }
    uint8_t *text = malloc(input.left > 0 ? input.left : 1);
    struct seam_allocator *allocator = seam_allocator_new(1 << 26);
    if (text == NULL || allocator == NULL) {
        abort();
    }
    memcpy(text, input.data, input.left);
    struct seam_text_parser *parser;
    struct seam_error error;
    struct ArrowArray array;
    int64_t at = 0, n = (int64_t)input.left;
    int code = seam_text_new(allocator, &format, columns, n_columns, &parser, &error);
    if (code == SEAM_OK) {
        code = seam_text_parse(parser, text, n, 0, n / 2, INT64_MAX, &at, &error);
    }
    if (code == SEAM_OK) {
        code = seam_text_parse(parser, text, n, 1, INT64_MAX, INT64_MAX, &at, &error);
    }
    if (code == SEAM_OK && seam_text_finish(parser, &array, &error) == SEAM_OK) {
        uint64_t sum = 0;
        read_array(&array, &sum);
        if (at != n || sum == UINT64_MAX) {
            abort(); /* the sum keeps the reads */
        }
        seam_array_release(&array);
    }
    seam_text_free(parser);
    free(text);
    struct seam_memory_counters counters;
    seam_allocator_counters(allocator, &counters);
    if (counters.live_blocks != 0) {
        abort();
    }
    seam_allocator_release(allocator);
    return 0;
}
