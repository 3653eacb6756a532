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

/* Both ways to Arrow: in one pass, and by way of columns of the engine's own. */
static int read_chain(const struct seam_chain *chain, const struct seam_engine_slot *slots,
                      int64_t n_slots, int in_one_pass, struct seam_allocator *allocator,
                      struct ArrowArray *out, struct seam_error *message) {
    struct seam_engine_column column;
    seam_engine_column_init(&column, allocator);
    int code = in_one_pass ? seam_engine_open(&column, slots, n_slots, chain, message)
                           : seam_engine_fill(&column, slots, n_slots, chain, message);
    return code ? code : seam_engine_export(&column, out, message);
}

static int read_and_drop(const struct seam_chain *chain, const struct seam_engine_slot *slots,
                         int64_t n_slots, struct seam_allocator *allocator) {
    struct ArrowArray array;
    int code = read_chain(chain, slots, n_slots, 0, allocator, &array, &error);
    if (code == SEAM_OK) {
        seam_array_release(&array);
    }
    CHECK(live_blocks(allocator) == 0);
    int same = read_chain(chain, slots, n_slots, 1, allocator, &array, &error);
    if (same == SEAM_OK) {
        seam_array_release(&array);
    }
    CHECK(live_blocks(allocator) == 0);
    CHECK(same == code);
    return code;
}

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
        .kind = sample->kind, .precision = 4, .scale = 2, .nullable = 1, .name = "c"};
    return read_and_drop(&chain, &slot, 1, allocator);
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

static const struct seam_engine_slot ELEMENT = {
    .kind = SEAM_COLUMN_INT, .nullable = 1, .name = "$0"};

static struct seam_engine_slot slot_of(int32_t kind, const struct seam_engine_slot *children,
                                       int32_t n_children) {
    return (struct seam_engine_slot){.kind = kind,
                                     .precision = 4,
                                     .scale = 2,
                                     .nullable = 1,
                                     .n_children = n_children,
                                     .children = children,
                                     .name = "c"};
}

static void slots_are_types(struct seam_allocator *allocator) {
    const int64_t words[] = {1, 0};
    const struct seam_chain chain = {.words = words, .n_words = 2, .extents = NULL};
    const struct seam_engine_slot pair[] = {ELEMENT, ELEMENT, ELEMENT};
    const struct seam_engine_slot bad[] = {
        slot_of(SEAM_COLUMN_ARRAY, NULL, 0),
        slot_of(SEAM_COLUMN_ARRAY, pair, 2),
        slot_of(SEAM_COLUMN_MAP, pair, 1),
        slot_of(SEAM_COLUMN_MAP, pair, 3),
        slot_of(SEAM_COLUMN_INT, pair, 1),
        slot_of(SEAM_COLUMN_VARIANT, pair, 2),
        slot_of(SEAM_COLUMN_VARIANT + 1, NULL, 0),
        slot_of(-1, NULL, 0),
        slot_of(SEAM_ENGINE_PERCENTILE + 1, NULL, 0),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(read_and_drop(&chain, &bad[i], 1, allocator) == SEAM_BAD_ARGUMENT);
    }
    struct seam_engine_slot deep[SEAM_ENGINE_DEPTH + 1];
    deep[0] = ELEMENT;
    for (int i = 1; i <= SEAM_ENGINE_DEPTH; i++) {
        deep[i] = slot_of(SEAM_COLUMN_ARRAY, &deep[i - 1], 1);
    }
    CHECK_OK(read_and_drop(&chain, &deep[SEAM_ENGINE_DEPTH - 1], 1, allocator));
    CHECK(read_and_drop(&chain, &deep[SEAM_ENGINE_DEPTH], 1, allocator) == SEAM_BAD_ARGUMENT);
}

/* Rule 1. Elements and keys may be NOT NULL; nothing else may. */
static void what_must_be_nullable_is(struct seam_allocator *allocator) {
    const int64_t words[] = {1, 0, 0, 0, 0, 0, 0};
    const struct seam_chain chain = {.words = words, .n_words = -1, .extents = NULL};
    struct seam_engine_slot top = ELEMENT;
    top.nullable = 0;
    top.name = "k";
    CHECK(read_and_drop(&chain, &top, 1, allocator) == SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "NOT NULL column 'k'") != NULL);

    static const int32_t offsets[] = {0, 1};
    const int64_t one[] = {1,
                           (int64_t)(intptr_t)"\0",
                           (int64_t)(intptr_t)offsets,
                           (int64_t)(intptr_t)"\0",
                           (int64_t)(intptr_t)offsets,
                           (int64_t)(intptr_t)"\0",
                           (int64_t)(intptr_t)offsets};
    const struct seam_chain full = {.words = one, .n_words = -1, .extents = NULL};
    struct seam_engine_slot children[] = {ELEMENT, ELEMENT};
    children[0].nullable = 0;
    struct seam_engine_slot slot = slot_of(SEAM_COLUMN_ARRAY, children, 1);
    CHECK_OK(read_and_drop(&full, &slot, 1, allocator));
    slot = slot_of(SEAM_COLUMN_MAP, children, 2);
    CHECK_OK(read_and_drop(&full, &slot, 1, allocator));
    slot = slot_of(SEAM_COLUMN_STRUCT, children, 2);
    CHECK(read_and_drop(&full, &slot, 1, allocator) == SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "'c.$0'") != NULL);
    children[0].nullable = 1;
    children[1].nullable = 0;
    slot = slot_of(SEAM_COLUMN_MAP, children, 2);
    CHECK(read_and_drop(&full, &slot, 1, allocator) == SEAM_UNSUPPORTED);
}

/* Rules 2 and 5. A word of 0 fills any type; no other word fills one that is not held. */
static void types_that_are_not_held_have_names(struct seam_allocator *allocator) {
    static const uint8_t zeros[64] = {0};
    static const int32_t kinds[] = {SEAM_COLUMN_UNKNOWN,  SEAM_COLUMN_BYTE, SEAM_COLUMN_DECIMALV2,
                                    SEAM_ENGINE_LARGEINT, SEAM_ENGINE_JSON, SEAM_ENGINE_HLL};
    static const char *const names[] = {"unknown", "byte", "decimalv2", "largeint", "json", "hll"};
    const int64_t lacking[] = {3, 0};
    const int64_t present[] = {1, (int64_t)(intptr_t)zeros, (int64_t)(intptr_t)zeros};
    const struct seam_chain none = {.words = lacking, .n_words = 2, .extents = NULL};
    const struct seam_chain some = {.words = present, .n_words = 3, .extents = NULL};
    for (int i = 0; i < 6; i++) {
        struct seam_engine_slot slot = slot_of(kinds[i], NULL, 0);
        CHECK_OK(read_and_drop(&none, &slot, 1, allocator));
        CHECK(read_and_drop(&some, &slot, 1, allocator) == SEAM_UNSUPPORTED);
        CHECK(strstr(error.message, names[i]) != NULL);
    }
}

/* The example of three columns: id int, tags array<string>, s struct<a:int,zz:string> of which zz
 * is absent; rows (1, ['x', null], {7}) and (NULL, NULL, NULL). */
static const int32_t IDS[] = {1, -1}, A_VALUES[] = {7, -1};
static const int32_t TAG_OFFSETS[] = {0, 2, 2}, TEXT_OFFSETS[] = {0, 1, 1};
static const struct seam_engine_slot TEXT = {
    .kind = SEAM_COLUMN_STRING, .nullable = 1, .name = "$0"};
static const struct seam_engine_slot FIELDS[] = {
    {.kind = SEAM_COLUMN_INT, .nullable = 1, .name = "a"},
    {.kind = SEAM_COLUMN_STRING, .nullable = 1, .name = "zz"}};
static const struct seam_engine_slot EXAMPLE[] = {
    {.kind = SEAM_COLUMN_INT, .nullable = 1, .name = "id"},
    {.kind = SEAM_COLUMN_ARRAY, .nullable = 1, .n_children = 1, .children = &TEXT, .name = "tags"},
    {.kind = SEAM_COLUMN_STRUCT, .nullable = 1, .n_children = 2, .children = FIELDS, .name = "s"}};
enum { EXAMPLE_WORDS = 12 };

struct example {
    int64_t words[EXAMPLE_WORDS];
    int64_t extents[EXAMPLE_WORDS];
};

static struct example example_chain(void) {
    const void *buffers[] = {"\0\1", IDS,    "\0\1", TAG_OFFSETS, "\0\1", TEXT_OFFSETS,
                             "x",    "\0\1", "\0\1", A_VALUES,    NULL};
    const int64_t extents[] = {2, 8, 2, 12, 2, 12, 1, 2, 2, 8, 0};
    struct example example = {.words = {2}, .extents = {0}};
    for (int i = 1; i < EXAMPLE_WORDS; i++) {
        example.words[i] = (int64_t)(intptr_t)buffers[i - 1];
        example.extents[i] = extents[i - 1];
    }
    return example;
}

static int read_example(struct seam_allocator *allocator, int in_one_pass, struct ArrowArray *out,
                        struct seam_error *message) {
    struct example example = example_chain();
    struct seam_chain chain = {
        .words = example.words, .n_words = EXAMPLE_WORDS, .extents = example.extents};
    return read_chain(&chain, EXAMPLE, 3, in_one_pass, allocator, out, message);
}

static void trees_arrive_as_arrow(struct seam_allocator *allocator) {
    for (int in_one_pass = 0; in_one_pass < 2; in_one_pass++) {
        struct ArrowArray all;
        CHECK_OK(read_example(allocator, in_one_pass, &all, &error));
        CHECK(all.length == 2 && all.n_children == 3);
        const struct ArrowArray *tags = all.children[1], *s = all.children[2];
        CHECK(((const int32_t *)all.children[0]->buffers[1])[0] == 1);
        CHECK(tags->n_buffers == 2 && tags->null_count == 1 && tags->n_children == 1);
        CHECK(((const int32_t *)tags->buffers[1])[1] == 2);
        CHECK(tags->children[0]->length == 2 && tags->children[0]->null_count == 1);
        CHECK(*(const char *)tags->children[0]->buffers[2] == 'x');
        CHECK(s->n_buffers == 1 && s->null_count == 1 && s->n_children == 2);
        CHECK(((const int32_t *)s->children[0]->buffers[1])[0] == 7);
        CHECK(s->children[1]->null_count == 2 && s->children[1]->n_buffers == 3);
        seam_array_release(&all);
    }
}

static int example_by_columns(struct seam_allocator *allocator, struct seam_error *message) {
    struct ArrowArray array = {.release = NULL};
    int code = read_example(allocator, 0, &array, message);
    seam_array_release(&array);
    return code;
}

static int example_in_one_pass(struct seam_allocator *allocator, struct seam_error *message) {
    struct ArrowArray array = {.release = NULL};
    int code = read_example(allocator, 1, &array, message);
    seam_array_release(&array);
    return code;
}

/* Each word lost or made 0, each buffer a byte too short: an error or NULLs, never a crash. */
static void broken_trees_are_refused(struct seam_allocator *allocator) {
    for (int i = 1; i < EXAMPLE_WORDS; i++) {
        struct example example = example_chain();
        struct seam_chain chain = {.words = example.words, .n_words = i, .extents = NULL};
        CHECK(read_and_drop(&chain, EXAMPLE, 3, allocator) == SEAM_BAD_INPUT);
        CHECK(error.offset == 8 * i);
        chain.n_words = EXAMPLE_WORDS;
        chain.extents = example.extents;
        example.extents[i] += i == EXAMPLE_WORDS - 1 ? 0 : 1;
        int code = read_and_drop(&chain, EXAMPLE, 3, allocator);
        CHECK(code == (i == EXAMPLE_WORDS - 1 ? SEAM_OK : SEAM_BAD_INPUT));
        example = example_chain();
        example.words[i] = 0;
        code = read_and_drop(&chain, EXAMPLE, 3, allocator);
        CHECK(code == (i == EXAMPLE_WORDS - 1 ? SEAM_OK : SEAM_BAD_INPUT));
    }
}

/* map<int,int> of {1: 10, 2: NULL}, NULL */
struct map_sample {
    const char *key_nulls;
    int key_nullable;
    int32_t key_kind; /* unknown: not asked for */
    int32_t value_kind;
};

static int read_map(const struct map_sample *sample, struct seam_allocator *allocator,
                    struct ArrowArray *out) {
    static const int32_t keys[] = {1, 2}, values[] = {10, -1}, offsets[] = {0, 2, 2};
    const void *all[] = {"\0\1", offsets, sample->key_nulls, keys, "\0\1", values};
    int64_t words[7] = {2};
    int64_t n_words = 1;
    for (int i = 0; i < 6; i++) {
        int is_key = i / 2 == 1, is_value = i / 2 == 2;
        if (!(is_key && sample->key_kind == SEAM_COLUMN_UNKNOWN) &&
            !(is_value && sample->value_kind == SEAM_COLUMN_UNKNOWN)) {
            words[n_words++] = (int64_t)(intptr_t)all[i];
        }
    }
    const struct seam_chain chain = {.words = words, .n_words = n_words, .extents = NULL};
    const struct seam_engine_slot children[] = {
        {.kind = sample->key_kind, .nullable = sample->key_nullable, .name = "$0"},
        {.kind = sample->value_kind, .nullable = 1, .name = "$1"}};
    struct seam_engine_slot slot = slot_of(SEAM_COLUMN_MAP, children, 2);
    int code = read_and_drop(&chain, &slot, 1, allocator);
    return code ? code : read_chain(&chain, &slot, 1, 1, allocator, out, &error);
}

static void maps_have_keys(struct seam_allocator *allocator) {
    struct ArrowArray all;
    const struct map_sample plain = {"\0\0", 0, SEAM_COLUMN_INT, SEAM_COLUMN_INT};
    CHECK_OK(read_map(&plain, allocator, &all));
    const struct ArrowArray *map = all.children[0], *entries = map->children[0];
    CHECK(map->n_children == 1 && map->null_count == 1 && entries->n_children == 2);
    CHECK(entries->length == 2 && entries->null_count == 0 && entries->buffers[0] == NULL);
    CHECK(entries->children[0]->null_count == 0 && entries->children[1]->null_count == 1);
    CHECK(((const int32_t *)entries->children[0]->buffers[1])[1] == 2);
    seam_array_release(&all);
    const struct map_sample nullable = {"\0\0", 1, SEAM_COLUMN_INT, SEAM_COLUMN_INT};
    CHECK_OK(read_map(&nullable, allocator, &all));
    seam_array_release(&all);
    /* A NULL key: no room in a NOT NULL column, no place in an Arrow map. */
    const struct map_sample null_key = {"\0\1", 0, SEAM_COLUMN_INT, SEAM_COLUMN_INT};
    CHECK(read_map(&null_key, allocator, &all) == SEAM_BAD_INPUT);
    const struct map_sample nullable_key = {"\0\1", 1, SEAM_COLUMN_INT, SEAM_COLUMN_INT};
    CHECK(read_map(&nullable_key, allocator, &all) == SEAM_BAD_INPUT);
}

/* Rule 4: no word for a key or value that was not asked for. */
static void maps_may_lack_a_side(struct seam_allocator *allocator) {
    static const int32_t kinds[][2] = {{SEAM_COLUMN_UNKNOWN, SEAM_COLUMN_INT},
                                       {SEAM_COLUMN_INT, SEAM_COLUMN_UNKNOWN},
                                       {SEAM_COLUMN_UNKNOWN, SEAM_COLUMN_UNKNOWN}};
    for (int i = 0; i < 3; i++) {
        struct ArrowArray all;
        const struct map_sample sample = {"\0\0", 1, kinds[i][0], kinds[i][1]};
        CHECK_OK(read_map(&sample, allocator, &all));
        const struct ArrowArray *entries = all.children[0]->children[0];
        CHECK(entries->length == 2 && entries->n_children == 2);
        for (int j = 0; j < 2; j++) {
            int lacks = kinds[i][j] == SEAM_COLUMN_UNKNOWN;
            CHECK(entries->children[j]->length == 2);
            CHECK(entries->children[j]->n_buffers == (lacks ? 0 : 2));
        }
        seam_array_release(&all);
    }
}

/* Entries that nobody asked for cost no memory, however many an offset says there are. */
static void entries_without_buffers_are_free(void) {
    static const int32_t offsets[] = {0, 2000000000};
    const int64_t words[] = {1, (int64_t)(intptr_t)"\0", (int64_t)(intptr_t)offsets};
    const struct seam_chain chain = {.words = words, .n_words = 3, .extents = NULL};
    const struct seam_engine_slot children[] = {
        {.kind = SEAM_COLUMN_UNKNOWN, .nullable = 1, .name = "$0"},
        {.kind = SEAM_COLUMN_UNKNOWN, .nullable = 1, .name = "$1"}};
    struct seam_engine_slot slot = slot_of(SEAM_COLUMN_MAP, children, 2);
    struct seam_allocator *small = seam_allocator_new(100000);
    CHECK_OK(read_and_drop(&chain, &slot, 1, small));
    seam_allocator_release(small);
}

/* Rule 2 for what need not be nullable: zeros, and empty arrays. */
static void defaults_of_not_null_elements(struct seam_allocator *allocator) {
    static const int32_t offsets[] = {0, 2, 3};
    const int64_t words[] = {2, (int64_t)(intptr_t)"\0\0", (int64_t)(intptr_t)offsets, 0};
    const struct seam_chain chain = {.words = words, .n_words = 4, .extents = NULL};
    struct seam_engine_slot element = ELEMENT;
    element.nullable = 0;
    struct seam_engine_slot inner = slot_of(SEAM_COLUMN_ARRAY, &element, 1);
    inner.nullable = 0;
    const struct seam_engine_slot *elements[] = {&element, &inner};
    for (int i = 0; i < 2; i++) {
        struct seam_engine_slot slot = slot_of(SEAM_COLUMN_ARRAY, elements[i], 1);
        struct ArrowArray all;
        CHECK_OK(read_and_drop(&chain, &slot, 1, allocator));
        CHECK_OK(read_chain(&chain, &slot, 1, 1, allocator, &all, &error));
        const struct ArrowArray *found = all.children[0]->children[0];
        CHECK(found->length == 3 && found->null_count == 0 && found->buffers[0] == NULL);
        CHECK(((const int32_t *)found->buffers[1])[2] == 0);
        seam_array_release(&all);
    }
}

static int first_bit(const struct ArrowArray *array, int64_t i) {
    return ((const uint8_t *)array->buffers[0])[i / 8] >> (i % 8) & 1;
}

/* Rows by the thousand go through blocks and words: every row must come out, at every length. */
static void long_columns_are_turned_whole(struct seam_allocator *allocator) {
    enum { MOST = 2100 };
    static uint8_t nulls[MOST], flags[MOST];
    static int64_t times[MOST];
    static const int64_t lengths[] = {1, 7, 8, 9, 247, 248, 249, 1023, 1024, 1025, MOST};
    for (int64_t i = 0; i < MOST; i++) {
        nulls[i] = (uint8_t)(i % 3 == 1);
        flags[i] = nulls[i] ? 0xA5 : (uint8_t)(i % 5 == 0);
        times[i] = nulls[i] ? -1 : (INT64_C(2440588) << 40 | i);
    }
    struct seam_engine_slot slots[] = {slot_of(SEAM_COLUMN_BOOLEAN, NULL, 0),
                                       slot_of(SEAM_COLUMN_DATETIME, NULL, 0)};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        const int64_t words[] = {lengths[k], (int64_t)(intptr_t)nulls, (int64_t)(intptr_t)flags,
                                 (int64_t)(intptr_t)nulls, (int64_t)(intptr_t)times};
        const struct seam_chain chain = {.words = words, .n_words = 5, .extents = NULL};
        for (int in_one_pass = 0; in_one_pass < 2; in_one_pass++) {
            struct ArrowArray all;
            CHECK_OK(read_chain(&chain, slots, 2, in_one_pass, allocator, &all, &error));
            CHECK(all.children[0]->null_count == (lengths[k] + 1) / 3);
            for (int64_t i = 0; i < lengths[k]; i++) {
                const uint8_t *bits = all.children[0]->buffers[1];
                CHECK(lengths[k] == 1 || first_bit(all.children[0], i) == (i % 3 != 1));
                CHECK((bits[i / 8] >> (i % 8) & 1) == (i % 3 != 1 && i % 5 == 0));
                CHECK(((const int64_t *)all.children[1]->buffers[1])[i] == (i % 3 == 1 ? 0 : i));
            }
            seam_array_release(&all);
        }
    }
}

/* The row in the message is the first one that means nothing, wherever its block lies. */
static void the_first_bad_row_is_named(struct seam_allocator *allocator) {
    enum { ROWS = 3000, BAD = 2050 };
    static uint8_t nulls[ROWS];
    static int64_t values[ROWS];
    values[BAD] = values[BAD + 1] = 10000;
    const int64_t words[] = {ROWS, (int64_t)(intptr_t)nulls, (int64_t)(intptr_t)values};
    const struct seam_chain chain = {.words = words, .n_words = 3, .extents = NULL};
    struct seam_engine_slot slot = slot_of(SEAM_COLUMN_DECIMAL64, NULL, 0);
    CHECK(read_and_drop(&chain, &slot, 1, allocator) == SEAM_BAD_INPUT);
    CHECK(strstr(error.message, "row 2050 of a decimal64 column") != NULL);
    nulls[BAD] = nulls[BAD + 1] = 1;
    CHECK_OK(read_and_drop(&chain, &slot, 1, allocator));
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    sizes_betray_what_addresses_cannot(allocator);
    offsets_are_checked_without_sizes(allocator);
    values_without_meaning_are_refused(allocator);
    anything_may_stand_under_a_null(allocator);
    slots_are_types(allocator);
    what_must_be_nullable_is(allocator);
    types_that_are_not_held_have_names(allocator);
    trees_arrive_as_arrow(allocator);
    broken_trees_are_refused(allocator);
    maps_have_keys(allocator);
    maps_may_lack_a_side(allocator);
    entries_without_buffers_are_free();
    defaults_of_not_null_elements(allocator);
    long_columns_are_turned_whole(allocator);
    the_first_bad_row_is_named(allocator);
    check_every_allocation(example_by_columns);
    check_every_allocation(example_in_one_pass);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
