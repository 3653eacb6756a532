/* Payloads of pages made of random bytes: the reader may refuse them, never read beyond them, never
 * hand out an array that breaks Arrow's rules, never take more than its limit, never leak.
 *
 * Input: a byte of flags, a byte that chooses the types of two columns, a byte of rows, then the
 * payload.
 */
#include "seam/arrow_build.h"
#include "seam/presto_page.h"

#include <stdlib.h>
#include <string.h>

#define LEAF(kind, size) {SEAM_PRESTO_##kind, size, 1, 0, "c"}
#define NEST(kind, n) {SEAM_PRESTO_##kind, 0, 0, n, "c"}

/* Schemas of one column each, to be combined. */
static const struct seam_presto_type SCHEMAS[][6] = {
    {LEAF(FIXED, 1)},
    {LEAF(FIXED, 8)},
    {LEAF(BOOLEAN, 0)},
    {LEAF(DOUBLE, 0)},
    {LEAF(TIME, 0)},
    {LEAF(SHORT_DECIMAL, 10)},
    {LEAF(LONG_DECIMAL, 30)},
    {LEAF(NANOS, 0)},
    {LEAF(BINARY, 0)},
    {LEAF(TEXT, 0)},
    {LEAF(SLICE, 17)},
    {LEAF(UNKNOWN, 0)},
    {NEST(ARRAY, 1), LEAF(TEXT, 0)},
    {NEST(MAP, 2), LEAF(FIXED, 4), LEAF(TEXT, 0)},
    {NEST(ROW, 2), LEAF(FIXED, 2), LEAF(BOOLEAN, 0)},
    {NEST(ARRAY, 1), NEST(ROW, 2), NEST(MAP, 2), LEAF(FIXED, 8), LEAF(TEXT, 0), LEAF(SLICE, 17)},
};
static const int32_t LENGTHS[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3, 6};
enum { N_SCHEMAS = sizeof LENGTHS / sizeof LENGTHS[0] };
enum { LIMIT = 1 << 20 };

static int64_t walk(const struct ArrowArray *array) {
    int64_t sum = array->length;
    if (array->length < 0 ||
        (array->null_count > 0 && array->n_buffers > 0 && array->buffers[0] == NULL)) {
        abort();
    }
    for (int64_t i = 0; array->n_buffers == 3 && i < array->length; i++) {
        const int32_t *offsets = array->buffers[1];
        if (offsets[0] != 0 || offsets[i + 1] < offsets[i]) {
            abort();
        }
        const uint8_t *bytes = array->buffers[2];
        sum += offsets[i + 1] > 0 ? bytes[offsets[i + 1] - 1] : 0;
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        sum += walk(array->children[i]);
    }
    return sum + (array->dictionary == NULL ? 0 : walk(array->dictionary));
}

static void read_payload(const struct seam_presto_program *program, const uint8_t *payload,
                         int64_t size, int64_t rows, int32_t flags) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_presto_trace trace = {.any = 0};
    struct seam_presto_read_options options = {
        .flags = flags, .depth_limit = 16, .size_limit = LIMIT};
    struct ArrowArray out;
    struct seam_error error;
    seam_buffer_init(&trace.marks, allocator);
    seam_buffer_init(&trace.sources, allocator);
    if (seam_presto_read(allocator, program, payload, size, rows, &options, &trace, &out, &error) ==
        SEAM_OK) {
        volatile int64_t sum = walk(&out);
        (void)sum;
        seam_array_release(&out);
    }
    seam_buffer_reset(&trace.marks);
    seam_buffer_reset(&trace.sources);
    struct seam_memory_counters counters;
    seam_allocator_counters(allocator, &counters);
    /* Structures around the buffers come on top of the limit. */
    if (counters.live_blocks != 0 || counters.peak_bytes > 2 * LIMIT + 64 * size) {
        abort();
    }
    seam_allocator_release(allocator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seam_presto_type types[16];
    struct seam_presto_program *program;
    int32_t n_types = 0;
    int32_t n_columns = 0;
    if (size < 3) {
        return 0;
    }
    int32_t flags = 0;
    flags |= data[0] & 1 ? SEAM_PRESTO_FLATTEN : 0;
    flags |= data[0] & 2 ? SEAM_PRESTO_NULLS_FIRST : 0;
    flags |= data[0] & 4 ? SEAM_PRESTO_ANY_BYTES : 0;
    for (int part = 0; part < 2; part++) {
        int chosen = (part == 0 ? data[1] : data[1] >> 4) % N_SCHEMAS;
        memcpy(types + n_types, SCHEMAS[chosen], (size_t)LENGTHS[chosen] * sizeof types[0]);
        n_types += LENGTHS[chosen];
        n_columns += 1;
    }
    struct seam_allocator *allocator = seam_allocator_new(0);
    if (seam_presto_program_new(allocator, types, n_types, n_columns, &program, NULL) != SEAM_OK) {
        abort();
    }
    /* A block of exactly the payload's size, so that the sanitizer sees one byte too many. */
    uint8_t *payload = malloc(size - 3);
    if (size > 3) {
        memcpy(payload, data + 3, size - 3);
    }
    read_payload(program, payload, (int64_t)size - 3, data[2], flags);
    free(payload);
    seam_presto_program_free(program);
    seam_allocator_release(allocator);
    return 0;
}
