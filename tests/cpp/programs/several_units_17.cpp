// Compiled as C++17; see several_units_20.cpp.
#include <norn.hpp>

norn::future<int> made_in_17(const norn::runtime_ref &rt) {
    return rt.submit([] { return 1; }).then([](int n) { return n + 1; });
}
norn::token thrown_in_17(const norn::runtime_ref &rt) {
    return rt.submit([] { throw 17; });
}
