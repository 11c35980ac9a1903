/* What C says of each structure: its size, and the offset of each field in the order of the header. */
#include <norn.h>
#include <string.h>

struct entry { const char *name; size_t value; };
#define SIZE(type) {#type, sizeof(type)}
#define AT(type, field) {#type "." #field, offsetof(type, field)}

static const struct entry entries[] = {
    SIZE(norn_token), AT(norn_token, id),
    SIZE(norn_group), AT(norn_group, id),
    SIZE(norn_data), AT(norn_data, id),
    SIZE(norn_place), AT(norn_place, kind), AT(norn_place, index),
    SIZE(norn_access), AT(norn_access, data), AT(norn_access, slot), AT(norn_access, mode), AT(norn_access, flags),
    SIZE(norn_reduction), AT(norn_reduction, identity), AT(norn_reduction, combine), AT(norn_reduction, arg),
    SIZE(norn_piece), AT(norn_piece, offset), AT(norn_piece, bytes), AT(norn_piece, rows), AT(norn_piece, stride),
    SIZE(norn_data_desc), AT(norn_data_desc, struct_size), AT(norn_data_desc, ptr), AT(norn_data_desc, bytes),
    AT(norn_data_desc, place), AT(norn_data_desc, kind), AT(norn_data_desc, flags), AT(norn_data_desc, name),
    AT(norn_data_desc, reduce),
    SIZE(norn_device_config), AT(norn_device_config, struct_size), AT(norn_device_config, select),
    AT(norn_device_config, ordinal), AT(norn_device_config, uuid), AT(norn_device_config, max_bytes),
    AT(norn_device_config, streams), AT(norn_device_config, flags),
    SIZE(norn_device_info), AT(norn_device_info, struct_size), AT(norn_device_info, ordinal),
    AT(norn_device_info, streams), AT(norn_device_info, capability), AT(norn_device_info, failed),
    AT(norn_device_info, total_bytes), AT(norn_device_info, used_bytes), AT(norn_device_info, pinned_bytes),
    AT(norn_device_info, issued), AT(norn_device_info, waits), AT(norn_device_info, name),
    AT(norn_device_info, uuid),
    SIZE(norn_argument), AT(norn_argument, kind), AT(norn_argument, mode), AT(norn_argument, bytes),
    AT(norn_argument, value), AT(norn_argument, data), AT(norn_argument, offset),
    SIZE(norn_launch_desc), AT(norn_launch_desc, struct_size), AT(norn_launch_desc, kernel),
    AT(norn_launch_desc, grid), AT(norn_launch_desc, block), AT(norn_launch_desc, shared_bytes),
    AT(norn_launch_desc, flags), AT(norn_launch_desc, arguments), AT(norn_launch_desc, argument_count),
    SIZE(norn_module), AT(norn_module, id),
    SIZE(norn_kernel), AT(norn_kernel, id),
    SIZE(norn_self_info), AT(norn_self_info, struct_size), AT(norn_self_info, runtime), AT(norn_self_info, token),
    AT(norn_self_info, group), AT(norn_self_info, place), AT(norn_self_info, stream), AT(norn_self_info, worker),
    AT(norn_self_info, cancelled),
    SIZE(norn_error_info), AT(norn_error_info, struct_size), AT(norn_error_info, status), AT(norn_error_info, code),
    AT(norn_error_info, token), AT(norn_error_info, cause), AT(norn_error_info, cause_status),
    AT(norn_error_info, rank), AT(norn_error_info, worker), AT(norn_error_info, device), AT(norn_error_info, task),
    AT(norn_error_info, operation), AT(norn_error_info, text),
    SIZE(norn_config), AT(norn_config, struct_size), AT(norn_config, mode), AT(norn_config, workers),
    AT(norn_config, max_threads), AT(norn_config, on_failure), AT(norn_config, cpus), AT(norn_config, max_live_tasks),
    AT(norn_config, stack_bytes), AT(norn_config, max_pinned_bytes), AT(norn_config, watchdog_ns),
    AT(norn_config, spin_ns), AT(norn_config, flags), AT(norn_config, seed), AT(norn_config, log),
    AT(norn_config, log_arg), AT(norn_config, failure), AT(norn_config, failure_arg), AT(norn_config, thread),
    AT(norn_config, thread_arg), AT(norn_config, task_event), AT(norn_config, task_event_arg),
    SIZE(norn_runtime_stats), AT(norn_runtime_stats, struct_size), AT(norn_runtime_stats, submitted),
    AT(norn_runtime_stats, completed), AT(norn_runtime_stats, failed), AT(norn_runtime_stats, propagated),
    AT(norn_runtime_stats, cancelled), AT(norn_runtime_stats, live), AT(norn_runtime_stats, edges),
    AT(norn_runtime_stats, steals), AT(norn_runtime_stats, parks), AT(norn_runtime_stats, wakes),
    AT(norn_runtime_stats, data), AT(norn_runtime_stats, memory_bytes), AT(norn_runtime_stats, sampled_bodies),
    AT(norn_runtime_stats, sampled_body_ns), AT(norn_runtime_stats, sampled_wait_ns),
    AT(norn_runtime_stats, workers), AT(norn_runtime_stats, threads), AT(norn_runtime_stats, blocked_bodies),
    AT(norn_runtime_stats, mode),
    SIZE(norn_task), AT(norn_task, struct_size), AT(norn_task, run), AT(norn_task, enqueue), AT(norn_task, arg),
    AT(norn_task, drop), AT(norn_task, name), AT(norn_task, accesses), AT(norn_task, access_count),
    AT(norn_task, after), AT(norn_task, after_count), AT(norn_task, priority), AT(norn_task, cpus),
    AT(norn_task, flags), AT(norn_task, arg_bytes), AT(norn_task, place), AT(norn_task, stream), AT(norn_task, group),
    AT(norn_task, as),
};

/* Size of "norn_x" or offset of "norn_x.field"; -1: C has no such thing. */
int64_t layout_of(const char *name) {
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, name) == 0) return (int64_t)entries[i].value;
    return -1;
}
