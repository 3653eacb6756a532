#include "seam/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

int seam_fail(struct seam_error *error, int code, int64_t offset, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
        error->offset = offset;
    }
    return code;
}
