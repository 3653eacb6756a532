/* Handles, and who uses them. */
#include "batches/batches.h"

#include "seam/arrow_build.h"
#include "seam/gather.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* Handles are numbered in turns, so that each bucket gets as many as the others. */
enum { BUCKETS = 1024 };

struct seam_batches {
    struct seam_allocator *allocator;
    pthread_mutex_t lock;
    struct held *buckets[BUCKETS];
    struct form **forms;
    int32_t n_forms;
    struct seam_batches_counters counters;
};

struct seam_batches *seam_batches_new(struct seam_allocator *allocator) {
    struct seam_batches *batches = calloc(1, sizeof *batches);
    if (batches != NULL) {
        batches->allocator = allocator;
        pthread_mutex_init(&batches->lock, NULL);
    }
    return batches;
}

struct seam_allocator *seam_batches_allocator(struct seam_batches *batches) {
    return batches->allocator;
}

void seam_held_leave(struct held *held) {
    if (atomic_fetch_sub(&held->at, 1) == 1) {
        seam_array_release(&held->array);
        seam_array_release(&held->whole);
        seam_table_reset(&held->table);
        free(held);
    }
}

void seam_batches_clear(struct seam_batches *batches) {
    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_lock(&batches->lock);
        struct held *held = batches->buckets[i];
        batches->buckets[i] = NULL;
        pthread_mutex_unlock(&batches->lock);
        while (held != NULL) {
            struct held *next = held->next;
            seam_held_leave(held);
            held = next;
        }
    }
}

void seam_batches_free(struct seam_batches *batches) {
    if (batches == NULL) {
        return;
    }
    seam_batches_clear(batches);
    for (int32_t i = 0; i < batches->n_forms; i++) {
        seam_schema_release(&batches->forms[i]->schema);
        free(batches->forms[i]);
    }
    free(batches->forms);
    pthread_mutex_destroy(&batches->lock);
    free(batches);
}

void seam_batches_counters(struct seam_batches *batches, struct seam_batches_counters *out) {
    pthread_mutex_lock(&batches->lock);
    *out = batches->counters;
    pthread_mutex_unlock(&batches->lock);
}

void seam_batches_count_converter(struct seam_batches *batches, int64_t more) {
    pthread_mutex_lock(&batches->lock);
    batches->counters.converters += more;
    pthread_mutex_unlock(&batches->lock);
}

int64_t seam_batches_list(struct seam_batches *batches, struct seam_batches_entry *out,
                          int64_t capacity) {
    int64_t count = 0;
    pthread_mutex_lock(&batches->lock);
    for (int i = 0; i < BUCKETS; i++) {
        for (const struct held *held = batches->buckets[i]; held != NULL; held = held->next) {
            if (count < capacity) {
                out[count] = (struct seam_batches_entry){held->handle, held->rows, held->users};
            }
            count++;
        }
    }
    pthread_mutex_unlock(&batches->lock);
    return count;
}

static int no_memory(struct seam_error *error) {
    return seam_fail(error, SEAM_NO_MEMORY, -1, "no memory for a batch behind a handle");
}

int seam_batches_form(struct seam_batches *batches, struct ArrowSchema *schema,
                      const struct seam_engine_slot *slots, int64_t n_slots, int32_t *form,
                      struct seam_error *error) {
    struct form *made = calloc(1, sizeof *made);
    pthread_mutex_lock(&batches->lock);
    size_t size = ((size_t)batches->n_forms + 1) * sizeof made;
    struct form **forms = made == NULL ? NULL : realloc(batches->forms, size);
    if (forms != NULL) {
        *made = (struct form){.schema = *schema, .slots = slots, .n_slots = n_slots};
        schema->release = NULL;
        batches->forms = forms;
        forms[batches->n_forms] = made;
        *form = batches->n_forms++;
    }
    pthread_mutex_unlock(&batches->lock);
    if (forms == NULL) {
        free(made);
        return no_memory(error);
    }
    return SEAM_OK;
}

/* An entry that nobody knows yet. */
static int new_held(struct seam_batches *batches, int32_t form, struct held **out,
                    struct seam_error *error) {
    pthread_mutex_lock(&batches->lock);
    const struct form *found = form >= 0 && form < batches->n_forms ? batches->forms[form] : NULL;
    pthread_mutex_unlock(&batches->lock);
    if (found == NULL) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there is no form %d of batches", form);
    }
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return no_memory(error);
    }
    **out = (struct held){.users = 1, .at = 1, .number = form, .form = found};
    return SEAM_OK;
}

static int64_t open_handle(struct seam_batches *batches, struct held *held) {
    pthread_mutex_lock(&batches->lock);
    held->handle = ++batches->counters.opened;
    struct held **bucket = &batches->buckets[held->handle % BUCKETS];
    held->next = *bucket;
    *bucket = held;
    pthread_mutex_unlock(&batches->lock);
    return held->handle;
}

int seam_batches_hold(struct seam_batches *batches, int32_t form, struct ArrowArray *rows,
                      int64_t *handle, struct seam_error *error) {
    struct held *held = NULL;
    SEAM_TRY(new_held(batches, form, &held, error));
    held->rows = rows->length;
    held->array = *rows;
    rows->release = NULL;
    *handle = open_handle(batches, held);
    return SEAM_OK;
}

int seam_batches_hold_table(struct seam_batches *batches, int32_t form, struct seam_table *table,
                            int64_t *handle, struct seam_error *error) {
    struct held *held = NULL;
    struct seam_chain chain;
    SEAM_TRY(seam_table_chain(table, &chain, error));
    SEAM_TRY(new_held(batches, form, &held, error));
    held->rows = table->rows;
    held->chain = chain;
    held->table = *table;
    *table = (struct seam_table){.allocator = table->allocator};
    *handle = open_handle(batches, held);
    return SEAM_OK;
}

/* Where the entry of a handle hangs; NULL, and an error, if there is none. The lock is held. */
static struct held **find(struct seam_batches *batches, int64_t handle, struct seam_error *error) {
    struct held **at = &batches->buckets[(uint64_t)handle % BUCKETS];
    while (*at != NULL && (*at)->handle != handle) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        return at;
    }
    if (handle >= 1 && handle <= batches->counters.opened) {
        seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                  "handle %lld is closed: it was released as often as it was retained",
                  (long long)handle);
    } else {
        seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there never was a handle %lld", (long long)handle);
    }
    return NULL;
}

int seam_batches_retain(struct seam_batches *batches, int64_t handle, struct seam_error *error) {
    pthread_mutex_lock(&batches->lock);
    struct held **at = find(batches, handle, error);
    if (at != NULL) {
        (*at)->users += 1;
        batches->counters.retained += 1;
    }
    pthread_mutex_unlock(&batches->lock);
    return at == NULL ? SEAM_BAD_ARGUMENT : SEAM_OK;
}

int seam_batches_release(struct seam_batches *batches, int64_t handle, struct seam_error *error) {
    struct held *closed = NULL;
    pthread_mutex_lock(&batches->lock);
    struct held **at = find(batches, handle, error);
    if (at != NULL) {
        batches->counters.released += 1;
        (*at)->users -= 1;
        if ((*at)->users == 0) {
            closed = *at;
            *at = closed->next;
            batches->counters.closed += 1;
        }
    }
    pthread_mutex_unlock(&batches->lock);
    if (closed != NULL) { /* without the lock: whose memory it is may call anything */
        seam_held_leave(closed);
    }
    return at == NULL ? SEAM_BAD_ARGUMENT : SEAM_OK;
}

int64_t seam_batches_users(struct seam_batches *batches, int64_t handle) {
    pthread_mutex_lock(&batches->lock);
    struct held **at = find(batches, handle, NULL);
    int64_t users = at == NULL ? 0 : (*at)->users;
    pthread_mutex_unlock(&batches->lock);
    return users;
}

int seam_held_enter(struct seam_batches *batches, int64_t handle, struct held **out,
                    struct seam_error *error) {
    pthread_mutex_lock(&batches->lock);
    struct held **at = find(batches, handle, error);
    if (at != NULL) {
        atomic_fetch_add(&(*at)->at, 1);
        *out = *at;
    }
    pthread_mutex_unlock(&batches->lock);
    return at == NULL ? SEAM_BAD_ARGUMENT : SEAM_OK;
}

/* ---- arrays for others ---- */

static void leave_array(struct ArrowArray *array) {
    seam_held_leave(array->private_data);
    array->release = NULL;
}

static int copy_table(struct seam_batches *batches, const struct held *held, struct ArrowArray *out,
                      struct seam_error *error) {
    struct seam_engine_column columns;
    seam_engine_column_init(&columns, batches->allocator);
    int code =
        seam_engine_open(&columns, held->form->slots, held->form->n_slots, &held->chain, error);
    return code == SEAM_OK ? seam_engine_export(&columns, out, error) : code;
}

int seam_batches_load(struct seam_batches *batches, int64_t handle, struct ArrowArray *out,
                      int32_t *form, struct seam_error *error) {
    struct held *held = NULL;
    SEAM_TRY(seam_held_enter(batches, handle, &held, error));
    *form = held->number;
    if (held->array.release != NULL) {
        *out = held->array; /* whose children stay here, as those of any array do that is moved */
        out->release = leave_array;
        out->private_data = held;
        return SEAM_OK;
    }
    int code = copy_table(batches, held, out, error);
    seam_held_leave(held);
    return code;
}

static bool begins_whole(const struct ArrowArray *array) {
    bool whole = array->offset == 0;
    for (int64_t i = 0; i < array->n_children && whole; i++) {
        whole = begins_whole(array->children[i]);
    }
    return whole;
}

/* All rows of a node, copied. */
static int gather_all(struct seam_allocator *allocator, const struct seam_node *node,
                      struct ArrowArray *out, struct seam_error *error) {
    int64_t rows = node->view.length;
    struct seam_gather *gather = NULL;
    void *block = NULL;
    int code = rows > INT32_MAX
                   ? seam_fail(error, SEAM_TOO_LARGE, -1, "%lld rows are no batch", (long long)rows)
                   : seam_alloc(allocator, (size_t)rows * sizeof(int32_t), &block, error);
    int32_t *numbers = block;
    for (int64_t i = 0; i < rows && code == SEAM_OK; i++) {
        numbers[i] = (int32_t)i;
    }
    if (code == SEAM_OK) {
        code = seam_gather_new(allocator, node, rows, &gather, error);
    }
    for (int64_t i = 0; i < node->n_children && code == SEAM_OK; i++) {
        code = seam_gather_append(gather, node, i, numbers, rows, error);
    }
    if (code == SEAM_OK) {
        seam_gather_advance(gather, rows);
        code = seam_gather_finish(gather, out, error);
    }
    seam_gather_free(gather);
    seam_free(block);
    return code;
}

static int make_whole(struct seam_batches *batches, struct held *held, struct seam_error *error) {
    struct seam_node *node = NULL;
    int code = seam_node_open(batches->allocator, &held->form->schema, &held->array, &node, error);
    if (code == SEAM_OK) {
        code = gather_all(batches->allocator, node, &held->whole, error);
    }
    seam_node_close(node);
    return code;
}

int seam_batches_array(struct seam_batches *batches, int64_t handle, const struct ArrowArray **out,
                       struct seam_error *error) {
    int code = SEAM_BAD_ARGUMENT;
    pthread_mutex_lock(&batches->lock);
    struct held **at = find(batches, handle, error);
    if (at != NULL && (*at)->array.release == NULL) {
        code = seam_fail(error, SEAM_UNSUPPORTED, -1, "handle %lld holds a table, no Arrow array",
                         (long long)handle);
    } else if (at != NULL) {
        bool whole = begins_whole(&(*at)->array);
        code = whole || (*at)->whole.release != NULL ? SEAM_OK : make_whole(batches, *at, error);
        *out = whole ? &(*at)->array : &(*at)->whole;
    }
    pthread_mutex_unlock(&batches->lock);
    return code;
}
