/* Nested vectors: rows made of their children's, ways back, trees of types that cannot be. */
#include "seam/table.h"
#include "seam/vector.h"

#include "check.h"
#include "nested.h"

#include <string.h>

static struct seam_error error;

#define CHILDREN(array) .n_children = sizeof(array) / sizeof((array)[0]), .children = (array)

static const struct seam_column_type ELEMENT[] = {{.kind = SEAM_COLUMN_INT, .name = "$0"}};
static const struct seam_column_type FIELDS[] = {
    {.kind = SEAM_COLUMN_ARRAY, .name = "l", CHILDREN(ELEMENT)},
    {.kind = SEAM_COLUMN_UNKNOWN, .name = "gone"},
    {.kind = SEAM_COLUMN_STRING, .name = "t"}};
static const struct seam_column_type PAIR[] = {
    {.kind = SEAM_COLUMN_STRING, .name = "$0"},
    {.kind = SEAM_COLUMN_STRUCT, .name = "$1", CHILDREN(FIELDS)}};
static const struct seam_column_type VALUE[] = {{.kind = SEAM_COLUMN_LONG, .name = "$1"}};
static const struct seam_column_type UNKNOWN_VALUE[] = {
    {.kind = SEAM_COLUMN_STRING, .name = "$0"}, {.kind = SEAM_COLUMN_UNKNOWN, .name = "$1"}};
static const struct seam_column_type SWAPPED[] = {{.kind = SEAM_COLUMN_LONG, .name = "$1"},
                                                  {.kind = SEAM_COLUMN_STRING, .name = "$0"}};
static const struct seam_column_type ARRAY = {.kind = SEAM_COLUMN_ARRAY, CHILDREN(ELEMENT)};
static const struct seam_column_type STRUCT = {.kind = SEAM_COLUMN_STRUCT, CHILDREN(FIELDS)};
static const struct seam_column_type MAP = {.kind = SEAM_COLUMN_MAP, CHILDREN(PAIR)};
static const struct seam_column_type VALUES = {.kind = SEAM_COLUMN_MAP, CHILDREN(VALUE)};
static const struct seam_column_type COUNTS = {.kind = SEAM_COLUMN_MAP, .n_children = 0};
static const struct seam_column_type VARIANT = {.kind = SEAM_COLUMN_VARIANT, .n_children = 0};

static struct seam_vector make(struct seam_allocator *allocator,
                               const struct seam_column_type *type) {
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, type, 1, allocator, &error));
    return vector;
}

static void lists_take_what_their_child_got(struct seam_allocator *allocator) {
    struct seam_vector list = make(allocator, &ARRAY);
    struct seam_vector *element = seam_vector_child(&list, 0);
    CHECK(seam_vector_child(&list, 1) == NULL && seam_vector_child(&list, -1) == NULL);
    CHECK_OK(seam_vector_append_long(element, 1, &error));
    CHECK_OK(seam_vector_append_null(element, &error));
    CHECK(append_entries(&list, 1, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_vector_append_null(&list, &error) == SEAM_BAD_ARGUMENT); /* half a row is there */
    CHECK_OK(append_entries(&list, 2, &error));
    CHECK_OK(seam_vector_append_null(&list, &error));
    CHECK_OK(append_entries(&list, 0, &error));
    const int32_t offsets[] = {0, 2, 2, 2};
    CHECK(list.rows == 3 && memcmp(list.offsets, offsets, sizeof offsets) == 0);
    CHECK(memcmp(list.nulls, "\0\1\0", 3) == 0 && memcmp(element->nulls, "\0\1", 2) == 0);
    CHECK(append_entries(&list, INT64_MAX, &error) == SEAM_BAD_ARGUMENT);
    CHECK(append_entries(&list, -1, &error) == SEAM_BAD_ARGUMENT);
    seam_vector_reset(&list);
    seam_vector_reset(&list);
}

static void null_structs_are_null_in_each_field(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, &STRUCT);
    CHECK(append_fields(&vector, &error) == SEAM_BAD_ARGUMENT);
    for (int i = 0; i < 40; i++) { /* far beyond the room there was: null flags grow too */
        CHECK_OK(seam_vector_append_null(&vector, &error));
        CHECK_OK(append_entries(seam_vector_child(&vector, 0), 0, &error));
        CHECK(seam_vector_append_null(&vector, &error) == SEAM_BAD_ARGUMENT);
        CHECK_OK(seam_vector_append_bytes(seam_vector_child(&vector, 2), "ab", 2, &error));
        CHECK_OK(append_fields(&vector, &error));
    }
    CHECK(vector.rows == 80);
    for (int i = 0; i < 80; i++) {
        int null = i % 2 == 0;
        CHECK(vector.nulls[i] == null);
        CHECK(seam_vector_child(&vector, 0)->nulls[i] == null);
        CHECK(seam_vector_child(&vector, 2)->nulls[i] == null);
        CHECK(seam_vector_child(&vector, 2)->offsets[i + 1] == (i + 1) / 2 * 2);
    }
    CHECK(seam_vector_child(&vector, 1)->nulls == NULL);
    seam_vector_reset(&vector);
}

static void maps_hold_what_was_asked_for(struct seam_allocator *allocator) {
    struct seam_vector map = make(allocator, &VALUES);
    CHECK_OK(seam_vector_append_long(seam_vector_child(&map, 0), 7, &error));
    CHECK_OK(append_entries(&map, 1, &error));
    CHECK(map.offsets[1] == 1 && map.n_children == 1);
    seam_vector_reset(&map);
    map = make(allocator, &COUNTS); /* neither keys nor values: lengths are all there is */
    CHECK_OK(append_entries(&map, 2, &error));
    CHECK_OK(seam_vector_append_null(&map, &error));
    CHECK_OK(append_entries(&map, 1, &error));
    const int32_t offsets[] = {0, 2, 2, 3};
    CHECK(memcmp(map.offsets, offsets, sizeof offsets) == 0);
    CHECK(append_entries(&map, SEAM_VECTOR_LIMIT, &error) == SEAM_TOO_LARGE);
    seam_vector_reset(&map);
    map = make(allocator, &MAP);
    CHECK_OK(seam_vector_append_bytes(seam_vector_child(&map, 0), "k", 1, &error));
    CHECK(append_entries(&map, 1, &error) == SEAM_BAD_ARGUMENT); /* the value lacks */
    seam_vector_reset(&map);
}

/* One whole row, then parts of another, which are taken back. */
static void half_rows_roll_back(struct seam_allocator *allocator) {
    struct seam_vector map = make(allocator, &MAP);
    struct seam_vector *values = seam_vector_child(&map, 1);
    struct seam_vector *lists = seam_vector_child(values, 0);
    for (int64_t row = 0; row < 2; row++) {
        CHECK_OK(seam_vector_append_bytes(seam_vector_child(&map, 0), "key", 3, &error));
        CHECK_OK(seam_vector_append_long(seam_vector_child(lists, 0), row, &error));
        CHECK_OK(append_entries(lists, 1, &error));
        CHECK_OK(seam_vector_append_null(seam_vector_child(values, 2), &error));
        CHECK_OK(append_fields(values, &error));
        if (row == 0) {
            CHECK_OK(append_entries(&map, 1, &error));
        }
    }
    CHECK_OK(seam_vector_append_long(seam_vector_child(lists, 0), 9, &error));
    CHECK_OK(seam_vector_truncate(&map, 1, &error));
    CHECK(map.rows == 1 && values->rows == 1 && lists->rows == 1);
    CHECK(seam_vector_child(lists, 0)->rows == 1 && seam_vector_child(&map, 0)->rows == 1);
    CHECK(seam_vector_child(values, 2)->nulls[1] == 0); /* flags behind the end are clean again */
    CHECK(seam_vector_truncate(&map, 2, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_vector_truncate(&map, -1, &error) == SEAM_BAD_ARGUMENT);
    CHECK_OK(seam_vector_append_null(&map, &error));
    seam_vector_reset(&map);
}

/* nulls | metadata: nulls offsets bytes | value: nulls offsets bytes; the children are implied. */
static void variants_are_two_binaries(struct seam_allocator *allocator) {
    struct seam_table table;
    struct seam_chain chain;
    CHECK_OK(seam_table_init(&table, &VARIANT, 1, 1, allocator, &error));
    struct seam_vector *variant = seam_table_column(&table, 0);
    CHECK_OK(seam_vector_append_bytes(seam_vector_child(variant, 0), "\1\0\0", 3, &error));
    CHECK_OK(seam_vector_append_bytes(seam_vector_child(variant, 1), "\0", 1, &error));
    CHECK_OK(seam_table_set_rows(&table, 0, &error));
    CHECK(seam_table_chain(&table, &chain, &error) == SEAM_BAD_ARGUMENT); /* half a row */
    CHECK_OK(append_fields(variant, &error));
    CHECK_OK(seam_vector_append_null(variant, &error));
    CHECK_OK(seam_table_set_rows(&table, 2, &error));
    CHECK_OK(seam_table_chain(&table, &chain, &error));
    const int64_t extents[] = {0, 2, 2, 12, 3, 2, 12, 1};
    CHECK(chain.n_words == 8 && memcmp(chain.extents, extents, sizeof extents) == 0);
    seam_table_reset(&table);
}

static void trees_that_cannot_be_are_refused(void) {
    const struct seam_column_type deep = {.kind = SEAM_COLUMN_ARRAY, CHILDREN(UNKNOWN_VALUE)};
    const struct seam_column_type wrong[] = {
        {.kind = SEAM_COLUMN_ARRAY},
        deep,
        {.kind = SEAM_COLUMN_STRUCT},
        {.kind = SEAM_COLUMN_INT, CHILDREN(ELEMENT)},
        {.kind = SEAM_COLUMN_MAP, CHILDREN(SWAPPED)},
        {.kind = SEAM_COLUMN_MAP, CHILDREN(FIELDS)},
        {.kind = SEAM_COLUMN_MAP, CHILDREN(UNKNOWN_VALUE)},
        {.kind = SEAM_COLUMN_VARIANT, CHILDREN(ELEMENT)},
        {.kind = SEAM_COLUMN_STRUCT, .n_children = -1},
        {.kind = SEAM_COLUMN_STRUCT, .n_children = 2},
        {.kind = SEAM_COLUMN_DECIMALV2, .precision = 28, .scale = 9},
        {.kind = SEAM_COLUMN_DECIMAL32, .precision = 9, .scale = 10}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(seam_column_type_check(&wrong[i], &error) == SEAM_UNSUPPORTED);
        CHECK(strstr(error.message, seam_column_kind_name(wrong[i].kind)) != NULL);
    }
    struct seam_column_type levels[SEAM_COLUMN_DEPTH + 1];
    for (int i = 0; i < SEAM_COLUMN_DEPTH; i++) {
        levels[i] = (struct seam_column_type){
            .kind = SEAM_COLUMN_ARRAY, .n_children = 1, .children = &levels[i + 1]};
    }
    levels[SEAM_COLUMN_DEPTH] = ELEMENT[0];
    CHECK(seam_column_type_check(&levels[0], &error) == SEAM_UNSUPPORTED);
    CHECK_OK(seam_column_type_check(&levels[1], &error));
}

static int fill_maps(struct seam_allocator *allocator, struct seam_error *out) {
    struct seam_vector map;
    int code = seam_vector_init(&map, &MAP, 0, allocator, out);
    for (int i = 0; i < 20 && code == SEAM_OK; i++) {
        int64_t rows = map.rows;
        struct seam_vector *values = seam_vector_child(&map, 1);
        code = seam_vector_append_bytes(seam_vector_child(&map, 0), "key", 3, out);
        code = code ? code : seam_vector_append_null(values, out);
        code = code ? code : append_entries(&map, 1, out);
        code = code ? code : seam_vector_append_null(&map, out);
        if (code != SEAM_OK) {
            CHECK(seam_vector_truncate(&map, rows, out) == SEAM_OK);
            CHECK(map.rows == rows && values->rows == map.offsets[rows]);
        }
    }
    seam_vector_reset(&map);
    return code;
}

static int fill_structs(struct seam_allocator *allocator, struct seam_error *out) {
    struct seam_vector vector;
    int code = seam_vector_init(&vector, &STRUCT, 0, allocator, out);
    for (int i = 0; i < 40 && code == SEAM_OK; i++) {
        code = seam_vector_append_null(&vector, out);
        for (int32_t k = 0; k < vector.n_children; k++) { /* all of them or none */
            CHECK(k == 1 || vector.children[k].rows == vector.rows);
        }
    }
    seam_vector_reset(&vector);
    return code;
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    lists_take_what_their_child_got(allocator);
    null_structs_are_null_in_each_field(allocator);
    maps_hold_what_was_asked_for(allocator);
    half_rows_roll_back(allocator);
    variants_are_two_binaries(allocator);
    trees_that_cannot_be_are_refused();
    check_every_allocation(fill_maps);
    check_every_allocation(fill_structs);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
