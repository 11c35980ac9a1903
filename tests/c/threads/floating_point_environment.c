/* Bodies run with the floating-point environment of the opener: rounding, traps, flush-to-zero. */
#include "check.h"

#include <fenv.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

static norn_runtime *rt;
static int32_t check_rounding(norn_self *self, void *arg) {
    (void)self;
    CHECK_EQUAL(fegetround(), *(int *)arg);
#if defined(__SSE__)
    CHECK((_mm_getcsr() & 0x8040u) == 0x8040u); /* flush to zero, denormals are zero */
#endif
#if defined(__GLIBC__)
    CHECK((fegetexcept() & FE_DIVBYZERO) != 0);
#endif
    return 0;
}
static int32_t from_spare(norn_self *self, void *arg) {
    check_rounding(self, arg);
    CHECK_OK(norn_await(rt, submit_run(rt, check_rounding, arg), FOREVER));
    return check_rounding(self, arg);
}
int main(void) {
    const int roundings[] = {FE_UPWARD, FE_TOWARDZERO};
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
#if defined(__GLIBC__)
    CHECK(feenableexcept(FE_DIVBYZERO) != -1);
#endif
    for (size_t i = 0; i < COUNT_OF(roundings); i++) {
        int rounding = roundings[i];
        CHECK(fesetround(rounding) == 0);
        rt = open_plain();
        CHECK_EQUAL(fegetround(), rounding);
        for (int k = 0; k < 20; k++) submit_run(rt, from_spare, &rounding);
        CHECK_OK(norn_drain(rt, FOREVER));
        CHECK_EQUAL(fegetround(), rounding);
        CHECK_OK(norn_close(rt));
        CHECK_EQUAL(fegetround(), rounding);
    }
    return 0;
}
