/* An exchange to begin with: it refuses everything. See docs/doors.md of Seambench. */
#include "arrow_c.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXCHANGE_REFUSED = 2 };

static int refuse(char *error, size_t error_size)
{
  snprintf(error, error_size, "NAME carries nothing yet");
  return EXCHANGE_REFUSED;
}

/* Get a receiver ready, and say in `address` where senders find it; `request_json` has a wish. */
int seambench_exchange_listen(const char *request_json, void **receiver, char *address,
                              size_t address_size, char *error, size_t error_size)
{
  (void)request_json, (void)receiver, (void)address, (void)address_size;
  return refuse(error, error_size);
}

/* Fill both structs with the next batch of a driver, or leave them alone at the end. */
int seambench_exchange_read(void *receiver, int64_t driver, int64_t timeout_ms,
                            struct ArrowArray *rows, struct ArrowSchema *schema, char *error,
                            size_t error_size)
{
  (void)receiver, (void)driver, (void)timeout_ms, (void)rows, (void)schema;
  return refuse(error, error_size);
}

/* Get a sender ready; `addresses` of the request are its receivers. */
int seambench_exchange_connect(const char *request_json, void **sender, char *error,
                               size_t error_size)
{
  (void)request_json, (void)sender;
  return refuse(error, error_size);
}

/* Take both structs over, and send the rows on their way. */
int seambench_exchange_write(void *sender, int64_t driver, struct ArrowArray *rows,
                             struct ArrowSchema *schema, char *error, size_t error_size)
{
  (void)sender, (void)driver;
  rows->release(rows);
  schema->release(schema);
  return refuse(error, error_size);
}

/* Nothing follows of a driver; after the last one return when everything has arrived. */
int seambench_exchange_finish(void *sender, int64_t driver, char *error, size_t error_size)
{
  (void)sender, (void)driver;
  return refuse(error, error_size);
}

/* Give up: the other sides must fail with `reason`. */
void seambench_exchange_cancel(void *side, const char *reason) { (void)side, (void)reason; }

/* Release a sender or receiver. */
void seambench_exchange_close(void *side) { (void)side; }
