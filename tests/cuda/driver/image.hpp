// What a module image declares: read from PTX text, or from the sections of a cubin.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace standin {

struct Entry {
    std::string name;
    std::vector<size_t> parameter_bytes;
    bool parameters_known; // not of a cubin
};
struct Variable {
    std::string name;
    size_t bytes;
};
struct Image {
    std::vector<Entry> entries;
    std::vector<Variable> variables;
};

// PTX ends with a zero byte, a cubin and a fat binary say their length. An empty string, or what is wrong with it, as
// the log of a compiler would say it; *malformed tells PTX with an error from what is no image at all.
std::string read_image(const void *image, Image *read, bool *malformed);

} // namespace standin
