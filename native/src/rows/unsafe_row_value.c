/* Values of UnsafeRows one at a time, of any nesting. */
#include "rows/unsafe_row_internal.h"

static int64_t row_bytes(struct unsafe_writer *writer, const struct seam_row_type *type,
                         const struct seam_node *node, int64_t row) {
    int64_t bytes = unsafe_head_bytes(type->n_children);
    for (int32_t i = 0; i < type->n_children; i++) {
        const struct seam_row_type *field = &type->children[i];
        int64_t at = row;
        const struct seam_node *leaf = row_value(field, &node->children[i], &at, &writer->trouble);
        if (leaf == NULL) {
            bytes += unsafe_kept_bytes(writer, field);
        } else if (unsafe_in_tail(field)) {
            bytes += row_align8(unsafe_tail_bytes(writer, field, leaf, at, true));
        }
    }
    return bytes;
}

static int64_t array_bytes(struct unsafe_writer *writer, const struct seam_row_type *type,
                           const struct seam_node *node, int64_t begin, int64_t end) {
    int64_t width = unsafe_element_bytes(type, writer->dialect);
    int64_t bytes = 8 + unsafe_null_bytes(end - begin) + (end - begin) * width;
    bool look = unsafe_in_tail(type) || !type->nullable;
    for (int64_t i = begin; look && i < end; i++) {
        int64_t at = i;
        const struct seam_node *leaf = row_value(type, node, &at, &writer->trouble);
        if (leaf != NULL && unsafe_in_tail(type)) {
            bytes += row_align8(unsafe_tail_bytes(writer, type, leaf, at, false));
        }
    }
    return writer->dialect == SEAM_UNSAFE_SPARK ? row_align8(bytes) : bytes;
}

static int64_t map_bytes(struct unsafe_writer *writer, const struct seam_row_type *type,
                         const struct seam_node *leaf, int64_t begin, int64_t end) {
    const struct seam_node *entries = leaf->children[0].children;
    return 8 + array_bytes(writer, &type->children[0], &entries[0], begin, end) +
           array_bytes(writer, &type->children[1], &entries[1], begin, end);
}

static int64_t decimal_tail_bytes(const struct unsafe_writer *writer, const struct seam_node *leaf,
                                  int64_t row, bool in_row) {
    int64_t high;
    uint64_t low;
    if (in_row && writer->dialect == SEAM_UNSAFE_SPARK) {
        return UNSAFE_PLACE_BYTES;
    }
    row_load_decimal(&leaf->view, row, &high, &low);
    return row_align8(row_decimal_bytes(high, low));
}

static int64_t refuse_calendar(struct unsafe_writer *writer, const struct seam_row_type *type) {
    if (writer->dialect == SEAM_UNSAFE_VELOX) {
        row_blame(&writer->trouble, SEAM_UNSUPPORTED, type,
                  "is a calendar interval, which Velox does not have");
    }
    return UNSAFE_PLACE_BYTES;
}

int64_t unsafe_tail_bytes(struct unsafe_writer *writer, const struct seam_row_type *type,
                          const struct seam_node *leaf, int64_t row, bool in_row) {
    const uint8_t *unused;
    switch (type->kind) {
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        return seam_view_bytes(&leaf->view, row, &unused);
    case SEAM_ROW_LONG_DECIMAL:
        return decimal_tail_bytes(writer, leaf, row, in_row);
    case SEAM_ROW_CALENDAR:
        return refuse_calendar(writer, type);
    case SEAM_ROW_ARRAY:
        return array_bytes(writer, &type->children[0], &leaf->children[0],
                           seam_node_start(leaf, row), seam_node_start(leaf, row + 1));
    case SEAM_ROW_MAP:
        return map_bytes(writer, type, leaf, seam_node_start(leaf, row),
                         seam_node_start(leaf, row + 1));
    default:
        return row_bytes(writer, type, leaf, row);
    }
}

uint64_t unsafe_slot_value(struct unsafe_writer *writer, const struct seam_row_type *type,
                           const struct seam_node *leaf, int64_t row) {
    int64_t high;
    uint64_t low;
    if (type->kind != SEAM_ROW_SHORT_DECIMAL) {
        return row_load_value(type, &leaf->view, row);
    }
    row_load_decimal(&leaf->view, row, &high, &low);
    if (!row_decimal_fits(high, low, seam_power_of_ten(type->precision))) {
        row_blame(&writer->trouble, SEAM_BAD_INPUT, type, "has more digits than its type");
    }
    return low;
}

static int64_t write_row(struct unsafe_writer *writer, const struct seam_row_type *type,
                         const struct seam_node *node, int64_t row, uint8_t *at) {
    uint8_t *slot = at + unsafe_null_bytes(type->n_children);
    int64_t tail = unsafe_head_bytes(type->n_children);
    memset(at, 0, (size_t)(slot - at));
    for (int32_t i = 0; i < type->n_children; i++, slot += 8) {
        const struct seam_row_type *field = &type->children[i];
        int64_t from = row;
        const struct seam_node *leaf = row_resolve(&node->children[i], &from);
        if (leaf == NULL) {
            int64_t kept = unsafe_kept_bytes(writer, field);
            at[i >> 3] = (uint8_t)(at[i >> 3] | 1 << (i & 7));
            seam_store64(slot, kept == 0 ? 0 : unsafe_kept_slot(field, tail));
            memset(at + tail, 0, (size_t)kept);
            tail += kept;
        } else if (unsafe_in_tail(field)) {
            int64_t whole = row_align8(unsafe_tail_bytes(writer, field, leaf, from, true));
            int64_t size = unsafe_tail_write(writer, field, leaf, from, true, at + tail);
            seam_store64(slot, unsafe_slot(tail, size));
            tail += whole;
        } else {
            seam_store64(slot, unsafe_slot_value(writer, field, leaf, from));
        }
    }
    return tail;
}

/* Elements that lie in Arrow as they do in the row, none of them null. */
static bool copies(const struct seam_row_type *type, const struct seam_node *node) {
    return type->kind == SEAM_ROW_FIXED && node->kind == SEAM_NODE_FLAT &&
           node->view.validity == NULL;
}

static int64_t write_elements(struct unsafe_writer *writer, const struct seam_row_type *type,
                              const struct seam_node *node, int64_t begin, int64_t count,
                              uint8_t *at) {
    int64_t width = unsafe_element_bytes(type, writer->dialect);
    uint8_t *element = at + 8 + unsafe_null_bytes(count);
    int64_t tail = element - at + count * width;
    for (int64_t i = 0; i < count; i++, element += width) {
        int64_t from = begin + i;
        const struct seam_node *leaf = row_resolve(node, &from);
        if (leaf == NULL) {
            at[8 + (i >> 3)] = (uint8_t)(at[8 + (i >> 3)] | 1 << (i & 7));
            memset(element, 0, (size_t)width);
        } else if (unsafe_in_tail(type)) {
            int64_t whole = row_align8(unsafe_tail_bytes(writer, type, leaf, from, false));
            int64_t size = unsafe_tail_write(writer, type, leaf, from, false, at + tail);
            seam_store64(element, unsafe_slot(tail, size));
            tail += whole;
        } else {
            row_store_fixed(element, unsafe_slot_value(writer, type, leaf, from), (int32_t)width);
        }
    }
    return tail;
}

static int64_t write_array(struct unsafe_writer *writer, const struct seam_row_type *type,
                           const struct seam_node *node, int64_t begin, int64_t end, uint8_t *at) {
    int64_t count = end - begin;
    int64_t head = 8 + unsafe_null_bytes(count);
    int64_t size;
    memset(at, 0, (size_t)head);
    seam_store64(at, (uint64_t)count);
    if (copies(type, node) && count > 0) {
        int64_t width = type->width_bytes;
        memcpy(at + head, node->view.data + (node->view.offset + begin) * width,
               (size_t)(count * width));
        size = head + count * width;
    } else {
        size = write_elements(writer, type, node, begin, count, at);
    }
    if (writer->dialect == SEAM_UNSAFE_SPARK) {
        memset(at + size, 0, (size_t)(row_align8(size) - size));
        size = row_align8(size);
    }
    return size;
}

static int64_t write_map(struct unsafe_writer *writer, const struct seam_row_type *type,
                         const struct seam_node *leaf, int64_t row, uint8_t *at) {
    const struct seam_node *entries = leaf->children[0].children;
    int64_t begin = seam_node_start(leaf, row);
    int64_t end = seam_node_start(leaf, row + 1);
    int64_t keys = write_array(writer, &type->children[0], &entries[0], begin, end, at + 8);
    seam_store64(at, (uint64_t)keys);
    return 8 + keys +
           write_array(writer, &type->children[1], &entries[1], begin, end, at + 8 + keys);
}

static int64_t write_decimal(struct unsafe_writer *writer, const struct seam_row_type *type,
                             const struct seam_node *leaf, int64_t row, bool in_row, uint8_t *at) {
    int64_t high;
    uint64_t low;
    row_load_decimal(&leaf->view, row, &high, &low);
    if (!row_decimal_fits(high, low, seam_power_of_ten(type->precision))) {
        row_blame(&writer->trouble, SEAM_BAD_INPUT, type, "has more digits than its type");
    }
    if (in_row && writer->dialect == SEAM_UNSAFE_SPARK) {
        memset(at, 0, UNSAFE_PLACE_BYTES);
    }
    return row_decimal_store(at, high, low);
}

static int64_t write_calendar(const struct seam_node *leaf, int64_t row, uint8_t *at) {
    for (int part = 0; part < 3; part++) {
        const struct seam_view *view = &leaf->children[part].view;
        int32_t width = view->width_bytes;
        bool valid = seam_view_valid(view, row);
        const uint8_t *from = view->data + (view->offset + row) * width;
        row_store_fixed(at + 4 * part, valid ? row_load_fixed(from, width) : 0, width);
    }
    return UNSAFE_PLACE_BYTES;
}

int64_t unsafe_tail_write(struct unsafe_writer *writer, const struct seam_row_type *type,
                          const struct seam_node *leaf, int64_t row, bool in_row, uint8_t *at) {
    const uint8_t *bytes;
    int64_t size;
    switch (type->kind) {
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        size = seam_view_bytes(&leaf->view, row, &bytes);
        row_copy_padded(at, bytes, size, bytes + size);
        return size;
    case SEAM_ROW_LONG_DECIMAL:
        return write_decimal(writer, type, leaf, row, in_row, at);
    case SEAM_ROW_CALENDAR:
        return write_calendar(leaf, row, at);
    case SEAM_ROW_ARRAY:
        size = write_array(writer, &type->children[0], &leaf->children[0],
                           seam_node_start(leaf, row), seam_node_start(leaf, row + 1), at);
        break;
    case SEAM_ROW_MAP:
        size = write_map(writer, type, leaf, row, at);
        break;
    default:
        return write_row(writer, type, leaf, row, at);
    }
    memset(at + size, 0, (size_t)(row_align8(size) - size));
    return size;
}
