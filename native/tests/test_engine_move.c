/* Tables whose buffers become Arrow's: no copy where the layouts agree, none of them lost. */
#include "seam/arrow_build.h"
#include "seam/engine.h"

#include "check.h"
#include "nested.h"

#include <string.h>

static struct seam_error error;

#define CHILDREN(array) .n_children = sizeof(array) / sizeof((array)[0]), .children = (array)

static const struct seam_column_type ELEMENT[] = {{.kind = SEAM_COLUMN_INT, .name = "$0"}};
static const struct seam_column_type VALUE[] = {{.kind = SEAM_COLUMN_STRING, .name = "$1"}};
static const struct seam_column_type FIELDS[] = {{.kind = SEAM_COLUMN_DATE, .name = "d"},
                                                 {.kind = SEAM_COLUMN_UNKNOWN, .name = "gone"}};
static const struct seam_column_type TYPES[] = {
    {.kind = SEAM_COLUMN_LONG},
    {.kind = SEAM_COLUMN_ARRAY, CHILDREN(ELEMENT)},
    {.kind = SEAM_COLUMN_MAP, CHILDREN(VALUE)}, /* keys were not asked for */
    {.kind = SEAM_COLUMN_STRUCT, CHILDREN(FIELDS)},
    {.kind = SEAM_COLUMN_VARIANT},
    {.kind = SEAM_COLUMN_UNKNOWN}};
enum { COLUMNS = sizeof TYPES / sizeof TYPES[0] };

static const struct seam_engine_slot ELEMENT_SLOT[] = {
    {.kind = SEAM_COLUMN_INT, .nullable = 0, .name = "$0"}};
static const struct seam_engine_slot PAIR_SLOTS[] = {
    {.kind = SEAM_COLUMN_UNKNOWN, .nullable = 1, .name = "$0"},
    {.kind = SEAM_COLUMN_STRING, .nullable = 1, .name = "$1"}};
static const struct seam_engine_slot FIELD_SLOTS[] = {
    {.kind = SEAM_COLUMN_DATE, .nullable = 1, .name = "d"},
    {.kind = SEAM_COLUMN_DOUBLE, .nullable = 1, .name = "gone"}};
static const struct seam_engine_slot VARIANT_SLOTS[] = {
    {.kind = SEAM_COLUMN_BINARY, .nullable = 1, .name = "metadata"},
    {.kind = SEAM_COLUMN_BINARY, .nullable = 1, .name = "value"}};
static const struct seam_engine_slot SLOTS[COLUMNS] = {
    {.kind = SEAM_COLUMN_LONG, .nullable = 1, .name = "id"},
    {.kind = SEAM_COLUMN_ARRAY, .nullable = 1, .name = "l", CHILDREN(ELEMENT_SLOT)},
    {.kind = SEAM_COLUMN_MAP, .nullable = 1, .name = "m", CHILDREN(PAIR_SLOTS)},
    {.kind = SEAM_COLUMN_STRUCT, .nullable = 1, .name = "s", CHILDREN(FIELD_SLOTS)},
    {.kind = SEAM_COLUMN_VARIANT, .nullable = 1, .name = "v", CHILDREN(VARIANT_SLOTS)},
    {.kind = SEAM_COLUMN_STRING, .nullable = 1, .name = "u"}};

/* Rows (7, [1, 2], {?: "x"}, {1970-01-02}, ("m", "w"), -) and all NULL. */
static int append_rows(struct seam_table *table, struct seam_error *out) {
    struct seam_vector *column[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        column[i] = seam_table_column(table, i);
    }
    int code = seam_vector_append_long(column[0], 7, out);
    code = code ? code : seam_vector_append_long(seam_vector_child(column[1], 0), 1, out);
    code = code ? code : seam_vector_append_long(seam_vector_child(column[1], 0), 2, out);
    code = code ? code : append_entries(column[1], 2, out);
    code = code ? code : seam_vector_append_bytes(seam_vector_child(column[2], 0), "x", 1, out);
    code = code ? code : append_entries(column[2], 1, out);
    code = code ? code : seam_vector_append_date(seam_vector_child(column[3], 0), 1, out);
    code = code ? code : append_fields(column[3], out);
    code = code ? code : seam_vector_append_bytes(seam_vector_child(column[4], 0), "m", 1, out);
    code = code ? code : seam_vector_append_bytes(seam_vector_child(column[4], 1), "w", 1, out);
    code = code ? code : append_fields(column[4], out);
    for (int i = 0; i < COLUMNS - 1 && code == SEAM_OK; i++) {
        code = seam_vector_append_null(column[i], out);
    }
    return code ? code : seam_table_set_rows(table, 2, out);
}

static int make_table(struct seam_table *table, struct seam_allocator *allocator,
                      struct seam_error *out) {
    int code = seam_table_init(table, TYPES, COLUMNS, 1, allocator, out);
    if (code == SEAM_OK) {
        code = append_rows(table, out);
        if (code != SEAM_OK) {
            seam_table_reset(table);
        }
    }
    return code;
}

static int move_and_export(struct seam_table *table, struct seam_allocator *allocator,
                           struct ArrowArray *array, struct seam_error *out) {
    struct seam_engine_column column;
    seam_engine_column_init(&column, allocator);
    int code = seam_engine_move(&column, SLOTS, COLUMNS, table, out);
    return code ? code : seam_engine_export(&column, array, out);
}

static void buffers_that_agree_are_not_copied(struct seam_allocator *allocator) {
    struct seam_table table;
    struct seam_chain chain;
    struct ArrowArray all;
    CHECK_OK(make_table(&table, allocator, &error));
    CHECK_OK(seam_table_chain(&table, &chain, &error));
    const void *words[24];
    CHECK(chain.n_words == 1 + 2 + 4 + 5 + 4 + 7 + 1);
    for (int i = 0; i < chain.n_words; i++) {
        words[i] = (const void *)(intptr_t)chain.words[i];
    }
    CHECK_OK(move_and_export(&table, allocator, &all, &error));
    CHECK(seam_table_column(&table, 0) == NULL);
    seam_table_reset(&table);
    struct ArrowArray **columns = all.children;
    CHECK(columns[0]->buffers[1] == words[2] && *(const int64_t *)words[2] == 7);
    CHECK(columns[1]->buffers[1] == words[4] && columns[1]->children[0]->buffers[1] == words[6]);
    CHECK(columns[1]->children[0]->null_count == 0 && columns[1]->null_count == 1);
    struct ArrowArray **pair = columns[2]->children[0]->children;
    CHECK(columns[2]->buffers[1] == words[8] && pair[0]->n_buffers == 0);
    CHECK(pair[1]->buffers[1] == words[10] && pair[1]->buffers[2] == words[11]);
    CHECK(columns[3]->children[0]->buffers[1] == words[14]); /* turned where it lies */
    CHECK(*(const int32_t *)words[14] == 1 && columns[3]->children[1]->null_count == 2);
    CHECK(columns[4]->children[1]->buffers[2] == words[22] && columns[5]->null_count == 2);
    seam_array_release(&all);
    CHECK(live_blocks(allocator) == 0);
}

static void a_table_of_other_types_stays_whole(struct seam_allocator *allocator) {
    struct seam_table table;
    struct seam_engine_column column;
    seam_engine_column_init(&column, allocator);
    CHECK_OK(make_table(&table, allocator, &error));
    struct seam_engine_slot wrong[COLUMNS];
    memcpy(wrong, SLOTS, sizeof wrong);
    wrong[0].kind = SEAM_COLUMN_DOUBLE; /* as wide */
    CHECK(seam_engine_move(&column, wrong, COLUMNS, &table, &error) == SEAM_UNSUPPORTED);
    memcpy(wrong, SLOTS, sizeof wrong);
    wrong[3].n_children = 1;
    CHECK(seam_engine_move(&column, wrong, COLUMNS, &table, &error) == SEAM_UNSUPPORTED);
    struct seam_engine_slot keys[] = {PAIR_SLOTS[1], PAIR_SLOTS[0]};
    memcpy(wrong, SLOTS, sizeof wrong);
    wrong[2].children = keys; /* the table has values only */
    CHECK(seam_engine_move(&column, wrong, COLUMNS, &table, &error) == SEAM_UNSUPPORTED);
    CHECK(seam_engine_move(&column, SLOTS, 2, &table, &error) == SEAM_BAD_INPUT);
    struct ArrowArray all;
    CHECK_OK(move_and_export(&table, allocator, &all, &error));
    seam_array_release(&all);
    CHECK(seam_engine_move(&column, SLOTS, COLUMNS, &table, &error) == SEAM_BAD_ARGUMENT);
    seam_table_reset(&table);
    CHECK(live_blocks(allocator) == 0);
}

static int cross(struct seam_allocator *allocator, struct seam_error *out) {
    struct seam_table table;
    struct ArrowArray all = {.release = NULL};
    int code = make_table(&table, allocator, out);
    if (code == SEAM_OK) {
        code = move_and_export(&table, allocator, &all, out);
        seam_table_reset(&table);
        seam_array_release(&all);
    }
    return code;
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    buffers_that_agree_are_not_copied(allocator);
    a_table_of_other_types_stays_whole(allocator);
    check_every_allocation(cross);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
