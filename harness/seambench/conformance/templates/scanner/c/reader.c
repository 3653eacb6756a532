/* A scanner to begin with: a stream without rows. See docs/doors.md of Seambench. */
#include "arrow_c.h"
#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCAN_DONE = 0, SCAN_FAILED = 1, SCAN_REFUSED = 2 };

static void column_release(struct ArrowSchema *column)
{
  free((char *)column->name);
  column->release = NULL;
}

static void schema_release(struct ArrowSchema *schema)
{
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  schema->release = NULL;
}

/* The columns asked for, as texts so far: a struct with a child a column. */
static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  struct request *request = stream->private_data;
  *out = (struct ArrowSchema){.format = "+s", .name = "", .release = schema_release};
  out->children = calloc((size_t)request->n_columns + 1, sizeof *out->children);
  if (out->children == NULL) return ENOMEM;
  for (; out->n_children < request->n_columns; out->n_children++) {
    struct ArrowSchema *column = malloc(sizeof *column);
    char *name = strdup(request->columns[out->n_children]);
    if (column == NULL || name == NULL) {
      free(column);
      free(name);
      schema_release(out);
      return ENOMEM;
    }
    *column = (struct ArrowSchema){
        .format = "u", .name = name, .flags = ARROW_NULLABLE, .release = column_release};
    out->children[out->n_children] = column;
  }
  return 0;
}

/* Here go the rows, a batch a call; a released array is the end. */
static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  (void)stream;
  out->release = NULL;
  return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
  (void)stream;
  return "no memory";
}

static void stream_release(struct ArrowArrayStream *stream)
{
  request_free(stream->private_data);
  stream->release = NULL;
}

/* Fill `out` and return 0; or write a sentence and return 2 (refused) or another number (failed).
   `request_json` names the table, the query and the columns. Several threads may call at once. */
int seambench_scan(const char *request_json, struct ArrowArrayStream *out, char *error,
                   size_t error_size)
{
  struct request *request = request_parse(request_json);
  if (request == NULL) {
    snprintf(error, error_size, "no memory, or no readable request");
    return SCAN_FAILED;
  }
  if (strcmp(request->query, "snapshot") != 0 || request->n_columns < 0) {
    snprintf(error, error_size,
             request->n_columns < 0 ? "NAME does not find the columns of a table by itself yet"
                                    : "NAME has no query of this type");
    request_free(request);
    return SCAN_REFUSED;
  }
  *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                   .get_next = stream_next,
                                   .get_last_error = stream_error,
                                   .release = stream_release,
                                   .private_data = request};
  return SCAN_DONE;
}
