#include "seam/merge.h"

#include "seam/view.h"

#include <stdbool.h>
#include <string.h>

enum {
    MAX_COLUMNS = 64, /* key or ordering columns */
    BLOCK = 512,      /* rows hashed at a time: the hashes stay in the first-level cache */
};

/* What a key came to. */
struct entry {
    int32_t first; /* the event that brought the key: its key columns stand for the key */
    int32_t event; /* the winner */
    bool used;     /* a base row has met it */
};

/* The tag spares most looks at an entry that turns out to be another key's. */
struct slot {
    uint32_t tag;
    int32_t entry; /* number + 1, 0 = free */
};

struct seam_merge {
    struct seam_view keys[MAX_COLUMNS];
    struct seam_view ordering[MAX_COLUMNS];
    int64_t n_keys;
    int64_t n_ordering; /* 0 = commit time */
    const int32_t *rows;
    const uint8_t *flags;
    struct entry *entries;
    int64_t n_entries;
    struct slot *slots; /* open addressing */
    uint64_t slot_mask;
    uint64_t *filter; /* one bit per hash value seen: most base rows stop here */
    uint64_t filter_mask;
    /* Only when versions fill each other's gaps: what lies below each row of the log's data, and
     * the lowest row of each entry. */
    int32_t *below;
    int32_t *lowest;
    /* The entry behind the one that a base row met last, and whether most rows met such: a log
     * often has its records in the order of the file. */
    int64_t next_entry;
    bool in_order;
    bool meets_every_row;
    bool forked; /* everything but the entries belongs to another merge */
};

/* What a comparison of ordering values came to: a null has no place among other values. */
struct verdict {
    int sign;
    bool undefined;
};

static void hash_rows(const struct seam_view *columns, int64_t n_columns, int64_t begin,
                      int64_t count, uint64_t *hashes) {
    memset(hashes, 0, (size_t)count * sizeof *hashes);
    for (int64_t i = 0; i < n_columns; i++) {
        seam_view_hash(&columns[i], begin, count, hashes);
    }
}

static bool same_key(const struct seam_merge *merge, int32_t event, const struct seam_view *keys,
                     int64_t row) {
    for (int64_t i = 0; i < merge->n_keys; i++) {
        if (!seam_view_equal(&merge->keys[i], event, &keys[i], row)) {
            return false;
        }
    }
    return true;
}

/* The slot that holds the key, or the free one where it belongs. */
static uint64_t find_slot(const struct seam_merge *merge, uint64_t hash,
                          const struct seam_view *keys, int64_t row) {
    uint64_t slot = hash & merge->slot_mask;
    uint32_t tag = (uint32_t)(hash >> 32);
    while (merge->slots[slot].entry != 0) {
        if (merge->slots[slot].tag == tag &&
            same_key(merge, merge->entries[merge->slots[slot].entry - 1].first, keys, row)) {
            break;
        }
        slot = (slot + 1) & merge->slot_mask;
    }
    return slot;
}

static struct verdict compare_ordering(const struct seam_merge *merge, int64_t event,
                                       const struct seam_view *ordering, int64_t row) {
    for (int64_t i = 0; i < merge->n_ordering; i++) {
        if (seam_view_valid(&merge->ordering[i], event) != seam_view_valid(&ordering[i], row)) {
            return (struct verdict){.undefined = true};
        }
        int sign = seam_view_compare(&merge->ordering[i], event, &ordering[i], row);
        if (sign != 0) {
            return (struct verdict){.sign = sign};
        }
    }
    return (struct verdict){0};
}

static int undefined_order(struct seam_error *error) {
    return seam_fail(error, SEAM_UNSUPPORTED, -1,
                     "a version of a record has a null for an ordering value and another one has "
                     "not; there is no order between them");
}

static bool has_flag(const struct seam_merge *merge, int32_t event, enum seam_event_flag flag) {
    return merge->flags != NULL && (merge->flags[event] & (uint8_t)flag) != 0;
}

/* Whether event `newer` replaces the winner `older` of the same key: a sign of 0 or more. */
static struct verdict replaces(const struct seam_merge *merge, int32_t older, int32_t newer) {
    if (merge->n_ordering == 0) {
        return (struct verdict){0};
    }
    if (has_flag(merge, older, SEAM_EVENT_UNORDERED)) {
        return (struct verdict){.sign = has_flag(merge, newer, SEAM_EVENT_YIELDING) ? -1 : 1};
    }
    if (has_flag(merge, newer, SEAM_EVENT_UNORDERED)) {
        return (struct verdict){0};
    }
    return compare_ordering(merge, newer, merge->ordering, older);
}

/* Puts the newer version on top of those of the entry, or below all of them. A delete hides what
 * lies below it, and nothing is filled from one. */
static void fill(struct seam_merge *merge, struct entry *entry, int32_t newer, bool wins) {
    int32_t *lowest = &merge->lowest[entry - merge->entries];
    int32_t row = merge->rows[newer], standing = merge->rows[entry->event];
    if (row >= 0 && standing >= 0 && wins) {
        merge->below[row] = standing;
    } else if (row >= 0 && standing >= 0) {
        merge->below[*lowest] = row;
        *lowest = row;
    } else if (wins) {
        *lowest = row;
    }
}

static int settle(struct seam_merge *merge, struct entry *entry, int32_t newer,
                  struct seam_error *error) {
    struct verdict verdict = replaces(merge, entry->event, newer);
    if (verdict.undefined) {
        return undefined_order(error);
    }
    if (merge->below != NULL) {
        fill(merge, entry, newer, verdict.sign >= 0);
    }
    if (verdict.sign >= 0) {
        entry->event = newer;
    }
    return SEAM_OK;
}

/* Bits that neither the slot nor the tag of a small table is made of. */
static inline uint64_t filter_bit(const struct seam_merge *merge, uint64_t hash) {
    return (hash >> 12) & merge->filter_mask;
}

static void add_entry(struct seam_merge *merge, struct slot *slot, uint64_t hash, int32_t event) {
    if (merge->lowest != NULL) {
        merge->lowest[merge->n_entries] = merge->rows[event];
    }
    merge->entries[merge->n_entries] = (struct entry){event, event, false};
    *slot = (struct slot){(uint32_t)(hash >> 32), (int32_t)++merge->n_entries};
    uint64_t bit = filter_bit(merge, hash);
    merge->filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

static int fold(struct seam_merge *merge, int64_t n_events, struct seam_error *error) {
    uint64_t hashes[BLOCK];
    for (int64_t begin = 0; begin < n_events; begin += BLOCK) {
        int64_t count = n_events - begin < BLOCK ? n_events - begin : BLOCK;
        hash_rows(merge->keys, merge->n_keys, begin, count, hashes);
        for (int64_t i = 0; i < count; i++) { /* each is a likely cache miss */
            __builtin_prefetch(&merge->slots[hashes[i] & merge->slot_mask], 1);
        }
        for (int64_t i = 0; i < count; i++) {
            int32_t event = (int32_t)(begin + i);
            struct slot *slot = &merge->slots[find_slot(merge, hashes[i], merge->keys, event)];
            if (slot->entry == 0) {
                add_entry(merge, slot, hashes[i], event);
            } else {
                SEAM_TRY(settle(merge, &merge->entries[slot->entry - 1], event, error));
            }
        }
    }
    return SEAM_OK;
}

static uint64_t power_of_two_above(uint64_t n) {
    uint64_t power = 64;
    while (power < n) {
        power *= 2;
    }
    return power;
}

static int make_tables(struct seam_allocator *allocator, struct seam_merge *merge, int64_t n_events,
                       struct seam_error *error) {
    uint64_t slots = power_of_two_above((uint64_t)n_events * 2);
    uint64_t bits = power_of_two_above((uint64_t)n_events * 8);
    merge->slot_mask = slots - 1;
    merge->filter_mask = bits - 1;
    void *block;
    SEAM_TRY(seam_alloc_zeros(allocator, (int64_t)slots, sizeof *merge->slots, &block, error));
    merge->slots = block;
    SEAM_TRY(seam_alloc_zeros(allocator, (int64_t)bits / 8, 1, &block, error));
    merge->filter = block;
    SEAM_TRY(seam_alloc(allocator, (size_t)n_events * sizeof *merge->entries, &block, error));
    merge->entries = block;
    return SEAM_OK;
}

/* Every row of the log's data with nothing below it. */
static int make_below(struct seam_allocator *allocator, struct seam_merge *merge, int64_t n_events,
                      int64_t rows, struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc(allocator, (size_t)rows * sizeof *merge->below, &block, error));
    merge->below = block;
    memset(block, 0xff, (size_t)rows * sizeof *merge->below);
    SEAM_TRY(seam_alloc(allocator, (size_t)n_events * sizeof *merge->lowest, &block, error));
    merge->lowest = block;
    return SEAM_OK;
}

/* Keys and ordering values are read row by row, side by side. */
static int check_lengths(const struct ArrowArray *keys, const struct ArrowArray *ordering,
                         struct seam_error *error) {
    if (ordering != NULL && ordering->length != keys->length) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%lld keys have %lld ordering values",
                         (long long)keys->length, (long long)ordering->length);
    }
    return SEAM_OK;
}

static int take_events(struct seam_merge *merge, const struct seam_events *events,
                       struct seam_error *error) {
    merge->n_keys = events->keys->n_children;
    merge->rows = events->rows;
    merge->flags = events->flags;
    merge->meets_every_row = events->meets_every_row != 0;
    if (merge->n_keys == 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a merge needs a key column");
    }
    if (events->keys->length >= INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "%lld log events in one slice",
                         (long long)events->keys->length);
    }
    int code = check_lengths(events->keys, events->ordering, error);
    if (code == SEAM_OK) {
        code =
            seam_views_of_batch(events->keys_schema, events->keys, MAX_COLUMNS, merge->keys, error);
    }
    for (int64_t i = 0; code == SEAM_OK && events->filling_rows > 0 && i < events->keys->length;
         i++) {
        if (events->rows[i] >= events->filling_rows) {
            code = seam_fail(error, SEAM_BAD_ARGUMENT, -1, "an event is row %d of %lld",
                             (int)events->rows[i], (long long)events->filling_rows);
        }
    }
    if (code == SEAM_OK && events->ordering != NULL) {
        merge->n_ordering = events->ordering->n_children;
        code = seam_views_of_batch(events->ordering_schema, events->ordering, MAX_COLUMNS,
                                   merge->ordering, error);
    }
    return code;
}

int seam_merge_new(struct seam_allocator *allocator, const struct seam_events *events,
                   struct seam_merge **out, struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc_zeros(allocator, 1, sizeof(struct seam_merge), &block, error));
    struct seam_merge *merge = block;
    int code = take_events(merge, events, error);
    if (code == SEAM_OK) {
        code = make_tables(allocator, merge, events->keys->length, error);
    }
    if (code == SEAM_OK && events->filling_rows > 0) {
        code = make_below(allocator, merge, events->keys->length, events->filling_rows, error);
    }
    if (code == SEAM_OK) {
        code = fold(merge, events->keys->length, error);
    }
    if (code != SEAM_OK) {
        seam_merge_free(merge);
        return code;
    }
    *out = merge;
    return SEAM_OK;
}

int seam_merge_fork(struct seam_allocator *allocator, const struct seam_merge *merge,
                    struct seam_merge **out, struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc(allocator, sizeof(struct seam_merge), &block, error));
    struct seam_merge *fork = block;
    *fork = *merge;
    fork->forked = true;
    fork->entries = NULL;
    size_t size = (size_t)merge->n_entries * sizeof *merge->entries;
    int code = seam_alloc(allocator, size, &block, error);
    if (code != SEAM_OK) {
        seam_merge_free(fork);
        return code;
    }
    fork->entries = block;
    for (int64_t i = 0; i < merge->n_entries; i++) {
        fork->entries[i] = merge->entries[i];
    }
    *out = fork;
    return SEAM_OK;
}

void seam_merge_free(struct seam_merge *merge) {
    if (merge != NULL) {
        seam_free(merge->entries);
        if (!merge->forked) {
            seam_free(merge->slots);
            seam_free(merge->filter);
            seam_free(merge->below);
            seam_free(merge->lowest);
        }
        seam_free(merge);
    }
}

int64_t seam_merge_keys(const struct seam_merge *merge) {
    return merge->n_entries;
}

const int32_t *seam_merge_below(const struct seam_merge *merge) {
    return merge->below;
}

/* What the rows of a base batch come to. */
struct outcome {
    const struct seam_view *ordering; /* NULL = every event wins */
    int32_t *sources;
    int32_t *losers; /* may be NULL */
    bool undefined;
};

/* Where the values of base row `row`, which meets `entry`, come from. */
static void meet(const struct seam_merge *merge, struct entry *entry, struct outcome *outcome,
                 int64_t row) {
    int32_t source = merge->rows[entry->event];
    entry->used = true;
    if (outcome->ordering != NULL && !has_flag(merge, entry->event, SEAM_EVENT_UNORDERED)) {
        struct verdict verdict = compare_ordering(merge, entry->event, outcome->ordering, row);
        outcome->undefined |= verdict.undefined;
        if (verdict.sign < 0) {
            if (outcome->losers != NULL) {
                outcome->losers[row] = source;
            }
            return;
        }
    }
    outcome->sources[row] = source < 0 ? SEAM_SOURCE_NONE : source;
}

static int check_same_layout(const struct seam_view *a, const struct seam_view *b, int64_t n,
                             const char *what, struct seam_error *error) {
    for (int64_t i = 0; i < n; i++) {
        if (a[i].layout != b[i].layout || a[i].width_bytes != b[i].width_bytes ||
            a[i].order != b[i].order) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                             "%s column %lld has one layout in the log and another in the base",
                             what, (long long)i);
        }
    }
    return SEAM_OK;
}

static int base_views(const struct seam_merge *merge, const struct ArrowSchema *keys_schema,
                      const struct ArrowArray *keys, const struct ArrowSchema *ordering_schema,
                      const struct ArrowArray *ordering, struct seam_view *key_views,
                      struct seam_view *ordering_views, struct seam_error *error) {
    if (keys->n_children != merge->n_keys ||
        (ordering != NULL && ordering->n_children != merge->n_ordering)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "base and log differ in key columns");
    }
    SEAM_TRY(check_lengths(keys, ordering, error));
    SEAM_TRY(seam_views_of_batch(keys_schema, keys, MAX_COLUMNS, key_views, error));
    SEAM_TRY(check_same_layout(merge->keys, key_views, merge->n_keys, "key", error));
    if (ordering != NULL) {
        SEAM_TRY(
            seam_views_of_batch(ordering_schema, ordering, MAX_COLUMNS, ordering_views, error));
        SEAM_TRY(check_same_layout(merge->ordering, ordering_views, merge->n_ordering, "ordering",
                                   error));
    }
    return SEAM_OK;
}

/* Rows of a block that may meet an event, and what their look-ups have found so far. */
struct candidates {
    int32_t n;
    int32_t rows[BLOCK]; /* within the block */
    int32_t entries[BLOCK];
    uint64_t hashes[BLOCK]; /* of all rows of the block */
};

/* The entry of the first slot with this hash's tag, or -1. Whether it is the key's is not yet
 * known. */
static inline int32_t first_tagged(const struct seam_merge *merge, uint64_t hash) {
    uint32_t tag = (uint32_t)(hash >> 32);
    uint64_t slot = hash & merge->slot_mask;
    while (merge->slots[slot].entry != 0 && merge->slots[slot].tag != tag) {
        slot = (slot + 1) & merge->slot_mask;
    }
    return merge->slots[slot].entry - 1;
}

static inline void prefetch_row(const struct seam_view *columns, int64_t n, int32_t row) {
    for (int64_t i = 0; i < n; i++) {
        if (columns[i].layout == SEAM_LAYOUT_FIXED) {
            __builtin_prefetch(columns[i].data +
                               (columns[i].offset + row) * columns[i].width_bytes);
        }
    }
}

/* Each step asks for the memory that the next one uses: slots, entries, then keys and ordering
 * values of the log. A single pass would wait for a cache miss at every step. */
static void look_up(struct seam_merge *merge, struct candidates *found) {
    for (int32_t k = 0; k < found->n; k++) {
        __builtin_prefetch(&merge->slots[found->hashes[found->rows[k]] & merge->slot_mask]);
    }
    int32_t n = 0;
    for (int32_t k = 0; k < found->n; k++) {
        int32_t entry = first_tagged(merge, found->hashes[found->rows[k]]);
        if (entry >= 0) {
            found->rows[n] = found->rows[k];
            found->entries[n++] = entry;
            __builtin_prefetch(&merge->entries[entry], 1);
        }
    }
    found->n = n;
    for (int32_t k = 0; k < n; k++) {
        const struct entry *entry = &merge->entries[found->entries[k]];
        prefetch_row(merge->keys, merge->n_keys, entry->first);
        prefetch_row(merge->ordering, merge->n_ordering, entry->event);
        __builtin_prefetch(&merge->rows[entry->event]);
    }
}

/* A base row meets an entry, unless another row has used that up. True if the entry follows the one
 * that a row met before. */
static bool meet_entry(struct seam_merge *merge, int64_t number, struct outcome *outcome,
                       int64_t row) {
    struct entry *entry = &merge->entries[number];
    bool follows = number == merge->next_entry;
    merge->next_entry = number + 1;
    if (!entry->used || merge->meets_every_row) {
        meet(merge, entry, outcome, row);
    }
    return follows;
}

/* The entry of a base row's key, or -1. */
static int64_t find_entry(const struct seam_merge *merge, const struct seam_view *keys,
                          int64_t row) {
    uint64_t hash;
    hash_rows(keys, merge->n_keys, row, 1, &hash);
    uint64_t bit = filter_bit(merge, hash);
    if ((merge->filter[bit >> 6] >> (bit & 63) & 1) == 0) {
        return -1;
    }
    return (int64_t)merge->slots[find_slot(merge, hash, keys, row)].entry - 1;
}

/* Looks at the next entry first, and at the tables only where a row has another key. Returns how
 * many rows met the next one. */
static int64_t probe_in_order(struct seam_merge *merge, const struct seam_view *keys, int64_t begin,
                              int64_t count, struct outcome *outcome) {
    int64_t n_following = 0;
    for (int64_t row = begin; row < begin + count; row++) {
        int64_t number = merge->next_entry;
        outcome->sources[row] = SEAM_SOURCE_BASE;
        if (number >= merge->n_entries ||
            !same_key(merge, merge->entries[number].first, keys, row)) {
            number = find_entry(merge, keys, row);
        }
        n_following += number >= 0 && meet_entry(merge, number, outcome, row);
    }
    return n_following;
}

/* Looks all rows up, and returns how many met the next entry. */
static int64_t probe_at_once(struct seam_merge *merge, const struct seam_view *keys, int64_t begin,
                             int64_t count, struct outcome *outcome) {
    struct candidates found;
    int64_t n_following = 0;
    found.n = 0;
    hash_rows(keys, merge->n_keys, begin, count, found.hashes);
    for (int32_t i = 0; i < count; i++) {
        uint64_t bit = filter_bit(merge, found.hashes[i]);
        outcome->sources[begin + i] = SEAM_SOURCE_BASE;
        found.rows[found.n] = i;
        found.n += (int32_t)((merge->filter[bit >> 6] >> (bit & 63)) & 1);
    }
    look_up(merge, &found);
    for (int32_t k = 0; k < found.n; k++) {
        int32_t i = found.rows[k];
        uint64_t slot = find_slot(merge, found.hashes[i], keys, begin + i);
        int64_t number = (int64_t)merge->slots[slot].entry - 1;
        n_following += number >= 0 && meet_entry(merge, number, outcome, begin + i);
    }
    return n_following;
}

static void probe_block(struct seam_merge *merge, const struct seam_view *keys, int64_t begin,
                        int64_t count, struct outcome *outcome) {
    int64_t n_following = merge->in_order ? probe_in_order(merge, keys, begin, count, outcome)
                                          : probe_at_once(merge, keys, begin, count, outcome);
    merge->in_order = n_following >= count - count / 4;
}

int seam_merge_probe(struct seam_merge *merge, const struct ArrowSchema *keys_schema,
                     const struct ArrowArray *keys, const struct ArrowSchema *ordering_schema,
                     const struct ArrowArray *ordering, int32_t *sources, int32_t *losers,
                     struct seam_error *error) {
    struct seam_view key_views[MAX_COLUMNS];
    struct seam_view ordering_views[MAX_COLUMNS];
    SEAM_TRY(base_views(merge, keys_schema, keys, ordering_schema, ordering, key_views,
                        ordering_views, error));
    struct outcome outcome = {ordering == NULL ? NULL : ordering_views, sources, losers, false};
    if (losers != NULL) {
        memset(losers, 0xff, (size_t)keys->length * sizeof *losers);
    }
    for (int64_t begin = 0; begin < keys->length; begin += BLOCK) {
        int64_t count = keys->length - begin < BLOCK ? keys->length - begin : BLOCK;
        probe_block(merge, key_views, begin, count, &outcome);
    }
    return outcome.undefined ? undefined_order(error) : SEAM_OK;
}

int64_t seam_merge_rest(const struct seam_merge *merge, int32_t *rows) {
    int64_t n = 0;
    for (int64_t i = 0; i < merge->n_entries; i++) {
        int32_t row = merge->rows[merge->entries[i].event];
        if (!merge->entries[i].used && row >= 0) {
            rows[n++] = row;
        }
    }
    return n;
}
