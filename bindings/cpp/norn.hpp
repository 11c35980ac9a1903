// norn for C++17 and later: a header-only layer over norn.h.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
//
//     #include <norn.hpp>
//     #include <cstdio>
//
//     int main() {
//         norn::runtime rt;
//         norn::future<int> six = rt.submit([] { return 6; });
//         norn::future<int> product = six.then([](int n) { return 7 * n; });
//         std::printf("%d\n", product.get());
//     }
//
// docs/cpp.md is the manual. What holds everywhere:
//   - The cost is that of the C call plus the closure: no allocation for a trivially copyable closure of up to 64 bytes that
//     returns nothing, one for any other.
//   - A closure is moved in and destroyed exactly once, whatever becomes of its task. Destructors in it may make norn
//     calls that do not wait.
//   - No exception crosses the C ABI. One that leaves a body fails the task, and is rethrown to whoever asks.
//   - Objects (runtime, future, data, group, promise...) are used by one thread at a time; tokens, runtime_ref and the
//     calls behind them by any number.
//   - Functions that only read the library's state name their rules in norn.h.
#ifndef NORN_HPP
#define NORN_HPP

#include "norn/coroutine.hpp"
#include "norn/group.hpp"
#include "norn/runtime.hpp"
#include "norn/when.hpp"

#endif
