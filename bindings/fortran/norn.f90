! norn for Fortran: use norn.
!
! Every call has stat and errmsg as Fortran's own statements have them: with stat the program goes on, and stat is 0 or a
! negative NORN_E_*; without stat an error follows the failure policy of the runtime and then stops with the text.
! docs/fortran.md begins with a program and with what bites; norn.h says of every call what it does, from which threads it
! may come, whether it blocks and who owns what.
!
! Compile the files in this order (CMake: find_package(norn COMPONENTS Fortran) does it): norn_c, norn_failure_policy,
! norn_memory_of, norn_accesses, norn_contained, norn_data_calls, norn_array_calls, norn_task_calls, norn_token_calls,
! norn_runtime_calls, norn_operation_how, norn_world_calls, norn_device_calls, norn.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn
  ! Constants, handles, structures, interfaces of callbacks.
  use norn_c, only: &
    NORN_VERSION_MAJOR, NORN_VERSION_MINOR, NORN_VERSION_PATCH, NORN_PLACE_ANY, NORN_PLACE_CPU, NORN_PLACE_NUMA, &
    NORN_PLACE_DEVICE, NORN_PLACE_OPENER, NORN_PLACE_MPI, NORN_ACCESS_READ, NORN_ACCESS_WRITE, NORN_ACCESS_READ_WRITE, &
    NORN_ACCESS_COMMUTE, NORN_ACCESS_REDUCE, NORN_HELD, NORN_CHILD, NORN_RUN_ALWAYS, NORN_COPY_ARG, NORN_MEMORY_HOST, &
    NORN_MEMORY_PINNED, NORN_MEMORY_DEVICE, NORN_MEMORY_MPI, NORN_UNWRITTEN, NORN_ALIAS, NORN_MODE_ASYNC, NORN_MODE_SYNC, &
    NORN_MODE_DEFAULT_STREAM, NORN_MODE_SHUFFLE, NORN_ON_FAILURE_RETURN, NORN_ON_FAILURE_CALL, NORN_ON_FAILURE_ABORT, &
    NORN_CALLER_WORKS, NORN_SUBMIT_HELPS, NORN_DETERMINISTIC, NORN_SHARED, NORN_PIN, NORN_LOG_ERROR, NORN_LOG_WARN, &
    NORN_LOG_INFO, NORN_LOG_DEBUG, NORN_CLOSE_DRAIN, NORN_CLOSE_CANCEL, NORN_DUMP_TEXT, NORN_DUMP_DOT, &
    NORN_BYTE, NORN_I8, NORN_U8, NORN_I16, NORN_U16, NORN_I32, NORN_U32, NORN_I64, NORN_U64, NORN_F32, NORN_F64, &
    NORN_C64, NORN_C128, NORN_SUM, NORN_PROD, NORN_MIN, NORN_MAX, NORN_LAND, NORN_LOR, NORN_LXOR, NORN_BAND, &
    NORN_BOR, NORN_BXOR, NORN_OF_MPI, &
    NORN_UNGUARDED, NORN_KEY_ORDER, NORN_THREAD_SINGLE, NORN_THREAD_FUNNELED, NORN_THREAD_SERIALIZED, NORN_THREAD_MULTIPLE, &
    norn_world, norn_slice, norn_world_config, norn_world_info, &
    NORN_DEVICE_CURRENT, NORN_DEVICE_LOCAL_RANK, NORN_DEVICE_ORDINAL, NORN_DEVICE_UUID, NORN_ARGUMENT_VALUE, &
    NORN_ARGUMENT_DATA, NORN_PROVIDER_CUBLAS, NORN_PROVIDER_CUSOLVER, &
    norn_device_info, norn_module, norn_kernel, norn_argument, &
    NORN_OK, &
    NORN_E_INVALID, NORN_E_STATE, NORN_E_OVERLAP, NORN_E_UNCOVERED, NORN_E_VERSION, NORN_E_CONFIG, NORN_E_THREAD, &
    NORN_E_RESOURCE, NORN_E_MEMORY, NORN_E_UNSUPPORTED, NORN_E_FORKED, NORN_E_CLOSED, NORN_E_SYSTEM, NORN_E_TIMEOUT, &
    NORN_E_WOULD_DEADLOCK, NORN_E_DEADLOCK, NORN_E_TOO_LATE, NORN_E_TASK_FAILED, NORN_E_PROPAGATED, NORN_E_CANCELLED, &
    NORN_E_ORDER, NORN_E_TAGS, NORN_E_MPI, NORN_E_MISMATCH, NORN_E_DEVICE, NORN_E_INTERNAL, NORN_HEADER_VERSION, &
    norn_runtime, norn_self, norn_token, norn_group, norn_data, norn_place, norn_reduction, norn_data_desc, norn_piece, &
    norn_task, norn_self_info, norn_error_info, norn_config, norn_runtime_stats, norn_task_fn, norn_enqueue_fn, &
    norn_drop_fn, norn_complete_fn, norn_write_fn, norn_log_fn, norn_failure_fn, norn_thread_fn, norn_task_event_fn, &
    norn_identity_fn, norn_combine_fn
  use norn_failure_policy, only: norn_last_error, norn_status_name, norn_text
  use norn_memory_of, only: norn_memory
  use norn_accesses, only: norn_access, norn_commute, norn_read, norn_reduce_into, norn_update, norn_write
  use norn_array_calls
  use norn_data_calls
  use norn_task_calls
  use norn_token_calls
  use norn_runtime_calls
  use norn_world_calls
  use norn_device_calls
  implicit none
  public
end module
