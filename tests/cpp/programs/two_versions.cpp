// Two versions of norn.hpp in one process, on one runtime.
#include <norn.hpp>

extern "C" int use_the_other_version(norn_runtime *handle);

int main() {
    norn::runtime rt;
    const norn::token mine = rt.submit([] { throw 5; });
    if (use_the_other_version(rt.handle()) != 7) return 1;
    try {
        rt.await(mine);
    } catch (int thrown) {
        return thrown == 5 ? 0 : 2;
    }
    return 3;
}
