/* Output streams that grow by ranges, input streams that are cut anywhere. */
#include "seam/byte_stream.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

static void ranges_grow_with_what_the_stream_holds(void) {
    static const struct {
        int64_t held, asked, range;
    } CASES[] = {
        {0, 1, 128},     {0, 127, 128},      {0, 128, 128},      {0, 129, 256},
        {128, 1, 128},   {128, 200, 256},    {384, 127, 128},    {384, 128, 512},
        {512, 8, 512},   {1024, 513, 1024},  {3583, 512, 512},   {3584, 512, 4096},
        {4096, 1, 4096}, {4096, 4097, 8192}, {1 << 20, 8, 4096}, {0, 5000, 8192},
        {0, 4095, 4096}, {100, 27, 128},     {100, 28, 128},     {4095, 0, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        CHECK(seam_byte_output_growth(CASES[i].held, CASES[i].asked, 0) == CASES[i].range);
    }
}

static void tiny_ranges_double(void) {
    static const struct {
        int64_t held, asked, range;
    } CASES[] = {
        {0, 1, 16},    {0, 8, 16},    {0, 17, 32},   {0, 100, 128},   {16, 8, 16},
        {16, 40, 64},  {32, 8, 32},   {64, 8, 64},   {96, 8, 128},    {0, 127, 128},
        {0, 128, 128}, {120, 7, 128}, {128, 1, 128}, {384, 128, 512},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        CHECK(seam_byte_output_growth(CASES[i].held, CASES[i].asked, 1) == CASES[i].range);
    }
}

static void short_streams_take_little_of_an_arena_with_tiny_ranges(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_stream_arena arena;
    seam_stream_arena_init(&arena, allocator);
    arena.tiny_ranges = 1;
    struct seam_byte_output streams[512];
    for (int round = 0; round < 2; round++) {
        uint8_t copy[24];
        for (uint64_t i = 0; i < 512; i++) {
            seam_byte_output_init(&streams[i], &arena, 0);
            CHECK_OK(seam_byte_output_append(&streams[i], &i, sizeof i, &error));
        }
        CHECK(seam_stream_arena_bytes(&arena) == 512 * 16);
        for (uint64_t i = 0; i < 512; i++) { /* a second and third range each */
            uint64_t words[2] = {~i, i + 1};
            CHECK_OK(seam_byte_output_append(&streams[i], words, sizeof words, &error));
        }
        CHECK(seam_stream_arena_bytes(&arena) == 512 * 32);
        for (uint64_t i = 0; i < 512; i++) {
            uint64_t expected[3] = {i, ~i, i + 1};
            seam_byte_output_copy(&streams[i], copy);
            CHECK(memcmp(copy, expected, sizeof copy) == 0);
            seam_byte_output_clear(&streams[i]);
        }
        seam_stream_arena_clear(&arena);
    }
    CHECK(arena.tiny_ranges == 1 && live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

struct fixture {
    struct seam_allocator *allocator;
    struct seam_stream_arena arena;
    struct seam_byte_output stream;
};

static void set_up(struct fixture *fixture, int32_t is_bits) {
    fixture->allocator = seam_allocator_new(0);
    seam_stream_arena_init(&fixture->arena, fixture->allocator);
    seam_byte_output_init(&fixture->stream, &fixture->arena, is_bits);
}

static void tear_down(struct fixture *fixture) {
    seam_byte_output_clear(&fixture->stream);
    seam_stream_arena_clear(&fixture->arena);
    CHECK(live_blocks(fixture->allocator) == 0);
    seam_allocator_release(fixture->allocator);
}

static uint8_t byte_of(int64_t i) {
    return (uint8_t)(i * 31 + i / 256);
}

static void appended_bytes_come_out_in_order(void) {
    enum { TOTAL = 60000 };
    static uint8_t bytes[TOTAL];
    static uint8_t out[TOTAL + 1];
    for (int64_t i = 0; i < TOTAL; i++) {
        bytes[i] = byte_of(i);
    }
    struct fixture f;
    set_up(&f, 0);
    struct seam_byte_range other;
    int64_t at = 0;
    for (int64_t step = 1; at < TOTAL; step = step * 2 % 4099) {
        int64_t size = step < TOTAL - at ? step : TOTAL - at;
        CHECK_OK(seam_byte_output_append(&f.stream, bytes + at, size, &error));
        CHECK_OK(seam_stream_arena_range(&f.arena, 3, &other, &error)); /* ranges do not touch */
        at += size;
        CHECK(seam_byte_output_tell(&f.stream) == at);
        CHECK(seam_byte_output_bytes(&f.stream) == at);
    }
    out[TOTAL] = 0xEE;
    seam_byte_output_copy(&f.stream, out);
    CHECK(memcmp(out, bytes, TOTAL) == 0 && out[TOTAL] == 0xEE);
    CHECK(seam_byte_output_append_bit(&f.stream, true, 1, &error) == SEAM_BAD_ARGUMENT);
    tear_down(&f);
}

static void going_back_overwrites_and_does_not_shorten(void) {
    enum { TOTAL = 1000 };
    uint8_t expected[TOTAL];
    uint8_t out[TOTAL];
    memset(expected, 7, TOTAL);
    struct fixture f;
    for (int64_t at = 0; at + 200 <= TOTAL; at += 13) { /* over every kind of border */
        set_up(&f, 0);
        CHECK_OK(seam_byte_output_seek(&f.stream, 0, &error));
        for (int i = 0; i < TOTAL; i += 10) {
            CHECK_OK(seam_byte_output_append(&f.stream, expected, 10, &error));
        }
        uint8_t other[200];
        memset(other, 9, sizeof other);
        CHECK_OK(seam_byte_output_seek(&f.stream, at, &error));
        CHECK(seam_byte_output_tell(&f.stream) == at);
        CHECK_OK(seam_byte_output_append(&f.stream, other, 200, &error));
        CHECK(seam_byte_output_tell(&f.stream) == at + 200);
        CHECK(seam_byte_output_bytes(&f.stream) == TOTAL);
        seam_byte_output_copy(&f.stream, out);
        for (int64_t i = 0; i < TOTAL; i++) {
            CHECK(out[i] == (i >= at && i < at + 200 ? 9 : 7));
        }
        CHECK_OK(seam_byte_output_seek(&f.stream, TOTAL, &error)); /* on to the end */
        CHECK_OK(seam_byte_output_append(&f.stream, other, 1, &error));
        CHECK(seam_byte_output_bytes(&f.stream) == TOTAL + 1);
        CHECK(seam_byte_output_seek(&f.stream, TOTAL + 2, &error) == SEAM_BAD_ARGUMENT);
        CHECK(seam_byte_output_seek(&f.stream, -1, &error) == SEAM_BAD_ARGUMENT);
        tear_down(&f);
    }
}

static int bit_of(int64_t i) {
    return i % 3 == 0 || i % 7 == 2;
}

static void bits_leave_with_the_first_bit_highest(void) {
    enum { TOTAL = 5003 };
    uint8_t source[TOTAL / 8 + 2];
    uint8_t out[TOTAL / 8 + 1];
    struct fixture f;
    for (int64_t shift = 0; shift < 9; shift++) { /* the source begins anywhere in a byte */
        set_up(&f, 1);
        memset(source, 0, sizeof source);
        for (int64_t i = 0; i < TOTAL; i++) {
            source[(i + shift) / 8] |= (uint8_t)(bit_of(i) << ((i + shift) & 7));
        }
        int64_t at = 0;
        for (int64_t step = 1; at < TOTAL; step = step * 3 % 611) {
            int64_t end = at + step < TOTAL ? at + step : TOTAL;
            CHECK_OK(
                seam_byte_output_append_bits(&f.stream, source, at + shift, end + shift, &error));
            at = end;
        }
        CHECK(seam_byte_output_tell(&f.stream) == TOTAL);
        CHECK(seam_byte_output_bytes(&f.stream) == TOTAL / 8 + 1);
        for (int again = 0; again < 2; again++) { /* turned round once, however often it is read */
            seam_byte_output_copy(&f.stream, out);
            for (int64_t i = 0; i < TOTAL; i++) {
                CHECK(((out[i / 8] >> (7 - i % 8)) & 1) == bit_of(i));
            }
            CHECK((out[TOTAL / 8] & 0x1F) == 0); /* 5003 % 8 = 3 bits are used */
        }
        tear_down(&f);
    }
}

static void bits_are_overwritten_one_by_one(void) {
    enum { TOTAL = 2600 };
    uint8_t out[TOTAL / 8];
    struct fixture f;
    set_up(&f, 1);
    CHECK_OK(seam_byte_output_append_bit(&f.stream, true, TOTAL, &error));
    CHECK_OK(seam_byte_output_seek(&f.stream, 1020, &error)); /* over the border at 1024 */
    CHECK_OK(seam_byte_output_append_bit(&f.stream, false, 11, &error));
    CHECK(seam_byte_output_tell(&f.stream) == 1031 && f.stream.size == TOTAL);
    seam_byte_output_copy(&f.stream, out);
    for (int64_t i = 0; i < TOTAL; i++) {
        CHECK(((out[i / 8] >> (7 - i % 8)) & 1) == !(i >= 1020 && i < 1031));
    }
    uint8_t *space;
    int64_t room;
    CHECK(seam_byte_output_space(&f.stream, 1, &space, &room, &error) == SEAM_BAD_ARGUMENT);
    tear_down(&f);
}

/* A number of every width, a view, a skip: whatever the cut, the same is read. */
static void read_all(struct seam_allocator *allocator, uint8_t *bytes,
                     const struct seam_byte_range *ranges, int64_t n_ranges) {
    struct seam_byte_input in;
    CHECK_OK(seam_byte_input_init(&in, allocator, ranges, n_ranges, &error));
    CHECK(seam_byte_input_size(&in) == 32 && seam_byte_input_remaining(&in) == 32);
    static const int64_t EXPECTED[] = {-1, -2, 0x01020304, -0x0102030405060708};
    int64_t number;
    for (int i = 0; i < 4; i++) {
        CHECK_OK(seam_byte_input_number(&in, 1 << i, &number, &error));
        CHECK(number == EXPECTED[i]);
    }
    CHECK(seam_byte_input_tell(&in) == 15 && seam_byte_input_remaining(&in) == 17);
    int64_t seen = 0;
    while (seen < 10) {
        const uint8_t *view;
        int64_t size = seam_byte_input_view(&in, 10 - seen, &view);
        CHECK(size > 0 && memcmp(view, bytes + 15 + seen, (size_t)size) == 0);
        seen += size;
    }
    CHECK_OK(seam_byte_input_skip(&in, 3, &error));
    CHECK(seam_byte_input_tell(&in) == 28);
    uint8_t rest[8];
    CHECK(seam_byte_input_read(&in, rest, 5, &error) == SEAM_BAD_INPUT && error.offset == 28);
    CHECK(seam_byte_input_skip(&in, -1, &error) == SEAM_BAD_INPUT);
    CHECK(seam_byte_input_tell(&in) == 28); /* nothing was read */
    CHECK_OK(seam_byte_input_read(&in, rest, 4, &error));
    CHECK(memcmp(rest, bytes + 28, 4) == 0 && seam_byte_input_remaining(&in) == 0);
    const uint8_t *none;
    CHECK(seam_byte_input_view(&in, 1, &none) == 0);
    CHECK(seam_byte_input_number(&in, 1, &number, &error) == SEAM_BAD_INPUT);
    for (int64_t at = 0; at <= 32; at++) {
        CHECK_OK(seam_byte_input_seek(&in, 32 - at, &error));
        CHECK(seam_byte_input_remaining(&in) == at);
        CHECK(at == 0 || (seam_byte_input_view(&in, 1, &none) == 1 && *none == bytes[32 - at]));
    }
    CHECK(seam_byte_input_seek(&in, 33, &error) == SEAM_BAD_ARGUMENT);
    seam_byte_input_reset(&in);
}

static void any_cut_reads_the_same(void) {
    uint8_t bytes[32] = {0xFF, 0xFE, 0xFF, 4,    3,    2,    1,   0xF8,
                         0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE};
    for (int i = 15; i < 32; i++) {
        bytes[i] = byte_of(i);
    }
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_byte_range ranges[64];
    for (int64_t cut = 0; cut <= 32; cut++) {
        for (int64_t end = cut; end <= 32; end++) {
            ranges[0] = (struct seam_byte_range){.buffer = bytes, .size = cut, .position = 99};
            ranges[1] = (struct seam_byte_range){.buffer = bytes + cut, .size = end - cut};
            ranges[2] = (struct seam_byte_range){.buffer = bytes + end, .size = 32 - end};
            read_all(allocator, bytes, ranges, 3);
        }
    }
    for (int i = 0; i < 64; i++) { /* a byte at a time, an empty range before each */
        ranges[i] = (struct seam_byte_range){.buffer = bytes + i / 2, .size = i % 2};
    }
    read_all(allocator, bytes, ranges, 64);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static void nothing_is_read_from_no_ranges(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_byte_input in;
    CHECK_OK(seam_byte_input_init(&in, allocator, NULL, 0, &error));
    CHECK(seam_byte_input_size(&in) == 0 && seam_byte_input_remaining(&in) == 0);
    CHECK_OK(seam_byte_input_skip(&in, 0, &error));
    seam_byte_input_reset(&in);
    seam_allocator_release(allocator);
}

static int write_and_read(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_stream_arena arena;
    struct seam_byte_output bytes;
    struct seam_byte_output bits;
    struct seam_byte_input in;
    seam_stream_arena_init(&arena, allocator);
    seam_byte_output_init(&bytes, &arena, 0);
    seam_byte_output_init(&bits, &arena, 1);
    int code = SEAM_OK;
    for (int64_t i = 0; code == SEAM_OK && i < 3000; i++) {
        code = seam_byte_output_append(&bytes, &i, sizeof i, failure);
        if (code == SEAM_OK) {
            code = seam_byte_output_append_bit(&bits, true, 5, failure);
        }
    }
    if (code == SEAM_OK) {
        code = seam_byte_input_init(&in, allocator, bytes.more, bytes.n_ranges, failure);
        if (code == SEAM_OK) {
            seam_byte_input_reset(&in);
        }
    }
    seam_byte_output_clear(&bytes);
    seam_byte_output_clear(&bits);
    seam_stream_arena_clear(&arena);
    return code;
}

int main(void) {
    ranges_grow_with_what_the_stream_holds();
    tiny_ranges_double();
    short_streams_take_little_of_an_arena_with_tiny_ranges();
    appended_bytes_come_out_in_order();
    going_back_overwrites_and_does_not_shorten();
    bits_leave_with_the_first_bit_highest();
    bits_are_overwritten_one_by_one();
    any_cut_reads_the_same();
    nothing_is_read_from_no_ranges();
    check_every_allocation(write_and_read);
    return 0;
}
