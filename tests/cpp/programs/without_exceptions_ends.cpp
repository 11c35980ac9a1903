// -fno-exceptions: a call that would throw prints the error and ends the process.
#include <norn.hpp>

int main() {
    norn::runtime rt;
    rt.seal();
    rt.submit([] {});
}
