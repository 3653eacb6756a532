/* Pages written from Arrow and read back: failing allocations, limits, broken bytes. What pages
 * must look like is checked against golden bytes from Python. */
#include "seam/arrow_build.h"
#include "seam/presto_page.h"

#include "check.h"

#include <stdbool.h>
#include <string.h>

static struct seam_error error;

/* bigint, varchar, row(a boolean, b array(integer)); three rows, nulls at every level. */
static const struct seam_presto_type TYPES[] = {
    {SEAM_PRESTO_FIXED, 8, 1, 0, "n"},   {SEAM_PRESTO_TEXT, 0, 0, 0, "s"},
    {SEAM_PRESTO_ROW, 0, 0, 2, "r"},     {SEAM_PRESTO_BOOLEAN, 0, 0, 0, "r.a"},
    {SEAM_PRESTO_ARRAY, 0, 0, 1, "r.b"}, {SEAM_PRESTO_FIXED, 4, 1, 0, "r.b.element"},
};
enum { N_TYPES = 6, N_COLUMNS = 3 };

static struct ArrowSchema s_element = {.format = "i", .name = "element"};
static struct ArrowSchema *s_list_children[] = {&s_element};
static struct ArrowSchema s_flag = {.format = "b", .name = "a"};
static struct ArrowSchema s_list = {
    .format = "+l", .name = "b", .n_children = 1, .children = s_list_children};
static struct ArrowSchema *s_row_children[] = {&s_flag, &s_list};
static struct ArrowSchema s_number = {.format = "l", .name = "n"};
static struct ArrowSchema s_text = {.format = "u", .name = "s"};
static struct ArrowSchema s_row = {
    .format = "+s", .name = "r", .n_children = 2, .children = s_row_children};
static struct ArrowSchema *s_columns[] = {&s_number, &s_text, &s_row};
static struct ArrowSchema s_batch = {
    .format = "+s", .name = "", .n_children = 3, .children = s_columns};

static const int64_t NUMBERS[] = {5, 0, -7};
static const uint8_t FIRST_AND_LAST[] = {5};
static const int32_t ENDS[] = {0, 2, 2, 5};
static const uint8_t FLAGS[] = {4};
static const int32_t SPANS[] = {0, 2, 2, 2};
static const int32_t ELEMENTS[] = {1, 2};
static const uint8_t ONE[] = {1};
static const void *number_buffers[] = {FIRST_AND_LAST, NUMBERS};
static const void *text_buffers[] = {NULL, ENDS, "abcde"};
static const void *flag_buffers[] = {NULL, FLAGS};
static const void *list_buffers[] = {NULL, SPANS};
static const void *element_buffers[] = {ONE, ELEMENTS};
static const void *row_buffers[] = {FIRST_AND_LAST};
static const void *batch_buffers[] = {NULL};

static struct ArrowArray element = {
    .length = 2, .null_count = 1, .n_buffers = 2, .buffers = element_buffers};
static struct ArrowArray *list_children[] = {&element};
static struct ArrowArray flag = {.length = 3, .n_buffers = 2, .buffers = flag_buffers};
static struct ArrowArray list = {.length = 3,
                                 .n_buffers = 2,
                                 .buffers = list_buffers,
                                 .n_children = 1,
                                 .children = list_children};
static struct ArrowArray *row_children[] = {&flag, &list};
static struct ArrowArray number = {
    .length = 3, .null_count = 1, .n_buffers = 2, .buffers = number_buffers};
static struct ArrowArray text = {.length = 3, .n_buffers = 3, .buffers = text_buffers};
static struct ArrowArray row = {.length = 3,
                                .null_count = 1,
                                .n_buffers = 1,
                                .buffers = row_buffers,
                                .n_children = 2,
                                .children = row_children};
static struct ArrowArray *columns[] = {&number, &text, &row};
static struct ArrowArray batch = {
    .length = 3, .n_buffers = 1, .buffers = batch_buffers, .n_children = 3, .children = columns};

static const struct seam_presto_read_options READ = {.depth_limit = 8, .size_limit = 1 << 20};

/* Two selections of the batch, one after the other in a block. */
static int write_pages(struct seam_allocator *allocator, uint8_t **out, int64_t *sizes,
                       struct seam_error *failure) {
    static const int32_t PICKED[] = {2, 0, 0};
    static const struct seam_presto_rows SELECTIONS[] = {{NULL, 0, 3}, {PICKED, 0, 3}};
    static const struct seam_presto_write_options OPTIONS = {0};
    struct seam_presto_program *program = NULL;
    struct seam_presto_writer *writer = NULL;
    void *block = NULL;
    int code = seam_presto_program_new(allocator, TYPES, N_TYPES, N_COLUMNS, &program, failure);
    code = code ? code
                : seam_presto_writer_new(allocator, program, &s_batch, &batch, &OPTIONS, &writer,
                                         failure);
    code = code ? code : seam_presto_writer_measure(writer, SELECTIONS, 2, sizes, failure);
    code = code ? code : seam_alloc(allocator, (size_t)(sizes[0] + sizes[1]), &block, failure);
    code = code ? code : seam_presto_writer_write(writer, block, failure);
    seam_presto_writer_free(writer);
    seam_presto_program_free(program);
    if (code != SEAM_OK) {
        seam_free(block);
        block = NULL;
    }
    *out = block;
    return code;
}

static int read_page(struct seam_allocator *allocator, const uint8_t *payload, int64_t size,
                     const struct seam_presto_read_options *options, struct ArrowArray *out,
                     struct seam_error *failure) {
    struct seam_presto_program *program = NULL;
    struct seam_presto_trace trace = {.any = 0};
    seam_buffer_init(&trace.marks, allocator);
    seam_buffer_init(&trace.sources, allocator);
    int code = seam_presto_program_new(allocator, TYPES, N_TYPES, N_COLUMNS, &program, failure);
    code = code ? code
                : seam_presto_read(allocator, program, payload, size, 3, options, &trace, out,
                                   failure);
    seam_buffer_reset(&trace.marks);
    seam_buffer_reset(&trace.sources);
    seam_presto_program_free(program);
    return code;
}

static void check_values(const struct ArrowArray *page, const int *rows) {
    for (int i = 0; i < 3; i++) {
        bool valid = rows[i] != 1;
        const struct ArrowArray *numbers = page->children[0];
        const uint8_t *validity = numbers->buffers[0];
        CHECK((validity == NULL || ((validity[0] >> i) & 1)) == valid);
        CHECK(!valid || ((const int64_t *)numbers->buffers[1])[i] == NUMBERS[rows[i]]);
        const int32_t *ends = page->children[1]->buffers[1];
        CHECK(ends[i + 1] - ends[i] == ENDS[rows[i] + 1] - ENDS[rows[i]]);
    }
    CHECK(page->children[2]->children[0]->length == 3);
    CHECK(page->children[2]->children[1]->length == 3);
}

static int round_trip(struct seam_allocator *allocator, struct seam_error *failure) {
    uint8_t *pages;
    int64_t sizes[2];
    struct ArrowArray out;
    int code = write_pages(allocator, &pages, sizes, failure);
    if (code != SEAM_OK) {
        return code;
    }
    code = read_page(allocator, pages + SEAM_PRESTO_HEADER_BYTES,
                     sizes[0] - SEAM_PRESTO_HEADER_BYTES, &READ, &out, failure);
    if (code == SEAM_OK) {
        check_values(&out, (const int[]){0, 1, 2});
        seam_array_release(&out);
        code = read_page(allocator, pages + sizes[0] + SEAM_PRESTO_HEADER_BYTES,
                         sizes[1] - SEAM_PRESTO_HEADER_BYTES, &READ, &out, failure);
    }
    if (code == SEAM_OK) {
        check_values(&out, (const int[]){2, 0, 0});
        seam_array_release(&out);
    }
    seam_free(pages);
    return code;
}

/* Each prefix in a block of its own size, so that one byte too many shows. */
static void every_truncation_is_refused(const uint8_t *payload, int64_t size) {
    for (int64_t cut = 0; cut < size; cut++) {
        struct ArrowArray out;
        struct seam_allocator *allocator = seam_allocator_new(0);
        uint8_t *copy = malloc((size_t)cut);
        if (cut > 0) {
            memcpy(copy, payload, (size_t)cut);
        }
        CHECK(read_page(allocator, copy, cut, &READ, &out, &error) == SEAM_BAD_INPUT);
        CHECK(error.offset >= 0 && error.offset <= cut);
        CHECK(live_blocks(allocator) == 0);
        seam_allocator_release(allocator);
        free(copy);
    }
}

static void every_flip_is_survived(uint8_t *payload, int64_t size) {
    for (int64_t at = 0; at < size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct ArrowArray out;
            struct seam_allocator *allocator = seam_allocator_new(0);
            payload[at] ^= (uint8_t)(1 << bit);
            int code = read_page(allocator, payload, size, &READ, &out, &error);
            CHECK(code == SEAM_OK || code == SEAM_BAD_INPUT || code == SEAM_UNSUPPORTED);
            if (code == SEAM_OK) {
                seam_array_release(&out);
            }
            payload[at] ^= (uint8_t)(1 << bit);
            CHECK(live_blocks(allocator) == 0);
            seam_allocator_release(allocator);
        }
    }
}

static void limits_hold(const uint8_t *payload, int64_t size) {
    struct ArrowArray out;
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_presto_read_options options = READ;
    options.depth_limit = 2;
    CHECK(read_page(allocator, payload, size, &options, &out, &error) == SEAM_UNSUPPORTED);
    options = READ;
    options.size_limit = 64;
    CHECK(read_page(allocator, payload, size, &options, &out, &error) == SEAM_UNSUPPORTED);
    options.size_limit = 2;
    CHECK(read_page(allocator, payload, size, &options, &out, &error) == SEAM_UNSUPPORTED);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static void broken_trees_are_refused(void) {
    static const struct seam_presto_type BROKEN[][2] = {
        {{SEAM_PRESTO_ARRAY, 0, 0, 1, "a"}, {99, 0, 0, 0, "a.element"}},
        {{SEAM_PRESTO_ARRAY, 0, 0, 2, "a"}, {SEAM_PRESTO_UNKNOWN, 0, 0, 0, "a.element"}},
        {{SEAM_PRESTO_FIXED, 3, 0, 0, "a"}, {SEAM_PRESTO_UNKNOWN, 0, 0, 0, "b"}},
        {{SEAM_PRESTO_LONG_DECIMAL, 18, 0, 0, "a"}, {SEAM_PRESTO_UNKNOWN, 0, 0, 0, "b"}},
        {{SEAM_PRESTO_UNKNOWN, 0, 0, 0, "a"}, {SEAM_PRESTO_UNKNOWN, 0, 0, 0, "b"}},
        {{SEAM_PRESTO_MAP, 0, 0, 2, "a"}, {SEAM_PRESTO_UNKNOWN, 0, 0, 0, "a.key"}},
    };
    for (size_t i = 0; i < sizeof BROKEN / sizeof BROKEN[0]; i++) {
        struct seam_allocator *allocator = seam_allocator_new(0);
        struct seam_presto_program *program;
        CHECK(seam_presto_program_new(allocator, BROKEN[i], 2, 1, &program, &error) ==
              SEAM_BAD_ARGUMENT);
        CHECK(program == NULL && live_blocks(allocator) == 0);
        seam_allocator_release(allocator);
    }
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    uint8_t *pages;
    int64_t sizes[2];
    check_every_allocation(round_trip);
    CHECK_OK(write_pages(allocator, &pages, sizes, &error));
    uint8_t *payload = pages + SEAM_PRESTO_HEADER_BYTES;
    int64_t size = sizes[0] - SEAM_PRESTO_HEADER_BYTES;
    every_truncation_is_refused(payload, size);
    every_flip_is_survived(payload, size);
    limits_hold(payload, size);
    broken_trees_are_refused();
    seam_free(pages);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
