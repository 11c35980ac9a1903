! Worlds: messages between ranks, and collectives. A communicator is given as the integer of module mpi; of mpi_f08, comm%MPI_VAL.
! Slices are TARGET although they are only read: norn_c says why.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_world_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_int32_t, c_int64_t, c_loc, c_null_ptr, c_ptr, c_sizeof
  use norn_c, only: NORN_KEY_ORDER, norn_data, norn_group, norn_runtime, norn_slice, norn_task, norn_token, &
    norn_world, norn_world_config, norn_world_info, c_attach => norn_world_attach_f, c_get => norn_world_get, &
    c_flush => norn_world_flush, c_world_fail => norn_world_fail, c_detach => norn_world_detach, c_lane => norn_world_lane, &
    c_send => norn_send, c_recv => norn_recv, c_barrier => norn_barrier, c_bcast => norn_bcast, c_reduce => norn_reduce, &
    c_allreduce => norn_allreduce, c_gather => norn_gather, c_scatter => norn_scatter, c_allgather => norn_allgather, &
    c_alltoall => norn_alltoall, c_access => norn_access
  use norn_accesses, only: norn_access
  use norn_failure_policy, only: c_text, conclude
  use norn_operation_how, only: fill, limit_of
  implicit none
  private
  public :: norn_world_attach_f, norn_world_get, norn_world_flush, norn_world_fail, norn_world_detach, norn_world_lane, &
    norn_send, norn_recv, norn_barrier, norn_bcast, norn_reduce, norn_allreduce, norn_gather, norn_scatter, &
    norn_allgather, norn_alltoall, norn_slice_of, norn_slice_at

  interface norn_world_attach_f
    procedure world_attach
  end interface
  interface norn_world_get
    procedure world_get
  end interface
  interface norn_world_flush
    procedure world_flush
  end interface
  interface norn_world_fail
    procedure world_fail
  end interface
  interface norn_world_detach
    procedure world_detach
  end interface
  interface norn_world_lane
    procedure world_lane
  end interface
  interface norn_send
    procedure send
  end interface
  interface norn_recv
    procedure recv
  end interface
  interface norn_barrier
    procedure barrier
  end interface
  interface norn_bcast
    procedure bcast
  end interface
  interface norn_reduce
    procedure reduce
  end interface
  interface norn_allreduce
    procedure allreduce
  end interface
  interface norn_gather
    procedure gather
  end interface
  interface norn_scatter
    procedure scatter
  end interface
  interface norn_allgather
    procedure allgather
  end interface
  interface norn_alltoall
    procedure alltoall
  end interface
  interface norn_slice_of
    procedure slice_of
  end interface
  interface norn_slice_at
    procedure slice_at
  end interface

contains

  ! Collective. config: NORN_WORLD_CONFIG_INIT's values where it is absent.
  subroutine world_attach(rt, comm, world, config, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer, intent(in) :: comm
    type(norn_world), intent(inout) :: world
    type(norn_world_config), intent(in), optional :: config
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_world_config), target :: given
    if (present(config)) given = config
    given%struct_size = c_sizeof(given)
    call conclude(c_attach(rt, int(comm, c_int32_t), c_loc(given), world), "norn_world_attach_f", rt, stat, errmsg)
  end subroutine

  subroutine world_get(world, info, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_world_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    info%struct_size = c_sizeof(info)
    call conclude(c_get(world, info), "norn_world_get", norn_runtime(), stat, errmsg)
  end subroutine

  ! timeout_ns: none where it is absent.
  subroutine world_flush(world, timeout_ns, stat, errmsg)
    type(norn_world), intent(in) :: world
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_flush(world, limit_of(timeout_ns)), "norn_world_flush", norn_runtime(), stat, errmsg)
  end subroutine

  subroutine world_detach(world, timeout_ns, stat, errmsg)
    type(norn_world), intent(in) :: world
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_detach(world, limit_of(timeout_ns)), "norn_world_detach", norn_runtime(), stat, errmsg)
  end subroutine

  subroutine world_fail(world, code, message, stat, errmsg)
    type(norn_world), intent(in) :: world
    integer, intent(in) :: code
    character(*), intent(in), optional :: message
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: text
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(message)) then
      text = c_text(message)
      address = c_loc(text)
    end if
    call conclude(c_world_fail(world, int(code, c_int32_t), address), "norn_world_fail", norn_runtime(), stat, errmsg)
  end subroutine

  subroutine world_lane(world, lane, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_world), intent(inout) :: lane
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_lane(world, lane), "norn_world_lane", norn_runtime(), stat, errmsg)
  end subroutine

  ! A whole run of elements of a datum.
  function slice_of(data, type, count) result(slice)
    type(norn_data), intent(in) :: data
    integer(c_int64_t), intent(in) :: type
    integer(c_int64_t), intent(in) :: count
    type(norn_slice) :: slice
    slice%data = data
    slice%type = type
    slice%count = count
  end function

  ! The same of plain memory.
  function slice_at(ptr, type, count) result(slice)
    type(c_ptr), intent(in), target :: ptr
    integer(c_int64_t), intent(in) :: type
    integer(c_int64_t), intent(in) :: count
    type(norn_slice) :: slice
    slice%ptr = ptr
    slice%type = type
    slice%count = count
  end function

  ! key: an ordered edge where it is absent.
  subroutine send(world, from, peer, key, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_slice), intent(in), target :: from
    integer, intent(in) :: peer
    integer(c_int64_t), intent(in), optional :: key
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_send(world, from, int(peer, c_int32_t), key_of(key), c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_send", norn_runtime(), stat, errmsg, problem)
  end subroutine

  ! key: as in norn_send.
  subroutine recv(world, to, peer, key, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_slice), intent(in), target :: to
    integer, intent(in) :: peer
    integer(c_int64_t), intent(in), optional :: key
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_recv(world, to, int(peer, c_int32_t), key_of(key), c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_recv", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine barrier(world, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_barrier(world, c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_barrier", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine bcast(world, buffer, root, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_slice), intent(in), target :: buffer
    integer, intent(in) :: root
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_bcast(world, buffer, int(root, c_int32_t), c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_bcast", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine reduce(world, op, root, from, to, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    integer(c_int64_t), intent(in) :: op
    integer, intent(in) :: root
    type(norn_slice), intent(in), target, optional :: from, to
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_reduce(world, address_of(from), address_of(to), op, int(root, c_int32_t), c_loc(how), &
      c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_reduce", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine allreduce(world, to, op, from, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_slice), intent(in), target :: to
    integer(c_int64_t), intent(in) :: op
    type(norn_slice), intent(in), target, optional :: from
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_allreduce(world, address_of(from), to, op, c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_allreduce", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine gather(world, root, from, to, counts, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    integer, intent(in) :: root
    type(norn_slice), intent(in), target, optional :: from, to
    integer(c_int64_t), intent(in), target, contiguous, optional :: counts(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_gather(world, address_of(from), address_of(to), counts_of(counts), int(root, c_int32_t), &
      c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_gather", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine scatter(world, root, from, to, counts, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    integer, intent(in) :: root
    type(norn_slice), intent(in), target, optional :: from, to
    integer(c_int64_t), intent(in), target, contiguous, optional :: counts(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_scatter(world, address_of(from), address_of(to), counts_of(counts), int(root, c_int32_t), &
      c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_scatter", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine allgather(world, to, from, counts, after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_slice), intent(in), target :: to
    type(norn_slice), intent(in), target, optional :: from
    integer(c_int64_t), intent(in), target, contiguous, optional :: counts(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_allgather(world, address_of(from), to, counts_of(counts), c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_allgather", norn_runtime(), stat, errmsg, problem)
  end subroutine

  subroutine alltoall(world, to, from, send_counts, recv_counts, &
    after, accesses, token, priority, flags, group, as, stat, errmsg)
    type(norn_world), intent(in) :: world
    type(norn_slice), intent(in), target :: to
    type(norn_slice), intent(in), target, optional :: from
    integer(c_int64_t), intent(in), target, contiguous, optional :: send_counts(:), recv_counts(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), target :: how
    type(norn_token), target :: made
    type(c_access), allocatable, target :: places(:)
    type(norn_token), allocatable, target :: tokens(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem)
    if (status == 0) status = c_alltoall(world, address_of(from), counts_of(send_counts), to, counts_of(recv_counts), &
      c_loc(how), c_loc(made))
    if (status == 0 .and. present(token)) token = made
    call conclude(status, "norn_alltoall", norn_runtime(), stat, errmsg, problem)
  end subroutine

  pure function key_of(key) result(value)
    integer(c_int64_t), intent(in), optional :: key
    integer(c_int64_t) :: value
    value = NORN_KEY_ORDER
    if (present(key)) value = key
  end function

  function address_of(slice) result(address)
    type(norn_slice), intent(in), target, optional :: slice
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(slice)) address = c_loc(slice)
  end function

  function counts_of(counts) result(address)
    integer(c_int64_t), intent(in), target, contiguous, optional :: counts(:)
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(counts)) then
      if (size(counts) > 0) address = c_loc(counts)
    end if
  end function
end module
