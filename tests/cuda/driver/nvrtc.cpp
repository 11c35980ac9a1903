// A stand-in for libnvrtc: "compiles" CUDA C++ to PTX that declares its kernels and contains no code.
//
// Kernels are the functions declared extern "C" __global__ void; the stand-in driver runs its own host code for them
// by name. A line `#error text` is a compile error with a log. Names cannot be lowered, as nothing here knows C++.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <set>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum Result {
    success = 0,
    invalid_input = 3,
    invalid_program = 4,
    invalid_option = 5,
    compilation = 6,
    no_lowered_names = 8
};

struct Program {
    std::string source, name, log, ptx;
    bool compiled = false;
};

std::mutex lock;
std::set<Program *> programs; // living

std::string trimmed(const std::string &text) {
    size_t begin = 0, end = text.size();
    while (begin < end && isspace(static_cast<unsigned char>(text[begin]))) ++begin;
    while (end > begin && isspace(static_cast<unsigned char>(text[end - 1]))) --end;
    return text.substr(begin, end - begin);
}

std::string without_comments(const std::string &source) {
    std::string text;
    for (size_t at = 0; at < source.size();) {
        if (source.compare(at, 2, "//") == 0) {
            at = std::min(source.find('\n', at), source.size());
        } else if (source.compare(at, 2, "/*") == 0) {
            const size_t end = std::min(source.find("*/", at + 2), source.size() - 2) + 2;
            for (; at < end; ++at) text += source[at] == '\n' ? '\n' : ' ';
        } else {
            text += source[at++];
        }
    }
    return text;
}

// The PTX type of a parameter as it is written in C++, or an empty string.
std::string ptx_type(const std::string &parameter) {
    if (parameter.find('*') != std::string::npos) return ".u64";
    std::set<std::string> words;
    std::string word;
    for (const char c : parameter + " ") {
        if (isalnum(static_cast<unsigned char>(c)) || c == '_') {
            word += c;
        } else if (!word.empty()) {
            words.insert(word);
            word.clear();
        }
    }
    const auto has = [&](const char *what) { return words.count(what) != 0; };
    if (has("double")) return ".f64";
    if (has("float")) return ".f32";
    if (has("long") || has("size_t") || has("uint64_t") || has("int64_t") || has("ptrdiff_t")) return ".u64";
    if (has("char") || has("bool") || has("uint8_t") || has("int8_t")) return ".u8";
    if (has("short") || has("uint16_t") || has("int16_t")) return ".u16";
    if (has("int") || has("unsigned") || has("uint32_t") || has("int32_t")) return ".u32";
    return {};
}

// Bounds and other attributes stand between __global__ and the name; their brackets are not those of the parameters.
std::string without_attributes(std::string text) {
    for (const char *attribute : {"__launch_bounds__", "__cluster_dims__", "__attribute__"})
        for (size_t at; (at = text.find(attribute)) != std::string::npos;) {
            size_t end = text.find('(', at);
            for (int depth = 0; end < text.size(); ++end) {
                depth += (text[end] == '(') - (text[end] == ')');
                if (depth == 0) break;
            }
            for (size_t i = at; i <= end && i < text.size(); ++i)
                if (text[i] != '\n') text[i] = ' ';
        }
    return text;
}

int line_of(const std::string &text, size_t at) {
    int line = 1;
    for (size_t i = 0; i < at; ++i) line += text[i] == '\n';
    return line;
}

void complain(Program &program, int line, const std::string &what) {
    program.log += program.name + "(" + std::to_string(line) + "): error: " + what + "\n\n";
}

void compile(Program &program) {
    program.log.clear();
    program.ptx = ".version 7.0\n.target sm_70\n.address_size 64\n";
    const std::string text = without_attributes(without_comments(program.source));
    for (size_t at = 0; (at = text.find("#error", at)) != std::string::npos; at += 6) {
        const size_t end = std::min(text.find('\n', at), text.size());
        complain(program, line_of(text, at), "#error directive:" + text.substr(at + 6, end - at - 6));
    }
    int depth = 0;
    for (const char c : text) depth += (c == '{') - (c == '}');
    if (depth != 0) complain(program, line_of(text, text.size()), "expected a \"}\"");
    for (size_t at = 0; (at = text.find("__global__", at)) != std::string::npos;) {
        const size_t declared = at;
        at += 10;
        const std::string before = trimmed(text.substr(0, declared));
        const size_t open = text.find('(', at), close = text.find(')', at);
        if (open == std::string::npos || close == std::string::npos) {
            complain(program, line_of(text, declared), "expected a parameter list");
            return;
        }
        // Names with C++ linkage would be mangled; nothing can be looked up by them.
        if (before.size() < 3 || before.compare(before.size() - 3, 3, "\"C\"") != 0) continue;
        std::string name = trimmed(text.substr(at, open - at));
        const size_t word = name.find_last_of(" \t\n*");
        if (word != std::string::npos) name = name.substr(word + 1);
        std::string parameters;
        std::string rest = text.substr(open + 1, close - open - 1);
        for (int index = 0; !trimmed(rest).empty(); ++index) {
            const size_t comma = std::min(rest.find(','), rest.size());
            const std::string one = trimmed(rest.substr(0, comma));
            rest = comma < rest.size() ? rest.substr(comma + 1) : std::string();
            if (one == "void") continue;
            const std::string type = ptx_type(one);
            if (type.empty()) {
                complain(program, line_of(text, declared), "the stand-in does not know the type of \"" + one + "\"");
                break;
            }
            parameters += (index ? ",\n" : "\n") + std::string("    .param ") + type + " " + name + "_param_" + std::to_string(index);
        }
        program.ptx += "\n.visible .entry " + name + "(" + parameters + "\n)\n{\n    ret;\n}\n";
    }
    if (!program.log.empty()) program.log += "compilation terminated.\n";
    program.compiled = program.log.empty();
}

Program *living(void *program) {
    Program *const found = static_cast<Program *>(program);
    return programs.count(found) != 0 ? found : nullptr;
}

Result give_size(void *program, size_t *bytes, std::string Program::*what, bool needs_success) {
    const std::lock_guard<std::mutex> guard(lock);
    Program *const found = living(program);
    if (found == nullptr) return invalid_program;
    if (bytes == nullptr) return invalid_input;
    if (needs_success && !found->compiled) return invalid_program;
    *bytes = (found->*what).size() + 1;
    return success;
}

Result give_text(void *program, char *to, std::string Program::*what, bool needs_success) {
    const std::lock_guard<std::mutex> guard(lock);
    Program *const found = living(program);
    if (found == nullptr) return invalid_program;
    if (to == nullptr) return invalid_input;
    if (needs_success && !found->compiled) return invalid_program;
    memcpy(to, (found->*what).c_str(), (found->*what).size() + 1);
    return success;
}

} // namespace

extern "C" {

const char *nvrtcGetErrorString(int result) {
    switch (result) {
    case success: return "NVRTC_SUCCESS";
    case invalid_input: return "NVRTC_ERROR_INVALID_INPUT";
    case invalid_program: return "NVRTC_ERROR_INVALID_PROGRAM";
    case invalid_option: return "NVRTC_ERROR_INVALID_OPTION";
    case compilation: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR unknown";
    }
}

int nvrtcVersion(int *major, int *minor) {
    if (major == nullptr || minor == nullptr) return invalid_input;
    *major = 12;
    *minor = 4;
    return success;
}

int nvrtcGetNumSupportedArchs(int *count) {
    if (count == nullptr) return invalid_input;
    *count = 2;
    return success;
}

int nvrtcGetSupportedArchs(int *archs) {
    if (archs == nullptr) return invalid_input;
    archs[0] = 70;
    archs[1] = 90;
    return success;
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers, const char *const *, const char *const *) {
    if (program == nullptr || source == nullptr || headers < 0) return invalid_input;
    const std::lock_guard<std::mutex> guard(lock);
    Program *const made = new Program;
    made->source = source;
    made->name = name == nullptr || *name == '\0' ? "default_program" : name;
    programs.insert(made);
    *program = made;
    return success;
}

int nvrtcDestroyProgram(void **program) {
    if (program == nullptr) return invalid_program;
    const std::lock_guard<std::mutex> guard(lock);
    Program *const found = living(*program);
    if (found == nullptr) return invalid_program;
    programs.erase(found);
    delete found;
    *program = nullptr;
    return success;
}

int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    const std::lock_guard<std::mutex> guard(lock);
    Program *const found = living(program);
    if (found == nullptr) return invalid_program;
    for (int i = 0; i < count; ++i)
        if (options[i] == nullptr || options[i][0] != '-') {
            found->log = std::string("nvrtc: error: unrecognized option ") + (options[i] != nullptr ? options[i] : "(null)") + " found\n";
            return invalid_option;
        }
    compile(*found);
    return found->compiled ? success : compilation;
}

int nvrtcGetPTXSize(void *program, size_t *bytes) { return give_size(program, bytes, &Program::ptx, true); }
int nvrtcGetPTX(void *program, char *ptx) { return give_text(program, ptx, &Program::ptx, true); }
int nvrtcGetProgramLogSize(void *program, size_t *bytes) { return give_size(program, bytes, &Program::log, false); }
int nvrtcGetProgramLog(void *program, char *log) { return give_text(program, log, &Program::log, false); }

// PTX is all there is; a caller that asked for a real architecture gets the text as its image, which loads too.
int nvrtcGetCUBINSize(void *program, size_t *bytes) { return give_size(program, bytes, &Program::ptx, true); }
int nvrtcGetCUBIN(void *program, char *image) { return give_text(program, image, &Program::ptx, true); }

int nvrtcAddNameExpression(void *program, const char *) {
    const std::lock_guard<std::mutex> guard(lock);
    return living(program) == nullptr ? invalid_program : success;
}

int nvrtcGetLoweredName(void *program, const char *, const char **) {
    const std::lock_guard<std::mutex> guard(lock);
    return living(program) == nullptr ? invalid_program : no_lowered_names;
}

} // extern "C"
