/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reads the symbol tables of a mapped file; every offset is checked, since any file may be asked. */
#include "elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct image {
    const unsigned char *bytes;
    size_t size;
} image_t;

/* So many records of such a size, inside the file and aligned; NULL otherwise. */
static const void *records(const image_t *image, uint64_t offset, uint64_t count, size_t size)
{
    if (offset > image->size || offset % 8 || count > (image->size - offset) / size) return NULL;
    return image->bytes + offset;
}

static void visit_table(const image_t *image, const Elf64_Shdr *table, const Elf64_Shdr *strings,
                        void (*visit)(const char *, void *), void *arg)
{
    uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbol = records(image, table->sh_offset, count, sizeof *symbol);
    if (!symbol || strings->sh_offset > image->size || strings->sh_size > image->size - strings->sh_offset)
        return;
    const char *text = (const char *)image->bytes + strings->sh_offset;
    if (!strings->sh_size || text[strings->sh_size - 1] != '\0') return;
    for (uint64_t i = 0; i < count; i++) {
        bool function = ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC;
        if (function && symbol[i].st_shndx != SHN_UNDEF && symbol[i].st_name < strings->sh_size)
            visit(text + symbol[i].st_name, arg);
    }
}

static void visit_image(const image_t *image, void (*visit)(const char *, void *), void *arg)
{
    const Elf64_Ehdr *head = records(image, 0, 1, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shentsize != sizeof(Elf64_Shdr))
        return;
    const Elf64_Shdr *section = records(image, head->e_shoff, head->e_shnum, sizeof *section);
    for (int i = 0; section && i < head->e_shnum; i++) {
        bool symbols = section[i].sh_type == SHT_DYNSYM || section[i].sh_type == SHT_SYMTAB;
        if (symbols && section[i].sh_link < head->e_shnum)
            visit_table(image, &section[i], &section[section[i].sh_link], visit, arg);
    }
}

void elf_functions(const char *path, void (*visit)(const char *name, void *arg), void *arg)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0) {
        image_t image = {NULL, (size_t)found.st_size};
        void *bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        image.bytes = bytes;
        if (bytes != MAP_FAILED) {
            visit_image(&image, visit, arg);
            munmap(bytes, image.size);
        }
    }
    close(fd);
}
