// A library that was built with another version of norn.hpp, here made by its namespace; see two_versions.cpp.
#include <norn/version.hpp>
#undef NORN_CPP_ABI
#define NORN_CPP_ABI v0_0_of_another_release
#include <norn.hpp>

extern "C" int use_the_other_version(norn_runtime *handle) {
    const norn::runtime_ref rt(handle);
    try {
        rt.submit([] { throw 3; }).get();
    } catch (int thrown) {
        return rt.submit([] { return 4; }).get() + thrown;
    }
    return 0;
}
