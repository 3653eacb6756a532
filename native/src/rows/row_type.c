#include "seam/row_type.h"

#include "seam/node.h"

#include <stddef.h>

static int refuse(const struct seam_row_type *type, const char *why, struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "the type of '%s' %s", type->name, why);
}

static int check_flat(const struct seam_row_type *type, struct seam_error *error) {
    int32_t width = type->width_bytes;
    int32_t digits = type->precision;
    if (type->kind == SEAM_ROW_FIXED && width != 1 && width != 2 && width != 4 && width != 8) {
        return refuse(type, "has a width that no value has", error);
    }
    if (type->kind == SEAM_ROW_SHORT_DECIMAL && (digits < 1 || digits > SEAM_ROW_SHORT_DIGITS)) {
        return refuse(type, "is no short decimal", error);
    }
    if (type->kind == SEAM_ROW_LONG_DECIMAL &&
        (digits <= SEAM_ROW_SHORT_DIGITS || digits > SEAM_ROW_LONG_DIGITS)) {
        return refuse(type, "is no long decimal", error);
    }
    return SEAM_OK;
}

static int check_type(const struct seam_row_type *type, int depth, struct seam_error *error) {
    if (type->kind < SEAM_ROW_VOID || type->kind > SEAM_ROW_STRUCT) {
        return refuse(type, "is no kind of row value", error);
    }
    if (depth > SEAM_NODE_DEPTH) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "'%s' is nested more than %d levels deep",
                         type->name, SEAM_NODE_DEPTH);
    }
    int32_t wanted = type->kind == SEAM_ROW_ARRAY    ? 1
                     : type->kind == SEAM_ROW_MAP    ? 2
                     : type->kind == SEAM_ROW_STRUCT ? type->n_children
                                                     : 0;
    if (type->n_children != wanted || wanted < 0 || (wanted > 0 && type->children == NULL)) {
        return refuse(type, "has the wrong number of children", error);
    }
    SEAM_TRY(check_flat(type, error));
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(check_type(&type->children[i], depth + 1, error));
    }
    return SEAM_OK;
}

int seam_row_type_check(const struct seam_row_type *root, struct seam_error *error) {
    if (root->kind != SEAM_ROW_STRUCT) {
        return refuse(root, "must be a struct: rows have fields", error);
    }
    return check_type(root, 1, error);
}
