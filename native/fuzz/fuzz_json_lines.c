/* Lines of random bytes: whatever they hold, nothing is read or written beyond what there is, and
 * what a line gives is its own: alone it gives the same as among others.
 *
 * Input: the lines. */
#include "seam/json_lines.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS = 3, TEXTS = 2 };

static const struct seam_json_field ASKED[FIELDS] = {
    {"p", SEAM_JSON_TEXT}, {"o", SEAM_JSON_OBJECT}, {"n", SEAM_JSON_COUNT}};

struct found {
    uint8_t *odd, *there, *texts;
    int64_t *ends, *counts;
};

static void require(int holds) {
    if (!holds) {
        abort();
    }
}

static struct found read_lines(const uint8_t *lines, size_t size, size_t count) {
    struct found found = {malloc(count), malloc(TEXTS * count), malloc(TEXTS * size + 1),
                          malloc(TEXTS * (count + 1) * sizeof(int64_t)),
                          malloc(count * sizeof(int64_t))};
    int64_t odd = seam_json_lines(lines, (int64_t)size, (int64_t)count, "a", ASKED, FIELDS,
                                  found.odd, found.there, found.ends, found.counts, found.texts);
    int64_t told = 0;
    for (size_t i = 0; i < count; i++) {
        told += found.odd[i];
    }
    require(odd == told);
    return found;
}

static void let_go(struct found *found) {
    free(found->odd);
    free(found->there);
    free(found->texts);
    free(found->ends);
    free(found->counts);
}

/* A line alone, out of a block of just its size. */
static void read_alone(const uint8_t *line, size_t size, const struct found *all, size_t at,
                       size_t count, size_t all_size) {
    uint8_t *block = malloc(size + 1);
    memcpy(block + 1, line, size);
    struct found own = read_lines(block + 1, size, 1);
    require(own.odd[0] == all->odd[at] && own.counts[0] == all->counts[at]);
    for (size_t field = 0; field < TEXTS; field++) {
        const int64_t *ends = all->ends + field * (count + 1) + at;
        int64_t length = own.ends[2 * field + 1];
        require(own.ends[2 * field] == 0 && length == ends[1] - ends[0] && length >= 0);
        require(own.there[field] == all->there[field * count + at]);
        require(memcmp(own.texts + field * size, all->texts + field * all_size + ends[0],
                       (size_t)length) == 0);
    }
    let_go(&own);
    free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t count = 1;
    for (size_t i = 0; i < size; i++) {
        count += data[i] == '\n';
    }
    uint8_t *block = malloc(size + 1);
    memcpy(block, data, size);
    struct found all = read_lines(block, size, count);
    const uint8_t *at = block;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(block + size - at));
        stop = stop == NULL ? block + size : stop;
        read_alone(at, (size_t)(stop - at), &all, i, count, size);
        at = stop + 1;
    }
    let_go(&all);
    free(block);
    return 0;
}
