/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C library's function of this name knows only exported symbols, and ours are hidden. UCX calls it for the
 * backtrace of a crash; a program or library that is linked with this file has the names of all its functions in it,
 * static ones included, unless it was stripped. Not part of libthemis-util, since it must be exported.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 512 };

/* A mapped file of a program or library. */
typedef struct module {
    const unsigned char *bytes;
    size_t size;
} module_t;

static int module_open(const char *path, module_t *module)
{
    struct stat stats;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    module->bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &stats) == 0 && (size_t)stats.st_size > sizeof(ElfW(Ehdr))) {
        module->size = (size_t)stats.st_size;
        module->bytes = mmap(NULL, module->size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return module->bytes != MAP_FAILED;
}

static int is_inside(const module_t *module, uint64_t offset, uint64_t length)
{
    return offset <= module->size && length <= module->size - offset;
}

/* Section `index`, or NULL if the file ends before it or its content. */
static const ElfW(Shdr) * section_at(const module_t *module, unsigned index)
{
    const ElfW(Ehdr) *header = (const void *)module->bytes;
    const ElfW(Shdr) * section;

    if (index >= header->e_shnum || !is_inside(module, header->e_shoff, (uint64_t)(index + 1) * sizeof *section))
        return NULL;
    section = (const void *)(module->bytes + header->e_shoff + index * sizeof *section);
    return is_inside(module, section->sh_offset, section->sh_size) ? section : NULL;
}

/* The function of a symbol table that has `address` (relative to where the module is loaded), or NULL. */
static const char *name_find(const module_t *module, const ElfW(Shdr) * table, uint64_t address, uint64_t *start)
{
    const ElfW(Sym) *symbols = (const void *)(module->bytes + table->sh_offset);
    const ElfW(Shdr) *names = section_at(module, table->sh_link);

    for (size_t i = 0; names && i < table->sh_size / sizeof *symbols; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && address >= symbols[i].st_value &&
            address - symbols[i].st_value < symbols[i].st_size && symbols[i].st_name < names->sh_size) {
            *start = symbols[i].st_value;
            return (const char *)module->bytes + names->sh_offset + symbols[i].st_name;
        }
    return NULL;
}

/* "(name+0xoffset)" of an address in a file, or "(+0xaddress)". */
static void function_print(const char *path, uint64_t address, char text[LINE_BYTES])
{
    module_t module;
    const ElfW(Shdr) * section;
    const char *name = NULL;
    uint64_t start = 0;
    int opened = module_open(path, &module);

    for (unsigned i = 1; opened && !name && (section = section_at(&module, i)); i++)
        if (section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM)
            name = name_find(&module, section, address, &start);
    snprintf(text, LINE_BYTES, "(%.400s+0x%llx)", name ? name : "", (unsigned long long)(address - start));
    if (opened)
        munmap((void *)(uintptr_t)module.bytes, module.size);
}

static void frame_print(void *address, char line[LINE_BYTES])
{
    struct link_map *map = NULL;
    char function[LINE_BYTES] = "()";
    Dl_info info;

    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || !map) {
        snprintf(line, LINE_BYTES, "[%p]", address);
        return;
    }
    function_print(*map->l_name ? map->l_name : "/proc/self/exe", (uint64_t)(uintptr_t)address - map->l_addr, function);
    snprintf(line, LINE_BYTES, "%.200s%.250s [%p]", info.dli_fname, function, address);
}

/* As in execinfo.h: the caller frees the array, which holds the texts. */
__attribute__((visibility("default"))) char **backtrace_symbols(void *const *addresses, int count)
{
    char **lines = malloc((size_t)count * (sizeof *lines + LINE_BYTES));
    char *text = lines ? (char *)(lines + count) : NULL;

    for (int i = 0; lines && i < count; i++) {
        lines[i] = text + (size_t)i * LINE_BYTES;
        frame_print(addresses[i], lines[i]);
    }
    return lines;
}
