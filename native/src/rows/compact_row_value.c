/* Values of CompactRows one at a time, of any nesting. */
#include "rows/compact_row_internal.h"

int compact_check(const struct seam_row_type *type, struct seam_error *error) {
    if (type->kind == SEAM_ROW_CALENDAR) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s' is a calendar interval, which Velox does not have",
                         type->name);
    }
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(compact_check(&type->children[i], error));
    }
    return SEAM_OK;
}

/* ---- sizes ---- */

static int64_t row_bytes(struct row_trouble *trouble, const struct seam_row_type *type,
                         const struct seam_node *node, int64_t row) {
    int64_t bytes = compact_null_bytes(type->n_children);
    for (int32_t i = 0; i < type->n_children; i++) {
        const struct seam_row_type *field = &type->children[i];
        int64_t at = row;
        const struct seam_node *leaf = row_value(field, &node->children[i], &at, trouble);
        bytes += compact_width(field);
        if (leaf != NULL && compact_varies(field)) {
            bytes += compact_value_bytes(trouble, field, leaf, at);
        }
    }
    return bytes;
}

static int64_t array_bytes(struct row_trouble *trouble, const struct seam_row_type *type,
                           const struct seam_node *node, int64_t begin, int64_t end) {
    int64_t count = end - begin;
    int64_t bytes = 4 + compact_null_bytes(count) + count * compact_width(type);
    if (compact_nested(type) && count > 0) {
        bytes += 4 + 4 * count;
    }
    bool look = compact_varies(type) || !type->nullable;
    for (int64_t i = begin; look && i < end; i++) {
        int64_t at = i;
        const struct seam_node *leaf = row_value(type, node, &at, trouble);
        if (leaf != NULL && compact_varies(type)) {
            bytes += compact_value_bytes(trouble, type, leaf, at);
        }
    }
    return bytes;
}

int64_t compact_value_bytes(struct row_trouble *trouble, const struct seam_row_type *type,
                            const struct seam_node *leaf, int64_t row) {
    const uint8_t *unused;
    int64_t begin, end;
    const struct seam_node *entries;
    switch (type->kind) {
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        return 4 + seam_view_bytes(&leaf->view, row, &unused);
    case SEAM_ROW_ARRAY:
        return array_bytes(trouble, &type->children[0], &leaf->children[0],
                           seam_node_start(leaf, row), seam_node_start(leaf, row + 1));
    case SEAM_ROW_MAP:
        begin = seam_node_start(leaf, row);
        end = seam_node_start(leaf, row + 1);
        entries = leaf->children[0].children;
        return array_bytes(trouble, &type->children[0], &entries[0], begin, end) +
               array_bytes(trouble, &type->children[1], &entries[1], begin, end);
    case SEAM_ROW_STRUCT:
        return row_bytes(trouble, type, leaf, row);
    default:
        return compact_width(type);
    }
}

/* ---- values ---- */

static uint8_t *write_field(struct row_trouble *trouble, const struct seam_row_type *type,
                            const struct seam_node *node, int64_t row, uint8_t *nulls, int64_t bit,
                            uint8_t *at) {
    const struct seam_node *leaf = row_resolve(node, &row);
    if (leaf != NULL) {
        return compact_value_write(trouble, type, leaf, row, at);
    }
    int64_t width = compact_width(type);
    nulls[bit >> 3] = (uint8_t)(nulls[bit >> 3] | 1 << (bit & 7));
    memset(at, 0, (size_t)width);
    return at + width;
}

static uint8_t *write_row(struct row_trouble *trouble, const struct seam_row_type *type,
                          const struct seam_node *node, int64_t row, uint8_t *nulls) {
    int64_t null_bytes = compact_null_bytes(type->n_children);
    uint8_t *at = nulls + null_bytes;
    memset(nulls, 0, (size_t)null_bytes);
    for (int32_t i = 0; i < type->n_children; i++) {
        at = write_field(trouble, &type->children[i], &node->children[i], row, nulls, i, at);
    }
    return at;
}

static uint8_t *write_array(struct row_trouble *trouble, const struct seam_row_type *type,
                            const struct seam_node *node, int64_t begin, int64_t end,
                            uint8_t *out) {
    int64_t count = end - begin;
    int64_t null_bytes = compact_null_bytes(count);
    uint8_t *nulls = out + 4;
    uint8_t *at = nulls + null_bytes;
    uint8_t *offsets = NULL;
    seam_store32(out, (uint32_t)count);
    memset(nulls, 0, (size_t)null_bytes);
    if (compact_nested(type) && count > 0) {
        offsets = at + 4;
        at = offsets + 4 * count;
        memset(offsets, 0, (size_t)(4 * count));
    }
    for (int64_t i = 0; i < count; i++) {
        uint8_t *begun = at;
        at = write_field(trouble, type, node, begin + i, nulls, i, at);
        if (offsets != NULL && !seam_bit(nulls, i)) {
            seam_store32(offsets + 4 * i, (uint32_t)(begun - offsets));
        }
    }
    if (offsets != NULL) {
        seam_store32(offsets - 4, (uint32_t)(at - offsets));
    }
    return at;
}

static uint8_t *write_decimal(struct row_trouble *trouble, const struct seam_row_type *type,
                              const struct seam_node *leaf, int64_t row, uint8_t *at) {
    int64_t high;
    uint64_t low;
    row_load_decimal(&leaf->view, row, &high, &low);
    if (!row_decimal_fits(high, low, seam_power_of_ten(type->precision))) {
        row_blame(trouble, SEAM_BAD_INPUT, type, "has more digits than its type");
    }
    seam_store64(at, low);
    if (type->kind == SEAM_ROW_SHORT_DECIMAL) {
        return at + 8;
    }
    seam_store64(at + 8, (uint64_t)high);
    return at + 16;
}

uint8_t *compact_value_write(struct row_trouble *trouble, const struct seam_row_type *type,
                             const struct seam_node *leaf, int64_t row, uint8_t *at) {
    const uint8_t *bytes;
    int64_t size, begin, end;
    const struct seam_node *entries;
    switch (type->kind) {
    case SEAM_ROW_SHORT_DECIMAL:
    case SEAM_ROW_LONG_DECIMAL:
        return write_decimal(trouble, type, leaf, row, at);
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        size = seam_view_bytes(&leaf->view, row, &bytes);
        seam_store32(at, (uint32_t)size);
        memcpy(at + 4, bytes, (size_t)size);
        return at + 4 + size;
    case SEAM_ROW_ARRAY:
        return write_array(trouble, &type->children[0], &leaf->children[0],
                           seam_node_start(leaf, row), seam_node_start(leaf, row + 1), at);
    case SEAM_ROW_MAP:
        begin = seam_node_start(leaf, row);
        end = seam_node_start(leaf, row + 1);
        entries = leaf->children[0].children;
        at = write_array(trouble, &type->children[0], &entries[0], begin, end, at);
        return write_array(trouble, &type->children[1], &entries[1], begin, end, at);
    case SEAM_ROW_STRUCT:
        return write_row(trouble, type, leaf, row, at);
    default:
        size = compact_width(type);
        row_store_fixed(at, row_load_value(type, &leaf->view, row), (int32_t)size);
        return at + size;
    }
}
