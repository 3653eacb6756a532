// A scanner to begin with: a stream without rows. See docs/doors.md of Seambench.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "arrow_c.h"
#include "request.h"

namespace {

enum { kDone = 0, kFailed = 1, kRefused = 2 };

// What a schema points at: a struct with a child a column.
struct Columns {
  std::vector<std::string> names;
  std::vector<ArrowSchema> fields;
  std::vector<ArrowSchema *> pointers;
};

void ReleaseField(ArrowSchema *field) { field->release = nullptr; }

void ReleaseSchema(ArrowSchema *schema) {
  delete static_cast<Columns *>(schema->private_data);
  schema->release = nullptr;
}

// One read: the columns asked for, as texts so far.
class Read {
 public:
  explicit Read(std::vector<std::string> names) : names_(std::move(names)) {}

  void Schema(ArrowSchema *out) const {
    auto columns = std::make_unique<Columns>();
    columns->names = names_;
    for (const std::string &name : columns->names) {
      ArrowSchema field{};
      field.format = "u";
      field.name = name.c_str();
      field.flags = ARROW_NULLABLE;
      field.release = ReleaseField;
      columns->fields.push_back(field);
    }
    for (ArrowSchema &field : columns->fields) columns->pointers.push_back(&field);
    *out = ArrowSchema{};
    out->format = "+s";
    out->name = "";
    out->n_children = static_cast<int64_t>(columns->pointers.size());
    out->children = columns->pointers.data();
    out->release = ReleaseSchema;
    out->private_data = columns.release();
  }

  // Here go the rows, a batch a call; a released array is the end.
  void Next(ArrowArray *out) { out->release = nullptr; }

 private:
  std::vector<std::string> names_;
};

int GetSchema(ArrowArrayStream *stream, ArrowSchema *out) {
  try {
    static_cast<Read *>(stream->private_data)->Schema(out);
    return 0;
  } catch (const std::bad_alloc &) {
    return ENOMEM;
  }
}

int GetNext(ArrowArrayStream *stream, ArrowArray *out) {
  static_cast<Read *>(stream->private_data)->Next(out);
  return 0;
}

const char *GetLastError(ArrowArrayStream *) { return "no memory"; }

void Release(ArrowArrayStream *stream) {
  delete static_cast<Read *>(stream->private_data);
  stream->release = nullptr;
}

int Scan(const char *json, ArrowArrayStream *out, std::string &reason) {
  const std::unique_ptr<request, void (*)(request *)> asked(request_parse(json), request_free);
  if (!asked) {
    reason = "no memory, or no readable request";
    return kFailed;
  }
  if (std::string(asked->query) != "snapshot") {
    reason = "NAME has no query " + std::string(asked->query);
    return kRefused;
  }
  if (asked->n_columns < 0) {
    reason = "NAME does not find the columns of a table by itself yet";
    return kRefused;
  }
  std::vector<std::string> names(asked->columns, asked->columns + asked->n_columns);
  auto read = std::make_unique<Read>(std::move(names));
  *out = ArrowArrayStream{GetSchema, GetNext, GetLastError, Release, read.release()};
  return kDone;
}

}  // namespace

// Fill `out` and return 0; or write a sentence and return 2 (refused) or another number (failed).
// `request_json` names the table, the query and the columns. Several threads may call at once.
extern "C" int seambench_scan(const char *request_json, ArrowArrayStream *out, char *error,
                              size_t error_size) {
  try {
    std::string reason;
    const int code = Scan(request_json, out, reason);
    if (code != kDone) std::snprintf(error, error_size, "%s", reason.c_str());
    return code;
  } catch (const std::exception &problem) {
    std::snprintf(error, error_size, "%s", problem.what());
    return kFailed;
  }
}
