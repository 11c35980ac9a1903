! Devices: opening them, copies and fills, kernels, the application's own streams, and tasks that queue work themselves. A
! stream is a type(c_ptr) here, as the runtime library of CUDA and the binding of OpenACC give it (acc_get_cuda_stream).
! Slices are TARGET although they are only read: norn_c says why.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_device_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int32_t, c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t, c_sizeof
  use norn_c, only: NORN_ARGUMENT_DATA, NORN_ARGUMENT_VALUE, norn_argument, norn_data, norn_device_config, norn_device_info, &
    norn_group, norn_kernel, norn_launch_desc, norn_module, norn_place, norn_runtime, norn_slice, norn_task, norn_token, &
    c_access => norn_access, c_copy => norn_copy, c_fill => norn_fill, c_get => norn_device_get, &
    c_intern => norn_intern, c_kernel => norn_kernel_get, c_launch => norn_launch, c_load => norn_module_load, &
    c_open => norn_device_open, c_record => norn_stream_record, c_submit => norn_submit, c_wait => norn_stream_wait
  use norn_accesses, only: norn_access
  use norn_failure_policy, only: c_text, conclude
  use norn_operation_how, only: describe => fill, limit_of
  implicit none
  private
  public :: norn_device_open, norn_device_get, norn_copy, norn_fill, norn_module_load, norn_kernel_get, norn_launch, &
    norn_value, norn_pointer, norn_stream_record, norn_stream_wait, norn_submit_enqueue

  interface norn_device_open
    procedure device_open
  end interface
  interface norn_device_get
    procedure device_get
  end interface
  interface norn_copy
    procedure copy
  end interface
  interface norn_fill
    procedure fill_slice
  end interface
  interface norn_module_load
    procedure module_load
  end interface
  interface norn_kernel_get
    procedure kernel_get
  end interface
  interface norn_launch
    procedure launch
  end interface
  interface norn_value
    procedure value_of
  end interface
  interface norn_pointer
    procedure pointer_of
  end interface
  interface norn_stream_record
    procedure stream_record
  end interface
  interface norn_stream_wait
    procedure stream_wait
  end interface

contains

  ! select: the device current on this thread where it is absent; ordinal and uuid name one otherwise.
  subroutine device_open(rt, place, select, ordinal, uuid, max_bytes, streams, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_place), intent(inout) :: place
    integer(c_int32_t), intent(in), optional :: select, ordinal, streams
    character(*), intent(in), optional :: uuid
    integer(c_int64_t), intent(in), optional :: max_bytes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_device_config), target :: config
    character(kind=c_char, len=:), allocatable, target :: name
    config%struct_size = c_sizeof(config)
    if (present(select)) config%select = select
    if (present(ordinal)) config%ordinal = ordinal
    if (present(streams)) config%streams = streams
    if (present(max_bytes)) config%max_bytes = max_bytes
    if (present(uuid)) then
      name = c_text(uuid)
      config%uuid = c_loc(name)
    end if
    call conclude(c_open(rt, c_loc(config), place), "norn_device_open", rt, stat, errmsg)
  end subroutine

  subroutine device_get(rt, place, info, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_place), intent(in) :: place
    type(norn_device_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    info%struct_size = c_sizeof(info)
    call conclude(c_get(rt, place, info), "norn_device_get", rt, stat, errmsg)
  end subroutine

  subroutine copy(rt, from, to, after, accesses, token, priority, flags, group, as, place, stream, &
      stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_slice), intent(in), target :: from, to
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    type(norn_place), intent(in), optional :: place
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call describe(how, places, tokens, after, accesses, priority, flags, group, as, status, problem, place, stream)
    if (status == 0) status = c_copy(rt, from, to, c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_copy", rt, stat, errmsg, problem)
  end subroutine

  ! element: c_loc of one element of the slice's type.
  subroutine fill_slice(rt, to, element, after, accesses, token, priority, flags, group, as, place, stream, &
      stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_slice), intent(in), target :: to
    type(c_ptr), intent(in) :: element
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    type(norn_place), intent(in), optional :: place
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call describe(how, places, tokens, after, accesses, priority, flags, group, as, status, problem, place, stream)
    if (status == 0) status = c_fill(rt, to, element, c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_fill", rt, stat, errmsg, problem)
  end subroutine

  ! image: PTX, a cubin or a fatbin as it was read, or CUDA C++ source, for which options may be given.
  subroutine module_load(rt, device, image, module, options, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_place), intent(in) :: device
    character(kind=c_char, len=*), intent(in), target :: image
    type(norn_module), intent(inout) :: module
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: c_options
    type(c_ptr) :: options_at
    options_at = c_null_ptr
    if (present(options)) then
      c_options = c_text(options)
      options_at = c_loc(c_options)
    end if
    call conclude(c_load(rt, device, c_loc(image), len(image, kind=c_int64_t), options_at, module), "norn_module_load", rt, &
      stat, errmsg)
  end subroutine

  subroutine kernel_get(rt, module, name, kernel, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_module), intent(in) :: module
    character(*), intent(in) :: name
    type(norn_kernel), intent(inout) :: kernel
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: c_name
    c_name = c_text(name)
    call conclude(c_kernel(rt, module, c_loc(c_name), kernel), "norn_kernel_get", rt, stat, errmsg)
  end subroutine

  ! An argument by value: c_loc of a variable, and c_sizeof of it; it must live until the launch has been submitted.
  function value_of(address, bytes) result(argument)
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: bytes
    type(norn_argument) :: argument
    argument%kind = NORN_ARGUMENT_VALUE
    argument%value = address
    argument%bytes = int(bytes, c_int64_t)
  end function

  ! The device address of a datum; mode: NORN_ACCESS_*, the access that the kernel makes, or 0. offset: bytes from its start.
  function pointer_of(data, mode, offset) result(argument)
    type(norn_data), intent(in) :: data
    integer(c_int32_t), intent(in) :: mode
    integer(c_int64_t), intent(in), optional :: offset
    type(norn_argument) :: argument
    argument%kind = NORN_ARGUMENT_DATA
    argument%data = data
    argument%mode = mode
    if (present(offset)) argument%offset = offset
  end function

  ! grid, block: one to three numbers; what is absent is 1.
  subroutine launch(rt, kernel, arguments, grid, block, shared_bytes, after, accesses, token, priority, flags, group, as, &
      place, stream, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_kernel), intent(in) :: kernel
    type(norn_argument), intent(in), target, contiguous, optional :: arguments(:)
    integer, intent(in), optional :: grid(:), block(:), shared_bytes
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    type(norn_place), intent(in), optional :: place
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    type(norn_launch_desc), target :: desc
    integer :: n
    desc%struct_size = c_sizeof(desc)
    desc%kernel = kernel
    if (present(grid)) then
      n = min(size(grid), 3)
      desc%grid(:n) = int(grid(:n), c_int32_t)
    end if
    if (present(block)) then
      n = min(size(block), 3)
      desc%block(:n) = int(block(:n), c_int32_t)
    end if
    if (present(shared_bytes)) desc%shared_bytes = int(shared_bytes, c_int32_t)
    if (present(arguments)) then
      desc%argument_count = size(arguments, kind=c_int64_t)
      if (size(arguments) > 0) desc%arguments = c_loc(arguments)
    end if
    call describe(how, places, tokens, after, accesses, priority, flags, group, as, status, problem, place, stream)
    if (status == 0) status = c_launch(rt, desc, c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_launch", rt, stat, errmsg, problem)
  end subroutine

  ! A token for everything queued so far on a stream of the program's; c_null_ptr is the legacy default stream.
  subroutine stream_record(rt, device, stream, token, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_place), intent(in) :: device
    type(c_ptr), intent(in) :: stream
    type(norn_token), intent(inout) :: token
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_record(rt, device, stream, token), "norn_stream_record", rt, stat, errmsg)
  end subroutine

  ! timeout_ns: none where it is absent.
  subroutine stream_wait(rt, token, device, stream, timeout_ns, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    type(norn_place), intent(in) :: device
    type(c_ptr), intent(in) :: stream
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_wait(rt, token, device, stream, limit_of(timeout_ns)), "norn_stream_wait", rt, stat, errmsg)
  end subroutine

  ! A task that queues device work on a stream and ends. body: c_funloc of a norn_enqueue_fn; arg is the program's, and lives
  ! until the token is complete. norn_self_provider gives it handles of cuBLAS and cuSOLVER.
  subroutine norn_submit_enqueue(rt, body, arg, name, after, accesses, token, priority, flags, group, as, place, stream, &
      stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(c_funptr), intent(in) :: body
    type(c_ptr), intent(in), optional :: arg
    character(*), intent(in), optional :: name
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    type(norn_place), intent(in), optional :: place
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    character(kind=c_char, len=:), allocatable, target :: c_name
    call describe(how, places, tokens, after, accesses, priority, flags, group, as, status, problem, place, stream)
    if (status == 0 .and. present(name)) then
      c_name = c_text(name)
      status = c_intern(rt, c_loc(c_name), how%name)
    end if
    how%enqueue = body
    if (present(arg)) how%arg = arg
    if (status == 0) status = c_submit(rt, how, c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_submit", rt, stat, errmsg, problem)
  end subroutine
end module
