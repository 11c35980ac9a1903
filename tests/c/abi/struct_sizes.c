/* Structures of newer headers are taken when what is new is zero; wrong sizes are refused. */
#include "check.h"

#define LARGER(type)            \
    struct {                    \
        type known;             \
        uint64_t future[4];     \
    }
static const size_t wrong[] = {0, 1, 7, 8, 1u << 20, SIZE_MAX};
static atomic_int ran;

int main(void) {
    /* Inputs: config, task, data description. */
    LARGER(norn_config) config = {.known = NORN_CONFIG_INIT};
    LARGER(norn_task) task = {.known = NORN_TASK_INIT};
    LARGER(norn_data_desc) desc = {.known = NORN_DATA_DESC_INIT};
    norn_runtime *rt = NULL, *none = NULL;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        config.known.struct_size = wrong[i];
        CHECK_STATUS(norn_open(&config.known, &none), NORN_E_VERSION);
    }
    config.known.struct_size = sizeof config;
    config.future[3] = 1;
    CHECK_STATUS(norn_open(&config.known, &none), NORN_E_VERSION);
    CHECK(none == NULL);
    config.future[3] = 0;
    CHECK_OK(norn_open(&config.known, &rt));

    task.known.run = body_count;
    task.known.arg = &ran;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        task.known.struct_size = wrong[i];
        CHECK_STATUS(norn_submit(rt, &task.known, NULL), NORN_E_VERSION);
        CHECK_STATUS(norn_submit_many(rt, &task.known, 1, NULL), NORN_E_VERSION);
    }
    task.known.struct_size = sizeof task;
    task.future[0] = UINT64_C(1) << 63;
    CHECK_STATUS(norn_submit(rt, &task.known, NULL), NORN_E_VERSION);
    task.future[0] = 0;
    CHECK_OK(norn_submit(rt, &task.known, NULL));

    norn_data data;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        desc.known.struct_size = wrong[i];
        CHECK_STATUS(norn_data_register(rt, &desc.known, &data), NORN_E_VERSION);
        CHECK_STATUS(norn_data_alloc(rt, &desc.known, &data), NORN_E_VERSION);
    }
    desc.known.struct_size = sizeof desc;
    desc.future[1] = 1;
    CHECK_STATUS(norn_data_register(rt, &desc.known, &data), NORN_E_VERSION);
    desc.future[1] = 0;
    CHECK_OK(norn_data_register(rt, &desc.known, &data));

    /* Outputs: error record, counters. What is beyond the library's own is left alone. */
    LARGER(norn_error_info) info;
    LARGER(norn_runtime_stats) stats;
    memset(&info, 0x5a, sizeof info);
    memset(&stats, 0x5a, sizeof stats);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        info.known.struct_size = wrong[i];
        CHECK_STATUS(norn_error(rt, (norn_token){0}, &info.known), NORN_E_VERSION);
        stats.known.struct_size = wrong[i];
        CHECK_STATUS(norn_stats(rt, &stats.known), NORN_E_VERSION);
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    info.known.struct_size = sizeof info;
    stats.known.struct_size = sizeof stats;
    CHECK_OK(norn_error(rt, (norn_token){0}, &info.known));
    CHECK_OK(norn_stats(rt, &stats.known));
    CHECK_EQUAL(info.known.status, NORN_OK);
    CHECK_EQUAL(stats.known.completed, 1);
    CHECK(info.known.struct_size == sizeof info && stats.known.struct_size == sizeof stats);
    for (int i = 0; i < 4; i++) {
        CHECK(info.future[i] == UINT64_C(0x5a5a5a5a5a5a5a5a) || info.future[i] == 0);
        CHECK(stats.future[i] == UINT64_C(0x5a5a5a5a5a5a5a5a) || stats.future[i] == 0);
    }
    CHECK_EQUAL(ran, 1);
    CHECK_OK(norn_close(rt));
    return 0;
}
