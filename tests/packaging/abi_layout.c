/*
 * Sizes and offsets of the structures of the C API on 64-bit Linux, as the first
 * release has them. A program compiled against one header runs with every later
 * library of the same soname, so:
 *
 *   - a new field goes to the end of a structure that begins with struct_size:
 *     add an AT line and the new size here;
 *   - a field that moves, changes its size or goes away, or any change of a
 *     structure without struct_size, breaks programs already compiled: raise
 *     NORN_SOVERSION in CMakeLists.txt and the minor version in Cargo.toml and
 *     src/abi/types.rs, and see docs/versioning.md.
 */
#include <norn.h>
#include <stdio.h>

static int wrong;

static void check(const char *what, size_t is, size_t was, const char *remedy) {
    if (is == was) return;
    fprintf(stderr, "%s is %zu and was %zu: %s\n", what, is, was, remedy);
    wrong++;
}

#define BREAK "programs already compiled break; raise NORN_SOVERSION in CMakeLists.txt (docs/versioning.md)"
#define GROWTH "if a field was added at the end, put the new size and an AT line here; otherwise " BREAK

#define FIXED(type, size) check("sizeof(" #type ")", sizeof(type), size, BREAK)
#define GROWING(type, size) check("sizeof(" #type ")", sizeof(type), size, GROWTH)
#define AT(type, field, offset) check("offsetof(" #type ", " #field ")", offsetof(type, field), offset, BREAK)

int main(void) {
    check("sizeof(void *)", sizeof(void *), 8, "this test knows 64-bit systems only");

    FIXED(norn_token, 8);
    AT(norn_token, id, 0);

    FIXED(norn_group, 8);
    AT(norn_group, id, 0);

    FIXED(norn_place, 8);
    AT(norn_place, kind, 0);
    AT(norn_place, index, 4);

    FIXED(norn_data, 8);
    AT(norn_data, id, 0);

    FIXED(norn_access, 24);
    AT(norn_access, data, 0);
    AT(norn_access, slot, 8);
    AT(norn_access, mode, 16);
    AT(norn_access, flags, 20);

    GROWING(norn_self_info, 56);
    AT(norn_self_info, struct_size, 0);
    AT(norn_self_info, runtime, 8);
    AT(norn_self_info, token, 16);
    AT(norn_self_info, group, 24);
    AT(norn_self_info, place, 32);
    AT(norn_self_info, stream, 40);
    AT(norn_self_info, worker, 48);
    AT(norn_self_info, cancelled, 52);

    FIXED(norn_reduction, 24);
    AT(norn_reduction, identity, 0);
    AT(norn_reduction, combine, 8);
    AT(norn_reduction, arg, 16);

    GROWING(norn_data_desc, 72);
    AT(norn_data_desc, struct_size, 0);
    AT(norn_data_desc, ptr, 8);
    AT(norn_data_desc, bytes, 16);
    AT(norn_data_desc, place, 24);
    AT(norn_data_desc, kind, 32);
    AT(norn_data_desc, flags, 36);
    AT(norn_data_desc, name, 40);
    AT(norn_data_desc, reduce, 48);

    FIXED(norn_piece, 32);
    AT(norn_piece, offset, 0);
    AT(norn_piece, bytes, 8);
    AT(norn_piece, rows, 16);
    AT(norn_piece, stride, 24);

    GROWING(norn_error_info, 432);
    AT(norn_error_info, struct_size, 0);
    AT(norn_error_info, status, 8);
    AT(norn_error_info, code, 12);
    AT(norn_error_info, token, 16);
    AT(norn_error_info, cause, 24);
    AT(norn_error_info, cause_status, 32);
    AT(norn_error_info, rank, 36);
    AT(norn_error_info, worker, 40);
    AT(norn_error_info, device, 44);
    AT(norn_error_info, task, 48);
    AT(norn_error_info, operation, 112);
    AT(norn_error_info, text, 176);

    GROWING(norn_config, 152);
    AT(norn_config, struct_size, 0);
    AT(norn_config, mode, 8);
    AT(norn_config, workers, 12);
    AT(norn_config, max_threads, 16);
    AT(norn_config, on_failure, 20);
    AT(norn_config, cpus, 24);
    AT(norn_config, max_live_tasks, 32);
    AT(norn_config, stack_bytes, 40);
    AT(norn_config, max_pinned_bytes, 48);
    AT(norn_config, watchdog_ns, 56);
    AT(norn_config, spin_ns, 64);
    AT(norn_config, flags, 72);
    AT(norn_config, seed, 80);
    AT(norn_config, log, 88);
    AT(norn_config, log_arg, 96);
    AT(norn_config, failure, 104);
    AT(norn_config, failure_arg, 112);
    AT(norn_config, thread, 120);
    AT(norn_config, thread_arg, 128);
    AT(norn_config, task_event, 136);
    AT(norn_config, task_event_arg, 144);

    FIXED(norn_slice, 88);
    AT(norn_slice, data, 0);
    AT(norn_slice, ptr, 8);
    AT(norn_slice, place, 16);
    AT(norn_slice, type, 24);
    AT(norn_slice, flags, 32);
    AT(norn_slice, reserved, 36);
    AT(norn_slice, offset, 40);
    AT(norn_slice, count, 48);
    AT(norn_slice, blocks, 56);
    AT(norn_slice, stride, 64);
    AT(norn_slice, planes, 72);
    AT(norn_slice, plane_stride, 80);

    FIXED(norn_module, 8);
    AT(norn_module, id, 0);

    FIXED(norn_kernel, 8);
    AT(norn_kernel, id, 0);

    FIXED(norn_argument, 40);
    AT(norn_argument, kind, 0);
    AT(norn_argument, mode, 4);
    AT(norn_argument, bytes, 8);
    AT(norn_argument, value, 16);
    AT(norn_argument, data, 24);
    AT(norn_argument, offset, 32);

    GROWING(norn_device_config, 40);
    AT(norn_device_config, struct_size, 0);
    AT(norn_device_config, select, 8);
    AT(norn_device_config, ordinal, 12);
    AT(norn_device_config, uuid, 16);
    AT(norn_device_config, max_bytes, 24);
    AT(norn_device_config, streams, 32);
    AT(norn_device_config, flags, 36);

    GROWING(norn_device_info, 240);
    AT(norn_device_info, struct_size, 0);
    AT(norn_device_info, ordinal, 8);
    AT(norn_device_info, streams, 12);
    AT(norn_device_info, capability, 16);
    AT(norn_device_info, failed, 20);
    AT(norn_device_info, total_bytes, 24);
    AT(norn_device_info, used_bytes, 32);
    AT(norn_device_info, pinned_bytes, 40);
    AT(norn_device_info, issued, 48);
    AT(norn_device_info, waits, 56);
    AT(norn_device_info, name, 64);
    AT(norn_device_info, uuid, 192);

    GROWING(norn_launch_desc, 64);
    AT(norn_launch_desc, struct_size, 0);
    AT(norn_launch_desc, kernel, 8);
    AT(norn_launch_desc, grid, 16);
    AT(norn_launch_desc, block, 28);
    AT(norn_launch_desc, shared_bytes, 40);
    AT(norn_launch_desc, flags, 44);
    AT(norn_launch_desc, arguments, 48);
    AT(norn_launch_desc, argument_count, 56);

    GROWING(norn_runtime_stats, 144);
    AT(norn_runtime_stats, struct_size, 0);
    AT(norn_runtime_stats, submitted, 8);
    AT(norn_runtime_stats, completed, 16);
    AT(norn_runtime_stats, failed, 24);
    AT(norn_runtime_stats, propagated, 32);
    AT(norn_runtime_stats, cancelled, 40);
    AT(norn_runtime_stats, live, 48);
    AT(norn_runtime_stats, edges, 56);
    AT(norn_runtime_stats, steals, 64);
    AT(norn_runtime_stats, parks, 72);
    AT(norn_runtime_stats, wakes, 80);
    AT(norn_runtime_stats, data, 88);
    AT(norn_runtime_stats, memory_bytes, 96);
    AT(norn_runtime_stats, sampled_bodies, 104);
    AT(norn_runtime_stats, sampled_body_ns, 112);
    AT(norn_runtime_stats, sampled_wait_ns, 120);
    AT(norn_runtime_stats, workers, 128);
    AT(norn_runtime_stats, threads, 132);
    AT(norn_runtime_stats, blocked_bodies, 136);
    AT(norn_runtime_stats, mode, 140);

    GROWING(norn_task, 128);
    AT(norn_task, struct_size, 0);
    AT(norn_task, run, 8);
    AT(norn_task, enqueue, 16);
    AT(norn_task, arg, 24);
    AT(norn_task, drop, 32);
    AT(norn_task, name, 40);
    AT(norn_task, accesses, 48);
    AT(norn_task, access_count, 56);
    AT(norn_task, after, 64);
    AT(norn_task, after_count, 72);
    AT(norn_task, priority, 80);
    AT(norn_task, cpus, 84);
    AT(norn_task, flags, 88);
    AT(norn_task, arg_bytes, 92);
    AT(norn_task, place, 96);
    AT(norn_task, stream, 104);
    AT(norn_task, group, 112);
    AT(norn_task, as, 120);

    return wrong != 0;
}
