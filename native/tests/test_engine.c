/* What the engine's side refuses: chains whose words, sizes or values mean nothing. */
#include "seam/engine.h"

#include "seam/arrow_build.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

/* A chain of one column over three buffers that the test lays out itself. */
struct sample {
    int32_t kind;
    int64_t rows;
    const void *buffers[3];
    int64_t extents[3];
    int64_t n_words; /* of the column */
};

static int read_sample(const struct sample *sample, int sizes, struct seam_allocator *allocator) {
    int64_t words[4] = {sample->rows, 0, 0, 0};
    int64_t extents[4] = {0, 0, 0, 0};
    for (int i = 0; i < 3; i++) {
        words[i + 1] = (int64_t)(intptr_t)sample->buffers[i];
        extents[i + 1] = sample->extents[i];
    }
    struct seam_chain chain = {.words = words,
                               .n_words = sizes ? sample->n_words + 1 : -1,
                               .extents = sizes ? extents : NULL};
    struct seam_engine_slot slot = {
        .type = {.kind = sample->kind, .precision = 4, .scale = 2}, .nullable = 1, .name = "c"};
    struct seam_chain_reader reader;
    struct seam_engine_column column;
    struct ArrowArray array;
    seam_engine_column_init(&column, allocator);
    int code = seam_chain_reader_init(&reader, &chain, &error);
    code = code ? code : seam_engine_fill(&column, &slot, &reader, &error);
    code = code ? code : seam_chain_reader_finish(&reader, &error);
    if (code == SEAM_OK) {
        code = seam_engine_export(&column, &array, &error);
    }
    if (code == SEAM_OK) {
        seam_array_release(&array);
    }
    seam_engine_column_reset(&column);
    CHECK(live_blocks(allocator) == 0);
    return code;
}

static const int32_t INTS[] = {1, 2};
static const int32_t OFFSETS[] = {0, 1, 3};

static void sizes_betray_what_addresses_cannot(struct seam_allocator *allocator) {
    struct sample good = {SEAM_COLUMN_INT, 2, {"\0\1", INTS, NULL}, {2, 8, 0}, 2};
    CHECK_OK(read_sample(&good, 1, allocator));
    CHECK_OK(read_sample(&good, 0, allocator));
    struct sample wide = good;
    wide.kind = SEAM_COLUMN_LONG; /* eight bytes a row asked of four */
    CHECK(read_sample(&wide, 1, allocator) == SEAM_BAD_INPUT);
    struct sample narrow = good;
    narrow.kind = SEAM_COLUMN_TINYINT;
    CHECK(read_sample(&narrow, 1, allocator) == SEAM_BAD_INPUT);
    struct sample few_flags = good;
    few_flags.extents[0] = 1;
    CHECK(read_sample(&few_flags, 1, allocator) == SEAM_BAD_INPUT);
    struct sample shorter = good;
    shorter.n_words = 1;
    CHECK(read_sample(&shorter, 1, allocator) == SEAM_BAD_INPUT);
    struct sample longer = good;
    longer.n_words = 3;
    CHECK(read_sample(&longer, 1, allocator) == SEAM_BAD_INPUT);
}

static void offsets_are_checked_without_sizes(struct seam_allocator *allocator) {
    static const int32_t late[] = {1, 1, 3};
    static const int32_t falling[] = {0, 3, 1};
    static const int32_t negative[] = {0, -1, 3};
    struct sample good = {SEAM_COLUMN_STRING, 2, {"\0\0", OFFSETS, "abc"}, {2, 12, 3}, 3};
    CHECK_OK(read_sample(&good, 1, allocator));
    struct sample bad = good;
    const int32_t *cases[] = {late, falling, negative};
    for (int i = 0; i < 3; i++) {
        bad.buffers[1] = cases[i];
        CHECK(read_sample(&bad, 0, allocator) == SEAM_BAD_INPUT);
        CHECK(read_sample(&bad, 1, allocator) == SEAM_BAD_INPUT);
    }
    bad = good;
    bad.extents[2] = 2; /* the last offset says 3 */
    CHECK(read_sample(&bad, 1, allocator) == SEAM_BAD_INPUT);
}

static void values_without_meaning_are_refused(struct seam_allocator *allocator) {
    static const int64_t late_micros[] = {(INT64_C(2440588) << 40) | INT64_C(86400000000)};
    static const int64_t too_many_digits[] = {10000};
    static const double a_day[] = {86400.0};
    static const int32_t too_early[] = {INT32_MIN};
    static const int32_t inside[] = {0, 1, 2};
    const struct sample cases[] = {
        {SEAM_COLUMN_INT, 2, {"\0\2", INTS, NULL}, {2, 8, 0}, 2},
        {SEAM_COLUMN_INT, 2, {"\0\0", NULL, NULL}, {2, 8, 0}, 2},
        {SEAM_COLUMN_INT, -1, {"\0\0", INTS, NULL}, {2, 8, 0}, 2},
        {SEAM_COLUMN_BOOLEAN, 1, {"\0", "\7", NULL}, {1, 1, 0}, 2},
        {SEAM_COLUMN_DATETIME, 1, {"\0", late_micros, NULL}, {1, 8, 0}, 2},
        {SEAM_COLUMN_DECIMAL64, 1, {"\0", too_many_digits, NULL}, {1, 8, 0}, 2},
        {SEAM_COLUMN_TIME, 1, {"\0", a_day, NULL}, {1, 8, 0}, 2},
        {SEAM_COLUMN_DATE, 1, {"\0", too_early, NULL}, {1, 4, 0}, 2},
        {SEAM_COLUMN_STRING, 2, {"\0\0", inside, "\xc3\xa9"}, {2, 12, 2}, 3},
        {SEAM_COLUMN_STRING, 2, {"\0\0", inside, "\xc3("}, {2, 12, 2}, 3},
        {SEAM_COLUMN_STRING, 2, {"\0\0", OFFSETS, "\xed\xa0\x80"}, {2, 12, 3}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(read_sample(&cases[i], 1, allocator) == SEAM_BAD_INPUT);
    }
}

/* Java leaves under a null what the memory held: it must not matter. */
static void anything_may_stand_under_a_null(struct seam_allocator *allocator) {
    static const uint8_t junk[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                     0x7f, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80};
    for (int32_t kind = SEAM_COLUMN_BOOLEAN; kind <= SEAM_COLUMN_TINYINT; kind++) {
        int64_t width = seam_column_width(kind);
        if (width == 0 || kind == SEAM_COLUMN_DECIMALV2 || seam_column_is_decimal(kind)) {
            continue;
        }
        struct sample sample = {kind, 1, {"\1", junk, NULL}, {1, width, 0}, 2};
        CHECK_OK(read_sample(&sample, 1, allocator));
    }
    struct sample decimal = {SEAM_COLUMN_DECIMAL64, 1, {"\1", junk, NULL}, {1, 8, 0}, 2};
    CHECK_OK(read_sample(&decimal, 1, allocator));
}

static void slots_must_be_nullable_and_typed(struct seam_allocator *allocator) {
    const int64_t words[] = {1, 0};
    struct seam_chain chain = {.words = words, .n_words = 2, .extents = NULL};
    struct seam_chain_reader reader;
    struct seam_engine_column column;
    seam_engine_column_init(&column, allocator);
    struct seam_engine_slot slot = {
        .type = {.kind = SEAM_COLUMN_INT, .precision = 0, .scale = 0}, .nullable = 0, .name = "k"};
    CHECK_OK(seam_chain_reader_init(&reader, &chain, &error));
    CHECK(seam_engine_fill(&column, &slot, &reader, &error) == SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "NOT NULL column 'k'") != NULL);
    slot.nullable = 1;
    slot.type.kind = SEAM_COLUMN_UNKNOWN;
    CHECK(seam_engine_fill(&column, &slot, &reader, &error) == SEAM_UNSUPPORTED);
    slot.type.kind = SEAM_COLUMN_STRUCT;
    CHECK(seam_engine_fill(&column, &slot, &reader, &error) == SEAM_UNSUPPORTED);
    struct ArrowArray array;
    CHECK(seam_engine_export(&column, &array, &error) == SEAM_BAD_ARGUMENT);
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    sizes_betray_what_addresses_cannot(allocator);
    offsets_are_checked_without_sizes(allocator);
    values_without_meaning_are_refused(allocator);
    anything_may_stand_under_a_null(allocator);
    slots_must_be_nullable_and_typed(allocator);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
