/* A scanner to begin with: it refuses every table. See docs/doors.md of Seambench. */
#include <stddef.h>
#include <stdio.h>

/* The Arrow C stream interface, as arrow.apache.org/docs/format/CStreamInterface.html has it. */
struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

enum { SCAN_REFUSED = 2 };

/* Fill `out` and return 0; or write a sentence and return 2 (refused) or another number (failed).
   `request_json` names the table, the query and the columns. Several threads may call at once. */
int seambench_scan(const char *request_json, struct ArrowArrayStream *out, char *error,
                   size_t error_size)
{
  (void)request_json;
  (void)out;
  snprintf(error, error_size, "NAME reads no tables yet");
  return SCAN_REFUSED;
}
