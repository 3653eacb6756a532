/* Return codes and error text.
 *
 * Whatever can fail returns an int: 0, or one of the codes below. The last parameter of such a
 * function is a `struct seam_error *`, which may be NULL; on failure it receives one sentence.
 * Nothing is thrown, printed or kept in a global, so every function here may be called from any
 * thread as long as two threads do not share an object that one of them changes.
 */
#ifndef SEAM_ERROR_H
#define SEAM_ERROR_H

#include <stdint.h>

enum seam_code {
    SEAM_OK = 0,
    SEAM_NO_MEMORY = 1,    /* the tracked allocator's limit, or the system's */
    SEAM_BAD_INPUT = 2,    /* foreign bytes break their format */
    SEAM_BAD_ARGUMENT = 3, /* the caller broke the contract */
    SEAM_TOO_LARGE = 4,    /* a count or size does not fit its field */
    SEAM_UNSUPPORTED = 5,  /* known, legal, and not implemented */
};

struct seam_error {
    int64_t offset; /* byte offset in the input at which the error was found, or -1 */
    char message[512];
};

/* Fills `error` (which may be NULL) and returns `code`, so that callers can write
 * `return seam_fail(error, SEAM_BAD_INPUT, offset, "...", ...)`. */
int seam_fail(struct seam_error *error, int code, int64_t offset, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* Ends the function that it stands in with what `call` returns, unless that is SEAM_OK. Only where
 * there is nothing to give back. */
#define SEAM_TRY(call)                                                                             \
    do {                                                                                           \
        int seam_code = (call);                                                                    \
        if (seam_code != SEAM_OK) {                                                                \
            return seam_code;                                                                      \
        }                                                                                          \
    } while (0)

#endif
