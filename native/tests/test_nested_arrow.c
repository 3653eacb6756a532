/* Nested Arrow columns into vectors, under the sanitizers: buffers are exactly as long as they must
 * be, offsets and indexes may be broken, every allocation may fail. */
#include "seam/table.h"

#include "check.h"
#include "sample.h"

#include <string.h>

static struct seam_error error;

#define CHILDREN(array) .n_children = sizeof(array) / sizeof((array)[0]), .children = (array)

static const struct seam_column_type INT = {.kind = SEAM_COLUMN_INT, .name = "$0"};
static const struct seam_column_type LIST = {
    .kind = SEAM_COLUMN_ARRAY, .name = "l", .n_children = 1, .children = &INT};
static const struct seam_column_type FIELDS[] = {
    {.kind = SEAM_COLUMN_STRING, .name = "s"},
    {.kind = SEAM_COLUMN_ARRAY, .name = "l", .n_children = 1, .children = &INT}};
static const struct seam_column_type STRUCT = {.kind = SEAM_COLUMN_STRUCT, CHILDREN(FIELDS)};
static const struct seam_column_type PAIR[] = {{.kind = SEAM_COLUMN_STRING, .name = "$0"},
                                               {.kind = SEAM_COLUMN_INT, .name = "$1"}};
static const struct seam_column_type MAP = {.kind = SEAM_COLUMN_MAP, CHILDREN(PAIR)};

static int append(struct seam_vector *vector, struct sample *sample, struct seam_error *out) {
    return seam_vector_append_arrow(vector, &sample->schema, &sample->array, out);
}

static const int32_t NUMBERS[] = {1, 2, 3, 4, 5, 6};
static const uint8_t SECOND_IS_NULL[] = {0x05};

static void entries_of_null_lists_stay_behind(struct seam_allocator *allocator) {
    static const int32_t offsets[] = {1, 3, 5, 6};
    struct sample list, items;
    make(&items, "i", "item", 6, NULL, NUMBERS, NULL);
    make(&list, "+l", "", 3, SECOND_IS_NULL, offsets, NULL);
    adopt(&list, &items);
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, &LIST, 0, allocator, &error));
    CHECK_OK(append(&vector, &list, &error));
    list.array.offset = 2; /* the last row again, by itself */
    list.array.length = 1;
    CHECK_OK(append(&vector, &list, &error));
    const int32_t expected[] = {0, 2, 2, 3, 4};
    const int32_t values[] = {2, 3, 6, 6};
    CHECK(vector.rows == 4 && memcmp(vector.offsets, expected, sizeof expected) == 0);
    CHECK(memcmp(vector.nulls, "\0\1\0\0", 4) == 0);
    CHECK(memcmp(vector.children[0].data, values, sizeof values) == 0);
    seam_vector_reset(&vector);
}

static void broken_offsets_are_refused(struct seam_allocator *allocator) {
    static const int32_t broken[][3] = {{0, 3, 2}, {-1, 0, 1}, {0, 2, 7}, {0, INT32_MAX, 6}};
    static const int64_t large[][3] = {{0, 3, 2}, {INT64_MIN, 0, 1}, {0, 2, INT64_MAX}};
    struct sample list, items;
    struct seam_vector vector;
    make(&items, "i", "item", 6, NULL, NUMBERS, NULL);
    CHECK_OK(seam_vector_init(&vector, &LIST, 2, allocator, &error));
    for (size_t i = 0; i < 7; i++) {
        make(&list, i < 4 ? "+l" : "+L", "c", 2, NULL,
             i < 4 ? (const void *)broken[i] : large[i - 4], NULL);
        adopt(&list, &items);
        CHECK(append(&vector, &list, &error) == SEAM_BAD_INPUT);
        CHECK(strstr(error.message, "'c'") != NULL);
        CHECK(vector.rows == 0 && vector.children[0].rows == 0);
    }
    seam_vector_reset(&vector);
}

static void dictionaries_point_at_their_values(struct seam_allocator *allocator) {
    static const int8_t indexes[] = {1, 0, 99, 2}; /* the third is null, and means nothing */
    static const uint8_t third_is_null[] = {0x0b};
    static const int32_t offsets[] = {0, 1, 2, 4};
    struct sample keys, values;
    make(&values, "u", "", 3, SECOND_IS_NULL, offsets, "abcd");
    make(&keys, "c", "", 4, third_is_null, indexes, NULL);
    keys.schema.dictionary = &values.schema;
    keys.array.dictionary = &values.array;
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, &PAIR[0], 0, allocator, &error));
    CHECK_OK(append(&vector, &keys, &error));
    const int32_t expected[] = {0, 0, 1, 1, 3};
    CHECK(memcmp(vector.offsets, expected, sizeof expected) == 0);
    CHECK(memcmp(vector.nulls, "\1\0\1\0", 4) == 0 && memcmp(vector.bytes, "acd", 3) == 0);
    static const int8_t beyond[] = {0, 3}, below[] = {0, -1};
    const int8_t *wrong[] = {beyond, below};
    for (size_t i = 0; i < 2; i++) {
        make(&keys, "c", "", 2, NULL, wrong[i], NULL);
        keys.schema.dictionary = &values.schema;
        keys.array.dictionary = &values.array;
        CHECK(append(&vector, &keys, &error) == SEAM_BAD_INPUT && vector.rows == 4);
    }
    seam_vector_reset(&vector);
}

static void runs_are_repeated(struct seam_allocator *allocator) {
    static const int32_t ends[] = {2, 5};
    struct sample runs, places, values;
    make(&places, "i", "run_ends", 2, NULL, ends, NULL);
    make(&values, "i", "values", 2, NULL, NUMBERS, NULL);
    make(&runs, "+r", "", 3, NULL, NULL, NULL);
    runs.array.n_buffers = 0;
    runs.array.offset = 1;
    adopt(&runs, &places);
    adopt(&runs, &values);
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, &INT, 0, allocator, &error));
    CHECK_OK(append(&vector, &runs, &error));
    const int32_t expected[] = {1, 2, 2};
    CHECK(vector.rows == 3 && memcmp(vector.data, expected, sizeof expected) == 0);
    places.array.length = 0; /* rows, but no runs */
    values.array.length = 0;
    CHECK(append(&vector, &runs, &error) == SEAM_BAD_INPUT && vector.rows == 3);
    seam_vector_reset(&vector);
}

static void entries_of_maps_are_not_null(struct seam_allocator *allocator) {
    static const int32_t offsets[] = {0, 1, 2};
    struct sample map, entries, keys, values;
    make(&keys, "u", "key", 2, NULL, offsets, "ab");
    make(&values, "i", "value", 2, NULL, NUMBERS, NULL);
    make(&entries, "+s", "entries", 2, SECOND_IS_NULL, NULL, NULL);
    adopt(&entries, &keys);
    adopt(&entries, &values);
    make(&map, "+m", "", 1, NULL, offsets, NULL);
    adopt(&map, &entries);
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, &MAP, 0, allocator, &error));
    CHECK(append(&vector, &map, &error) == SEAM_BAD_INPUT && vector.rows == 0);
    static const uint8_t none_is_null[] = {0x03};
    entries.buffers[0] = none_is_null;
    CHECK_OK(append(&vector, &map, &error));
    CHECK(vector.children[1].rows == 1 && vector.children[0].bytes[0] == 'a');
    seam_vector_reset(&vector);
}

/* Structs of a string and a list, two of three rows null by a dictionary or by themselves. */
static int append_structs(struct seam_allocator *allocator, struct seam_error *out) {
    static const int32_t offsets[] = {0, 2, 4, 6};
    static const int16_t indexes[] = {2, 1, 0};
    struct sample row, text, list, items, keys;
    make(&items, "i", "item", 6, NULL, NUMBERS, NULL);
    make(&list, "+l", "l", 3, NULL, offsets, NULL);
    adopt(&list, &items);
    make(&text, "u", "s", 3, NULL, offsets, "abcdef");
    make(&row, "+s", "", 3, SECOND_IS_NULL, NULL, NULL);
    adopt(&row, &list); /* not in the order of the column's fields */
    adopt(&row, &text);
    make(&keys, "s", "", 3, NULL, indexes, NULL);
    keys.schema.dictionary = &row.schema;
    keys.array.dictionary = &row.array;
    struct seam_vector vector;
    int code = seam_vector_init(&vector, &STRUCT, 0, allocator, out);
    if (code != SEAM_OK) {
        return code;
    }
    int64_t rows = 0;
    for (int i = 0; i < 4 && code == SEAM_OK; i++) {
        code = append(&vector, i % 2 == 0 ? &row : &keys, out);
        rows += code == SEAM_OK ? 3 : 0;
        CHECK(vector.rows == rows && vector.children[0].rows == rows);
        CHECK(vector.children[1].rows == rows);
    }
    if (code == SEAM_OK) {
        CHECK(memcmp(vector.nulls, "\0\1\0\0\1\0", 6) == 0);
        CHECK(memcmp(vector.children[0].nulls, "\0\1\0\0\1\0", 6) == 0);
        CHECK(memcmp(vector.children[0].bytes, "abefefab", 8) == 0);
        CHECK(vector.children[1].offsets[3] == 4 && vector.children[1].offsets[6] == 8);
    }
    seam_vector_reset(&vector);
    return code;
}

/* A batch of which only the last column does not fit. */
static void batches_go_in_whole(struct seam_allocator *allocator) {
    static const int32_t offsets[] = {0, 1, 2};
    static const int32_t days[] = {0, INT32_MAX};
    const struct seam_column_type types[] = {
        LIST, {.kind = SEAM_COLUMN_UNKNOWN}, {.kind = SEAM_COLUMN_DATE}};
    struct sample batch, list, items, dates;
    make(&items, "i", "item", 6, NULL, NUMBERS, NULL);
    make(&list, "+l", "l", 2, NULL, offsets, NULL);
    adopt(&list, &items);
    make(&dates, "tdD", "d", 2, NULL, days, NULL);
    make(&batch, "+s", "", 2, NULL, NULL, NULL);
    adopt(&batch, &list);
    adopt(&batch, &dates);
    struct seam_table table;
    CHECK_OK(seam_table_init(&table, types, 3, 0, allocator, &error));
    CHECK(seam_table_append_arrow(&table, &batch.schema, &batch.array, &error) == SEAM_TOO_LARGE);
    CHECK(table.rows == 0 && table.columns[0].rows == 0 && table.columns[0].children[0].rows == 0);
    batch.array.length = 1;
    CHECK_OK(seam_table_append_arrow(&table, &batch.schema, &batch.array, &error));
    CHECK(table.rows == 1 && table.columns[0].rows == 1 && table.columns[2].rows == 1);
    batch.schema.n_children = batch.array.n_children = 1;
    CHECK(seam_table_append_arrow(&table, &batch.schema, &batch.array, &error) == SEAM_UNSUPPORTED);
    CHECK(seam_table_append_arrow(&table, &list.schema, &list.array, &error) == SEAM_UNSUPPORTED);
    CHECK_OK(seam_table_release_column(&table, 2, &error));
    CHECK(seam_table_append_arrow(&table, &batch.schema, &batch.array, &error) ==
          SEAM_BAD_ARGUMENT);
    seam_table_reset(&table);
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    entries_of_null_lists_stay_behind(allocator);
    broken_offsets_are_refused(allocator);
    dictionaries_point_at_their_values(allocator);
    runs_are_repeated(allocator);
    entries_of_maps_are_not_null(allocator);
    batches_go_in_whole(allocator);
    check_every_allocation(append_structs);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
