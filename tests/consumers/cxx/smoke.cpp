// A task through norn.hpp, from outside.
#include <norn.hpp>

int main() {
    norn::runtime rt;
    return rt.submit([] { return 42; }).get() == 42 ? 0 : 1;
}
