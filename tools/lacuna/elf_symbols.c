/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reads the symbol tables of a mapped file; every offset is checked, since any file may be asked. */
#include "elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct elf_image {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *section; /* [head->e_shnum] */
} elf_image_t;

/* So many records of such a size, inside the file and aligned; NULL otherwise. */
static const void *records(const elf_image_t *image, uint64_t offset, uint64_t count, size_t size)
{
    if (offset > image->size || offset % 8 || count > (image->size - offset) / size) return NULL;
    return image->bytes + offset;
}

/* A symbol table and its names. */
typedef struct table {
    const Elf64_Sym *symbol;
    uint64_t count, text_size;
    const char *text;
} table_t;

static bool read_table(const elf_image_t *image, uint32_t index, table_t *table)
{
    if (index >= image->head->e_shnum) return false;
    const Elf64_Shdr *symbols = &image->section[index];
    bool is_table = symbols->sh_type == SHT_DYNSYM || symbols->sh_type == SHT_SYMTAB;
    if (!is_table || symbols->sh_link >= image->head->e_shnum) return false;
    const Elf64_Shdr *strings = &image->section[symbols->sh_link];
    table->count = symbols->sh_size / sizeof(Elf64_Sym);
    table->symbol = records(image, symbols->sh_offset, table->count, sizeof(Elf64_Sym));
    if (!table->symbol || strings->sh_offset > image->size ||
        strings->sh_size > image->size - strings->sh_offset)
        return false;
    table->text = (const char *)image->bytes + strings->sh_offset;
    table->text_size = strings->sh_size;
    return table->text_size && table->text[table->text_size - 1] == '\0';
}

static const char *symbol_name(const table_t *table, uint64_t i)
{
    return i < table->count && table->symbol[i].st_name < table->text_size
               ? table->text + table->symbol[i].st_name
               : NULL;
}

static bool read_head(elf_image_t *image)
{
    const Elf64_Ehdr *head = image->head = records(image, 0, 1, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    image->section = records(image, head->e_shoff, head->e_shnum, sizeof(Elf64_Shdr));
    return image->section != NULL;
}

static void visit_image(elf_image_t *image, void (*visit)(const elf_function_t *, void *), void *arg)
{
    table_t table;
    for (uint32_t i = 0; i < image->head->e_shnum; i++) {
        if (!read_table(image, i, &table)) continue;
        bool exported = image->section[i].sh_type == SHT_DYNSYM;
        for (uint64_t j = 0; j < table.count; j++) {
            const Elf64_Sym *symbol = &table.symbol[j];
            const char *name = symbol_name(&table, j);
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || !name)
                continue;
            visit(&(elf_function_t){name, image, symbol->st_value, symbol->st_size, exported}, arg);
        }
    }
}

void elf_functions(const char *path, void (*visit)(const elf_function_t *function, void *arg), void *arg)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0) {
        elf_image_t image = {.size = (size_t)found.st_size};
        void *bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        image.bytes = bytes;
        if (bytes != MAP_FAILED) {
            if (read_head(&image)) visit_image(&image, visit, arg);
            munmap(bytes, image.size);
        }
    }
    close(fd);
}

/* The code at an address, and how much of its section there is from there on; NULL where there is none. */
static const unsigned char *code_at(const elf_image_t *image, uint64_t address, uint64_t *room)
{
    for (uint32_t i = 0; i < image->head->e_shnum; i++) {
        const Elf64_Shdr *s = &image->section[i];
        if (s->sh_type != SHT_PROGBITS || !(s->sh_flags & SHF_EXECINSTR)) continue;
        if (address < s->sh_addr || address - s->sh_addr >= s->sh_size) continue;
        if (s->sh_offset > image->size || s->sh_size > image->size - s->sh_offset) return NULL;
        *room = s->sh_size - (address - s->sh_addr);
        return image->bytes + s->sh_offset + (address - s->sh_addr);
    }
    return NULL;
}

/* The name of the symbol whose address the dynamic linker writes to `slot`. */
static const char *slot_symbol(const elf_image_t *image, uint64_t slot)
{
    for (uint32_t i = 0; i < image->head->e_shnum; i++) {
        const Elf64_Shdr *s = &image->section[i];
        table_t table;
        if (s->sh_type != SHT_RELA || !read_table(image, s->sh_link, &table)) continue;
        uint64_t count = s->sh_size / sizeof(Elf64_Rela);
        const Elf64_Rela *rela = records(image, s->sh_offset, count, sizeof *rela);
        for (uint64_t j = 0; rela && j < count; j++) {
            uint64_t type = ELF64_R_TYPE(rela[j].r_info);
            if (rela[j].r_offset == slot && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT))
                return symbol_name(&table, ELF64_R_SYM(rela[j].r_info));
        }
    }
    return NULL;
}

static uint64_t after(uint64_t address, const unsigned char *displacement)
{
    int32_t value;
    memcpy(&value, displacement, sizeof value);
    return address + (uint64_t)(int64_t)value;
}

/* What a call or jump through the table leads to, where such an instruction begins at `code`. Bytes: E8 and
 * E9 call and jump to an entry of the linkage table, whose instruction is the jump through a slot; FF 15 and
 * FF 25 call and jump through the slot itself. An entry may begin with ENDBR64 (F3 0F 1E FA), its jump with
 * F2. */
static const char *other_function(const elf_image_t *image, uint64_t address, const unsigned char *code,
                                  uint64_t room)
{
    if (room >= 6 && code[0] == 0xff && (code[1] == 0x15 || code[1] == 0x25))
        return slot_symbol(image, after(address + 6, code + 2));
    if (room < 5 || (code[0] != 0xe8 && code[0] != 0xe9)) return NULL;
    uint64_t entry = after(address + 5, code + 1), there;
    const unsigned char *at = code_at(image, entry, &there);
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint64_t skip =
        at && there >= sizeof endbr64 && !memcmp(at, endbr64, sizeof endbr64) ? sizeof endbr64 : 0;
    if (at && there > skip && at[skip] == 0xf2) skip++;
    if (!at || there < skip + 6 || at[skip] != 0xff || at[skip + 1] != 0x25) return NULL;
    return slot_symbol(image, after(entry + skip + 6, at + skip + 2));
}

bool elf_reads_code(const elf_function_t *function)
{
    return function->image->head->e_machine == EM_X86_64;
}

/* Every byte is tried as an instruction's first: four others that happen to name an entry of the table, and
 * of a matching function, are not to be expected. */
bool elf_calls_other(const elf_function_t *function, bool (*matches)(const char *name, void *arg), void *arg)
{
    uint64_t room;
    const unsigned char *code =
        elf_reads_code(function) ? code_at(function->image, function->address, &room) : NULL;
    for (uint64_t i = 0; code && i < function->bytes && i < room; i++) {
        const char *name = other_function(function->image, function->address + i, code + i, room - i);
        if (name && matches(name, arg)) return true;
    }
    return false;
}
