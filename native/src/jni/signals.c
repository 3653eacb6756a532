#include "seam/jni.h"

#include <signal.h>

/* What HotSpot lets the processor find out by a fault: null checks, safepoints, division. */
static const int KEPT[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { N_KEPT = sizeof KEPT / sizeof *KEPT };

static struct sigaction handlers[N_KEPT];
static int are_kept;

void seam_jvm_signals_keep(void) {
    are_kept = 1;
    for (int i = 0; i < N_KEPT; i++) {
        are_kept &= sigaction(KEPT[i], NULL, &handlers[i]) == 0;
    }
}

void seam_jvm_signals_restore(void) {
    for (int i = 0; are_kept && i < N_KEPT; i++) {
        (void)sigaction(KEPT[i], &handlers[i], NULL);
    }
}
