/* Columns of merged rows, against base and log rows taken one by one: put together anew, in place
 * where that can be done, and from texts that a dictionary encodes.
 *
 * Input: a byte of options, one for the counts, the columns, then a byte a base row. */
#include "seam/assemble.h"
#include "seam/merge.h"

#include "columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct pool pool = {.n = 0};
    struct seam_error error;
    uint8_t options = take(&input), counts = take(&input);
    int base_rows = counts & 15, log_rows = counts >> 4;
    const char *format = FLAT[options & 15];
    struct column log = random_flat(&pool, &input, format, log_rows, options >> 4 & 1);
    struct column base = random_flat(&pool, &input, format, base_rows, options >> 5 & 1);
    if ((options & 0x40) && width_of(format) == -4) { /* numbers of words, behind an offset */
        struct column numbers = random_flat(&pool, &input, "i", base_rows, options >> 5 & 1);
        int32_t *values = (int32_t *)(uintptr_t)numbers.array->buffers[1];
        for (int64_t i = 0; i < numbers.array->offset + base_rows; i++) {
            values[i] = (int32_t)((uint32_t)values[i] % 4);
        }
        struct column words = random_flat(&pool, &input, format, 4, 0);
        numbers.schema->dictionary = words.schema;
        numbers.array->dictionary = words.array;
        base = numbers;
    }
    int32_t *sources = keep(&pool, 4 * (size_t)base_rows);
    int out_rows = 0, replaced = 0;
    int from[BATCH_ROWS];
    for (int i = 0; i < base_rows; i++) {
        uint8_t byte = take(&input);
        sources[i] = byte & 1                ? SEAM_SOURCE_BASE
                     : byte & 2 || !log_rows ? SEAM_SOURCE_NONE
                                             : (byte >> 2) % log_rows;
        from[out_rows] = i;
        out_rows += sources[i] != SEAM_SOURCE_NONE;
        replaced += sources[i] >= 0;
    }
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_plan *plan;
    struct ArrowArray out;
    expect(seam_plan_new(allocator, sources, base_rows, &plan, &error) == SEAM_OK);
    expect(seam_plan_rows(plan) == out_rows && seam_plan_replaced(plan) == replaced);
    expect(seam_plan_removed(plan) == base_rows - out_rows);
    expect(seam_assemble(plan, log.schema, base.array, log.array, allocator, &out, &error) ==
           SEAM_OK);
    expect(out.length == out_rows);
    char expected[BATCH_ROWS][64];
    int64_t nulls = 0;
    for (int i = 0; i < out_rows; i++) {
        int32_t source = sources[from[i]];
        char found[64];
        describe(source < 0 ? base.schema : log.schema, source < 0 ? base.array : log.array,
                 source < 0 ? from[i] : source, expected[i]);
        describe(log.schema, &out, i, found);
        expect(strcmp(found, expected[i]) == 0);
        nulls += !is_valid(&out, i);
    }
    expect(out.null_count < 0 || out.null_count == nulls);
    seam_array_release(&out);
    if (base.array->dictionary == NULL && strchr(format, 'b') == NULL) {
        int32_t patched;
        expect(seam_patch(plan, log.schema, base.array, log.array, &patched, &error) == SEAM_OK);
        expect(patched || width_of(format) < 0 || base.array->buffers[0] != NULL ||
               log.array->buffers[0] != NULL);
        for (int i = 0; patched && i < out_rows; i++) {
            char found[64];
            describe(base.schema, base.array, i, found);
            expect(strcmp(found, expected[i]) == 0);
        }
    }
    seam_plan_free(plan);
    seam_allocator_release(allocator);
    drop(&pool);
    return 0;
}
