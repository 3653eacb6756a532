/* The blocks of a table's vectors handed to columns of the engine. */
#include "offheap/engine_buffers.h"

#include "seam/vector.h"

/* Which child of a vector a column's child `index` reads; -1: none, it was not asked for. */
static int32_t source_of(const struct seam_vector *vector, int32_t index) {
    return vector->type.kind == SEAM_COLUMN_MAP ? seam_column_map_child(&vector->type, index)
                                                : index;
}

static bool is_datetime(int32_t kind) {
    return kind >= SEAM_COLUMN_DATETIME && kind <= SEAM_COLUMN_DATETIME_MILLIS;
}

static int check_kinds(const struct seam_engine_slot *slot, const struct seam_vector *vector,
                       struct seam_error *error) {
    int32_t kind = vector->type.kind;
    if (kind == SEAM_COLUMN_UNKNOWN) {
        return SEAM_OK; /* fills whatever is wanted */
    }
    bool same = kind == slot->kind || (is_datetime(kind) && is_datetime(slot->kind));
    bool counted = kind == SEAM_COLUMN_MAP || vector->n_children == slot->n_children;
    for (int32_t i = 0; i < slot->n_children && same && counted; i++) {
        int32_t source = source_of(vector, i);
        if (source < 0) {
            same = slot->children[i].kind == SEAM_COLUMN_UNKNOWN;
            continue;
        }
        SEAM_TRY(check_kinds(&slot->children[i], &vector->children[source], error));
    }
    return same && counted
               ? SEAM_OK
               : seam_fail(error, SEAM_UNSUPPORTED, -1,
                           "column '%s' of kind %s with %d children is none of type %s with %d",
                           slot->name == NULL ? "" : slot->name, seam_column_kind_name(kind),
                           (int)vector->n_children, seam_engine_kind_name(slot->kind),
                           (int)slot->n_children);
}

/* What is left of a vector's block once the column has it, if it looks at it: null flags of a
 * column that is not nullable stay behind. */
static void *take_block(struct seam_engine_column *column, int index, void *block) {
    if (block == NULL || column->buffers[index] != block) {
        return block;
    }
    column->owned |= UINT32_C(1) << index;
    return NULL;
}

static void take_vector(struct seam_engine_column *column, struct seam_vector *vector) {
    vector->nulls = take_block(column, SEAM_ENGINE_NULLS, vector->nulls);
    vector->data = take_block(column, SEAM_ENGINE_VALUES, vector->data);
    vector->offsets = take_block(column, SEAM_ENGINE_OFFSETS, vector->offsets);
    vector->bytes = take_block(column, SEAM_ENGINE_BYTES, vector->bytes);
    for (int32_t i = 0; i < column->n_children && vector->n_children > 0; i++) {
        int32_t source = source_of(vector, i);
        if (source >= 0) {
            take_vector(&column->children[i], &vector->children[source]);
        }
    }
}

int seam_engine_move(struct seam_engine_column *column, const struct seam_engine_slot *slots,
                     int64_t n_slots, struct seam_table *table, struct seam_error *error) {
    struct seam_chain chain;
    seam_engine_column_reset(column);
    SEAM_TRY(seam_table_chain(table, &chain, error));
    if (n_slots != table->n_columns) {
        return seam_fail(error, SEAM_BAD_INPUT, -1, "the table has %lld columns, %lld are wanted",
                         (long long)table->n_columns, (long long)n_slots);
    }
    for (int64_t i = 0; i < n_slots; i++) {
        SEAM_TRY(check_kinds(&slots[i], &table->columns[i], error));
    }
    SEAM_TRY(seam_engine_open(column, slots, n_slots, &chain, error));
    for (int64_t i = 0; i < n_slots; i++) {
        take_vector(&column->children[i], &table->columns[i]);
        SEAM_TRY(seam_table_release_column(table, i, error));
    }
    return SEAM_OK;
}
