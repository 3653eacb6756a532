/* Off-heap columns to begin with: they refuse everything. See docs/doors.md of Seambench. */
#include "arrow_c.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { COLUMNS_REFUSED = 2 };

/* Take `rows` over, a batch a chunk, set `*tables` and return 0; or write a sentence, return 2. */
int seambench_columns_open(const char *request_json, struct ArrowArrayStream *rows, void **tables,
                           char *error, size_t error_size)
{
  (void)request_json;
  (void)tables;
  rows->release(rows);
  snprintf(error, error_size, "NAME holds nothing yet");
  return COLUMNS_REFUSED;
}

/* Release the table before, fill one with the next batch, hand out its chain (docs/columns.md). */
int seambench_columns_next(void *tables, const int64_t **chain, char *error, size_t error_size)
{
  (void)tables;
  (void)chain;
  snprintf(error, error_size, "NAME holds nothing yet");
  return COLUMNS_REFUSED;
}

/* Release what `seambench_columns_open` made. */
void seambench_columns_close(void *tables) { (void)tables; }

/* Blocks of memory that tables hold; 0 once all are closed. */
int64_t seambench_columns_live_blocks(void) { return 0; }
