/* Scanners written in Java: rows cross from a JVM in this process in off-heap tables.
 *
 * The Java side is the classes of `seamkit.offheap` and whatever extends their ConnectorScanner;
 * see docs/java.md. It hands over nothing but the address of a meta chain (seam/table.h), whose
 * columns are checked and copied here. Its blocks come from one of our allocators, through native
 * methods that are registered when a loader is made, so that limits and counters hold for them,
 * too.
 *
 * No header of a JDK is needed: the table of JNI functions is documented and never changes. The JVM
 * is the one that runs in this process; somebody else starts it. Threads that call are attached to
 * it as daemons on the way and detached when they end.
 *
 * A scanner belongs to one thread at a time; several scanners may run side by side.
 */
#ifndef SEAM_JNI_H
#define SEAM_JNI_H

#include "seam/arrow.h"
#include "seam/engine.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

/* Classes that one Java class loader finds. It may be shared by threads. */
struct seam_jni_loader;
struct seam_jni_scanner;

/* A Java text: UTF-16 of this machine's byte order. */
struct seam_jni_text {
    const uint16_t *units;
    int32_t length;
};

struct seam_jni_counters {
    int64_t open_ns;    /* in the scanner's constructor and open */
    int64_t read_ns;    /* in Java, making chunks, but for what is told to be conversion */
    int64_t convert_ns; /* in Java, appending to columns, where a scanner tells it; else 0 */
    int64_t fill_ns;    /* here, copying them out */
    int64_t rows;
    int64_t chunks;
    int64_t bytes; /* of flags, values, offsets and texts that were copied */
};

/* Takes hold of the calling thread's Java context class loader and registers the natives of its
 * seamkit.offheap.Memory. SEAM_UNSUPPORTED: no JVM runs in this process, or the loader does not
 * know the classes. */
int seam_jni_loader_new(struct seam_jni_loader **out, struct seam_error *error);
/* NULL is ignored. Scanners must be closed before. */
void seam_jni_loader_release(struct seam_jni_loader *loader);

/* Makes a scanner of a class by name; its constructor runs.
 *
 * `parameters`: names and values in turns, `n` in all. `allocator`: where Java's blocks and the
 * batches come from; borrowed. Codes of what Java throws, here and below: SEAM_NO_MEMORY where an
 * allocator is at its limit, SEAM_UNSUPPORTED where something is refused, else SEAM_BAD_INPUT; the
 * message is the exception's, with its causes. */
int seam_jni_scanner_new(struct seam_jni_loader *loader, struct seam_jni_text class_name,
                         int32_t fetch_size, const struct seam_jni_text *parameters, int64_t n,
                         struct seam_allocator *allocator, struct seam_jni_scanner **out,
                         struct seam_error *error);
int seam_jni_scanner_open(struct seam_jni_scanner *scanner, struct seam_error *error);
/* Names and types of the columns, a line each, as a block of the allocator that ends with a 0 and
 * is the caller's to seam_free. */
int seam_jni_scanner_describe(struct seam_jni_scanner *scanner, char **out,
                              struct seam_error *error);
/* The next chunk's chain, still the scanner's: valid until the next call with the scanner. For who
 * wants the bytes as they lie. */
int seam_jni_scanner_chain(struct seam_jni_scanner *scanner, struct seam_chain *out,
                           struct seam_error *error);
/* The next chunk as an Arrow struct array, which is the caller's, and its rows; at the end there
 * are 0, and no array. Each column goes back to Java as soon as it is copied. */
int seam_jni_scanner_next(struct seam_jni_scanner *scanner, const struct seam_engine_slot *slots,
                          int64_t n_slots, struct ArrowArray *out, int64_t *rows,
                          struct seam_error *error);
void seam_jni_scanner_counters(const struct seam_jni_scanner *scanner,
                               struct seam_jni_counters *out);
/* Closes the scanner, gives its chunk back and frees it, whatever Java says; the code is Java's. */
int seam_jni_scanner_close(struct seam_jni_scanner *scanner, struct seam_error *error);

/* Binds the native methods of the class seamkit.NativeCode that the calling thread's context class
 * loader finds, by which tasks of Spark use batches and converters (seam/batches.h). What they fail
 * with is thrown as a RuntimeException, its message a line `seambase.errors.CLASS: sentence`.
 * SEAM_UNSUPPORTED: no JVM, or no such class. */
int seam_jni_operators(struct seam_error *error);

/* A JVM finds null references and stops its threads by faults that its own signal handlers catch.
 * Whoever replaces these (Python's faulthandler does when it is switched off and on again) kills
 * the process at the next one. `keep` remembers the handlers that stand now, just after the JVM has
 * started; `restore` puts them back, and does nothing before `keep`. One thread at a time. */
void seam_jvm_signals_keep(void);
void seam_jvm_signals_restore(void);

#endif
