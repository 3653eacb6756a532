/* Rows of random types made of random bytes: a reader may refuse them, never read beyond them,
 * never hand out an array that cannot be written, never leak. What it accepts is written in every
 * format and read back.
 *
 * Input: a byte for the format and the framing; bytes that make up the types, up to a zero count of
 * columns or the pool's end; the rest are the rows. */
#include "input.h"
#include "row_turns.h"

enum { MAX_TYPES = 64, MAX_DEPTH = 4, MAX_CHILDREN = 4 };

struct types {
    int used;
    struct seam_row_type pool[MAX_TYPES];
};

static void make_type(struct input *input, struct types *types, struct seam_row_type *type,
                      int depth) {
    static const int32_t WIDTHS[] = {1, 2, 4, 8};
    uint8_t byte = take(input);
    int32_t kind = byte % 11;
    if (kind >= SEAM_ROW_ARRAY && (depth >= MAX_DEPTH || types->used + MAX_CHILDREN > MAX_TYPES)) {
        kind = SEAM_ROW_FIXED;
    }
    *type = (struct seam_row_type){
        .kind = kind,
        .width_bytes = WIDTHS[byte / 11 % 4],
        .precision = kind == SEAM_ROW_SHORT_DECIMAL ? byte / 11 % 18 + 1 : byte / 11 % 20 + 19,
        .nullable = byte / 11 % 8 != 7,
        .name = "t"};
    if (kind >= SEAM_ROW_ARRAY) {
        type->n_children =
            kind == SEAM_ROW_STRUCT ? take(input) % MAX_CHILDREN : kind - SEAM_ROW_ARRAY + 1;
        struct seam_row_type *children = &types->pool[types->used];
        types->used += type->n_children;
        type->children = children;
        for (int32_t i = 0; i < type->n_children; i++) {
            make_type(input, types, &children[i], depth + 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {.data = data, .left = size};
    struct types types = {.used = 0};
    uint8_t mode = take(&input);
    struct seam_row_type root = {.kind = SEAM_ROW_STRUCT, .nullable = 1, .name = "row"};
    root.n_children = take(&input) % MAX_CHILDREN;
    root.children = types.pool;
    types.used = root.n_children;
    for (int32_t i = 0; i < root.n_children; i++) {
        make_type(&input, &types, &types.pool[i], 2);
    }
    /* A copy of just the size, so that the sanitizer sees one byte too many. */
    uint8_t *rows = malloc(input.left);
    if (input.left > 0) {
        memcpy(rows, input.data, input.left);
    }
    struct seam_allocator *allocator = seam_allocator_new(INT64_C(1) << 28);
    struct seam_row_frames frames = {.data = rows, .size_bytes = (int64_t)input.left};
    int64_t start = 0;
    int code = SEAM_OK;
    if (mode & 4) {
        frames.count = 1;
        frames.starts = &start;
        frames.lengths = &frames.size_bytes;
    } else {
        code = seam_row_frames_count(rows, frames.size_bytes, &frames.count, NULL);
    }
    struct ArrowArray array = {.release = NULL};
    code =
        code ? code : rows_read(mode % 4 % N_ROW_FORMATS, allocator, &root, &frames, &array, NULL);
    for (int format = 0; code == SEAM_OK && format < N_ROW_FORMATS; format++) {
        int turned = rows_turn(format, allocator, &root, &array, NULL);
        if (turned != SEAM_OK && turned != SEAM_UNSUPPORTED && turned != SEAM_NO_MEMORY) {
            abort();
        }
    }
    seam_array_release(&array);
    struct seam_memory_counters counters;
    seam_allocator_counters(allocator, &counters);
    if (counters.live_blocks != 0) {
        abort();
    }
    seam_allocator_release(allocator);
    free(rows);
    return 0;
}
