/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Drives a fuzz target without libFuzzer: every file of a corpus as it is, then with changes made at random.
 * usage: fuzz_<target> corpus-folder [changed-inputs [seed]] */
#include "fuzz_target.h"

#include <dirent.h>
#include <string.h>

enum { FILES_MAX = 1000, BYTES_MAX = 4096 };

typedef struct text {
    uint8_t byte[BYTES_MAX];
    size_t size;
} text_t;

static text_t corpus[FILES_MAX];
static int count;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void read_corpus(const char *folder)
{
    char path[4096];
    DIR *list = opendir(folder);
    if (!list) return;
    for (struct dirent *entry; count < FILES_MAX && (entry = readdir(list));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        if (!file) continue;
        corpus[count].size = fread(corpus[count].byte, 1, BYTES_MAX, file);
        fclose(file);
        count++;
    }
    closedir(list);
}

/* Bytes changed, taken out, put in, or the end of another input put on. */
static void change(text_t *t, uint64_t *random)
{
    for (uint64_t changes = 1 + next_random(random) % 6; changes; changes--) {
        size_t at = t->size ? next_random(random) % t->size : 0;
        const text_t *other = &corpus[next_random(random) % (uint64_t)count];
        switch (next_random(random) % 4) {
        case 0:
            if (t->size) t->byte[at] = (uint8_t)next_random(random);
            break;
        case 1:
            if (t->size) memmove(t->byte + at, t->byte + at + 1, --t->size - at);
            break;
        case 2:
            if (t->size == BYTES_MAX) break;
            memmove(t->byte + at + 1, t->byte + at, t->size++ - at);
            t->byte[at] = (uint8_t)next_random(random);
            break;
        default:
            if (at < other->size)
                memcpy(t->byte + at, other->byte + at, other->size - at), t->size = other->size;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    long inputs = argc > 2 ? atol(argv[2]) : 0;
    uint64_t random = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    read_corpus(argv[1]);
    for (int i = 0; i < count; i++) LLVMFuzzerTestOneInput(corpus[i].byte, corpus[i].size);
    static text_t t;
    for (long i = 0; count && i < inputs; i++) {
        t = corpus[next_random(&random) % (uint64_t)count];
        change(&t, &random);
        uint8_t *exact = malloc(t.size + (t.size == 0)); /* a read beyond is seen */
        memcpy(exact, t.byte, t.size);
        LLVMFuzzerTestOneInput(exact, t.size);
        free(exact);
    }
    printf("%d inputs of the corpus, %ld changed ones\n", count, inputs);
    return count ? 0 : 1;
}
