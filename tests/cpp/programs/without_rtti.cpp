// -fno-rtti: exceptions keep their types.
#include <norn.hpp>

int main() {
    norn::runtime rt;
    auto f = rt.submit([]() -> int { throw std::out_of_range("far"); });
    try {
        f.get();
    } catch (const std::out_of_range &e) {
        return std::string(e.what()) == "far" ? 0 : 1;
    }
    return 2;
}
