/* Runs a fuzz target over random inputs, in several threads, with any compiler: where there is no
 * libFuzzer, or none that watches what is looked for.
 *
 * usage: stress_NAME INPUTS THREADS */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 400, MOST_THREADS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct share {
    pthread_t thread;
    uint64_t state; /* of the generator (xorshift64*), never 0 */
    long inputs;
};

static uint64_t next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static void *run(void *argument) {
    struct share *share = argument;
    uint8_t bytes[MOST_BYTES];
    for (long i = 0; i < share->inputs; i++) {
        size_t size = next(&share->state) >> 32 & 511;
        size = size < MOST_BYTES ? size : MOST_BYTES;
        /* Half of them of few bits: long rows of zeros, equal keys. */
        uint8_t mask = i % 2 ? 0xFF : (uint8_t)(next(&share->state) >> 40);
        for (size_t k = 0; k < size; k++) {
            bytes[k] = (uint8_t)(next(&share->state) >> 56) & (k < 4 ? 0xFF : mask);
        }
        LLVMFuzzerTestOneInput(bytes, size);
    }
    return NULL;
}

int main(int count, char **words) {
    struct share shares[MOST_THREADS];
    long inputs = count > 1 ? atol(words[1]) : 10000, threads = count > 2 ? atol(words[2]) : 1;
    if (inputs < 1 || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: %s INPUTS THREADS (at most %d)\n", words[0], MOST_THREADS);
        return 2;
    }
    for (long i = 0; i < threads; i++) {
        shares[i] = (struct share){.state = (uint64_t)i + 1, .inputs = inputs};
        if (pthread_create(&shares[i].thread, NULL, run, &shares[i]) != 0) {
            return 2;
        }
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(shares[i].thread, NULL);
    }
    return 0;
}
