// Reads module images: the entries of PTX, and the kernels of a cubin by the names of its sections.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "image.hpp"

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <elf.h>

namespace standin {

namespace {

// Without comments; a word, a number and a name are one token, everything else one a character.
std::vector<std::string> tokens_of(const std::string &text) {
    std::vector<std::string> tokens;
    for (size_t at = 0; at < text.size();) {
        const unsigned char c = static_cast<unsigned char>(text[at]);
        if (isspace(c)) {
            ++at;
        } else if (text.compare(at, 2, "//") == 0) {
            at = std::min(text.find('\n', at), text.size());
        } else if (text.compare(at, 2, "/*") == 0) {
            const size_t end = text.find("*/", at + 2);
            at = end == std::string::npos ? text.size() : end + 2;
        } else if (isalnum(c) || c == '_' || c == '$' || c == '%' || c == '.') {
            const size_t begin = at++;
            while (at < text.size() && (isalnum(static_cast<unsigned char>(text[at])) || strchr("_$.:", text[at]) != nullptr)) ++at;
            tokens.push_back(text.substr(begin, at - begin));
        } else {
            tokens.push_back(text.substr(at++, 1));
        }
    }
    return tokens;
}

size_t type_bytes(const std::string &type) {
    if (type == ".pred") return 1;
    const size_t digit = type.find_first_of("0123456789");
    if (type.size() < 3 || type[0] != '.' || digit == std::string::npos || digit > 3) return 0;
    return static_cast<size_t>(atoi(type.c_str() + digit)) / 8;
}

std::string read_ptx(const std::string &text, Image *read) {
    const std::vector<std::string> tokens = tokens_of(text);
    const auto token = [&](size_t at) { return at < tokens.size() ? tokens[at] : std::string(); };
    bool version = false, target = false;
    int depth = 0;
    for (size_t at = 0; at < tokens.size(); ++at) {
        const std::string &word = tokens[at];
        if (word == "{") ++depth;
        if (word == "}" && --depth < 0) return "fatal   : a } without its {";
        if (word == ".version") version = true;
        if (word == ".target") target = true;
        if (depth == 0 && word == ".global") {
            // .global .align 8 .b8 name[24]; or .global .u32 name;
            size_t bytes = 0;
            std::string name;
            for (size_t i = at + 1; i < tokens.size() && tokens[i] != ";"; ++i) {
                if (tokens[i] == ".align") {
                    ++i;
                } else if (type_bytes(tokens[i]) != 0) {
                    bytes = type_bytes(tokens[i]);
                } else if (tokens[i] == "[") {
                    bytes *= static_cast<size_t>(strtoull(token(i + 1).c_str(), nullptr, 10));
                } else if (name.empty() && tokens[i][0] != '.') {
                    name = tokens[i];
                }
            }
            read->variables.push_back({name, bytes});
        }
        if (word != ".entry") continue;
        Entry entry{token(at + 1), {}, true};
        if (entry.name.empty()) return "fatal   : .entry without a name";
        size_t i = at + 2;
        if (token(i) == "(") {
            for (++i; i < tokens.size() && tokens[i] != ")"; ++i) {
                if (tokens[i] != ".param") continue;
                size_t bytes = 0, times = 1;
                for (++i; i < tokens.size() && tokens[i] != "," && tokens[i] != ")"; ++i) {
                    if (tokens[i] == ".align") {
                        ++i;
                    } else if (bytes == 0 && type_bytes(tokens[i]) != 0) {
                        bytes = type_bytes(tokens[i]);
                    } else if (tokens[i] == "[") {
                        times = static_cast<size_t>(strtoull(token(i + 1).c_str(), nullptr, 10));
                    }
                }
                if (bytes == 0) return "error   : parameter of " + entry.name + " has no known type";
                entry.parameter_bytes.push_back(bytes * times);
                if (token(i) == ")") break;
            }
        }
        read->entries.push_back(entry);
    }
    if (!version) return "fatal   : Missing .version directive at start of file";
    if (!target) return "fatal   : Missing .target directive";
    if (depth != 0) return "fatal   : the end of the text inside { }";
    return {};
}

std::string read_cubin(const unsigned char *image, Image *read) {
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum)
        return "not an ELF image of 64 bits";
    const auto section = [&](unsigned index) {
        Elf64_Shdr found;
        memcpy(&found, image + header.e_shoff + index * sizeof found, sizeof found);
        return found;
    };
    const Elf64_Shdr strings = section(header.e_shstrndx);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const Elf64_Shdr at = section(i);
        if (at.sh_name >= strings.sh_size) return "a section without a name";
        const char *name = reinterpret_cast<const char *>(image + strings.sh_offset + at.sh_name);
        if (strncmp(name, ".text.", 6) == 0 && name[6] != '\0') read->entries.push_back({name + 6, {}, false});
    }
    return {};
}

} // namespace

std::string read_image(const void *image, Image *read, bool *malformed) {
    const unsigned char *bytes = static_cast<const unsigned char *>(image);
    *malformed = false;
    if (memcmp(bytes, ELFMAG, SELFMAG) == 0) return read_cubin(bytes, read);
    uint32_t magic = 0;
    memcpy(&magic, bytes, sizeof magic);
    if (magic == 0x466243b1) { // the wrapper of a fat binary: magic, version, its address
        const unsigned char *inner = nullptr;
        memcpy(&inner, bytes + 8, sizeof inner);
        return inner == nullptr ? "an empty fat binary" : read_image(inner, read, malformed);
    }
    if (magic == 0xba55ed50) { // a fat binary: magic, version, bytes of the header, bytes of all entries
        uint16_t header = 0;
        uint64_t length = 0;
        memcpy(&header, bytes + 6, sizeof header);
        memcpy(&length, bytes + 8, sizeof length);
        // Entry: kind (1 PTX, 2 cubin) and version in 16 bits each, bytes of the entry's header, bytes of its image.
        for (uint64_t at = header; at + 16 <= header + length;) {
            uint16_t kind = 0;
            uint32_t entry_header = 0;
            uint64_t entry_bytes = 0;
            memcpy(&kind, bytes + at, sizeof kind);
            memcpy(&entry_header, bytes + at + 4, sizeof entry_header);
            memcpy(&entry_bytes, bytes + at + 8, sizeof entry_bytes);
            const unsigned char *const entry = bytes + at + entry_header;
            if (kind == 2 && memcmp(entry, ELFMAG, SELFMAG) == 0) return read_cubin(entry, read);
            if (kind == 1) {
                const std::string text(reinterpret_cast<const char *>(entry), strnlen(reinterpret_cast<const char *>(entry), entry_bytes));
                if (text.find(".version") != std::string::npos) {
                    *malformed = true;
                    return read_ptx(text, read);
                }
            }
            at += entry_header + entry_bytes;
        }
        return "a fat binary without an image that can be read (compressed ones cannot)";
    }
    *malformed = true;
    return read_ptx(reinterpret_cast<const char *>(bytes), read);
}

} // namespace standin
