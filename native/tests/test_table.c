/* A table's chain and life cycle, and the way through the chain into Arrow arrays. */
#include "seam/table.h"

#include "seam/arrow_build.h"
#include "seam/engine.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

static const struct seam_column_type TYPES[] = {
    {.kind = SEAM_COLUMN_INT, .precision = 0, .scale = 0},
    {.kind = SEAM_COLUMN_UNKNOWN, .precision = 0, .scale = 0},
    {.kind = SEAM_COLUMN_STRING, .precision = 0, .scale = 0},
    {.kind = SEAM_COLUMN_BOOLEAN, .precision = 0, .scale = 0},
    {.kind = SEAM_COLUMN_DECIMAL64, .precision = 4, .scale = 2},
    {.kind = SEAM_COLUMN_DATE, .precision = 0, .scale = 0},
    {.kind = SEAM_COLUMN_DATETIME, .precision = 0, .scale = 0},
    {.kind = SEAM_COLUMN_TIME, .precision = 0, .scale = 0},
};
enum { COLUMNS = sizeof TYPES / sizeof TYPES[0] };

/* Rows (7, -, "ab", true, 1.23, 1970-01-02, 1970-01-01 00:00:00.000001, 1 s) and all NULL. */
static int append_rows(struct seam_table *table, struct seam_error *out) {
    int code = seam_vector_append_long(seam_table_column(table, 0), 7, out);
    code = code ? code : seam_vector_append_bytes(seam_table_column(table, 2), "ab", 2, out);
    code = code ? code : seam_vector_append_boolean(seam_table_column(table, 3), 1, out);
    code = code ? code : seam_vector_append_decimal(seam_table_column(table, 4), 123, out);
    code = code ? code : seam_vector_append_date(seam_table_column(table, 5), 1, out);
    code = code ? code : seam_vector_append_datetime(seam_table_column(table, 6), 1, out);
    code = code ? code : seam_vector_append_time(seam_table_column(table, 7), 1000, out);
    for (int i = 0; i < COLUMNS && code == SEAM_OK; i++) {
        if (TYPES[i].kind != SEAM_COLUMN_UNKNOWN) {
            code = seam_vector_append_null(seam_table_column(table, i), out);
        }
    }
    return code ? code : seam_table_set_rows(table, 2, out);
}

static void the_chain_lists_what_the_format_says(struct seam_allocator *allocator) {
    struct seam_table table;
    struct seam_chain chain;
    CHECK_OK(seam_table_init(&table, TYPES, 3, 1, allocator, &error));
    CHECK_OK(seam_vector_append_long(seam_table_column(&table, 0), 7, &error));
    CHECK_OK(seam_vector_append_bytes(seam_table_column(&table, 2), "ab", 2, &error));
    CHECK_OK(seam_table_set_rows(&table, 1, &error));
    CHECK_OK(seam_table_chain(&table, &chain, &error));
    /* rows | nulls data | 0 | nulls offsets bytes */
    CHECK(chain.n_words == 7 && chain.words[0] == 1 && chain.words[3] == 0);
    const int64_t extents[] = {0, 1, 4, 0, 1, 8, 2};
    CHECK(memcmp(chain.extents, extents, sizeof extents) == 0);
    CHECK(memcmp((const void *)(intptr_t)chain.words[6], "ab", 2) == 0);
    /* Taking the chain again describes the present, not the past. */
    CHECK_OK(seam_vector_append_null(seam_table_column(&table, 0), &error));
    CHECK(seam_table_chain(&table, &chain, &error) == SEAM_BAD_ARGUMENT);
    CHECK_OK(seam_vector_append_null(seam_table_column(&table, 2), &error));
    CHECK_OK(seam_table_set_rows(&table, 2, &error));
    CHECK_OK(seam_table_chain(&table, &chain, &error));
    CHECK(chain.words[0] == 2);
    seam_table_reset(&table);
}

static void releases_may_be_repeated(struct seam_allocator *allocator) {
    struct seam_table table;
    struct seam_chain chain;
    int64_t before = live_blocks(allocator);
    CHECK_OK(seam_table_init(&table, TYPES, COLUMNS, 8, allocator, &error));
    CHECK_OK(seam_table_chain(&table, &chain, &error));
    int64_t all = live_blocks(allocator);
    CHECK_OK(seam_table_release_column(&table, 0, &error));
    CHECK_OK(seam_table_release_column(&table, 0, &error));
    CHECK(live_blocks(allocator) == all - 2);
    CHECK(seam_table_column(&table, 0) == NULL);
    CHECK(seam_table_release_column(&table, COLUMNS, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_table_chain(&table, &chain, &error) == SEAM_BAD_ARGUMENT);
    seam_table_reset(&table);
    seam_table_reset(&table);
    CHECK(live_blocks(allocator) == before);
}

static void empty_tables_are_tables(struct seam_allocator *allocator) {
    struct seam_table table;
    struct seam_chain chain;
    CHECK_OK(seam_table_init(&table, TYPES, 0, 0, allocator, &error));
    CHECK_OK(seam_table_set_rows(&table, 5, &error));
    CHECK_OK(seam_table_chain(&table, &chain, &error));
    CHECK(chain.n_words == 1 && chain.words[0] == 5);
    seam_table_reset(&table);
    CHECK_OK(seam_table_init(&table, TYPES, COLUMNS, 0, allocator, &error));
    CHECK_OK(seam_table_chain(&table, &chain, &error));
    CHECK(chain.words[0] == 0 && chain.words[1] != 0 && chain.words[2] != 0);
    seam_table_reset(&table);
}

static void expect(struct seam_engine_slot slots[]) {
    for (int i = 0; i < COLUMNS; i++) {
        slots[i] = (struct seam_engine_slot){.kind = TYPES[i].kind,
                                             .precision = TYPES[i].precision,
                                             .scale = TYPES[i].scale,
                                             .nullable = 1,
                                             .name = "c"};
        if (TYPES[i].kind == SEAM_COLUMN_UNKNOWN) {
            slots[i].kind = SEAM_COLUMN_STRING; /* what the engine asked for; the file lacks it */
        }
    }
}

/* Table to a struct array, with every step's memory given back whatever fails. */
static int cross(struct seam_allocator *allocator, struct ArrowArray *out,
                 struct seam_error *message) {
    struct seam_table table;
    struct seam_chain chain;
    struct seam_engine_column column;
    struct seam_engine_slot slots[COLUMNS];
    expect(slots);
    seam_engine_column_init(&column, allocator);
    int code = seam_table_init(&table, TYPES, COLUMNS, 1, allocator, message);
    code = code ? code : append_rows(&table, message);
    code = code ? code : seam_table_chain(&table, &chain, message);
    code = code ? code : seam_engine_fill(&column, slots, COLUMNS, &chain, message);
    seam_table_reset(&table);
    return code ? code : seam_engine_export(&column, out, message);
}

static int cross_and_drop(struct seam_allocator *allocator, struct seam_error *message) {
    struct ArrowArray array = {.release = NULL};
    int code = cross(allocator, &array, message);
    seam_array_release(&array);
    return code;
}

static void rows_arrive_as_arrow(struct seam_allocator *allocator) {
    struct ArrowArray all;
    CHECK_OK(cross(allocator, &all, &error));
    CHECK(all.length == 2 && all.n_children == COLUMNS && all.null_count == 0);
    const void **buffers[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        const struct ArrowArray *array = all.children[i];
        int lacks = TYPES[i].kind == SEAM_COLUMN_UNKNOWN;
        CHECK(array->length == 2 && array->null_count == (lacks ? 2 : 1));
        CHECK((*(const uint8_t *)array->buffers[0] & 3) == (lacks ? 0 : 1));
        buffers[i] = array->buffers;
    }
    CHECK(((const int32_t *)buffers[0][1])[0] == 7);
    CHECK(((const int32_t *)buffers[1][1])[2] == 0);
    CHECK(((const int32_t *)buffers[2][1])[2] == 2);
    CHECK(memcmp(buffers[2][2], "ab", 2) == 0);
    CHECK((*(const uint8_t *)buffers[3][1] & 3) == 1);
    CHECK(((const int64_t *)buffers[4][1])[0] == 123);
    CHECK(((const int64_t *)buffers[4][1])[1] == 0);
    CHECK(((const int32_t *)buffers[5][1])[0] == 1);
    CHECK(((const int64_t *)buffers[6][1])[0] == 1);
    CHECK(((const int32_t *)buffers[7][1])[0] == 1000);
    seam_array_release(&all);
    seam_array_release(&all);
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    the_chain_lists_what_the_format_says(allocator);
    releases_may_be_repeated(allocator);
    empty_tables_are_tables(allocator);
    rows_arrive_as_arrow(allocator);
    check_every_allocation(cross_and_drop);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
