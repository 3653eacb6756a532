/* Trees of views over nested Arrow arrays: what row i of each node is. */
#include "seam/node.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

/* An int32 child, rows 0..7, of a struct that begins at row 2, of which row 1 is null. */
static void struct_offsets_reach_the_fields(void) {
    static const int32_t VALUES[] = {0, 10, 20, 30, 40, 50, 60, 70};
    static const uint8_t STRUCT_VALID[] = {0xF7}; /* bit 3 = row 1 after the offset of 2 */
    const void *leaf_buffers[] = {NULL, VALUES};
    const void *struct_buffers[] = {STRUCT_VALID};
    struct ArrowArray leaf = {.length = 7, .offset = 1, .n_buffers = 2, .buffers = leaf_buffers};
    struct ArrowArray *children[] = {&leaf};
    struct ArrowArray array = {.length = 3,
                               .null_count = 1,
                               .offset = 2,
                               .n_buffers = 1,
                               .buffers = struct_buffers,
                               .n_children = 1,
                               .children = children};
    struct ArrowSchema leaf_schema = {.format = "i", .name = "a"};
    struct ArrowSchema *schemas[] = {&leaf_schema};
    struct ArrowSchema schema = {.format = "+s", .n_children = 1, .children = schemas};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_node *node;
    CHECK_OK(seam_node_open(allocator, &schema, &array, &node, &error));
    CHECK(node->kind == SEAM_NODE_STRUCT && node->n_children == 1);
    CHECK(seam_node_valid(node, 0) && !seam_node_valid(node, 1) && seam_node_valid(node, 2));
    const struct seam_view *view = &node->children[0].view;
    CHECK(view->length == 3);
    CHECK(((const int32_t *)(const void *)view->data)[view->offset + 0] == 30);
    CHECK(((const int32_t *)(const void *)view->data)[view->offset + 2] == 50);
    seam_node_close(node);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Runs of 3, 2 and 4 rows; the array begins at row 1. */
static void runs_are_found_by_their_ends(void) {
    static const int16_t ENDS[] = {3, 5, 9};
    static const int64_t VALUES[] = {7, 8, 9};
    const void *end_buffers[] = {NULL, ENDS};
    const void *value_buffers[] = {NULL, VALUES};
    struct ArrowArray ends = {.length = 3, .n_buffers = 2, .buffers = end_buffers};
    struct ArrowArray values = {.length = 3, .n_buffers = 2, .buffers = value_buffers};
    struct ArrowArray *children[] = {&ends, &values};
    struct ArrowArray array = {.length = 8, .offset = 1, .n_children = 2, .children = children};
    struct ArrowSchema ends_schema = {.format = "s", .name = "run_ends"};
    struct ArrowSchema values_schema = {.format = "l", .name = "values"};
    struct ArrowSchema *schemas[] = {&ends_schema, &values_schema};
    struct ArrowSchema schema = {.format = "+r", .name = "r", .n_children = 2, .children = schemas};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_node *node;
    CHECK_OK(seam_node_open(allocator, &schema, &array, &node, &error));
    static const int64_t EXPECTED[] = {0, 0, 1, 1, 2, 2, 2, 2};
    for (int64_t row = 0; row < 8; row++) {
        CHECK(seam_node_run(node, row) == EXPECTED[row]);
    }
    seam_node_close(node);
    array.length = 9; /* which reaches row 10 of 9 */
    CHECK(seam_node_open(allocator, &schema, &array, &node, &error) == SEAM_BAD_INPUT);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static void indexes_of_any_width_are_read(void) {
    static const int8_t INDEXES[] = {1, 0, 127};
    static const uint8_t BYTES[128] = {200};
    const void *index_buffers[] = {NULL, INDEXES};
    const void *value_buffers[] = {NULL, BYTES};
    struct ArrowArray values = {.length = 128, .n_buffers = 2, .buffers = value_buffers};
    struct ArrowArray array = {
        .length = 3, .n_buffers = 2, .buffers = index_buffers, .dictionary = &values};
    struct ArrowSchema values_schema = {.format = "C", .name = ""};
    struct ArrowSchema schema = {.format = "c", .name = "d", .dictionary = &values_schema};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_node *node;
    CHECK_OK(seam_node_open(allocator, &schema, &array, &node, &error));
    CHECK(node->kind == SEAM_NODE_DICTIONARY);
    CHECK(seam_node_index(node, 0) == 1 && seam_node_index(node, 2) == 127);
    CHECK(node->children[0].view.data[0] == 200);
    seam_node_close(node);
    values.length = 127;
    CHECK(seam_node_open(allocator, &schema, &array, &node, &error) == SEAM_BAD_INPUT);
    CHECK(strstr(error.message, "'d'") != NULL && node == NULL);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static void other_layouts_are_refused_by_name(void) {
    struct ArrowSchema schema = {.format = "+ud:0", .name = "either"};
    struct ArrowArray array = {.length = 0};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_node *node;
    CHECK(seam_node_open(allocator, &schema, &array, &node, &error) == SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "'either'") != NULL && node == NULL);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

int main(void) {
    struct_offsets_reach_the_fields();
    runs_are_found_by_their_ends();
    indexes_of_any_width_are_read();
    other_layouts_are_refused_by_name();
    return 0;
}
