// Units of C++17 and C++20 in one program: the types are the same, and so is the table of exceptions.
#include <norn.hpp>

norn::future<int> made_in_17(const norn::runtime_ref &rt);
norn::token thrown_in_17(const norn::runtime_ref &rt);

int main() {
    norn::runtime rt;
    const int got = norn::spawn(rt, [&rt]() -> norn::task<int> { co_return co_await made_in_17(rt) + 1; }).get();
    try {
        rt.await(thrown_in_17(rt));
    } catch (int thrown) {
        return got == 3 && thrown == 17 ? 0 : 1;
    }
    return 2;
}
