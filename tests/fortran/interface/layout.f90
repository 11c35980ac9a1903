! The structures of norn_c lie in memory as those of C: every size, every offset.
module layouts
  use, intrinsic :: iso_c_binding
  use check
  implicit none
  interface
    integer(c_int64_t) function layout_of(name) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface
contains
  subroutine compare(name, is)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: is
    call expect_equal(is, layout_of(name // c_null_char), name)
  end subroutine
  integer(c_int64_t) function distance(start, field)
    type(c_ptr), intent(in) :: start, field
    distance = transfer(field, 0_c_intptr_t) - transfer(start, 0_c_intptr_t)
  end function
end module

program test
  use layouts
  use norn_c
  implicit none
  type(norn_token), target :: token_
  type(norn_group), target :: group_
  type(norn_data), target :: data_
  type(norn_place), target :: place_
  type(norn_access), target :: access_
  type(norn_reduction), target :: reduction_
  type(norn_data_desc), target :: data_desc_
  type(norn_piece), target :: piece_
  type(norn_task), target :: task_
  type(norn_self_info), target :: self_info_
  type(norn_error_info), target :: error_info_
  type(norn_config), target :: config_
  type(norn_runtime_stats), target :: runtime_stats_
  type(norn_device_config), target :: device_config_
  type(norn_device_info), target :: device_info_
  type(norn_argument), target :: argument_
  type(norn_launch_desc), target :: launch_desc_
  type(norn_module), target :: module_
  type(norn_kernel), target :: kernel_

  call compare("norn_token", int(c_sizeof(token_), c_int64_t))
  call compare("norn_token.id", distance(c_loc(token_), c_loc(token_%id)))

  call compare("norn_group", int(c_sizeof(group_), c_int64_t))
  call compare("norn_group.id", distance(c_loc(group_), c_loc(group_%id)))

  call compare("norn_data", int(c_sizeof(data_), c_int64_t))
  call compare("norn_data.id", distance(c_loc(data_), c_loc(data_%id)))

  call compare("norn_place", int(c_sizeof(place_), c_int64_t))
  call compare("norn_place.kind", distance(c_loc(place_), c_loc(place_%kind)))
  call compare("norn_place.index", distance(c_loc(place_), c_loc(place_%index)))

  call compare("norn_access", int(c_sizeof(access_), c_int64_t))
  call compare("norn_access.data", distance(c_loc(access_), c_loc(access_%data)))
  call compare("norn_access.slot", distance(c_loc(access_), c_loc(access_%slot)))
  call compare("norn_access.mode", distance(c_loc(access_), c_loc(access_%mode)))
  call compare("norn_access.flags", distance(c_loc(access_), c_loc(access_%flags)))

  call compare("norn_reduction", int(c_sizeof(reduction_), c_int64_t))
  call compare("norn_reduction.identity", distance(c_loc(reduction_), c_loc(reduction_%identity)))
  call compare("norn_reduction.combine", distance(c_loc(reduction_), c_loc(reduction_%combine)))
  call compare("norn_reduction.arg", distance(c_loc(reduction_), c_loc(reduction_%arg)))

  call compare("norn_data_desc", int(c_sizeof(data_desc_), c_int64_t))
  call compare("norn_data_desc.struct_size", distance(c_loc(data_desc_), c_loc(data_desc_%struct_size)))
  call compare("norn_data_desc.ptr", distance(c_loc(data_desc_), c_loc(data_desc_%ptr)))
  call compare("norn_data_desc.bytes", distance(c_loc(data_desc_), c_loc(data_desc_%bytes)))
  call compare("norn_data_desc.place", distance(c_loc(data_desc_), c_loc(data_desc_%place)))
  call compare("norn_data_desc.kind", distance(c_loc(data_desc_), c_loc(data_desc_%kind)))
  call compare("norn_data_desc.flags", distance(c_loc(data_desc_), c_loc(data_desc_%flags)))
  call compare("norn_data_desc.name", distance(c_loc(data_desc_), c_loc(data_desc_%name)))
  call compare("norn_data_desc.reduce", distance(c_loc(data_desc_), c_loc(data_desc_%reduce)))

  call compare("norn_piece", int(c_sizeof(piece_), c_int64_t))
  call compare("norn_piece.offset", distance(c_loc(piece_), c_loc(piece_%offset)))
  call compare("norn_piece.bytes", distance(c_loc(piece_), c_loc(piece_%bytes)))
  call compare("norn_piece.rows", distance(c_loc(piece_), c_loc(piece_%rows)))
  call compare("norn_piece.stride", distance(c_loc(piece_), c_loc(piece_%stride)))

  call compare("norn_task", int(c_sizeof(task_), c_int64_t))
  call compare("norn_task.struct_size", distance(c_loc(task_), c_loc(task_%struct_size)))
  call compare("norn_task.run", distance(c_loc(task_), c_loc(task_%run)))
  call compare("norn_task.enqueue", distance(c_loc(task_), c_loc(task_%enqueue)))
  call compare("norn_task.arg", distance(c_loc(task_), c_loc(task_%arg)))
  call compare("norn_task.drop", distance(c_loc(task_), c_loc(task_%drop)))
  call compare("norn_task.name", distance(c_loc(task_), c_loc(task_%name)))
  call compare("norn_task.accesses", distance(c_loc(task_), c_loc(task_%accesses)))
  call compare("norn_task.access_count", distance(c_loc(task_), c_loc(task_%access_count)))
  call compare("norn_task.after", distance(c_loc(task_), c_loc(task_%after)))
  call compare("norn_task.after_count", distance(c_loc(task_), c_loc(task_%after_count)))
  call compare("norn_task.priority", distance(c_loc(task_), c_loc(task_%priority)))
  call compare("norn_task.cpus", distance(c_loc(task_), c_loc(task_%cpus)))
  call compare("norn_task.flags", distance(c_loc(task_), c_loc(task_%flags)))
  call compare("norn_task.arg_bytes", distance(c_loc(task_), c_loc(task_%arg_bytes)))
  call compare("norn_task.place", distance(c_loc(task_), c_loc(task_%place)))
  call compare("norn_task.stream", distance(c_loc(task_), c_loc(task_%stream)))
  call compare("norn_task.group", distance(c_loc(task_), c_loc(task_%group)))
  call compare("norn_task.as", distance(c_loc(task_), c_loc(task_%as)))

  call compare("norn_device_config", int(c_sizeof(device_config_), c_int64_t))
  call compare("norn_device_config.struct_size", distance(c_loc(device_config_), c_loc(device_config_%struct_size)))
  call compare("norn_device_config.select", distance(c_loc(device_config_), c_loc(device_config_%select)))
  call compare("norn_device_config.ordinal", distance(c_loc(device_config_), c_loc(device_config_%ordinal)))
  call compare("norn_device_config.uuid", distance(c_loc(device_config_), c_loc(device_config_%uuid)))
  call compare("norn_device_config.max_bytes", distance(c_loc(device_config_), c_loc(device_config_%max_bytes)))
  call compare("norn_device_config.streams", distance(c_loc(device_config_), c_loc(device_config_%streams)))
  call compare("norn_device_config.flags", distance(c_loc(device_config_), c_loc(device_config_%flags)))

  call compare("norn_device_info", int(c_sizeof(device_info_), c_int64_t))
  call compare("norn_device_info.struct_size", distance(c_loc(device_info_), c_loc(device_info_%struct_size)))
  call compare("norn_device_info.ordinal", distance(c_loc(device_info_), c_loc(device_info_%ordinal)))
  call compare("norn_device_info.streams", distance(c_loc(device_info_), c_loc(device_info_%streams)))
  call compare("norn_device_info.capability", distance(c_loc(device_info_), c_loc(device_info_%capability)))
  call compare("norn_device_info.failed", distance(c_loc(device_info_), c_loc(device_info_%failed)))
  call compare("norn_device_info.total_bytes", distance(c_loc(device_info_), c_loc(device_info_%total_bytes)))
  call compare("norn_device_info.used_bytes", distance(c_loc(device_info_), c_loc(device_info_%used_bytes)))
  call compare("norn_device_info.pinned_bytes", distance(c_loc(device_info_), c_loc(device_info_%pinned_bytes)))
  call compare("norn_device_info.issued", distance(c_loc(device_info_), c_loc(device_info_%issued)))
  call compare("norn_device_info.waits", distance(c_loc(device_info_), c_loc(device_info_%waits)))
  call compare("norn_device_info.name", distance(c_loc(device_info_), c_loc(device_info_%name)))
  call compare("norn_device_info.uuid", distance(c_loc(device_info_), c_loc(device_info_%uuid)))

  call compare("norn_argument", int(c_sizeof(argument_), c_int64_t))
  call compare("norn_argument.kind", distance(c_loc(argument_), c_loc(argument_%kind)))
  call compare("norn_argument.mode", distance(c_loc(argument_), c_loc(argument_%mode)))
  call compare("norn_argument.bytes", distance(c_loc(argument_), c_loc(argument_%bytes)))
  call compare("norn_argument.value", distance(c_loc(argument_), c_loc(argument_%value)))
  call compare("norn_argument.data", distance(c_loc(argument_), c_loc(argument_%data)))
  call compare("norn_argument.offset", distance(c_loc(argument_), c_loc(argument_%offset)))

  call compare("norn_launch_desc", int(c_sizeof(launch_desc_), c_int64_t))
  call compare("norn_launch_desc.struct_size", distance(c_loc(launch_desc_), c_loc(launch_desc_%struct_size)))
  call compare("norn_launch_desc.kernel", distance(c_loc(launch_desc_), c_loc(launch_desc_%kernel)))
  call compare("norn_launch_desc.grid", distance(c_loc(launch_desc_), c_loc(launch_desc_%grid)))
  call compare("norn_launch_desc.block", distance(c_loc(launch_desc_), c_loc(launch_desc_%block)))
  call compare("norn_launch_desc.shared_bytes", distance(c_loc(launch_desc_), c_loc(launch_desc_%shared_bytes)))
  call compare("norn_launch_desc.flags", distance(c_loc(launch_desc_), c_loc(launch_desc_%flags)))
  call compare("norn_launch_desc.arguments", distance(c_loc(launch_desc_), c_loc(launch_desc_%arguments)))
  call compare("norn_launch_desc.argument_count", distance(c_loc(launch_desc_), c_loc(launch_desc_%argument_count)))

  call compare("norn_module", int(c_sizeof(module_), c_int64_t))
  call compare("norn_module.id", distance(c_loc(module_), c_loc(module_%id)))

  call compare("norn_kernel", int(c_sizeof(kernel_), c_int64_t))
  call compare("norn_kernel.id", distance(c_loc(kernel_), c_loc(kernel_%id)))

  call compare("norn_self_info", int(c_sizeof(self_info_), c_int64_t))
  call compare("norn_self_info.struct_size", distance(c_loc(self_info_), c_loc(self_info_%struct_size)))
  call compare("norn_self_info.runtime", distance(c_loc(self_info_), c_loc(self_info_%runtime)))
  call compare("norn_self_info.token", distance(c_loc(self_info_), c_loc(self_info_%token)))
  call compare("norn_self_info.group", distance(c_loc(self_info_), c_loc(self_info_%group)))
  call compare("norn_self_info.place", distance(c_loc(self_info_), c_loc(self_info_%place)))
  call compare("norn_self_info.stream", distance(c_loc(self_info_), c_loc(self_info_%stream)))
  call compare("norn_self_info.worker", distance(c_loc(self_info_), c_loc(self_info_%worker)))
  call compare("norn_self_info.cancelled", distance(c_loc(self_info_), c_loc(self_info_%cancelled)))

  call compare("norn_error_info", int(c_sizeof(error_info_), c_int64_t))
  call compare("norn_error_info.struct_size", distance(c_loc(error_info_), c_loc(error_info_%struct_size)))
  call compare("norn_error_info.status", distance(c_loc(error_info_), c_loc(error_info_%status)))
  call compare("norn_error_info.code", distance(c_loc(error_info_), c_loc(error_info_%code)))
  call compare("norn_error_info.token", distance(c_loc(error_info_), c_loc(error_info_%token)))
  call compare("norn_error_info.cause", distance(c_loc(error_info_), c_loc(error_info_%cause)))
  call compare("norn_error_info.cause_status", distance(c_loc(error_info_), c_loc(error_info_%cause_status)))
  call compare("norn_error_info.rank", distance(c_loc(error_info_), c_loc(error_info_%rank)))
  call compare("norn_error_info.worker", distance(c_loc(error_info_), c_loc(error_info_%worker)))
  call compare("norn_error_info.device", distance(c_loc(error_info_), c_loc(error_info_%device)))
  call compare("norn_error_info.task", distance(c_loc(error_info_), c_loc(error_info_%task)))
  call compare("norn_error_info.operation", distance(c_loc(error_info_), c_loc(error_info_%operation)))
  call compare("norn_error_info.text", distance(c_loc(error_info_), c_loc(error_info_%text)))

  call compare("norn_config", int(c_sizeof(config_), c_int64_t))
  call compare("norn_config.struct_size", distance(c_loc(config_), c_loc(config_%struct_size)))
  call compare("norn_config.mode", distance(c_loc(config_), c_loc(config_%mode)))
  call compare("norn_config.workers", distance(c_loc(config_), c_loc(config_%workers)))
  call compare("norn_config.max_threads", distance(c_loc(config_), c_loc(config_%max_threads)))
  call compare("norn_config.on_failure", distance(c_loc(config_), c_loc(config_%on_failure)))
  call compare("norn_config.cpus", distance(c_loc(config_), c_loc(config_%cpus)))
  call compare("norn_config.max_live_tasks", distance(c_loc(config_), c_loc(config_%max_live_tasks)))
  call compare("norn_config.stack_bytes", distance(c_loc(config_), c_loc(config_%stack_bytes)))
  call compare("norn_config.max_pinned_bytes", distance(c_loc(config_), c_loc(config_%max_pinned_bytes)))
  call compare("norn_config.watchdog_ns", distance(c_loc(config_), c_loc(config_%watchdog_ns)))
  call compare("norn_config.spin_ns", distance(c_loc(config_), c_loc(config_%spin_ns)))
  call compare("norn_config.flags", distance(c_loc(config_), c_loc(config_%flags)))
  call compare("norn_config.seed", distance(c_loc(config_), c_loc(config_%seed)))
  call compare("norn_config.log", distance(c_loc(config_), c_loc(config_%log)))
  call compare("norn_config.log_arg", distance(c_loc(config_), c_loc(config_%log_arg)))
  call compare("norn_config.failure", distance(c_loc(config_), c_loc(config_%failure)))
  call compare("norn_config.failure_arg", distance(c_loc(config_), c_loc(config_%failure_arg)))
  call compare("norn_config.thread", distance(c_loc(config_), c_loc(config_%thread)))
  call compare("norn_config.thread_arg", distance(c_loc(config_), c_loc(config_%thread_arg)))
  call compare("norn_config.task_event", distance(c_loc(config_), c_loc(config_%task_event)))
  call compare("norn_config.task_event_arg", distance(c_loc(config_), c_loc(config_%task_event_arg)))

  call compare("norn_runtime_stats", int(c_sizeof(runtime_stats_), c_int64_t))
  call compare("norn_runtime_stats.struct_size", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%struct_size)))
  call compare("norn_runtime_stats.submitted", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%submitted)))
  call compare("norn_runtime_stats.completed", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%completed)))
  call compare("norn_runtime_stats.failed", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%failed)))
  call compare("norn_runtime_stats.propagated", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%propagated)))
  call compare("norn_runtime_stats.cancelled", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%cancelled)))
  call compare("norn_runtime_stats.live", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%live)))
  call compare("norn_runtime_stats.edges", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%edges)))
  call compare("norn_runtime_stats.steals", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%steals)))
  call compare("norn_runtime_stats.parks", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%parks)))
  call compare("norn_runtime_stats.wakes", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%wakes)))
  call compare("norn_runtime_stats.data", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%data)))
  call compare("norn_runtime_stats.memory_bytes", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%memory_bytes)))
  call compare("norn_runtime_stats.sampled_bodies", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%sampled_bodies)))
  call compare("norn_runtime_stats.sampled_body_ns", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%sampled_body_ns)))
  call compare("norn_runtime_stats.sampled_wait_ns", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%sampled_wait_ns)))
  call compare("norn_runtime_stats.workers", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%workers)))
  call compare("norn_runtime_stats.threads", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%threads)))
  call compare("norn_runtime_stats.blocked_bodies", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%blocked_bodies)))
  call compare("norn_runtime_stats.mode", distance(c_loc(runtime_stats_), c_loc(runtime_stats_%mode)))
end program
