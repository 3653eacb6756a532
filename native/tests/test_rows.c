/* UnsafeRows and CompactRows: bytes of every type there and back, and failing allocations. */
#include "../fuzz/row_turns.h"
#include "check.h"

static struct seam_error error;

#define FLAT(of, width, digits)                                                                    \
    {.kind = (of), .width_bytes = (width), .precision = (digits), .nullable = 1, .name = #of}

static const struct seam_row_type TEXT[] = {FLAT(SEAM_ROW_STRING, 0, 0)};
static const struct seam_row_type PAIR[] = {
    {.kind = SEAM_ROW_FIXED, .width_bytes = 2, .nullable = 0, .name = "key"},
    {.kind = SEAM_ROW_ARRAY, .n_children = 1, .children = TEXT, .nullable = 1, .name = "value"}};
static const struct seam_row_type PARTS[] = {FLAT(SEAM_ROW_LONG_DECIMAL, 0, 38),
                                             FLAT(SEAM_ROW_BOOLEAN, 0, 0)};
static const struct seam_row_type COLUMNS[] = {
    FLAT(SEAM_ROW_FIXED, 1, 0),
    FLAT(SEAM_ROW_FIXED, 8, 0),
    FLAT(SEAM_ROW_BOOLEAN, 0, 0),
    FLAT(SEAM_ROW_STRING, 0, 0),
    FLAT(SEAM_ROW_VOID, 0, 0),
    FLAT(SEAM_ROW_SHORT_DECIMAL, 0, 18),
    FLAT(SEAM_ROW_BINARY, 0, 0),
    {.kind = SEAM_ROW_MAP, .n_children = 2, .children = PAIR, .nullable = 1, .name = "map"},
    {.kind = SEAM_ROW_STRUCT, .n_children = 2, .children = PARTS, .nullable = 1, .name = "struct"},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0] };
static const struct seam_row_type ROOT = {.kind = SEAM_ROW_STRUCT,
                                          .n_children = N_COLUMNS,
                                          .children = COLUMNS,
                                          .nullable = 1,
                                          .name = "row"};

static void put(uint8_t *at, uint64_t word) {
    memcpy(at, &word, sizeof word);
}

/* A row of the columns above by hand; every third is all nulls. Returns its bytes. */
static int64_t hand_row(uint8_t *row, int number) {
    enum { HEAD = 8 + 8 * N_COLUMNS };
    static const char TEXT_BYTES[] = "thirteen byte";
    memset(row, 0, 256);
    put(row, number % 3 == 2 ? (1 << N_COLUMNS) - 1 : 1 << 4);
    if (number % 3 == 2) {
        return HEAD;
    }
    put(row + 8, (uint64_t)number & 0xFF);
    put(row + 16, (uint64_t)-number);
    put(row + 24, (uint64_t)number & 1);
    put(row + 32, (uint64_t)HEAD << 32 | 13);
    put(row + 48, 999999999999999999);
    put(row + 56, (uint64_t)(HEAD + 16) << 32);
    put(row + 64, (uint64_t)(HEAD + 16) << 32 | 88);
    put(row + 72, (uint64_t)(HEAD + 104) << 32 | 40);
    memcpy(row + HEAD, TEXT_BYTES, 13);
    uint8_t *map = row + HEAD + 16; /* one key; its value an array of one text and a null */
    put(map, 24);
    put(map + 8, 1);
    put(map + 24, 7);
    put(map + 32, 1);
    put(map + 40, 0);
    put(map + 48, UINT64_C(24) << 32 | 32);
    put(map + 56, 2);
    put(map + 64, 3); /* both elements null */
    uint8_t *parts = row + HEAD + 104;
    put(parts, 2);
    put(parts + 8, UINT64_C(24) << 32 | 1);
    parts[24] = 0x80;
    return HEAD + 104 + 40;
}

enum { N_ROWS = 300 };

static int read_hand_rows(struct seam_allocator *allocator, struct ArrowArray *out,
                          struct seam_error *why) {
    static uint8_t data[N_ROWS * 256];
    static int64_t starts[N_ROWS], lengths[N_ROWS];
    int64_t at = 0;
    for (int i = 0; i < N_ROWS; i++) {
        starts[i] = at;
        lengths[i] = hand_row(data + at, i);
        at += lengths[i];
    }
    struct seam_row_frames frames = {
        .data = data, .size_bytes = at, .count = N_ROWS, .starts = starts, .lengths = lengths};
    return seam_unsafe_row_read(allocator, &ROOT, &frames, out, why);
}

static void rows_by_hand_are_read_and_turned(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct ArrowArray array;
    CHECK_OK(read_hand_rows(allocator, &array, &error));
    CHECK(array.length == N_ROWS && array.n_children == N_COLUMNS);
    CHECK(array.children[0]->null_count == N_ROWS / 3);
    CHECK(((const int64_t *)array.children[1]->buffers[1])[4] == -4);
    CHECK(((const int32_t *)array.children[3]->buffers[1])[N_ROWS] == 13 * N_ROWS * 2 / 3);
    CHECK(array.children[4]->null_count == N_ROWS);
    for (int format = 0; format < N_ROW_FORMATS; format++) {
        CHECK_OK(rows_turn(format, allocator, &ROOT, &array, &error));
    }
    seam_array_release(&array);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static int turn(struct seam_allocator *allocator, struct seam_error *why) {
    struct ArrowArray array = {.release = NULL};
    int code = read_hand_rows(allocator, &array, why);
    for (int format = 0; format < N_ROW_FORMATS && code == SEAM_OK; format++) {
        code = rows_turn(format, allocator, &ROOT, &array, why);
    }
    seam_array_release(&array);
    return code;
}

static void types_are_checked_before_they_are_used(void) {
    struct seam_row_type wrong = {.kind = SEAM_ROW_FIXED, .width_bytes = 3, .name = "w"};
    struct seam_row_type root = {.kind = SEAM_ROW_FIXED, .width_bytes = 4, .name = "r"};
    CHECK(seam_row_type_check(&root, &error) == SEAM_BAD_ARGUMENT);
    root = (struct seam_row_type){
        .kind = SEAM_ROW_STRUCT, .n_children = 1, .children = &wrong, .name = "r"};
    CHECK(seam_row_type_check(&root, &error) == SEAM_BAD_ARGUMENT);
    wrong = (struct seam_row_type){.kind = SEAM_ROW_MAP, .n_children = 1, .name = "w"};
    CHECK(seam_row_type_check(&root, &error) == SEAM_BAD_ARGUMENT);
    wrong = (struct seam_row_type){.kind = SEAM_ROW_SHORT_DECIMAL, .precision = 19, .name = "w"};
    CHECK(seam_row_type_check(&root, &error) == SEAM_BAD_ARGUMENT);
    wrong = (struct seam_row_type){.kind = 11, .name = "w"};
    CHECK(seam_row_type_check(&root, &error) == SEAM_BAD_ARGUMENT);
    struct seam_row_type deep[70];
    for (int i = 0; i < 70; i++) {
        deep[i] = (struct seam_row_type){.kind = i < 69 ? SEAM_ROW_ARRAY : SEAM_ROW_VOID,
                                         .n_children = i < 69,
                                         .children = i < 69 ? &deep[i + 1] : NULL,
                                         .name = "d"};
    }
    root.children = deep;
    CHECK(seam_row_type_check(&root, &error) == SEAM_UNSUPPORTED);
}

static void columns_that_do_not_fit_their_types_are_refused(void) {
    static const int32_t VALUES[] = {1};
    const void *buffers[] = {NULL, VALUES};
    struct ArrowArray leaf = {.length = 1, .n_buffers = 2, .buffers = buffers};
    struct ArrowArray *leaves[] = {&leaf};
    const void *none[] = {NULL};
    struct ArrowArray array = {
        .length = 1, .n_buffers = 1, .buffers = none, .n_children = 1, .children = leaves};
    struct ArrowSchema int_schema = {.format = "i", .name = "a"};
    struct ArrowSchema *schemas[] = {&int_schema};
    struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .children = schemas};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_row_input *input;
    for (int i = 0; i < N_COLUMNS; i++) {
        struct seam_row_type root = {
            .kind = SEAM_ROW_STRUCT, .n_children = 1, .children = &COLUMNS[i], .name = "r"};
        CHECK(seam_row_input_new(allocator, &root, &schema, &array, &input, &error) ==
              SEAM_BAD_ARGUMENT);
        CHECK(input == NULL);
    }
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* 16 MiB of text four hundred times over: more than a row can have, said before a byte is written.
 */
static void rows_of_two_gigabytes_are_refused(void) {
    enum { TEXT_BYTES = 1 << 24, REPEATS = 400 };
    static uint8_t text[TEXT_BYTES];
    static const int32_t OFFSETS[] = {0, TEXT_BYTES};
    static const int32_t LIST[] = {0, REPEATS};
    static int8_t indexes[REPEATS];
    const void *text_buffers[] = {NULL, OFFSETS, text};
    const void *index_buffers[] = {NULL, indexes};
    const void *list_buffers[] = {NULL, LIST};
    const void *none[] = {NULL};
    struct ArrowArray texts = {.length = 1, .n_buffers = 3, .buffers = text_buffers};
    struct ArrowArray codes = {
        .length = REPEATS, .n_buffers = 2, .buffers = index_buffers, .dictionary = &texts};
    struct ArrowArray *elements[] = {&codes};
    struct ArrowArray list = {.length = 1,
                              .n_buffers = 2,
                              .buffers = list_buffers,
                              .n_children = 1,
                              .children = elements};
    struct ArrowArray *columns[] = {&list};
    struct ArrowArray array = {
        .length = 1, .n_buffers = 1, .buffers = none, .n_children = 1, .children = columns};
    struct ArrowSchema text_schema = {.format = "u", .name = ""};
    struct ArrowSchema code_schema = {.format = "c", .name = "", .dictionary = &text_schema};
    struct ArrowSchema *code_schemas[] = {&code_schema};
    struct ArrowSchema list_schema = {
        .format = "+l", .name = "", .n_children = 1, .children = code_schemas};
    struct ArrowSchema *schemas[] = {&list_schema};
    struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .children = schemas};
    struct seam_row_type root = {
        .kind = SEAM_ROW_STRUCT, .n_children = 1, .children = &PAIR[1], .name = "r"};
    struct seam_row_choice choice = {.count = 1};
    int64_t starts[2];
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_row_input *input;
    CHECK_OK(seam_row_input_new(allocator, &root, &schema, &array, &input, &error));
    CHECK(seam_unsafe_row_layout(input, SEAM_UNSAFE_SPARK, &choice, 0, starts, &error) ==
          SEAM_TOO_LARGE);
    CHECK(seam_compact_row_layout(input, &choice, 0, starts, &error) == SEAM_TOO_LARGE);
    seam_row_input_free(input);
    seam_allocator_release(allocator);
}

int main(void) {
    rows_by_hand_are_read_and_turned();
    check_every_allocation(turn);
    types_are_checked_before_they_are_used();
    columns_that_do_not_fit_their_types_are_refused();
    rows_of_two_gigabytes_are_refused();
    return 0;
}
