/*
 * Devices: how many there are, under CUDA_VISIBLE_DEVICES too, what they are called and can do.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

static int count(void) {
    int devices = -1;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&devices));
    return devices;
}

static void before_init_nothing_works(void) {
    int devices;
    RESULT(cuDeviceGetCount(&devices), CUDA_ERROR_NOT_INITIALIZED);
    CUcontext context;
    RESULT(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
    RESULT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

static void each_has_a_name_and_uuid_of_its_own(void) {
    char names[16][64];
    CUuuid uuids[16];
    const int devices = count();
    CHECK(devices > 0 && devices <= 16);
    for (int i = 0; i < devices; ++i) {
        CUdevice device;
        size_t bytes = 0;
        int value = 0;
        OK(cuDeviceGet(&device, i));
        OK(cuDeviceGetName(names[i], sizeof names[i], device));
        CHECK(names[i][0] != '\0');
        OK(cuDeviceGetUuid_v2(&uuids[i], device));
        OK(cuDeviceTotalMem_v2(&bytes, device));
        CHECK(bytes >= (size_t)16 << 20);
        OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
        CHECK(value >= 7);
        OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device));
        EQUAL(value, 1);
        for (int j = 0; j < i; ++j) CHECK(memcmp(&uuids[i], &uuids[j], sizeof uuids[i]) != 0);
    }
    CUdevice device;
    RESULT(cuDeviceGet(&device, devices), CUDA_ERROR_INVALID_DEVICE);
    RESULT(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
}

static void bus_ids_lead_back(void) {
    const int devices = count();
    for (int i = 0; i < devices; ++i) {
        char id[32];
        CUdevice found = -1;
        OK(cuDeviceGetPCIBusId(id, sizeof id, i));
        OK(cuDeviceGetByPCIBusId(&found, id));
        EQUAL(found, i);
    }
}

static void as_many_as_asked(void) { EQUAL(count(), 5); }

static int physical(CUdevice device) {
    char name[64];
    OK(cuDeviceGetName(name, sizeof name, device));
    return atoi(strrchr(name, ' ') + 1);
}

static void visible_list_selects_and_orders(void) {
    EQUAL(count(), 2);
    EQUAL(physical(0), 3);
    EQUAL(physical(1), 1);
}

static void visible_list_ends_at_the_first_bad_one(void) {
    EQUAL(count(), 1);
    EQUAL(physical(0), 2);
}

static void visible_by_uuid(void) {
    EQUAL(count(), 1);
    EQUAL(physical(0), 1);
}

static void none_visible_is_no_device(void) {
    int devices;
    RESULT(cuInit(0), CUDA_ERROR_NO_DEVICE);
    RESULT(cuDeviceGetCount(&devices), CUDA_ERROR_NOT_INITIALIZED);
}

static void no_devices_at_all(void) { RESULT(cuInit(0), CUDA_ERROR_NO_DEVICE); }

static void memory_as_large_as_asked(void) {
    size_t bytes = 0;
    count();
    OK(cuDeviceTotalMem_v2(&bytes, 0));
    EQUAL(bytes, 64 << 20);
}

CASES(CASE(before_init_nothing_works), CASE(each_has_a_name_and_uuid_of_its_own), CASE(bus_ids_lead_back),
      OWN_WITH(as_many_as_asked, "STANDIN_DEVICES=5"),
      OWN_WITH(visible_list_selects_and_orders, "STANDIN_DEVICES=4 CUDA_VISIBLE_DEVICES=3,1"),
      OWN_WITH(visible_list_ends_at_the_first_bad_one, "STANDIN_DEVICES=4 CUDA_VISIBLE_DEVICES=2,9,1"),
      OWN_WITH(visible_by_uuid, "CUDA_VISIBLE_DEVICES=GPU-5ad00001-0000-4000-8000-000000000001"),
      OWN_WITH(none_visible_is_no_device, "CUDA_VISIBLE_DEVICES="),
      OWN_WITH(no_devices_at_all, "STANDIN_DEVICES=0"),
      OWN_WITH(memory_as_large_as_asked, "STANDIN_MEMORY=64"))
