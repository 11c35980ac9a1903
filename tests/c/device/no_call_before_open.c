/* Nothing of the driver is called before the first device is asked for, and host work never needs one.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

int main(void) {
    standin_or_skip();
    norn_runtime *rt = open_plain();
    atomic_int ran = 0;
    int variable = 0;
    norn_data datum = DATUM(rt, variable);
    for (int i = 0; i < 100; ++i) submit_on(rt, body_count, &ran, norn_update(datum));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(atomic_load(&ran), 100);
    CHECK_OK(norn_data_unregister(rt, datum));
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(STANDIN(standin_calls)(NULL), 0);
    return 0;
}
