#include "hash/hash_value.h"

#include <string.h>

static int mismatch(const struct seam_column_type *type, const struct seam_node *node,
                    struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                     "column '%s' of Arrow format '%s' is hashed as %s, which it is not",
                     node->name, node->format, seam_column_kind_name(type->kind));
}

/* The layout and width in which Arrow holds a flat kind. */
static int flat_fits(const struct seam_column_type *type, const struct seam_node *node) {
    const struct seam_view *view = &node->view;
    switch (type->kind) {
    case SEAM_COLUMN_BOOLEAN:
        return view->layout == SEAM_LAYOUT_BITS;
    case SEAM_COLUMN_STRING:
    case SEAM_COLUMN_BINARY:
        return view->layout == SEAM_LAYOUT_VAR32 || view->layout == SEAM_LAYOUT_VAR64;
    case SEAM_COLUMN_DATE:
        return strcmp(node->format, "tdD") == 0;
    case SEAM_COLUMN_TIME:
        return strcmp(node->format, "ttm") == 0;
    case SEAM_COLUMN_DATETIME:
    case SEAM_COLUMN_DATETIME_MICROS:
    case SEAM_COLUMN_DATETIME_MILLIS:
        return strncmp(node->format, "ts", 2) == 0;
    case SEAM_COLUMN_DECIMALV2:
    case SEAM_COLUMN_DECIMAL32:
    case SEAM_COLUMN_DECIMAL64:
    case SEAM_COLUMN_DECIMAL128:
        return view->layout == SEAM_LAYOUT_FIXED && strncmp(node->format, "d:", 2) == 0;
    default:
        return view->layout == SEAM_LAYOUT_FIXED &&
               view->width_bytes == seam_column_width(type->kind);
    }
}

static int check_children(const struct seam_column_type *type, const struct seam_node *node,
                          struct seam_error *error) {
    const struct seam_node *holder = node->kind == SEAM_NODE_MAP ? &node->children[0] : node;
    if (type->n_children != holder->n_children) {
        return mismatch(type, node, error);
    }
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(seam_hash_check(&type->children[i], &holder->children[i], error));
    }
    return SEAM_OK;
}

/* Timestamps of seconds and milliseconds must have microseconds, which is what is hashed. */
static int check_range(const struct seam_node *node, struct seam_error *error) {
    const struct seam_view *view = &node->view;
    int64_t factor = node->format[2] == 's' ? 1000000 : node->format[2] == 'm' ? 1000 : 1;
    for (int64_t row = 0; factor > 1 && row < view->length; row++) {
        int64_t value;
        memcpy(&value, view->data + (view->offset + row) * 8, sizeof value);
        int beyond = value > INT64_MAX / factor || value < INT64_MIN / factor;
        if (beyond && seam_view_valid(view, row)) {
            return seam_fail(
                error, SEAM_UNSUPPORTED, -1,
                "row %lld of column '%s' is a timestamp beyond 64 bits of microseconds",
                (long long)row, node->name);
        }
    }
    return SEAM_OK;
}

int seam_hash_check(const struct seam_column_type *type, const struct seam_node *node,
                    struct seam_error *error) {
    static const struct {
        int32_t kind;
        enum seam_node_kind node;
    } NESTED[] = {{SEAM_COLUMN_ARRAY, SEAM_NODE_LIST},
                  {SEAM_COLUMN_MAP, SEAM_NODE_MAP},
                  {SEAM_COLUMN_STRUCT, SEAM_NODE_STRUCT}};
    if (node->kind == SEAM_NODE_NULLS) {
        return SEAM_OK; /* nothing but nulls, whatever the type */
    }
    if (node->kind == SEAM_NODE_DICTIONARY) {
        return seam_hash_check(type, &node->children[0], error);
    }
    if (node->kind == SEAM_NODE_RUNS) {
        return seam_hash_check(type, &node->children[1], error);
    }
    for (size_t i = 0; i < sizeof NESTED / sizeof NESTED[0]; i++) {
        if (type->kind == NESTED[i].kind) {
            return node->kind == NESTED[i].node ? check_children(type, node, error)
                                                : mismatch(type, node, error);
        }
    }
    if (type->kind == SEAM_COLUMN_VARIANT || type->kind == SEAM_COLUMN_UNKNOWN ||
        type->kind == SEAM_COLUMN_BYTE) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "column '%s' of kind %s cannot be hashed",
                         node->name, seam_column_kind_name(type->kind));
    }
    if (node->kind != SEAM_NODE_FLAT || !flat_fits(type, node)) {
        return mismatch(type, node, error);
    }
    return strncmp(node->format, "ts", 2) == 0 ? check_range(node, error) : SEAM_OK;
}

static const uint8_t *fixed(const struct seam_view *view, int64_t row) {
    return view->data + (view->offset + row) * view->width_bytes;
}

/* Microseconds of a timestamp; what is finer is cut towards the past. */
static int64_t micros_of(const struct seam_node *node, int64_t row) {
    int64_t value;
    memcpy(&value, fixed(&node->view, row), sizeof value);
    switch (node->format[2]) {
    case 's':
        return value * 1000000;
    case 'm':
        return value * 1000;
    case 'u':
        return value;
    default:
        return value / 1000 - (value % 1000 < 0);
    }
}

int64_t seam_hash_number(const struct seam_column_type *type, const struct seam_node *node,
                         int64_t row) {
    const struct seam_view *view = &node->view;
    if (view->layout == SEAM_LAYOUT_BITS) {
        return seam_bit(view->data, view->offset + row);
    }
    if (type->kind >= SEAM_COLUMN_DATETIME && type->kind <= SEAM_COLUMN_DATETIME_MILLIS) {
        return micros_of(node, row);
    }
    int64_t value = 0;
    size_t width = view->width_bytes < 8 ? (size_t)view->width_bytes : 8;
    memcpy(&value, fixed(view, row), width);
    int unused = 64 - 8 * (int)width;
    return (int64_t)((uint64_t)value << unused) >> unused;
}

void seam_hash_value_of(const struct seam_column_type *type, const struct seam_node *node,
                        int64_t row, struct seam_hash_value *out) {
    const struct seam_view *view = &node->view;
    if (view->layout == SEAM_LAYOUT_VAR32 || view->layout == SEAM_LAYOUT_VAR64) {
        out->size_bytes = seam_view_bytes(view, row, &out->bytes);
        return;
    }
    out->size_bytes = seam_column_width(type->kind);
    out->bytes = out->scratch;
    int64_t number = 0;
    switch (type->kind) {
    case SEAM_COLUMN_BOOLEAN:
        out->scratch[0] = (uint8_t)seam_hash_number(type, node, row);
        return;
    case SEAM_COLUMN_DATE:
        number = seam_hash_number(type, node, row) + SEAM_JULIAN_EPOCH;
        break;
    case SEAM_COLUMN_TIME: {
        double seconds = (double)seam_hash_number(type, node, row) / 1000.0;
        memcpy(&number, &seconds, sizeof number);
        break;
    }
    case SEAM_COLUMN_DATETIME:
    case SEAM_COLUMN_DATETIME_MICROS:
    case SEAM_COLUMN_DATETIME_MILLIS:
        /* Beyond the years a column can hold there is no stored form, and nothing to agree with. */
        if (seam_datetime_pack(micros_of(node, row), &number, NULL) != SEAM_OK) {
            number = micros_of(node, row);
        }
        break;
    case SEAM_COLUMN_DECIMALV2:
    case SEAM_COLUMN_DECIMAL32:
    case SEAM_COLUMN_DECIMAL64:
    case SEAM_COLUMN_DECIMAL128:
        out->bytes = seam_hash_decimal(view, row, out->scratch); /* low bytes first */
        return;
    default:
        out->bytes = fixed(view, row);
        return;
    }
    memcpy(out->scratch, &number, sizeof number);
}
