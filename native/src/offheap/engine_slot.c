/* What an engine may expect of a column. */
#include "offheap/engine_buffers.h"

static const char *const ENGINE_KINDS[] = {
    [SEAM_ENGINE_LARGEINT - SEAM_ENGINE_LARGEINT] = "largeint",
    [SEAM_ENGINE_JSON - SEAM_ENGINE_LARGEINT] = "json",
    [SEAM_ENGINE_HLL - SEAM_ENGINE_LARGEINT] = "hll",
    [SEAM_ENGINE_BITMAP - SEAM_ENGINE_LARGEINT] = "bitmap",
    [SEAM_ENGINE_PERCENTILE - SEAM_ENGINE_LARGEINT] = "percentile",
};

static bool is_engine_kind(int32_t kind) {
    return kind >= SEAM_ENGINE_LARGEINT && kind <= SEAM_ENGINE_PERCENTILE;
}

const char *seam_engine_kind_name(int32_t kind) {
    return is_engine_kind(kind) ? ENGINE_KINDS[kind - SEAM_ENGINE_LARGEINT]
                                : seam_column_kind_name(kind);
}

bool seam_engine_held(int32_t kind) {
    return kind > SEAM_COLUMN_BYTE && kind <= SEAM_COLUMN_VARIANT && kind != SEAM_COLUMN_DECIMALV2;
}

static int bad_slot(const struct seam_engine_slot *slot, const char *why,
                    struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "an engine's column '%s' of type %s %s",
                     slot->name == NULL ? "" : slot->name, seam_engine_kind_name(slot->kind), why);
}

static int check_children(const struct seam_engine_slot *slot, struct seam_error *error) {
    int64_t wanted = 0;
    switch (slot->kind) {
    case SEAM_COLUMN_ARRAY:
        wanted = 1;
        break;
    case SEAM_COLUMN_MAP:
    case SEAM_COLUMN_VARIANT:
        wanted = 2;
        break;
    case SEAM_COLUMN_STRUCT:
        wanted = slot->n_children < 0 ? 0 : slot->n_children;
        break;
    default:
        break;
    }
    if (slot->n_children != wanted) {
        return bad_slot(slot, "has the wrong number of children", error);
    }
    if (slot->kind == SEAM_COLUMN_VARIANT && (slot->children[0].kind != SEAM_COLUMN_BINARY ||
                                              slot->children[1].kind != SEAM_COLUMN_BINARY)) {
        return bad_slot(slot, "must have two binary children", error);
    }
    return SEAM_OK;
}

static int check_decimal(const struct seam_engine_slot *slot, struct seam_error *error) {
    const struct seam_column_type type = {
        .kind = slot->kind, .precision = slot->precision, .scale = slot->scale};
    return seam_column_type_check(&type, error);
}

static int check_slot(const struct seam_engine_slot *slot, int depth, struct seam_error *error) {
    if (depth > SEAM_ENGINE_DEPTH) {
        return bad_slot(slot, "is nested too deeply", error);
    }
    if (!is_engine_kind(slot->kind) &&
        (slot->kind < SEAM_COLUMN_UNKNOWN || slot->kind > SEAM_COLUMN_VARIANT)) {
        return bad_slot(slot, "has a type that is none", error);
    }
    SEAM_TRY(check_children(slot, error));
    if (slot->kind != SEAM_COLUMN_DECIMALV2 && seam_column_is_decimal(slot->kind)) {
        SEAM_TRY(check_decimal(slot, error));
    }
    for (int64_t i = 0; i < slot->n_children; i++) {
        SEAM_TRY(check_slot(&slot->children[i], depth + 1, error));
    }
    return SEAM_OK;
}

int seam_engine_slot_check(const struct seam_engine_slot *slot, struct seam_error *error) {
    return check_slot(slot, 1, error);
}
