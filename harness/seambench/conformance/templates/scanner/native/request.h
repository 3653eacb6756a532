/* What a skeleton needs of a request. A JSON library of yours does this better. */
#pragma once
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 1000

struct request {
  char *query;
  int n_columns; /* -1 where no columns are named */
  char *columns[MOST_COLUMNS];
};

static inline void request_free(struct request *request)
{
  for (int i = 0; i < request->n_columns; i++) free(request->columns[i]);
  free(request->query);
  free(request);
}

/* The JSON text at `*at`, a copy; NULL without memory or for escapes other than \" and \\. */
static inline char *request_text(const char **at)
{
  const char *from = strchr(*at, '"');
  char *text = from == NULL ? NULL : (char *)malloc(strlen(from));
  size_t length = 0;
  if (text == NULL) return NULL;
  for (from++; *from != '\0' && *from != '"'; from++) {
    if (*from == '\\' && *++from != '"' && *from != '\\') break;
    text[length++] = *from;
  }
  if (*from != '"') {
    free(text);
    return NULL;
  }
  text[length] = '\0';
  *at = from + 1;
  return text;
}

/* The request, which request_free takes back; NULL where it cannot be read. */
static inline struct request *request_parse(const char *json)
{
  const char *query = strstr(json, "\"type\": ");
  const char *columns = strstr(json, "\"columns\": [");
  struct request *request = (struct request *)calloc(1, sizeof *request);
  if (request == NULL) return NULL;
  if (query != NULL) {
    query += strlen("\"type\":");
    request->query = request_text(&query);
  }
  int readable = request->query != NULL;
  if (columns != NULL) {
    columns += strlen("\"columns\": [");
    while (readable && *columns != ']') {
      readable = request->n_columns < MOST_COLUMNS;
      if (!readable) break;
      char *name = request->columns[request->n_columns] = request_text(&columns);
      readable = name != NULL;
      request->n_columns += readable;
      columns += strspn(columns, ", ");
    }
  } else {
    request->n_columns = -1;
  }
  if (readable) return request;
  request_free(request);
  return NULL;
}
