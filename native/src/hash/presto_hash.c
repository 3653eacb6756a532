/* Hash tables of map columns, as Presto's MapBlock builds them. */
#include "presto/presto_plan.h"

#include "seam/hash.h"

/* AbstractLongType.hash of Presto 0.296; texts and bytes are hashed by XXH64. */
static uint64_t hash_long(int64_t value) {
    uint64_t hash = (uint64_t)value * UINT64_C(0xC2B2AE3D27D4EB4F);
    return ((hash << 31) | (hash >> 33)) * UINT64_C(0x9E3779B185EBCA87);
}

static int64_t signed_value(const struct seam_view *view, int64_t row) {
    const uint8_t *at = view->data + (view->offset + row) * view->width_bytes;
    int64_t value;
    if (view->width_bytes == 4) {
        return (int32_t)seam_load32(at);
    }
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t hash_key(const struct seam_view *view, int64_t row) {
    if (view->layout == SEAM_LAYOUT_FIXED) {
        return hash_long(signed_value(view, row));
    }
    const uint8_t *bytes;
    int64_t size_bytes = seam_view_bytes(view, row, &bytes);
    return seam_xxh64(bytes, size_bytes);
}

/* The entries of one map: `first` and on among all keys. A slot holds an entry's number within its
 * map; a key whose slot is taken moves on by one, round the end. */
static void fill_map(const struct presto_plan *keys, int64_t first, int64_t entries,
                     uint8_t *slots) {
    const int64_t n_slots = entries * 2;
    for (int64_t entry = 0; entry < entries; entry++) {
        int64_t row = presto_row(&keys->rows, first + entry);
        uint64_t hash = hash_key(&keys->node->view, row);
        int64_t slot =
            (int64_t)(((uint64_t)(uint32_t)(hash ^ (hash >> 32)) * (uint64_t)n_slots) >> 32);
        while ((int32_t)seam_load32(slots + slot * 4) != -1) {
            slot = slot + 1 == n_slots ? 0 : slot + 1;
        }
        seam_store32(slots + slot * 4, entry);
    }
}

void presto_fill_hash_table(const struct presto_plan *plan, uint8_t *slots) {
    const struct presto_plan *keys = &plan->children[0];
    int64_t first = 0;
    memset(slots, 0xFF, (size_t)keys->rows.count * 8);
    for (int64_t i = 0; plan->node != NULL && i < plan->rows.count; i++) {
        int64_t row = presto_row(&plan->rows, i);
        if (presto_row_valid(plan->node, row)) {
            int64_t entries =
                seam_node_start(plan->node, row + 1) - seam_node_start(plan->node, row);
            fill_map(keys, first, entries, slots + first * 8);
            first += entries;
        }
    }
}
