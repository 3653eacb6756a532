/* Chunk bytes worked out by hand, read into a chain; and every way in which they can be wrong. */
#include "seam/chunk.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

static const struct seam_chunk_column ELEMENT = {.kind = SEAM_COLUMN_INT, .path = "l.$0"};
/* a nullable int; a string that is not; a list of ints; a large string */
static const struct seam_chunk_column COLUMNS[] = {
    {.kind = SEAM_COLUMN_INT, .path = "i"},
    {.kind = SEAM_COLUMN_STRING, .required = 1, .path = "s"},
    {.kind = SEAM_COLUMN_ARRAY, .n_children = 1, .children = &ELEMENT, .path = "l"},
    {.kind = SEAM_COLUMN_BINARY, .large = 1, .path = "b"},
};
enum { N_COLUMNS = 4, ROWS = 3 };

static const uint8_t CHUNK[] = {                     /* i: flags, values */
                                3, 0, 0, 0, 0, 1, 0, /* */
                                12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, /* */
                                /* s: bytes, offsets */                          /* */
                                3, 0, 0, 0, 'a', 'b', 'c',                       /* */
                                16, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,
                                /* l: offsets, then flags and values of the element */
                                16, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, /* */
                                2, 0, 0, 0, 0, 0,                                            /* */
                                8, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0,                          /* */
                                /* b: sizes and offsets of 64 bits */
                                1, 0, 0, 0, 0, 0, 0, 0, 'x', /* */
                                32, 0, 0, 0, 0, 0, 0, 0,     /* */
                                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
                                0, 1, 0, 0, 0, 0, 0, 0, 0};

static int read_chunk(struct seam_chunk_reader *reader, struct seam_allocator *allocator,
                      const uint8_t *data, int64_t size_bytes, struct seam_error *out) {
    struct seam_chunk_place places[N_COLUMNS] = {{.nullable = 1}};
    *reader = (struct seam_chunk_reader){
        .data = data, .size_bytes = size_bytes, .limit_bytes = 1 << 20, .allocator = allocator};
    return seam_chunk_read(reader, COLUMNS, places, N_COLUMNS, ROWS, out);
}

static const void *at_word(const struct seam_chunk_reader *reader, int64_t word) {
    return (const void *)(intptr_t)reader->words[word];
}

static void a_chunk_becomes_a_chain(void) {
    static const int64_t EXTENTS[] = {0, 3, 12, 3, 16, 3, 3, 16, 2, 8, 3, 16, 1};
    static const int32_t NARROW[] = {0, 0, 1, 1};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_chunk_reader reader;
    CHECK_OK(read_chunk(&reader, allocator, CHUNK, sizeof CHUNK, &error));
    CHECK(reader.at == sizeof CHUNK && reader.n_words == 13 && reader.n_texts == 0);
    CHECK(reader.words[0] == ROWS && memcmp(reader.extents, EXTENTS, sizeof EXTENTS) == 0);
    CHECK(at_word(&reader, 1) == CHUNK + 4 && at_word(&reader, 2) == CHUNK + 11);
    CHECK(memcmp(at_word(&reader, 3), "\0\0\0", 3) == 0); /* of a column without flags */
    CHECK(at_word(&reader, 3) == at_word(&reader, 6));
    CHECK(memcmp(at_word(&reader, 5), "abc", 3) == 0);
    CHECK(memcmp(at_word(&reader, 9), CHUNK + 80, 8) == 0);
    CHECK(memcmp(at_word(&reader, 11), NARROW, sizeof NARROW) == 0);
    seam_chunk_reader_reset(&reader);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Blocks of just the size, so that the sanitizer sees a byte too many. */
static void no_byte_may_be_missing(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    for (int64_t size = 0; size < (int64_t)sizeof CHUNK; size++) {
        struct seam_chunk_reader reader;
        uint8_t *cut = malloc((size_t)size + 1);
        memcpy(cut + 1, CHUNK, (size_t)size);
        CHECK(read_chunk(&reader, allocator, cut + 1, size, &error) == SEAM_BAD_INPUT);
        CHECK(error.offset >= 0 && error.offset <= size &&
              strstr(error.message, "column '") != NULL);
        seam_chunk_reader_reset(&reader);
        free(cut);
    }
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

struct wrong {
    int64_t at; /* this byte becomes `byte` */
    uint8_t byte;
    int64_t offset;
    const char *message;
};

static const struct wrong WRONG[] = {
    {0, 4, 0, "column 'i': null flags: 4 bytes where the rows need 3"},
    {5, 2, 0, "column 'i': a null flag is neither 0 nor 1"},
    {7, 13, 7, "column 'i': values: 13 bytes where the rows need 12"},
    {23, 2, 29, "column 's': offsets: 4195 bytes where the rows need 16"},
    {26, 1, 27, "column 's': bytes takes 16777219 bytes"},
    {34, 1, 30, "column 's': the first offset is 1, not 0"},
    {42, 1, 30, "column 's': offset 2 is less than that before"},
    {46, 9, 23, "column 's': 3 bytes where the last offset is 9"},
    {66, 9, 70, "column 'l.$0': null flags: 2 bytes where the rows need 9"},
    {69, 0x80, 50, "column 'l': the last offset is 2147483650, the most are 2^31 - 16"},
    {74, 3, 70, "column 'l.$0': a null flag is neither 0 nor 1"},
    {95, 1, 96, "column 'b': bytes takes 72057594037927937 bytes where"},
    {120, 1, 97, "column 'b': offset 2 is less than that before"},
};

static void what_is_wrong_is_named(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        struct seam_chunk_reader reader;
        uint8_t turned[sizeof CHUNK];
        memcpy(turned, CHUNK, sizeof CHUNK);
        turned[WRONG[i].at] = WRONG[i].byte;
        int code = read_chunk(&reader, allocator, turned, sizeof turned, &error);
        CHECK(code == SEAM_BAD_INPUT && error.offset == WRONG[i].offset);
        CHECK(strstr(error.message, WRONG[i].message) != NULL);
        seam_chunk_reader_reset(&reader);
    }
    seam_allocator_release(allocator);
}

/* 256 rows of one byte: 64 words of 0x01010101, four bytes each in their stream; and text. */
static void encoded_parts_are_decoded_or_listed(void) {
    static const struct seam_chunk_column COLUMN[] = {{.kind = SEAM_COLUMN_TINYINT, .path = "t"},
                                                      {.kind = SEAM_COLUMN_STRING, .path = "s"}};
    uint8_t chunk[512] = {0, 1, 0, 0, 16, 1};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_chunk_place places[2] = {{.level = SEAM_CHUNK_INTEGERS},
                                         {.level = SEAM_CHUNK_TEXT}};
    struct seam_chunk_reader reader = {
        .data = chunk, .size_bytes = 284, .limit_bytes = 256, .allocator = allocator};
    memset(chunk + 12, 0xFF, 16);
    memset(chunk + 28, 1, 256);
    CHECK_OK(seam_chunk_read(&reader, COLUMN, places, 1, 256, &error));
    CHECK(reader.at == 284 && memcmp(at_word(&reader, 2), chunk + 28, 256) == 0);
    /* one row of 300 bytes, said to be a block of 2 */
    static const uint8_t TEXT[] = {44,  1, 0, 0, 2, 0, 0, 0, 0, 0,  0, 0, 'l',
                                   'z', 8, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0};
    memcpy(chunk, TEXT, sizeof TEXT);
    reader.at = 0;
    reader.size_bytes = sizeof TEXT;
    reader.decoded_bytes = 0;
    CHECK(seam_chunk_read(&reader, COLUMN + 1, places + 1, 1, 1, &error) == SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "column 's': its chunk holds more than size_limit, 256") != NULL);
    reader.at = 0;
    reader.limit_bytes = 300;
    CHECK_OK(seam_chunk_read(&reader, COLUMN + 1, places + 1, 1, 1, &error));
    CHECK(reader.n_texts == 1 && reader.texts[0].word == 3 && reader.texts[0].at == 12);
    CHECK(reader.texts[0].encoded_bytes == 2 && reader.texts[0].size_bytes == 300);
    CHECK(reader.words[3] == 0 && reader.extents[3] == 300);
    chunk[4] = 1;
    reader.at = 0;
    CHECK(seam_chunk_read(&reader, COLUMN + 1, places + 1, 1, 1, &error) == SEAM_BAD_INPUT);
    CHECK(error.offset == 12 && strstr(error.message, "of 1 bytes cannot hold 300") != NULL);
    CHECK(seam_chunk_read(&reader, COLUMN, places, 1, 4 * sizeof TEXT + 1, &error) ==
          SEAM_BAD_INPUT);
    CHECK(seam_chunk_read(&reader, COLUMN, places, 1, -1, &error) == SEAM_BAD_ARGUMENT);
    seam_chunk_reader_reset(&reader);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static int read_all(struct seam_allocator *allocator, struct seam_error *out) {
    struct seam_chunk_reader reader;
    int code = read_chunk(&reader, allocator, CHUNK, sizeof CHUNK, out);
    seam_chunk_reader_reset(&reader);
    return code;
}

int main(void) {
    a_chunk_becomes_a_chain();
    no_byte_may_be_missing();
    what_is_wrong_is_named();
    encoded_parts_are_decoded_or_listed();
    check_every_allocation(read_all);
    return 0;
}
