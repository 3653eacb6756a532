/* A serde to begin with: it refuses everything. See docs/doors.md of Seambench. */
#include "arrow_c.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERDE_REFUSED = 2 };

/* Release `batches`, hand out `*size` bytes and return 0; or write a sentence and return 2. */
int seambench_serialize(const char *request_json, struct ArrowArrayStream *batches,
                        unsigned char **bytes, size_t *size, char *error, size_t error_size)
{
  (void)request_json;
  (void)bytes;
  (void)size;
  batches->release(batches);
  snprintf(error, error_size, "NAME writes nothing yet");
  return SERDE_REFUSED;
}

/* Fill `out` with the batches of `bytes`, which are valid during the call. */
int seambench_deserialize(const char *request_json, const unsigned char *bytes, size_t size,
                          struct ArrowArrayStream *out, char *error, size_t error_size)
{
  (void)request_json;
  (void)bytes;
  (void)size;
  (void)out;
  snprintf(error, error_size, "NAME reads nothing yet");
  return SERDE_REFUSED;
}

/* Take back what `seambench_serialize` handed out. */
void seambench_free(unsigned char *bytes) { free(bytes); }
