! Data: registering memory, splitting, moving, holding, reserving. norn_array_calls has the forms that take an array.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_data_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_int32_t, c_int64_t, c_loc, c_null_ptr, c_ptr, c_sizeof
  use norn_c, only: NORN_E_INVALID, NORN_OK, norn_data, norn_data_desc, norn_piece, norn_place, &
    norn_reduction, norn_runtime, norn_token, c_access => norn_access, c_acquire => norn_data_acquire, &
    c_alloc => norn_data_alloc, c_join => norn_data_join, c_pointer => norn_data_pointer, c_rebind => norn_data_rebind, &
    c_register => norn_data_register, c_release => norn_data_release, c_reserve => norn_reserve, &
    c_reserve_abandon => norn_reserve_abandon, c_split => norn_data_split, c_unregister => norn_data_unregister
  use norn_failure_policy, only: c_text, conclude
  use norn_memory_of, only: norn_memory, norn_memory_problem
  use norn_accesses, only: compare_memory, norn_access, to_c
  implicit none
  private
  public :: norn_data_register_memory, norn_data_register_name, norn_data_alloc, norn_data_split, &
    norn_data_join, norn_data_rebind_memory, norn_data_check, norn_data_unregister, norn_data_acquire, &
    norn_data_release, norn_data_pointer, norn_reserve, norn_reserve_abandon

  interface norn_data_alloc
    procedure alloc
  end interface
  interface norn_data_split
    procedure split
  end interface
  interface norn_data_join
    procedure join
  end interface
  interface norn_data_unregister
    procedure unregister
  end interface
  interface norn_data_acquire
    procedure acquire
  end interface
  interface norn_data_release
    procedure release
  end interface
  interface norn_data_pointer
    procedure pointer_of
  end interface
  interface norn_reserve
    procedure reserve
  end interface
  interface norn_reserve_abandon
    procedure reserve_abandon
  end interface

contains

  ! Any memory: norn_memory(c_loc(x), bytes), for derived types, kinds without an own form, memory of C.
  subroutine norn_data_register_memory(rt, memory, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_memory), intent(in) :: memory
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call make("norn_data_register", rt, memory, data, .false., name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  ! A name to order tasks by, without memory.
  subroutine norn_data_register_name(rt, name, data, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    character(*), intent(in) :: name
    type(norn_data), intent(inout) :: data
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call make("norn_data_register", rt, norn_memory(c_null_ptr, 0_c_int64_t), data, .false., name, &
      stat=stat, errmsg=errmsg)
  end subroutine

  ! Memory of norn's own; norn_data_pointer says where.
  subroutine alloc(rt, bytes, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(c_int64_t), intent(in) :: bytes
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call make("norn_data_alloc", rt, norn_memory(c_null_ptr, bytes), data, .true., name, flags, kind, place, reduce, stat, &
      errmsg)
  end subroutine

  subroutine make(call_name, rt, memory, data, of_norn, name, flags, kind, place, reduce, stat, errmsg)
    character(*), intent(in) :: call_name
    type(norn_runtime), intent(in) :: rt
    type(norn_memory), intent(in) :: memory
    type(norn_data), intent(inout) :: data
    logical, intent(in) :: of_norn
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_data_desc) :: desc
    character(kind=c_char, len=:), allocatable, target :: c_name
    character(:), allocatable :: problem
    integer(c_int32_t) :: status

    problem = norn_memory_problem(memory)
    if (len(problem) > 0) then
      call conclude(NORN_E_INVALID, call_name, rt, stat, errmsg, named(problem))
      return
    end if
    desc%struct_size = c_sizeof(desc)
    desc%ptr = memory%address
    desc%bytes = memory%bytes
    if (present(name)) then
      c_name = c_text(name)
      desc%name = c_loc(c_name)
    end if
    if (present(flags)) desc%flags = flags
    if (present(kind)) desc%kind = kind
    if (present(place)) desc%place = place
    if (present(reduce)) desc%reduce = reduce
    if (of_norn) then
      status = c_alloc(rt, desc, data)
    else
      status = c_register(rt, desc, data)
    end if
    call conclude(status, call_name, rt, stat, errmsg)

  contains

    function named(problem) result(text)
      character(*), intent(in) :: problem
      character(:), allocatable :: text
      text = problem
      if (present(name)) text = '"' // trim(name) // '": ' // problem
    end function
  end subroutine

  ! Disjoint pieces, in bytes from the start of the datum, each a datum of its own.
  subroutine split(rt, data, pieces, parts, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    type(norn_piece), intent(in) :: pieces(:)
    type(norn_data), intent(inout) :: parts(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_piece), allocatable, target :: c_pieces(:)
    type(norn_data), allocatable, target :: c_parts(:)
    integer(c_int32_t) :: status
    if (size(parts) /= size(pieces)) then
      call conclude(NORN_E_INVALID, "norn_data_split", rt, stat, errmsg, "parts and pieces differ in size")
      return
    end if
    allocate (c_pieces(max(1, size(pieces))), c_parts(max(1, size(parts))))
    c_pieces(:size(pieces)) = pieces
    status = c_split(rt, data, c_loc(c_pieces), size(pieces, kind=c_int64_t), c_loc(c_parts))
    if (status == NORN_OK) parts = c_parts(:size(parts))
    call conclude(status, "norn_data_split", rt, stat, errmsg)
  end subroutine

  ! Ends a split.
  subroutine join(rt, data, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_join(rt, data), "norn_data_join", rt, stat, errmsg)
  end subroutine

  subroutine norn_data_rebind_memory(rt, data, memory, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in) :: memory
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: problem
    problem = norn_memory_problem(memory)
    if (len(problem) > 0) then
      call conclude(NORN_E_INVALID, "norn_data_rebind", rt, stat, errmsg, problem)
    else
      call conclude(c_rebind(rt, data, memory%address, memory%bytes), "norn_data_rebind", rt, stat, errmsg)
    end if
  end subroutine

  ! Whether the datum is still where the array is; NORN_E_STATE where it was allocated anew. Any thread; never blocks.
  subroutine norn_data_check(rt, data, memory, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in) :: memory
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    call compare_memory(rt, data, memory, status, problem)
    call conclude(status, "norn_data_check", rt, stat, errmsg, problem)
  end subroutine

  ! Ends a datum after its last access so far. The memory, where given, is compared as in norn_data_check first.
  subroutine unregister(rt, data, memory, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    status = NORN_OK
    if (present(memory)) call compare_memory(rt, data, memory, status, problem)
    if (status == NORN_OK) status = c_unregister(rt, data)
    call conclude(status, "norn_data_unregister", rt, stat, errmsg, problem)
  end subroutine

  ! The calling thread may touch the data, as a task with these accesses would. timeout_ns: absent or negative: no limit.
  subroutine acquire(rt, accesses, hold, timeout_ns, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_access), intent(in) :: accesses(:)
    type(norn_token), intent(inout) :: hold
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_access), allocatable, target :: c_accesses(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    integer(c_int64_t) :: limit
    limit = -1
    if (present(timeout_ns)) limit = timeout_ns
    allocate (c_accesses(max(1, size(accesses))))
    call to_c(rt, accesses, c_accesses, status, problem)
    if (status == NORN_OK) status = c_acquire(rt, c_loc(c_accesses), size(accesses, kind=c_int64_t), limit, hold)
    call conclude(status, "norn_data_acquire", rt, stat, errmsg, problem)
  end subroutine

  subroutine release(rt, hold, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: hold
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_release(rt, hold), "norn_data_release", rt, stat, errmsg)
  end subroutine

  ! Where a datum is, for c_f_pointer; in a body with a reduction, its private copy.
  subroutine pointer_of(rt, data, address, bytes, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    type(c_ptr), intent(inout) :: address
    integer(c_int64_t), intent(inout), optional :: bytes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: length
    integer(c_int32_t) :: status
    status = c_pointer(rt, data, address, length)
    if (status == NORN_OK .and. present(bytes)) bytes = length
    call conclude(status, "norn_data_pointer", rt, stat, errmsg)
  end subroutine

  ! Takes places in the timelines now; give slots(i) to the access of the task that comes later (access%slot).
  subroutine reserve(rt, accesses, slots, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_access), intent(in) :: accesses(:)
    integer(c_int64_t), intent(inout) :: slots(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_access), allocatable, target :: c_accesses(:)
    integer(c_int64_t), allocatable, target :: c_slots(:)
    character(:), allocatable :: problem
    integer(c_int32_t) :: status
    if (size(slots) /= size(accesses)) then
      call conclude(NORN_E_INVALID, "norn_reserve", rt, stat, errmsg, "slots and accesses differ in size")
      return
    end if
    allocate (c_accesses(max(1, size(accesses))), c_slots(max(1, size(accesses))))
    call to_c(rt, accesses, c_accesses, status, problem)
    if (status == NORN_OK) status = c_reserve(rt, c_loc(c_accesses), size(accesses, kind=c_int64_t), c_loc(c_slots))
    if (status == NORN_OK) slots = c_slots(:size(slots))
    call conclude(status, "norn_reserve", rt, stat, errmsg, problem)
  end subroutine

  subroutine reserve_abandon(rt, slot, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(c_int64_t), intent(in) :: slot
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_reserve_abandon(rt, slot), "norn_reserve_abandon", rt, stat, errmsg)
  end subroutine
end module
