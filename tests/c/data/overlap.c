/* Memory that another datum covers is refused, unless NORN_ALIAS says that the application knows. */
#include "check.h"

static char memory[100];
static norn_status try(norn_runtime *rt, uint64_t offset, uint64_t bytes, uint32_t flags, norn_data *data) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.ptr = memory + offset;
    desc.bytes = bytes;
    desc.flags = flags;
    desc.name = "newcomer";
    return norn_data_register(rt, &desc, data);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data middle = datum_of(rt, memory + 40, 20, "the middle"), other = {9}, alias;
    CHECK_STATUS(try(rt, 40, 20, 0, &other), NORN_E_OVERLAP);
    CHECK_SAYS("the middle");
    CHECK_STATUS(try(rt, 0, 41, 0, &other), NORN_E_OVERLAP);
    CHECK_STATUS(try(rt, 59, 41, 0, &other), NORN_E_OVERLAP);
    CHECK_STATUS(try(rt, 45, 1, 0, &other), NORN_E_OVERLAP);
    CHECK_STATUS(try(rt, 0, 100, 0, &other), NORN_E_OVERLAP);
    CHECK_EQUAL(other.id, 9);

    norn_data before, after;
    CHECK_OK(try(rt, 0, 40, 0, &before)); /* neighbours are no overlap */
    CHECK_OK(try(rt, 60, 40, 0, &after));
    CHECK_OK(try(rt, 30, 40, NORN_ALIAS, &alias));
    norn_token gate = promised(rt, "gate");
    norn_token blocked = submit_on_after(rt, body_nothing, NULL, norn_write(middle), gate);
    /* norn does not order aliases with what they overlap. */
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_write(alias)), FOREVER));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, blocked, FOREVER));

    CHECK_OK(norn_data_unregister(rt, alias));
    CHECK_OK(norn_data_unregister(rt, middle));
    CHECK_OK(try(rt, 40, 20, 0, &middle)); /* free again */
    CHECK_OK(norn_data_unregister(rt, before));
    CHECK_STATUS(try(rt, 39, 2, 0, &other), NORN_E_OVERLAP);
    CHECK_OK(norn_close(rt));

    /* Another runtime knows nothing of it. */
    norn_runtime *one = open_plain(), *two = open_plain();
    CHECK_OK(try(one, 0, 100, 0, &other));
    CHECK_OK(try(two, 0, 100, 0, &other));
    CHECK_OK(norn_close(one));
    CHECK_OK(norn_close(two));
    return 0;
}
