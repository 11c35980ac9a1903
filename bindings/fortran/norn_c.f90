! norn.h in Fortran: constants, structures, callbacks and functions, name for name, nothing added. Module norn gives them
! their Fortran form; a program needs this module only for a call as C has it. What a call does, from which threads it may
! come, whether it blocks and who owns what is said in norn.h.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_c
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_int32_t, c_int64_t, c_null_char, c_null_funptr, &
    c_null_ptr, c_ptr, c_size_t
  implicit none
  public

  integer(c_int32_t), parameter :: NORN_VERSION_MAJOR = 0
  integer(c_int32_t), parameter :: NORN_VERSION_MINOR = 1
  integer(c_int32_t), parameter :: NORN_VERSION_PATCH = 0
  integer(c_int32_t), parameter :: NORN_PLACE_ANY = 0
  integer(c_int32_t), parameter :: NORN_PLACE_CPU = 1
  integer(c_int32_t), parameter :: NORN_PLACE_NUMA = 2
  integer(c_int32_t), parameter :: NORN_PLACE_DEVICE = 3
  integer(c_int32_t), parameter :: NORN_PLACE_OPENER = 4
  integer(c_int32_t), parameter :: NORN_PLACE_MPI = 5
  ! Fortran knows no case: NORN_READ and norn_read would be one name. The five modes are NORN_ACCESS_* here, and NORN_DRAIN
  ! and NORN_CANCEL are NORN_CLOSE_*.
  integer(c_int32_t), parameter :: NORN_ACCESS_READ = 1
  integer(c_int32_t), parameter :: NORN_ACCESS_WRITE = 2
  integer(c_int32_t), parameter :: NORN_ACCESS_READ_WRITE = 3
  integer(c_int32_t), parameter :: NORN_ACCESS_COMMUTE = 4
  integer(c_int32_t), parameter :: NORN_ACCESS_REDUCE = 5
  integer(c_int32_t), parameter :: NORN_HELD = 1
  integer(c_int32_t), parameter :: NORN_CHILD = 2
  integer(c_int32_t), parameter :: NORN_RUN_ALWAYS = 4
  integer(c_int32_t), parameter :: NORN_COPY_ARG = 8
  integer(c_int32_t), parameter :: NORN_UNGUARDED = 16
  integer(c_int64_t), parameter :: NORN_KEY_ORDER = -1
  integer(c_int32_t), parameter :: NORN_THREAD_SINGLE = 0
  integer(c_int32_t), parameter :: NORN_THREAD_FUNNELED = 1
  integer(c_int32_t), parameter :: NORN_THREAD_SERIALIZED = 2
  integer(c_int32_t), parameter :: NORN_THREAD_MULTIPLE = 3
  integer(c_int32_t), parameter :: NORN_MEMORY_HOST = 0
  integer(c_int32_t), parameter :: NORN_MEMORY_PINNED = 1
  integer(c_int32_t), parameter :: NORN_MEMORY_DEVICE = 2
  integer(c_int32_t), parameter :: NORN_MEMORY_MPI = 3
  integer(c_int32_t), parameter :: NORN_DEVICE_CURRENT = 0
  integer(c_int32_t), parameter :: NORN_DEVICE_LOCAL_RANK = 1
  integer(c_int32_t), parameter :: NORN_DEVICE_ORDINAL = 2
  integer(c_int32_t), parameter :: NORN_DEVICE_UUID = 3
  integer(c_int32_t), parameter :: NORN_ARGUMENT_VALUE = 0
  integer(c_int32_t), parameter :: NORN_ARGUMENT_DATA = 1
  integer(c_int32_t), parameter :: NORN_PROVIDER_CUBLAS = 1
  integer(c_int32_t), parameter :: NORN_PROVIDER_CUSOLVER = 2
  integer(c_int32_t), parameter :: NORN_UNWRITTEN = 1
  integer(c_int32_t), parameter :: NORN_ALIAS = 2
  integer(c_int32_t), parameter :: NORN_MODE_ASYNC = 0
  integer(c_int32_t), parameter :: NORN_MODE_SYNC = 1
  integer(c_int32_t), parameter :: NORN_MODE_DEFAULT_STREAM = 2
  integer(c_int32_t), parameter :: NORN_MODE_SHUFFLE = 3
  integer(c_int32_t), parameter :: NORN_ON_FAILURE_RETURN = 0
  integer(c_int32_t), parameter :: NORN_ON_FAILURE_CALL = 1
  integer(c_int32_t), parameter :: NORN_ON_FAILURE_ABORT = 2
  integer(c_int32_t), parameter :: NORN_CALLER_WORKS = 1
  integer(c_int32_t), parameter :: NORN_SUBMIT_HELPS = 2
  integer(c_int32_t), parameter :: NORN_DETERMINISTIC = 4
  integer(c_int32_t), parameter :: NORN_SHARED = 8
  integer(c_int32_t), parameter :: NORN_PIN = 16
  integer(c_int32_t), parameter :: NORN_LOG_ERROR = 1
  integer(c_int32_t), parameter :: NORN_LOG_WARN = 2
  integer(c_int32_t), parameter :: NORN_LOG_INFO = 3
  integer(c_int32_t), parameter :: NORN_LOG_DEBUG = 4
  integer(c_int32_t), parameter :: NORN_CLOSE_DRAIN = 0
  integer(c_int32_t), parameter :: NORN_CLOSE_CANCEL = 1
  integer(c_int32_t), parameter :: NORN_DUMP_TEXT = 0
  integer(c_int32_t), parameter :: NORN_DUMP_DOT = 1
  integer(c_int64_t), parameter :: NORN_BYTE = 0
  integer(c_int64_t), parameter :: NORN_I8 = 1
  integer(c_int64_t), parameter :: NORN_U8 = 2
  integer(c_int64_t), parameter :: NORN_I16 = 3
  integer(c_int64_t), parameter :: NORN_U16 = 4
  integer(c_int64_t), parameter :: NORN_I32 = 5
  integer(c_int64_t), parameter :: NORN_U32 = 6
  integer(c_int64_t), parameter :: NORN_I64 = 7
  integer(c_int64_t), parameter :: NORN_U64 = 8
  integer(c_int64_t), parameter :: NORN_F32 = 9
  integer(c_int64_t), parameter :: NORN_F64 = 10
  integer(c_int64_t), parameter :: NORN_C64 = 11
  integer(c_int64_t), parameter :: NORN_C128 = 12
  integer(c_int64_t), parameter :: NORN_SUM = 0
  integer(c_int64_t), parameter :: NORN_PROD = 1
  integer(c_int64_t), parameter :: NORN_MIN = 2
  integer(c_int64_t), parameter :: NORN_MAX = 3
  integer(c_int64_t), parameter :: NORN_LAND = 4
  integer(c_int64_t), parameter :: NORN_LOR = 5
  integer(c_int64_t), parameter :: NORN_LXOR = 6
  integer(c_int64_t), parameter :: NORN_BAND = 7
  integer(c_int64_t), parameter :: NORN_BOR = 8
  integer(c_int64_t), parameter :: NORN_BXOR = 9
  integer(c_int64_t), parameter :: NORN_OF_MPI = 4294967296_c_int64_t
  integer(c_int32_t), parameter :: NORN_OK = 0
  integer(c_int32_t), parameter :: NORN_E_INVALID = -1
  integer(c_int32_t), parameter :: NORN_E_STATE = -2
  integer(c_int32_t), parameter :: NORN_E_OVERLAP = -3
  integer(c_int32_t), parameter :: NORN_E_UNCOVERED = -4
  integer(c_int32_t), parameter :: NORN_E_VERSION = -5
  integer(c_int32_t), parameter :: NORN_E_CONFIG = -6
  integer(c_int32_t), parameter :: NORN_E_THREAD = -7
  integer(c_int32_t), parameter :: NORN_E_RESOURCE = -20
  integer(c_int32_t), parameter :: NORN_E_MEMORY = -21
  integer(c_int32_t), parameter :: NORN_E_UNSUPPORTED = -22
  integer(c_int32_t), parameter :: NORN_E_FORKED = -23
  integer(c_int32_t), parameter :: NORN_E_CLOSED = -24
  integer(c_int32_t), parameter :: NORN_E_SYSTEM = -25
  integer(c_int32_t), parameter :: NORN_E_TIMEOUT = -40
  integer(c_int32_t), parameter :: NORN_E_WOULD_DEADLOCK = -41
  integer(c_int32_t), parameter :: NORN_E_DEADLOCK = -42
  integer(c_int32_t), parameter :: NORN_E_TOO_LATE = -43
  integer(c_int32_t), parameter :: NORN_E_TASK_FAILED = -60
  integer(c_int32_t), parameter :: NORN_E_PROPAGATED = -61
  integer(c_int32_t), parameter :: NORN_E_CANCELLED = -62
  integer(c_int32_t), parameter :: NORN_E_ORDER = -80
  integer(c_int32_t), parameter :: NORN_E_TAGS = -81
  integer(c_int32_t), parameter :: NORN_E_MPI = -82
  integer(c_int32_t), parameter :: NORN_E_MISMATCH = -83
  integer(c_int32_t), parameter :: NORN_E_DEVICE = -100
  integer(c_int32_t), parameter :: NORN_E_INTERNAL = -120
  ! What norn_open passes.
  integer(c_int32_t), parameter :: NORN_HEADER_VERSION = &
    NORN_VERSION_MAJOR * 1000000 + NORN_VERSION_MINOR * 1000 + NORN_VERSION_PATCH

  ! Handles and values. Each is what C passes: a pointer, or a structure of one number.

  type, bind(c) :: norn_runtime
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: norn_world
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: norn_self
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: norn_token
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: norn_group
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: norn_data
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: norn_place
    integer(c_int32_t) :: kind = NORN_PLACE_ANY, index = 0
  end type

  ! Structures. Those that begin with struct_size have the values of their _INIT macro; module norn fills struct_size.

  type, bind(c) :: norn_access
    type(norn_data) :: data
    integer(c_int64_t) :: slot = 0
    integer(c_int32_t) :: mode = 0, flags = 0
  end type
  type, bind(c) :: norn_reduction
    type(c_funptr) :: identity = c_null_funptr, combine = c_null_funptr
    type(c_ptr) :: arg = c_null_ptr
  end type
  type, bind(c) :: norn_data_desc
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: ptr = c_null_ptr
    integer(c_int64_t) :: bytes = 0
    type(norn_place) :: place
    integer(c_int32_t) :: kind = NORN_MEMORY_HOST, flags = 0
    type(c_ptr) :: name = c_null_ptr
    type(norn_reduction) :: reduce
  end type
  type, bind(c) :: norn_piece
    integer(c_int64_t) :: offset = 0, bytes = 0, rows = 0, stride = 0
  end type
  type, bind(c) :: norn_task
    integer(c_size_t) :: struct_size = 0
    type(c_funptr) :: run = c_null_funptr, enqueue = c_null_funptr
    type(c_ptr) :: arg = c_null_ptr
    type(c_funptr) :: drop = c_null_funptr
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: accesses = c_null_ptr
    integer(c_int64_t) :: access_count = 0
    type(c_ptr) :: after = c_null_ptr
    integer(c_int64_t) :: after_count = 0
    integer(c_int32_t) :: priority = 0, cpus = 0, flags = 0, arg_bytes = 0
    type(norn_place) :: place
    type(c_ptr) :: stream = c_null_ptr
    type(norn_group) :: group
    type(norn_token) :: as
  end type
  type, bind(c) :: norn_slice
    type(norn_data) :: data
    type(c_ptr) :: ptr = c_null_ptr
    type(norn_place) :: place
    integer(c_int64_t) :: type = NORN_BYTE
    integer(c_int32_t) :: flags = 0, reserved = 0
    integer(c_int64_t) :: offset = 0, count = 0, blocks = 0, stride = 0, planes = 0, plane_stride = 0
  end type
  type, bind(c) :: norn_device_config
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: select = NORN_DEVICE_CURRENT, ordinal = 0
    type(c_ptr) :: uuid = c_null_ptr
    integer(c_int64_t) :: max_bytes = 0
    integer(c_int32_t) :: streams = 0, flags = 0
  end type
  type, bind(c) :: norn_device_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: ordinal = 0, streams = 0, capability = 0, failed = 0
    integer(c_int64_t) :: total_bytes = 0, used_bytes = 0, pinned_bytes = 0, issued = 0, waits = 0
    character(kind=c_char) :: name(128) = c_null_char, uuid(48) = c_null_char
  end type
  type, bind(c) :: norn_module
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: norn_kernel
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: norn_argument
    integer(c_int32_t) :: kind = NORN_ARGUMENT_VALUE, mode = 0
    integer(c_int64_t) :: bytes = 0
    type(c_ptr) :: value = c_null_ptr
    type(norn_data) :: data
    integer(c_int64_t) :: offset = 0
  end type
  type, bind(c) :: norn_launch_desc
    integer(c_size_t) :: struct_size = 0
    type(norn_kernel) :: kernel
    integer(c_int32_t) :: grid(3) = 0, block(3) = 0, shared_bytes = 0, flags = 0
    type(c_ptr) :: arguments = c_null_ptr
    integer(c_int64_t) :: argument_count = 0
  end type
  type, bind(c) :: norn_world_config
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: tag_limit = 0
    integer(c_int32_t) :: ordered_lanes = 0, verify = 0, idle_percent = 0, reserved = 0
    integer(c_int64_t) :: flags = 0
  end type
  type, bind(c) :: norn_world_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: rank = 0, size = 0, thread_level = 0, device_aware = 0
    integer(c_int64_t) :: key_limit = 0, in_flight = 0, live = 0
    integer(c_int32_t) :: verify = 0, ordered_lanes = 0
    character(kind=c_char) :: device_reason(128) = c_null_char, library(256) = c_null_char
  end type
  type, bind(c) :: norn_self_info
    integer(c_size_t) :: struct_size = 0
    type(norn_runtime) :: runtime
    type(norn_token) :: token
    type(norn_group) :: group
    type(norn_place) :: place
    type(c_ptr) :: stream = c_null_ptr
    integer(c_int32_t) :: worker = 0, cancelled = 0
  end type
  type, bind(c) :: norn_error_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: status = NORN_OK, code = 0
    type(norn_token) :: token, cause
    integer(c_int32_t) :: cause_status = NORN_OK, rank = 0, worker = 0, device = 0
    character(kind=c_char) :: task(64) = c_null_char, operation(64) = c_null_char, text(256) = c_null_char
  end type
  type, bind(c) :: norn_config
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: mode = NORN_MODE_ASYNC, workers = -1, max_threads = 0, on_failure = NORN_ON_FAILURE_RETURN
    type(c_ptr) :: cpus = c_null_ptr
    integer(c_int64_t) :: max_live_tasks = 0, stack_bytes = 0, max_pinned_bytes = 0, watchdog_ns = 0, spin_ns = 0
    integer(c_int64_t) :: flags = 0, seed = 0
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: log_arg = c_null_ptr
    type(c_funptr) :: failure = c_null_funptr
    type(c_ptr) :: failure_arg = c_null_ptr
    type(c_funptr) :: thread = c_null_funptr
    type(c_ptr) :: thread_arg = c_null_ptr
    type(c_funptr) :: task_event = c_null_funptr
    type(c_ptr) :: task_event_arg = c_null_ptr
  end type
  type, bind(c) :: norn_runtime_stats
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: submitted = 0, completed = 0, failed = 0, propagated = 0, cancelled = 0, live = 0, edges = 0, &
      steals = 0, parks = 0, wakes = 0, data = 0, memory_bytes = 0, sampled_bodies = 0, sampled_body_ns = 0, &
      sampled_wait_ns = 0
    integer(c_int32_t) :: workers = 0, threads = 0, blocked_bodies = 0, mode = 0
  end type

  ! Arguments that hold addresses are TARGET although they are only read: GCC takes it from intent(in) without that attribute
  ! that the memory behind the addresses is not written after the call either, and keeps what it knew of it.

  ! Callbacks. A procedure given to norn has one of these interfaces and is no contained (internal) one.

  abstract interface
    integer(c_int32_t) function norn_task_fn(self, arg) bind(c)
      import
      type(norn_self), value :: self
      type(c_ptr), value :: arg
    end function
    integer(c_int32_t) function norn_enqueue_fn(self, stream, arg) bind(c)
      import
      type(norn_self), value :: self
      type(c_ptr), value :: stream, arg
    end function
    subroutine norn_drop_fn(arg) bind(c)
      import
      type(c_ptr), value :: arg
    end subroutine
    subroutine norn_complete_fn(arg, token, status) bind(c)
      import
      type(c_ptr), value :: arg
      type(norn_token), value :: token
      integer(c_int32_t), value :: status
    end subroutine
    integer(c_int32_t) function norn_write_fn(arg, text, bytes) bind(c)
      import
      type(c_ptr), value :: arg, text
      integer(c_int64_t), value :: bytes
    end function
    subroutine norn_log_fn(arg, level, text) bind(c)
      import
      type(c_ptr), value :: arg
      integer(c_int32_t), value :: level
      type(c_ptr), value :: text
    end subroutine
    subroutine norn_failure_fn(arg, info) bind(c)
      import
      type(c_ptr), value :: arg
      type(norn_error_info), intent(in) :: info
    end subroutine
    subroutine norn_thread_fn(arg, index, begin) bind(c)
      import
      type(c_ptr), value :: arg
      integer(c_int32_t), value :: index, begin
    end subroutine
    subroutine norn_task_event_fn(arg, token, name, worker, begin) bind(c)
      import
      type(c_ptr), value :: arg
      type(norn_token), value :: token
      type(c_ptr), value :: name
      integer(c_int32_t), value :: worker, begin
    end subroutine
    subroutine norn_identity_fn(copy, bytes, arg) bind(c)
      import
      type(c_ptr), value :: copy
      integer(c_int64_t), value :: bytes
      type(c_ptr), value :: arg
    end subroutine
    subroutine norn_combine_fn(into, from, bytes, arg) bind(c)
      import
      type(c_ptr), value :: into, from
      integer(c_int64_t), value :: bytes
      type(c_ptr), value :: arg
    end subroutine
  end interface

  ! Functions. type(c_ptr) stands where C allows NULL, or takes an array or a string.

  interface
    integer(c_int32_t) function norn_open_version(header_version, config, rt) bind(c, name="norn_open_version")
      import
      integer(c_int32_t), value :: header_version
      type(c_ptr), value :: config
      type(norn_runtime), intent(inout) :: rt
    end function
    integer(c_int32_t) function norn_close(rt) bind(c, name="norn_close")
      import
      type(norn_runtime), value :: rt
    end function
    integer(c_int32_t) function norn_close_with(rt, flags, timeout_ns) bind(c, name="norn_close_with")
      import
      type(norn_runtime), value :: rt
      integer(c_int32_t), value :: flags
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int32_t) function norn_drain(rt, timeout_ns) bind(c, name="norn_drain")
      import
      type(norn_runtime), value :: rt
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int32_t) function norn_progress(rt) bind(c, name="norn_progress")
      import
      type(norn_runtime), value :: rt
    end function
    integer(c_int32_t) function norn_seal(rt) bind(c, name="norn_seal")
      import
      type(norn_runtime), value :: rt
    end function
    integer(c_int32_t) function norn_stats(rt, stats) bind(c, name="norn_stats")
      import
      type(norn_runtime), value :: rt
      type(norn_runtime_stats), intent(inout) :: stats
    end function
    integer(c_int32_t) function norn_dump(rt, format, write_fn, arg) bind(c, name="norn_dump")
      import
      type(norn_runtime), value :: rt
      integer(c_int32_t), value :: format
      type(c_funptr), value :: write_fn
      type(c_ptr), value :: arg
    end function
    integer(c_int32_t) function norn_mpi_register(table) bind(c, name="norn_mpi_register")
      import
      type(c_ptr), value :: table
    end function
    integer(c_int32_t) function norn_world_attach_f(rt, comm, config_or_null, world) bind(c, name="norn_world_attach_f")
      import
      type(norn_runtime), value :: rt
      integer(c_int32_t), value :: comm
      type(c_ptr), value :: config_or_null
      type(norn_world), intent(inout) :: world
    end function
    integer(c_int32_t) function norn_world_get(world, info) bind(c, name="norn_world_get")
      import
      type(norn_world), value :: world
      type(norn_world_info), intent(inout) :: info
    end function
    integer(c_int32_t) function norn_world_flush(world, timeout_ns) bind(c, name="norn_world_flush")
      import
      type(norn_world), value :: world
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int32_t) function norn_world_fail(world, code, message) bind(c, name="norn_world_fail")
      import
      type(norn_world), value :: world
      integer(c_int32_t), value :: code
      type(c_ptr), value :: message
    end function
    integer(c_int32_t) function norn_world_detach(world, timeout_ns) bind(c, name="norn_world_detach")
      import
      type(norn_world), value :: world
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int32_t) function norn_world_lane(world, lane) bind(c, name="norn_world_lane")
      import
      type(norn_world), value :: world
      type(norn_world), intent(inout) :: lane
    end function
    integer(c_int32_t) function norn_device_open(rt, config, place) bind(c, name="norn_device_open")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: config
      type(norn_place), intent(inout) :: place
    end function
    integer(c_int32_t) function norn_device_get(rt, place, info) bind(c, name="norn_device_get")
      import
      type(norn_runtime), value :: rt
      type(norn_place), value :: place
      type(norn_device_info), intent(inout) :: info
    end function
    integer(c_int32_t) function norn_copy(rt, from, to, how, token) bind(c, name="norn_copy")
      import
      type(norn_runtime), value :: rt
      type(norn_slice), intent(in), target :: from, to
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_fill(rt, to, element, how, token) bind(c, name="norn_fill")
      import
      type(norn_runtime), value :: rt
      type(norn_slice), intent(in), target :: to
      type(c_ptr), value :: element
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_stream_record(rt, device, stream, token) bind(c, name="norn_stream_record")
      import
      type(norn_runtime), value :: rt
      type(norn_place), value :: device
      type(c_ptr), value :: stream
      type(norn_token), intent(inout) :: token
    end function
    integer(c_int32_t) function norn_stream_wait(rt, token, device, stream, timeout_ns) bind(c, name="norn_stream_wait")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
      type(norn_place), value :: device
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int32_t) function norn_module_load(rt, device, image, bytes, options, module) bind(c, name="norn_module_load")
      import
      type(norn_runtime), value :: rt
      type(norn_place), value :: device
      type(c_ptr), value :: image
      integer(c_int64_t), value :: bytes
      type(c_ptr), value :: options
      type(norn_module), intent(inout) :: module
    end function
    integer(c_int32_t) function norn_kernel_get(rt, module, name, kernel) bind(c, name="norn_kernel_get")
      import
      type(norn_runtime), value :: rt
      type(norn_module), value :: module
      type(c_ptr), value :: name
      type(norn_kernel), intent(inout) :: kernel
    end function
    integer(c_int32_t) function norn_launch(rt, launch, how, token) bind(c, name="norn_launch")
      import
      type(norn_runtime), value :: rt
      type(norn_launch_desc), intent(in), target :: launch
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_send(world, from, peer, key, how, token) bind(c, name="norn_send")
      import
      type(norn_world), value :: world
      type(norn_slice), intent(in), target :: from
      integer(c_int32_t), value :: peer
      integer(c_int64_t), value :: key
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_recv(world, to, peer, key, how, token) bind(c, name="norn_recv")
      import
      type(norn_world), value :: world
      type(norn_slice), intent(in), target :: to
      integer(c_int32_t), value :: peer
      integer(c_int64_t), value :: key
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_barrier(world, how, token) bind(c, name="norn_barrier")
      import
      type(norn_world), value :: world
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_bcast(world, buffer, root, how, token) bind(c, name="norn_bcast")
      import
      type(norn_world), value :: world
      type(norn_slice), intent(in), target :: buffer
      integer(c_int32_t), value :: root
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_reduce(world, from, to, op, root, how, token) bind(c, name="norn_reduce")
      import
      type(norn_world), value :: world
      type(c_ptr), value :: from
      type(c_ptr), value :: to
      integer(c_int64_t), value :: op
      integer(c_int32_t), value :: root
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_allreduce(world, from, to, op, how, token) bind(c, name="norn_allreduce")
      import
      type(norn_world), value :: world
      type(c_ptr), value :: from
      type(norn_slice), intent(in), target :: to
      integer(c_int64_t), value :: op
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_gather(world, from, to, counts, root, how, token) bind(c, name="norn_gather")
      import
      type(norn_world), value :: world
      type(c_ptr), value :: from
      type(c_ptr), value :: to
      type(c_ptr), value :: counts
      integer(c_int32_t), value :: root
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_scatter(world, from, to, counts, root, how, token) bind(c, name="norn_scatter")
      import
      type(norn_world), value :: world
      type(c_ptr), value :: from
      type(c_ptr), value :: to
      type(c_ptr), value :: counts
      integer(c_int32_t), value :: root
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_allgather(world, from, to, counts, how, token) bind(c, name="norn_allgather")
      import
      type(norn_world), value :: world
      type(c_ptr), value :: from
      type(norn_slice), intent(in), target :: to
      type(c_ptr), value :: counts
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_alltoall(world, from, give, to, take, how, token) bind(c, name="norn_alltoall")
      import
      type(norn_world), value :: world
      type(c_ptr), value :: from
      type(c_ptr), value :: give
      type(norn_slice), intent(in), target :: to
      type(c_ptr), value :: take
      type(c_ptr), value :: how
      type(c_ptr), value :: token
    end function
    integer(c_int32_t) function norn_intern(rt, text, name) bind(c, name="norn_intern")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: text
      type(c_ptr), intent(inout) :: name
    end function
    integer(c_int32_t) function norn_submit(rt, task, token_or_null) bind(c, name="norn_submit")
      import
      type(norn_runtime), value :: rt
      type(norn_task), intent(in), target :: task
      type(c_ptr), value :: token_or_null
    end function
    integer(c_int32_t) function norn_submit_many(rt, tasks, count, tokens_or_null) bind(c, name="norn_submit_many")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: tasks
      integer(c_int64_t), value :: count
      type(c_ptr), value :: tokens_or_null
    end function
    integer(c_int32_t) function norn_declare(rt, name, token) bind(c, name="norn_declare")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: name
      type(norn_token), intent(inout) :: token
    end function
    integer(c_int32_t) function norn_promise(rt, name, token) bind(c, name="norn_promise")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: name
      type(norn_token), intent(inout) :: token
    end function
    integer(c_int32_t) function norn_fulfill(rt, promise) bind(c, name="norn_fulfill")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: promise
    end function
    integer(c_int32_t) function norn_fail(rt, promise, code, message) bind(c, name="norn_fail")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: promise
      integer(c_int32_t), value :: code
      type(c_ptr), value :: message
    end function
    integer(c_int32_t) function norn_edge(rt, before, after) bind(c, name="norn_edge")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: before, after
    end function
    integer(c_int32_t) function norn_start(rt, token) bind(c, name="norn_start")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
    end function
    integer(c_int32_t) function norn_await(rt, token, timeout_ns) bind(c, name="norn_await")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int32_t) function norn_await_all(rt, tokens, count, timeout_ns) bind(c, name="norn_await_all")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: tokens
      integer(c_int64_t), value :: count, timeout_ns
    end function
    integer(c_int32_t) function norn_await_any(rt, tokens, count, timeout_ns, index) bind(c, name="norn_await_any")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: tokens
      integer(c_int64_t), value :: count, timeout_ns
      integer(c_int64_t), intent(inout) :: index
    end function
    integer(c_int32_t) function norn_test(rt, token, done) bind(c, name="norn_test")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
      integer(c_int32_t), intent(inout) :: done
    end function
    integer(c_int32_t) function norn_cancel(rt, token) bind(c, name="norn_cancel")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
    end function
    integer(c_int32_t) function norn_error(rt, token, info) bind(c, name="norn_error")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
      type(norn_error_info), intent(inout) :: info
    end function
    integer(c_int32_t) function norn_on_complete(rt, token, fn_, arg) bind(c, name="norn_on_complete")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
      type(c_funptr), value :: fn_
      type(c_ptr), value :: arg
    end function
    integer(c_int32_t) function norn_eventfd(rt, token, fd) bind(c, name="norn_eventfd")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
      integer(c_int32_t), intent(inout) :: fd
    end function
    integer(c_int32_t) function norn_self_get(self, info) bind(c, name="norn_self_get")
      import
      type(norn_self), value :: self
      type(norn_self_info), intent(inout) :: info
    end function
    integer(c_int32_t) function norn_self_release(self, data) bind(c, name="norn_self_release")
      import
      type(norn_self), value :: self
      type(norn_data), value :: data
    end function
    integer(c_int32_t) function norn_self_fail(self, code, message) bind(c, name="norn_self_fail")
      import
      type(norn_self), value :: self
      integer(c_int32_t), value :: code
      type(c_ptr), value :: message
    end function
    integer(c_int32_t) function norn_self_hold(self, k) bind(c, name="norn_self_hold")
      import
      type(norn_self), value :: self
      integer(c_int32_t), value :: k
    end function
    integer(c_int32_t) function norn_unhold(rt, token, k) bind(c, name="norn_unhold")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: token
      integer(c_int32_t), value :: k
    end function
    integer(c_int32_t) function norn_self_provider(self, kind, handle) bind(c, name="norn_self_provider")
      import
      type(norn_self), value :: self
      integer(c_int32_t), value :: kind
      type(c_ptr), intent(inout) :: handle
    end function
    integer(c_int32_t) function norn_data_register(rt, desc, data) bind(c, name="norn_data_register")
      import
      type(norn_runtime), value :: rt
      type(norn_data_desc), intent(in) :: desc
      type(norn_data), intent(inout) :: data
    end function
    integer(c_int32_t) function norn_data_alloc(rt, desc, data) bind(c, name="norn_data_alloc")
      import
      type(norn_runtime), value :: rt
      type(norn_data_desc), intent(in) :: desc
      type(norn_data), intent(inout) :: data
    end function
    integer(c_int32_t) function norn_data_split(rt, data, pieces, count, parts) bind(c, name="norn_data_split")
      import
      type(norn_runtime), value :: rt
      type(norn_data), value :: data
      type(c_ptr), value :: pieces
      integer(c_int64_t), value :: count
      type(c_ptr), value :: parts
    end function
    integer(c_int32_t) function norn_data_join(rt, data) bind(c, name="norn_data_join")
      import
      type(norn_runtime), value :: rt
      type(norn_data), value :: data
    end function
    integer(c_int32_t) function norn_data_rebind(rt, data, ptr, bytes) bind(c, name="norn_data_rebind")
      import
      type(norn_runtime), value :: rt
      type(norn_data), value :: data
      type(c_ptr), value :: ptr
      integer(c_int64_t), value :: bytes
    end function
    integer(c_int32_t) function norn_data_unregister(rt, data) bind(c, name="norn_data_unregister")
      import
      type(norn_runtime), value :: rt
      type(norn_data), value :: data
    end function
    integer(c_int32_t) function norn_data_acquire(rt, accesses, count, timeout_ns, hold) bind(c, name="norn_data_acquire")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: accesses
      integer(c_int64_t), value :: count, timeout_ns
      type(norn_token), intent(inout) :: hold
    end function
    integer(c_int32_t) function norn_data_release(rt, hold) bind(c, name="norn_data_release")
      import
      type(norn_runtime), value :: rt
      type(norn_token), value :: hold
    end function
    integer(c_int32_t) function norn_data_pointer(rt, data, ptr, bytes) bind(c, name="norn_data_pointer")
      import
      type(norn_runtime), value :: rt
      type(norn_data), value :: data
      type(c_ptr), intent(inout) :: ptr
      integer(c_int64_t), intent(inout) :: bytes
    end function
    integer(c_int32_t) function norn_reserve(rt, accesses, count, slots) bind(c, name="norn_reserve")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: accesses
      integer(c_int64_t), value :: count
      type(c_ptr), value :: slots
    end function
    integer(c_int32_t) function norn_reserve_abandon(rt, slot) bind(c, name="norn_reserve_abandon")
      import
      type(norn_runtime), value :: rt
      integer(c_int64_t), value :: slot
    end function
    integer(c_int32_t) function norn_group_open(rt, name, parent, group, done) bind(c, name="norn_group_open")
      import
      type(norn_runtime), value :: rt
      type(c_ptr), value :: name
      type(norn_group), value :: parent
      type(norn_group), intent(inout) :: group
      type(norn_token), intent(inout) :: done
    end function
    integer(c_int32_t) function norn_group_close(rt, group) bind(c, name="norn_group_close")
      import
      type(norn_runtime), value :: rt
      type(norn_group), value :: group
    end function
    integer(c_int32_t) function norn_version(major, minor, patch) bind(c, name="norn_version")
      import
      integer(c_int32_t), intent(inout) :: major, minor, patch
    end function
    type(c_ptr) function norn_status_name(status) bind(c, name="norn_status_name")
      import
      integer(c_int32_t), value :: status
    end function
    type(c_ptr) function norn_last_error() bind(c, name="norn_last_error")
      import
    end function
  end interface
end module
