// SPDX-License-Identifier: Apache-2.0 OR MIT
#ifndef NORN_CPP_VERSION_HPP
#define NORN_CPP_VERSION_HPP

#include <norn.h>

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "norn.hpp needs C++17 or later"
#endif
#if NORN_VERSION_MAJOR != 0 || NORN_VERSION_MINOR != 1
#error "norn.hpp belongs to norn.h of version 0.1: two installations of norn are mixed in the include path"
#endif

// Without exceptions, every call that would throw prints the error and ends the process; the try_ calls do not.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define NORN_CPP_EXCEPTIONS 1
#else
#define NORN_CPP_EXCEPTIONS 0
#endif

// Everything is in an inline namespace named for the version and for what changes the meaning of inline functions, so
// that libraries built with different versions, or with and without exceptions, live in one process. Within one
// version, C++17 and C++20 have the same types and may be mixed.
#if NORN_CPP_EXCEPTIONS
#define NORN_CPP_ABI v0_1
#else
#define NORN_CPP_ABI v0_1_noexcept
#endif
#define NORN_CPP_BEGIN  \
    namespace norn {    \
    inline namespace NORN_CPP_ABI {
#define NORN_CPP_END \
    }                \
    }

#endif
