/* The text parser: rows, fields, every kind of value, memory, damage. What values mean is held
 * against Hive's own classes in Python's tests; here are the borders. */
#include "check.h"

#include "seam/arrow_build.h"
#include "seam/text.h"

#include <stdbool.h>
#include <string.h>

static struct seam_error error;

static struct seam_text_format delimited(int32_t n_fields) {
    return (struct seam_text_format){.n_fields = n_fields,
                                     .separators = {',', ';', ':', '!'},
                                     .n_separators = 4,
                                     .escape = -1,
                                     .null_text = (const uint8_t *)"\\N",
                                     .null_text_bytes = 2};
}

/* Parses a text that is there as a whole, in a block of exactly its size. */
static int parse(struct seam_text_parser *parser, const char *text, struct seam_error *failure) {
    size_t size = strlen(text);
    uint8_t *copy = malloc(size > 0 ? size : 1);
    CHECK(copy != NULL);
    memcpy(copy, text, size);
    int64_t at = 0;
    int code = seam_text_parse(parser, copy, (int64_t)size, 1, INT64_MAX, INT64_MAX, &at, failure);
    CHECK(code != SEAM_OK || at == (int64_t)size);
    free(copy);
    return code;
}

static bool is_null_at(const struct ArrowArray *array, int64_t row) {
    const uint8_t *bits = array->buffers[0];
    return bits != NULL && !(bits[row / 8] >> (row % 8) & 1);
}

static void check_text(const struct ArrowArray *array, int64_t row, const char *expected) {
    const int32_t *offsets = array->buffers[1];
    const char *bytes = array->buffers[2];
    CHECK(!is_null_at(array, row));
    CHECK((size_t)(offsets[row + 1] - offsets[row]) == strlen(expected));
    CHECK(memcmp(bytes + offsets[row], expected, strlen(expected)) == 0);
}

/* Rows end in LF, CR LF, CR, or where the text ends; short ones have nulls, long ones a rest. */
static void test_rows(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_text_format format = delimited(2);
    struct seam_text_column columns[] = {{.kind = SEAM_TEXT_INT32, .field = 0},
                                         {.kind = SEAM_TEXT_STRING, .field = 1}};
    struct seam_text_parser *parser;
    CHECK_OK(seam_text_new(allocator, &format, columns, 2, &parser, &error));
    CHECK_OK(parse(parser, "1,a\n2,b\r\n3,c\r\n\n4\r5,\\N\r6,x,y,a long rest of it\n7,z", &error));
    CHECK(seam_text_rows(parser) == 8);
    struct ArrowArray array;
    CHECK_OK(seam_text_finish(parser, &array, &error));
    const int32_t *numbers = array.children[0]->buffers[1];
    CHECK(array.length == 8 && numbers[0] == 1 && numbers[2] == 3 && numbers[4] == 4);
    CHECK(is_null_at(array.children[0], 3) && numbers[7] == 7);
    check_text(array.children[1], 1, "b");
    CHECK(is_null_at(array.children[1], 3) && is_null_at(array.children[1], 4));
    CHECK(is_null_at(array.children[1], 5) && array.children[1]->null_count == 3);
    check_text(array.children[1], 6, "x");
    seam_array_release(&array);
    CHECK_OK(seam_text_finish(parser, &array, &error)); /* empty, and ready for more */
    CHECK(array.length == 0);
    seam_array_release(&array);
    seam_text_free(parser);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Wherever a text is cut, its stretches have each line once. */
static void test_stretches(void) {
    static const char text[] = "1\n22\r\n\r\n333\r4\n\n55";
    int64_t size = (int64_t)sizeof text - 1;
    struct seam_text_format format = delimited(1);
    for (int64_t cut = 1; cut < size; cut++) {
        struct seam_allocator *allocator = seam_allocator_new(0);
        struct seam_text_parser *parser;
        CHECK_OK(seam_text_new(allocator, &format, NULL, 0, &parser, &error));
        int64_t at = 0;
        const uint8_t *bytes = (const uint8_t *)text;
        CHECK_OK(seam_text_parse(parser, bytes, size, 1, cut, INT64_MAX, &at, &error));
        int64_t next = seam_text_line_end(bytes, size, cut, 1);
        CHECK(next == at || (next == size && at == size));
        CHECK_OK(seam_text_parse(parser, bytes, size, 1, INT64_MAX, INT64_MAX, &next, &error));
        CHECK(seam_text_rows(parser) == 7);
        seam_text_free(parser);
        CHECK(live_blocks(allocator) == 0);
        seam_allocator_release(allocator);
    }
}

/* A line without an end stays where it is, and so does a CR that an LF may follow. */
static void test_unfinished(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_text_format format = delimited(1);
    struct seam_text_parser *parser;
    CHECK_OK(seam_text_new(allocator, &format, NULL, 0, &parser, &error));
    int64_t at = 0;
    CHECK_OK(seam_text_parse(parser, (const uint8_t *)"a\nb\r", 4, 0, INT64_MAX, INT64_MAX, &at,
                             &error));
    CHECK(at == 2 && seam_text_rows(parser) == 1);
    CHECK_OK(seam_text_parse(parser, (const uint8_t *)"a\nb\r", 4, 1, INT64_MAX, 1, &at, &error));
    CHECK(at == 4 && seam_text_rows(parser) == 2);
    CHECK(seam_text_line_end((const uint8_t *)"ab", 2, 0, 0) == -1);
    CHECK(seam_text_line_end((const uint8_t *)"ab", 2, 2, 1) == -1);
    const int64_t outside[] = {0, 3};
    CHECK(seam_text_parse_rows(parser, (const uint8_t *)"ab", 2, outside, 1, &error) ==
          SEAM_BAD_ARGUMENT);
    CHECK(seam_text_parse(parser, (const uint8_t *)"ab", 2, 1, INT64_MAX, 1, &at, &error) ==
          SEAM_BAD_ARGUMENT); /* it has failed before */
    seam_text_free(parser);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Of a map's keys the first of each counts, however many there are. */
static void test_keys(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_text_format format = delimited(1);
    struct seam_text_column columns[] = {{.kind = SEAM_TEXT_MAP, .n_children = 2},
                                         {.kind = SEAM_TEXT_INT64},
                                         {.kind = SEAM_TEXT_INT32}};
    struct seam_text_parser *parser;
    CHECK_OK(seam_text_new(allocator, &format, columns, 3, &parser, &error));
    char text[8192];
    int size = 0;
    for (int i = 0; i < 400; i++) {
        size +=
            snprintf(text + size, sizeof text - (size_t)size, "%s%d:%d", i ? ";" : "", i % 100, i);
    }
    CHECK_OK(parse(parser, text, &error));
    CHECK_OK(parse(parser, "x:1;\\N:2;7;7:3", &error));
    struct ArrowArray array;
    CHECK_OK(seam_text_finish(parser, &array, &error));
    const struct ArrowArray *map = array.children[0];
    const int32_t *ends = map->buffers[1];
    CHECK(ends[1] == 100 && ends[2] == 101);
    const struct ArrowArray *entries = map->children[0];
    const int64_t *keys = entries->children[0]->buffers[1];
    const int32_t *values = entries->children[1]->buffers[1];
    for (int i = 0; i < 100; i++) {
        CHECK(keys[i] == i && values[i] == i);
    }
    CHECK(keys[100] == 7 && is_null_at(entries->children[1], 100));
    CHECK(entries->children[0]->null_count == 0);
    seam_array_release(&array);
    seam_text_free(parser);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static const struct seam_text_column ALL[] = {
    {.kind = SEAM_TEXT_BOOL, .field = 0},
    {.kind = SEAM_TEXT_INT8, .field = 1},
    {.kind = SEAM_TEXT_FLOAT, .field = 2},
    {.kind = SEAM_TEXT_DOUBLE, .field = 3},
    {.kind = SEAM_TEXT_DECIMAL, .field = 4, .precision = 38, .scale = 10},
    {.kind = SEAM_TEXT_DATE, .field = 5},
    {.kind = SEAM_TEXT_TIMESTAMP, .field = 6},
    {.kind = SEAM_TEXT_STRING, .field = 7, .precision = 3, .scale = 1},
    {.kind = SEAM_TEXT_BINARY, .field = 8},
    {.kind = SEAM_TEXT_LIST, .field = 9, .n_children = 1},
    {.kind = SEAM_TEXT_STRUCT, .n_fields = 2, .n_children = 1},
    {.kind = SEAM_TEXT_INT16, .field = 1},
    {.kind = SEAM_TEXT_MAP, .field = 10, .n_children = 2},
    {.kind = SEAM_TEXT_STRING},
    {.kind = SEAM_TEXT_DOUBLE},
};
static const char ROWS[] =
    "true,1,0.1,2.2250738585072011e-308,1.5,2020-02-30,2020-01-01 00:00:00.5,ab,YWJj,1:2;3:4,a:1\n"
    "\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N\n"
    "\n"
    "false,-129,x,0x1p3,1e99,2020-1-1, 2020-1-1 1:1:1 ,a\\,b,????,,a:1;a:2;b\\:c:3;:\n";

static int work(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_text_format format = delimited(11);
    format.escape = '\\';
    struct seam_text_parser *parser;
    struct ArrowArray array;
    int code = seam_text_new(allocator, &format, ALL, sizeof ALL / sizeof *ALL, &parser, failure);
    if (code == SEAM_OK) {
        code = parse(parser, ROWS, failure);
    }
    if (code == SEAM_OK) {
        code = seam_text_finish(parser, &array, failure);
    }
    if (code == SEAM_OK) {
        CHECK(array.length == 4 && array.n_children == 11);
        CHECK(((const uint8_t *)array.children[0]->buffers[1])[0] == 1);
        CHECK(((const int32_t *)array.children[5]->buffers[1])[0] == 18322); /* 2020-03-01 */
        check_text(array.children[7], 0, "ab ");
        check_text(array.children[7], 3, "a,b");
        check_text(array.children[8], 0, "abc");
        check_text(array.children[8], 3, "????");
        const int32_t *ends = array.children[10]->buffers[1];
        CHECK(ends[1] == 1 && ends[3] == 1 && ends[4] == 4);
        seam_array_release(&array);
    }
    seam_text_free(parser);
    return code;
}

/* CSV: what Hive's OpenCSVSerde makes of quotes and escapes. */
static void test_csv(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_text_format format = {.is_csv = 1,
                                      .n_fields = 3,
                                      .separators = ",",
                                      .n_separators = 1,
                                      .quote = '"',
                                      .escape = '\\',
                                      .null_text_bytes = -1};
    struct seam_text_column columns[] = {{.kind = SEAM_TEXT_STRING, .field = 1},
                                         {.kind = SEAM_TEXT_STRING, .field = 2}};
    struct seam_text_parser *parser;
    CHECK_OK(seam_text_new(allocator, &format, columns, 2, &parser, &error));
    CHECK_OK(parse(parser, "1,\"a,b\",c\n2,\"open\n3\n\n4,\"\",\"\"\"\"\n5,x,y,z", &error));
    struct ArrowArray array;
    CHECK_OK(seam_text_finish(parser, &array, &error));
    CHECK(array.length == 6);
    check_text(array.children[0], 0, "a,b");
    check_text(array.children[1], 0, "c");
    CHECK(is_null_at(array.children[0], 1) && is_null_at(array.children[0], 2));
    CHECK(is_null_at(array.children[1], 3));
    check_text(array.children[0], 4, "");
    check_text(array.children[1], 4, "\"");
    check_text(array.children[1], 5, "y");
    seam_array_release(&array);
    seam_text_free(parser);
    columns[0].kind = SEAM_TEXT_INT32;
    CHECK(seam_text_new(allocator, &format, columns, 2, &parser, &error) == SEAM_BAD_ARGUMENT);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Columns that make no sense are refused, and types nested deeper than separators reach. */
static void test_refusals(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_text_parser *parser;
    struct seam_text_format format = delimited(1);
    static const struct seam_text_column bad[][3] = {
        {{.kind = 15}},
        {{.kind = SEAM_TEXT_INT32, .field = 1}},
        {{.kind = SEAM_TEXT_DECIMAL, .precision = 39}},
        {{.kind = SEAM_TEXT_LIST, .n_children = 2}},
        {{.kind = SEAM_TEXT_STRUCT, .n_fields = 1, .n_children = 1},
         {.kind = SEAM_TEXT_INT32, .field = 1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(seam_text_new(allocator, &format, bad[i], i == 4 ? 2 : 1, &parser, &error) ==
              SEAM_BAD_ARGUMENT);
    }
    format.n_separators = 2;
    static const struct seam_text_column deep[] = {{.kind = SEAM_TEXT_MAP, .n_children = 2},
                                                   {.kind = SEAM_TEXT_STRING},
                                                   {.kind = SEAM_TEXT_STRING}};
    CHECK(seam_text_new(allocator, &format, deep, 3, &parser, &error) == SEAM_UNSUPPORTED);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

int main(void) {
    test_rows();
    test_stretches();
    test_unfinished();
    test_keys();
    test_csv();
    test_refusals();
    check_every_allocation(work);
    return 0;
}
