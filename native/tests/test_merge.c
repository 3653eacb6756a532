/* Folding log events, meeting base rows, and assembling what comes of it. Expected outcomes are the
 * rules of docs/merge.md, worked out by hand. */
#include "seam/assemble.h"
#include "seam/merge.h"

#include "check.h"
#include "sample.h"

#include <stdbool.h>
#include <string.h>

static struct seam_error error;

static void make_column(struct sample *column, const char *format, int64_t rows,
                        const void *offsets, const void *data) {
    make(column, format, "c", rows, NULL, offsets != NULL ? offsets : data,
         offsets != NULL ? data : NULL);
}

enum { DELETE = -1, KEEP = SEAM_SOURCE_BASE, GONE = SEAM_SOURCE_NONE };

/* One key, int64; events and the base row it meets. */
struct scenario {
    const char *rule;
    bool event_time;
    int n_events;
    int32_t rows[4];
    int64_t ordering[4];
    uint8_t flags[4];
    int64_t base_ordering;
    int32_t expected;
};

static const struct scenario SCENARIOS[] = {
    {"an update replaces the base row", true, 1, {0}, {6}, {0}, 5, 0},
    {"an older update loses", true, 1, {0}, {3}, {0}, 5, KEEP},
    {"a tie goes to the log", true, 1, {0}, {5}, {0}, 5, 0},
    {"among ties the last log wins", true, 2, {0, 1}, {5, 5}, {0, 0}, 5, 1},
    {"a log out of order loses", true, 2, {0, 1}, {9, 8}, {0, 0}, 5, 0},
    {"commit time takes the last", false, 2, {0, 1}, {9, 8}, {0, 0}, 5, 1},
    {"a default delete removes", true, 1, {DELETE}, {0}, {1}, 5, GONE},
    {"a typed delete, newer, removes", true, 1, {DELETE}, {6}, {0}, 5, GONE},
    {"a typed delete, older, loses", true, 1, {DELETE}, {4}, {0}, 5, KEEP},
    {"a typed delete loses to a buffered newer row", true, 2, {0, DELETE}, {6, 5}, {0, 0}, 5, 0},
    {"a default delete beats a buffered row", true, 2, {0, DELETE}, {6, 0}, {0, 1}, 5, GONE},
    {"a true re-insert comes back", true, 2, {DELETE, 0}, {0, 7}, {1, 0}, 5, 0},
    {"an older re-insert resurrects the base row", true, 2, {DELETE, 0}, {0, 2}, {1, 0}, 5, KEEP},
    {"a listed delete leaves the default one", true, 2, {DELETE, DELETE}, {0, 3}, {1, 2}, 5, GONE},
    {"a deleting row replaces it, and loses", true, 2, {DELETE, DELETE}, {0, 3}, {1, 0}, 5, KEEP},
    {"commit time deletes whatever came before", false, 2, {0, DELETE}, {9, 1}, {0, 0}, 5, GONE},
};

static void events_meet_the_base_by_the_rules(struct seam_allocator *allocator) {
    for (size_t i = 0; i < sizeof SCENARIOS / sizeof SCENARIOS[0]; i++) {
        const struct scenario *s = &SCENARIOS[i];
        const int64_t keys[4] = {42, 42, 42, 42};
        struct sample key, order, base_key, base_order;
        struct sample key_batch, order_batch, base_key_batch, base_order_batch;
        make_column(&key, "l", s->n_events, NULL, keys);
        make_column(&order, "l", s->n_events, NULL, s->ordering);
        make_column(&base_key, "l", 1, NULL, keys);
        make_column(&base_order, "l", 1, NULL, &s->base_ordering);
        make_batch(&key_batch, s->n_events, &key, NULL);
        make_batch(&order_batch, s->n_events, &order, NULL);
        make_batch(&base_key_batch, 1, &base_key, NULL);
        make_batch(&base_order_batch, 1, &base_order, NULL);
        struct seam_events events = {
            &key_batch.schema, &key_batch.array, s->rows, NULL, NULL, s->flags, 0, 0};
        if (s->event_time) {
            events.ordering_schema = &order_batch.schema;
            events.ordering = &order_batch.array;
        }
        struct seam_merge *merge;
        int32_t source = 99;
        CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));
        CHECK(seam_merge_keys(merge) == 1);
        struct seam_merge *fork; /* what is used up there is not used up here */
        CHECK_OK(seam_merge_fork(allocator, merge, &fork, &error));
        CHECK_OK(seam_merge_probe(fork, &base_key_batch.schema, &base_key_batch.array,
                                  s->event_time ? &base_order_batch.schema : NULL,
                                  s->event_time ? &base_order_batch.array : NULL, &source, NULL,
                                  &error));
        CHECK(source == s->expected);
        seam_merge_free(fork);
        source = 99;
        CHECK_OK(seam_merge_probe(merge, &base_key_batch.schema, &base_key_batch.array,
                                  s->event_time ? &base_order_batch.schema : NULL,
                                  s->event_time ? &base_order_batch.array : NULL, &source, NULL,
                                  &error));
        if (source != s->expected) {
            fprintf(stderr, "%s: source %d, expected %d\n", s->rule, source, s->expected);
            exit(1);
        }
        int32_t rest[1];
        CHECK(seam_merge_rest(merge, rest) == 0);
        seam_merge_free(merge);
    }
}

/* Versions of one key, rows 0 to 3 of the log's data with these ordering values. */
struct filling {
    const char *rule;
    int n_events;
    int32_t rows[4];
    int64_t ordering[4];
    uint8_t flags[4];
    int32_t below[4];
    int64_t base_ordering;
    int32_t source, loser;
};

static const struct filling FILLINGS[] = {
    {"newer versions lie on top", 3, {0, 1, 2}, {1, 2, 3}, {0}, {-1, 0, 1, -1}, 0, 2, -1},
    {"older ones go below all", 3, {0, 1, 2}, {5, 4, 3}, {0}, {1, 2, -1, -1}, 0, 0, -1},
    {"top and bottom", 4, {0, 1, 2, 3}, {5, 6, 1, 0}, {0}, {2, 0, 3, -1}, 0, 1, -1},
    {"a delete hides what came before",
     3,
     {0, DELETE, 1},
     {5, 0, 7},
     {0, 1, 0},
     {-1, -1, -1, -1},
     0,
     1,
     -1},
    {"a losing delete hides nothing", 3, {0, DELETE, 1}, {5, 4, 7}, {0}, {-1, 0, -1, -1}, 0, 1, -1},
    {"a version below a delete is lost",
     2,
     {DELETE, 0},
     {5, 4},
     {0},
     {-1, -1, -1, -1},
     0,
     GONE,
     -1},
    {"a base row that stays still has its loser",
     2,
     {0, 1},
     {3, 4},
     {0},
     {-1, 0, -1, -1},
     9,
     KEEP,
     1},
};

static void versions_fill_each_other(struct seam_allocator *allocator) {
    for (size_t i = 0; i < sizeof FILLINGS / sizeof FILLINGS[0]; i++) {
        const struct filling *f = &FILLINGS[i];
        const int64_t keys[4] = {42, 42, 42, 42};
        struct sample key, order, base_order;
        struct sample key_batch, order_batch, base_key_batch, base_order_batch;
        make_column(&key, "l", f->n_events, NULL, keys);
        make_column(&order, "l", f->n_events, NULL, f->ordering);
        make_column(&base_order, "l", 1, NULL, &f->base_ordering);
        make_batch(&key_batch, f->n_events, &key, NULL);
        make_batch(&order_batch, f->n_events, &order, NULL);
        struct sample base_key = key;
        base_key.array.length = 1;
        make_batch(&base_key_batch, 1, &base_key, NULL);
        make_batch(&base_order_batch, 1, &base_order, NULL);
        struct seam_events events = {
            &key_batch.schema,  &key_batch.array, f->rows, &order_batch.schema,
            &order_batch.array, f->flags,         4,       0};
        struct seam_merge *merge;
        int32_t source = 99, loser = 99;
        CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));
        CHECK_OK(seam_merge_probe(merge, &base_key_batch.schema, &base_key_batch.array,
                                  &base_order_batch.schema, &base_order_batch.array, &source,
                                  &loser, &error));
        if (memcmp(seam_merge_below(merge), f->below, sizeof f->below) != 0 ||
            source != f->source || loser != f->loser) {
            fprintf(stderr, "%s: source %d, loser %d\n", f->rule, source, loser);
            exit(1);
        }
        seam_merge_free(merge);
    }
}

/* A null is equal to a null, and has no place among other values: log against log, then base. */
static void null_ordering_values_have_no_order(struct seam_allocator *allocator) {
    const int64_t keys[] = {1, 1}, orders[] = {0, 5};
    const uint8_t valid[] = {0x02}, none[] = {0x00};
    const int32_t rows[] = {0, 1};
    struct sample key, order;
    struct sample key_batch, order_batch;
    make_column(&key, "l", 2, NULL, keys);
    make_column(&order, "l", 2, NULL, orders);
    order.buffers[0] = valid;
    order.array.null_count = 1;
    make_batch(&key_batch, 2, &key, NULL);
    make_batch(&order_batch, 2, &order, NULL);
    struct seam_events events = {&key_batch.schema,
                                 &key_batch.array,
                                 rows,
                                 &order_batch.schema,
                                 &order_batch.array,
                                 NULL,
                                 0,
                                 0};
    struct seam_merge *merge;
    CHECK(seam_merge_new(allocator, &events, &merge, &error) == SEAM_UNSUPPORTED);
    order.buffers[0] = none;
    CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));
    int32_t sources[2];
    CHECK_OK(seam_merge_probe(merge, &key_batch.schema, &key_batch.array, &order_batch.schema,
                              &order_batch.array, sources, NULL, &error));
    CHECK(sources[0] == 1 && sources[1] == KEEP);
    seam_merge_free(merge);
    CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));
    struct sample known;
    struct sample known_batch;
    make_column(&known, "l", 2, NULL, orders);
    make_batch(&known_batch, 2, &known, NULL);
    CHECK(seam_merge_probe(merge, &key_batch.schema, &key_batch.array, &known_batch.schema,
                           &known_batch.array, sources, NULL, &error) == SEAM_UNSUPPORTED);
    seam_merge_free(merge);
}

/* A doubled base key uses its event up at the first row, unless events meet every row; keys of
 * several columns are told apart by each; what met nothing is left over in order. */
static void composite_keys_and_leftovers(struct seam_allocator *allocator) {
    const int64_t orders[] = {7, 1, 1, 9};
    const int32_t text_offsets[] = {0, 1, 2, 3, 4};
    const int32_t rows[] = {0, 1, 2, 3};
    struct sample order, text;
    struct sample batch, base;
    make_column(&order, "l", 4, NULL, orders);
    make_column(&text, "u", 4, text_offsets, "abab");
    make_batch(&batch, 4, &order, &text);
    struct seam_events events = {&batch.schema, &batch.array, rows, NULL, NULL, NULL, 0, 0};
    struct seam_merge *merge;
    CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));

    const int64_t base_orders[] = {1, 1, 1, 7};
    struct sample base_order, base_text;
    make_column(&base_order, "l", 4, NULL, base_orders);
    make_column(&base_text, "u", 4, text_offsets, "bbab");
    make_batch(&base, 4, &base_order, &base_text);
    int32_t sources[4];
    CHECK_OK(seam_merge_probe(merge, &base.schema, &base.array, NULL, NULL, sources, NULL, &error));
    const int32_t expected[] = {1, KEEP, 2, KEEP};
    CHECK(memcmp(sources, expected, sizeof expected) == 0);
    int32_t rest[4];
    CHECK(seam_merge_rest(merge, rest) == 2 && rest[0] == 0 && rest[1] == 3);
    seam_merge_free(merge);

    events.meets_every_row = 1;
    CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));
    CHECK_OK(seam_merge_probe(merge, &base.schema, &base.array, NULL, NULL, sources, NULL, &error));
    const int32_t every[] = {1, 1, 2, KEEP};
    CHECK(memcmp(sources, every, sizeof every) == 0);
    CHECK(seam_merge_rest(merge, rest) == 2 && rest[0] == 0 && rest[1] == 3);
    seam_merge_free(merge);
}

/* Keys are told apart as Java's Double.compare does: every NaN is one key, whatever its sign and
 * bits, -0.0 and 0.0 are two (Iceberg's equality deletes, texts of Hudi's keys). */
static void every_nan_is_one_key(struct seam_allocator *allocator, const char *format,
                                 const void *deleted, const void *base, const uint8_t *validity,
                                 bool composite) {
    const int32_t rows[] = {DELETE, DELETE};
    const int64_t same[] = {1, 1, 1, 1, 1, 1, 1};
    struct sample key, base_key, other;
    struct sample keys, base_keys;
    make_column(&key, format, 2, NULL, deleted);
    make_column(&base_key, format, 7, NULL, base);
    make_column(&other, "l", 7, NULL, same);
    base_key.buffers[0] = validity;
    base_key.array.null_count = validity == NULL ? 0 : 1;
    make_batch(&keys, 2, &key, composite ? &other : NULL);
    make_batch(&base_keys, 7, &base_key, composite ? &other : NULL);
    struct seam_events events = {&keys.schema, &keys.array, rows, NULL, NULL, NULL, 0, 1};
    struct seam_merge *merge;
    int32_t sources[7];
    CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));
    CHECK_OK(seam_merge_probe(merge, &base_keys.schema, &base_keys.array, NULL, NULL, sources, NULL,
                              &error));
    const int32_t expected[] = {GONE, GONE, GONE, GONE, KEEP, validity == NULL ? GONE : KEEP, KEEP};
    CHECK(memcmp(sources, expected, sizeof expected) == 0);
    seam_merge_free(merge);
}

static void floats_are_keys_by_value(struct seam_allocator *allocator) {
    const uint64_t deleted[] = {UINT64_C(0x7FF8000000000000), UINT64_C(0x8000000000000000)};
    const uint64_t base[] = {UINT64_C(0x7FF8000000000000), UINT64_C(0xFFF8000000000000),
                             UINT64_C(0x7FF0000000000001), UINT64_C(0x7FFFFFFFFFFFFFFF),
                             UINT64_C(0x7FF0000000000000), UINT64_C(0x8000000000000000),
                             UINT64_C(0x0000000000000000)};
    const uint32_t deleted_floats[] = {UINT32_C(0xFFC00000), UINT32_C(0x80000000)};
    const uint32_t base_floats[] = {
        UINT32_C(0x7FC00000), UINT32_C(0xFFC00001), UINT32_C(0x7F800001), UINT32_C(0xFFFFFFFF),
        UINT32_C(0x7F800000), UINT32_C(0x80000000), UINT32_C(0x00000000)};
    const uint8_t not_row_5[] = {0x5F};
    for (int composite = 0; composite < 2; composite++) {
        for (int nulls = 0; nulls < 2; nulls++) {
            const uint8_t *validity = nulls ? not_row_5 : NULL;
            every_nan_is_one_key(allocator, "g", deleted, base, validity, composite);
            every_nan_is_one_key(allocator, "f", deleted_floats, base_floats, validity, composite);
        }
    }
}

static void a_key_of_another_type_is_refused(struct seam_allocator *allocator) {
    const int64_t wide[] = {1};
    const int32_t narrow[] = {1};
    const int32_t rows[] = {0};
    struct sample log_key, base_key;
    struct sample log_batch, base_batch;
    make_column(&log_key, "l", 1, NULL, wide);
    make_column(&base_key, "i", 1, NULL, narrow);
    make_batch(&log_batch, 1, &log_key, NULL);
    make_batch(&base_batch, 1, &base_key, NULL);
    struct seam_events events = {&log_batch.schema, &log_batch.array, rows, NULL, NULL, NULL, 0, 0};
    struct seam_merge *merge;
    int32_t source;
    CHECK_OK(seam_merge_new(allocator, &events, &merge, &error));
    CHECK(seam_merge_probe(merge, &base_batch.schema, &base_batch.array, NULL, NULL, &source, NULL,
                           &error) == SEAM_BAD_ARGUMENT);
    seam_merge_free(merge);
}

static const int32_t SOURCES[] = {KEEP, 1, GONE, KEEP, 0};

static void check_text(struct seam_allocator *allocator, const struct seam_plan *plan) {
    const int32_t base_offsets[] = {0, 2, 4, 6, 8, 10};
    const int32_t log_offsets[] = {0, 0, 12};
    struct sample base, log;
    struct ArrowArray out;
    make_column(&base, "u", 5, base_offsets, "b0b1b2b3b4");
    make_column(&log, "u", 2, log_offsets, "long-log-one");
    CHECK_OK(seam_assemble(plan, &base.schema, &base.array, &log.array, allocator, &out, &error));
    const int32_t expected[] = {0, 2, 14, 16, 16};
    CHECK(out.length == 4 && out.null_count == 0);
    CHECK(memcmp(out.buffers[1], expected, sizeof expected) == 0);
    CHECK(memcmp(out.buffers[2], "b0long-log-oneb3", 16) == 0);
    out.release(&out);
}

static void check_fixed(struct seam_allocator *allocator, const struct seam_plan *plan) {
    int64_t base_data[] = {10, 11, 12, 13, 14};
    const int64_t log_data[] = {100, 101};
    const int64_t expected[] = {10, 101, 13, 100};
    struct sample base, log;
    struct ArrowArray out;
    make_column(&base, "l", 5, NULL, base_data);
    make_column(&log, "l", 2, NULL, log_data);
    CHECK_OK(seam_assemble(plan, &base.schema, &base.array, &log.array, allocator, &out, &error));
    CHECK(memcmp(out.buffers[1], expected, sizeof expected) == 0);
    out.release(&out);
    int32_t patched = 0;
    CHECK_OK(seam_patch(plan, &base.schema, &base.array, &log.array, &patched, &error));
    CHECK(patched == 1 && memcmp(base_data, expected, sizeof expected) == 0);
}

/* Texts of one length are patched in place; one of another length leaves all as it was. */
static void check_patched_text(const struct seam_plan *plan) {
    const int32_t offsets[] = {0, 2, 4, 6, 8, 10};
    const int32_t odd_offsets[] = {0, 2, 3};
    char base_data[] = "b0b1b2b3b4";
    int32_t patched = 1;
    struct sample base, log;
    make_column(&base, "u", 5, offsets, base_data);
    make_column(&log, "u", 2, odd_offsets, "l0l");
    CHECK_OK(seam_patch(plan, &base.schema, &base.array, &log.array, &patched, &error));
    CHECK(patched == 0 && memcmp(base_data, "b0b1b2b3b4", 10) == 0);
    make_column(&log, "u", 2, offsets, "l0l1");
    CHECK_OK(seam_patch(plan, &base.schema, &base.array, &log.array, &patched, &error));
    CHECK(patched == 1 && memcmp(base_data, "b0l1b3l0", 8) == 0);
}

/* Validity and booleans are bits: base rows 0 and 4 are null, log row 1 is null. */
static void check_bits(struct seam_allocator *allocator, const struct seam_plan *plan) {
    const uint8_t base_valid[] = {0x0E}, log_valid[] = {0x01};
    const uint8_t base_data[] = {0x09}, log_data[] = {0x03};
    struct sample base, log;
    struct ArrowArray out;
    make_column(&base, "b", 5, NULL, base_data);
    make_column(&log, "b", 2, NULL, log_data);
    base.buffers[0] = base_valid;
    base.array.null_count = 2;
    log.buffers[0] = log_valid;
    log.array.null_count = 1;
    CHECK_OK(seam_assemble(plan, &base.schema, &base.array, &log.array, allocator, &out, &error));
    /* rows: base 0 (null), log 1 (null), base 3 (true), log 0 (true) */
    CHECK(out.length == 4 && out.null_count == 2);
    CHECK(*(const uint8_t *)out.buffers[0] == 0x0C);
    CHECK((*(const uint8_t *)out.buffers[1] & 0x0C) == 0x0C);
    out.release(&out);
    int32_t patched = 1;
    CHECK_OK(seam_patch(plan, &base.schema, &base.array, &log.array, &patched, &error));
    CHECK(patched == 0);
}

static void columns_are_assembled(struct seam_allocator *allocator) {
    struct seam_plan *plan;
    CHECK_OK(seam_plan_new(allocator, SOURCES, 5, &plan, &error));
    CHECK(seam_plan_rows(plan) == 4);
    CHECK(seam_plan_replaced(plan) == 2 && seam_plan_removed(plan) == 1);
    check_text(allocator, plan);
    check_fixed(allocator, plan);
    check_patched_text(plan);
    check_bits(allocator, plan);
    struct sample nested = {0};
    make_column(&nested, "+l", 5, NULL, NULL);
    struct ArrowArray out;
    CHECK(seam_assemble(plan, &nested.schema, &nested.array, &nested.array, allocator, &out,
                        &error) == SEAM_UNSUPPORTED);
    seam_plan_free(plan);
}

/* Everything that allocates, once. */
static int whole_merge(struct seam_allocator *allocator, struct seam_error *out_error) {
    const int64_t keys[] = {1, 2};
    const int32_t rows[] = {0, 1};
    const int32_t offsets[] = {0, 1, 2};
    struct sample key, text;
    struct sample batch;
    make_column(&key, "l", 2, NULL, keys);
    make_column(&text, "u", 2, offsets, "ab");
    make_batch(&batch, 2, &key, NULL);
    struct seam_events events = {&batch.schema, &batch.array, rows, NULL, NULL, NULL, 2, 0};
    struct seam_merge *merge = NULL;
    struct seam_merge *forked = NULL;
    struct seam_plan *plan = NULL;
    struct ArrowArray out = {0};
    const int32_t sources[] = {1, KEEP};
    int code = seam_merge_new(allocator, &events, &merge, out_error);
    if (code == SEAM_OK) {
        code = seam_merge_fork(allocator, merge, &forked, out_error);
    }
    if (code == SEAM_OK) {
        code = seam_plan_new(allocator, sources, 2, &plan, out_error);
    }
    if (code == SEAM_OK) {
        code =
            seam_assemble(plan, &text.schema, &text.array, &text.array, allocator, &out, out_error);
    }
    if (code == SEAM_OK) {
        out.release(&out);
    }
    seam_plan_free(plan);
    seam_merge_free(forked);
    seam_merge_free(merge);
    return code;
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    CHECK(allocator != NULL);
    events_meet_the_base_by_the_rules(allocator);
    versions_fill_each_other(allocator);
    null_ordering_values_have_no_order(allocator);
    composite_keys_and_leftovers(allocator);
    floats_are_keys_by_value(allocator);
    a_key_of_another_type_is_refused(allocator);
    columns_are_assembled(allocator);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    check_every_allocation(whole_merge);
    return 0;
}
