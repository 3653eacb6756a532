/* Footers, page indexes and page headers of Parquet files made of random bytes: whoever reads them
 * may refuse them, never read beyond them, nor hand out what lies outside.
 *
 * Input: a byte that tells which, another for the columns or pages, the rest are its bytes. */
#include "seam/parquet.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 5, MOST_PAGES = 15, MOST_GROUPS = 3, CHUNK_END = 1000, ROWS = 500 };

static void check(int holds) {
    if (!holds) {
        abort();
    }
}

static int is_inside(struct seam_parquet_place place, int64_t size_bytes) {
    return place.offset >= 0 && place.size_bytes >= 0 &&
           place.offset <= size_bytes - place.size_bytes;
}

static void find_indexes(const uint8_t *data, int64_t size_bytes, int64_t n_leaves) {
    struct seam_error error;
    struct seam_parquet_place leaves[2];
    struct seam_parquet_chunk chunks[2 * MOST_GROUPS];
    for (int64_t groups = 0; groups <= MOST_GROUPS; groups++) {
        int code =
            seam_parquet_find_indexes(data, size_bytes, groups, n_leaves, leaves, chunks, &error);
        for (int64_t i = 0; code == SEAM_OK && i < n_leaves; i++) {
            check(is_inside(leaves[i], size_bytes));
        }
    }
}

static void read_offsets(const uint8_t *data, int64_t size_bytes) {
    struct seam_error error;
    int64_t n_pages = 0, last = 0;
    size_t room = (size_t)(size_bytes / SEAM_PARQUET_PAGE_BYTES);
    struct seam_parquet_page *pages = malloc((room + 1) * sizeof *pages);
    int code =
        seam_parquet_offset_index(data, size_bytes, 4, CHUNK_END, ROWS, pages, &n_pages, &error);
    check(n_pages <= (int64_t)room);
    for (int64_t i = 0; code == SEAM_OK && i < n_pages; i++) {
        check(pages[i].offset >= (i ? last : 4) && pages[i].size_bytes > 0);
        last = pages[i].offset + pages[i].size_bytes;
        check(last <= CHUNK_END && pages[i].first_row < ROWS);
        check(i ? pages[i].first_row > pages[i - 1].first_row : pages[i].first_row == 0);
    }
    free(pages);
}

static void read_bounds(const uint8_t *data, int64_t size_bytes, int64_t n_pages) {
    struct seam_error error;
    struct seam_parquet_bounds bounds[MOST_PAGES];
    int code = seam_parquet_column_index(data, size_bytes, n_pages, bounds, &error);
    for (int64_t i = 0; code == SEAM_OK && i < n_pages; i++) {
        check(is_inside(bounds[i].least, size_bytes) && is_inside(bounds[i].greatest, size_bytes));
        check(bounds[i].nulls >= -1);
    }
}

static void read_header(const uint8_t *data, int64_t size_bytes) {
    struct seam_error error;
    struct seam_parquet_page_header header;
    if (seam_parquet_page_header(data, size_bytes, &header, &error) == SEAM_OK) {
        check(header.header_bytes > 0 && header.header_bytes <= size_bytes);
        check(header.uncompressed_bytes >= 0 && header.n_values >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 2) {
        return 0;
    }
    const uint8_t how = input[1];
    const uint8_t path[] = {'a', '.', 'b'};
    const struct seam_parquet_leaf leaves[] = {
        {.physical_type = how & 7,
         .max_repetition = how >> 3 & 1,
         .value_bytes = 4,
         .path = path,
         .path_bytes = 1},
        {.physical_type = SEAM_PARQUET_BYTE_ARRAY,
         .max_definition = 1,
         .path = path,
         .path_bytes = sizeof path},
    };
    int64_t n_leaves = 1 + (how >> 4 & 1), n = (int64_t)size - 2;
    int64_t spans[8];
    uint8_t tellings[2];
    struct seam_error error;
    memset(&error, 0, sizeof error);
    /* Copies of just the size, so that the sanitizer sees one byte too many. */
    uint8_t *data = malloc(size - 1), *other = malloc(size - 1);
    memcpy(data, input + 2, size - 2);
    memcpy(other, input + 2, size - 2);
    const struct seam_parquet_rules rules = {n_leaves, 2,     n_leaves,    tellings,
                                             spans,    other, how >> 5 & 1};
    switch (input[0] % KINDS) {
    case 0:
        seam_parquet_check_chunks(data, n, leaves, &rules, &error);
        break;
    case 1:
        find_indexes(data, n, n_leaves);
        break;
    case 2:
        read_offsets(data, n);
        break;
    case 3:
        read_bounds(data, n, how % (MOST_PAGES + 1));
        break;
    default:
        read_header(data, n);
    }
    free(data);
    free(other);
    return 0;
}
