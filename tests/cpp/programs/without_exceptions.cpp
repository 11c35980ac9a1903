// -fno-exceptions: everything can be done with the calls that return a result or an std::error_code.
#include <norn.hpp>

int main() {
    norn::result<norn::runtime> opened = norn::runtime::open();
    if (!opened) return 1;
    norn::runtime rt = std::move(*opened);
    auto six = rt.try_submit([] { return 6; });
    if (!six) return 2;
    if (six->wait()) return 3;
    if (six->get() != 6) return 4;
    auto bad = rt.try_submit([](norn::self &self) { self.fail(5, "five"); });
    if (bad->wait().value() != NORN_E_TASK_FAILED || rt.record(*bad).code != 5) return 5;
    rt.seal();
    auto refused = rt.try_submit([] {});
    if (refused || refused.error() != norn::make_error_code(NORN_E_CLOSED)) return 6;
    return rt.try_close(NORN_DRAIN, std::chrono::seconds(60)) ? 7 : 0;
}
