! A runtime from open to close, and what it says of itself.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_runtime_calls
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_f_procpointer, c_funloc, c_funptr, c_int32_t, &
    c_int64_t, c_loc, c_null_char, c_null_ptr, c_ptr, c_sizeof
  use norn_c, only: NORN_HEADER_VERSION, NORN_OK, NORN_ON_FAILURE_CALL, norn_config, norn_error_info, &
    norn_failure_fn, norn_runtime, norn_runtime_stats, norn_write_fn, c_close => norn_close, &
    c_close_with => norn_close_with, c_drain => norn_drain, c_dump => norn_dump, c_intern => norn_intern, &
    c_mpi_register => norn_mpi_register, c_open => norn_open_version, c_progress => norn_progress, c_seal => norn_seal, &
    c_stats => norn_stats, c_version => norn_version
  use norn_failure_policy, only: c_text, conclude, norn_last_error
  implicit none
  private
  public :: norn_open, norn_close, norn_close_with, norn_drain, norn_progress, norn_seal, norn_stats, norn_dump, norn_intern, &
    norn_mpi_register, norn_version

  ! norn_dump(rt, format, text)       the live graph in a string
  ! norn_dump(rt, format, fn, [arg])  in pieces to a callback
  interface norn_dump
    procedure dump_text, dump_pieces
  end interface
  interface norn_close
    procedure close_runtime
  end interface
  interface norn_close_with
    procedure close_with
  end interface
  interface norn_drain
    procedure drain
  end interface
  interface norn_progress
    procedure progress
  end interface
  interface norn_seal
    procedure seal
  end interface
  interface norn_stats
    procedure stats_of
  end interface
  interface norn_intern
    procedure intern
  end interface
  interface norn_mpi_register
    procedure mpi_register
  end interface
  interface norn_version
    procedure version
  end interface

  ! The pieces of a dump so far.
  type :: growing
    character(:), allocatable :: text
  end type

contains

  ! cpus: as norn_config%cpus, such as "0-3,8".
  subroutine norn_open(rt, config, cpus, stat, errmsg)
    type(norn_runtime), intent(inout) :: rt
    type(norn_config), intent(in), optional :: config
    character(*), intent(in), optional :: cpus
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_config), target :: sized
    character(kind=c_char, len=:), allocatable, target :: list
    integer(c_int32_t) :: status
    if (present(config)) sized = config
    sized%struct_size = c_sizeof(sized)
    if (present(cpus)) then
      list = c_text(cpus)
      sized%cpus = c_loc(list)
    end if
    status = c_open(NORN_HEADER_VERSION, c_loc(sized), rt)
    if (status /= NORN_OK .and. .not. present(stat)) call tell(sized, status)
    call conclude(status, "norn_open", norn_runtime(), stat, errmsg)
  end subroutine

  ! There is no runtime whose policy an error of norn_open could follow; what the program asked for is all there is.
  subroutine tell(config, status)
    type(norn_config), intent(in) :: config
    integer(c_int32_t), intent(in) :: status
    procedure(norn_failure_fn), pointer :: callback
    type(norn_error_info) :: info
    if (config%on_failure /= NORN_ON_FAILURE_CALL .or. .not. c_associated(config%failure)) return
    info%struct_size = c_sizeof(info)
    info%status = status
    info%code = status
    info%cause_status = status
    info%rank = -1
    info%worker = -1
    info%device = -1
    call put(info%task, "norn_open")
    call put(info%operation, "norn_open")
    call put(info%text, norn_last_error())
    call c_f_procpointer(config%failure, callback)
    call callback(config%failure_arg, info)
  end subroutine

  pure subroutine put(letters, text)
    character(kind=c_char), intent(inout) :: letters(:)
    character(*), intent(in) :: text
    integer :: i
    letters = c_null_char
    do i = 1, min(len(text), size(letters) - 1)
      letters(i) = text(i:i)
    end do
  end subroutine

  ! Drains, then closes; stat is the first failure that nobody looked at, and the runtime is closed all the same.
  subroutine close_runtime(rt, stat, errmsg)
    type(norn_runtime), intent(inout) :: rt
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_close(rt), "norn_close", rt, stat, errmsg)
  end subroutine

  ! flags: NORN_CLOSE_DRAIN or NORN_CLOSE_CANCEL. timeout_ns: absent or negative: no limit.
  subroutine close_with(rt, flags, timeout_ns, stat, errmsg)
    type(norn_runtime), intent(inout) :: rt
    integer(c_int32_t), intent(in) :: flags
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit
    limit = -1
    if (present(timeout_ns)) limit = timeout_ns
    call conclude(c_close_with(rt, flags, limit), "norn_close_with", rt, stat, errmsg)
  end subroutine

  ! Waits until everything submitted so far has completed; failures are not reported here.
  subroutine drain(rt, timeout_ns, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit
    limit = -1
    if (present(timeout_ns)) limit = timeout_ns
    call conclude(c_drain(rt, limit), "norn_drain", rt, stat, errmsg)
  end subroutine

  subroutine progress(rt, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_progress(rt), "norn_progress", rt, stat, errmsg)
  end subroutine

  ! No more submissions from outside: what has no producer now is a deadlock.
  subroutine seal(rt, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_seal(rt), "norn_seal", rt, stat, errmsg)
  end subroutine

  subroutine stats_of(rt, stats, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_runtime_stats), intent(inout) :: stats
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    stats%struct_size = c_sizeof(stats)
    call conclude(c_stats(rt, stats), "norn_stats", rt, stat, errmsg)
  end subroutine

  subroutine dump_text(rt, format, text, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(c_int32_t), intent(in) :: format
    character(:), allocatable, intent(inout) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(growing), target :: pieces
    type(c_funptr) :: write_fn
    integer(c_int32_t) :: status
    pieces%text = ""
    write_fn = c_funloc(append)
    status = c_dump(rt, format, write_fn, c_loc(pieces))
    if (status == NORN_OK) call move_alloc(pieces%text, text)
    call conclude(status, "norn_dump", rt, stat, errmsg)
  end subroutine

  integer(c_int32_t) function append(arg, text, bytes) bind(c, name="")
    type(c_ptr), value :: arg, text
    integer(c_int64_t), value :: bytes
    type(growing), pointer :: pieces
    character(kind=c_char), pointer :: letters(:)
    character(:), allocatable :: piece
    integer :: i
    call c_f_pointer(arg, pieces)
    call c_f_pointer(text, letters, [bytes])
    allocate (character(len=bytes) :: piece)
    do i = 1, int(bytes)
      piece(i:i) = letters(i)
    end do
    pieces%text = pieces%text // piece
    append = 0
  end function

  subroutine dump_pieces(rt, format, fn, arg, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(c_int32_t), intent(in) :: format
    procedure(norn_write_fn) :: fn
    type(c_ptr), intent(in), optional, target :: arg
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: argument
    argument = c_null_ptr
    if (present(arg)) argument = arg
    call conclude(c_dump(rt, format, c_funloc(fn), argument), "norn_dump", rt, stat, errmsg)
  end subroutine

  ! A name that lives as long as the runtime, for the structures of C; name= elsewhere does this itself.
  subroutine intern(rt, text, name, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    character(*), intent(in) :: text
    type(c_ptr), intent(inout) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: c_name
    c_name = c_text(text)
    call conclude(c_intern(rt, c_loc(c_name), name), "norn_intern", rt, stat, errmsg)
  end subroutine

  ! table: what norn_mpi_plugin() of a plug-in that is linked in has returned, or c_null_ptr.
  subroutine mpi_register(table, stat, errmsg)
    type(c_ptr), intent(in) :: table
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_mpi_register(table), "norn_mpi_register", norn_runtime(), stat, errmsg)
  end subroutine

  ! Version of the library that is loaded.
  subroutine version(major, minor, patch)
    integer, intent(out) :: major, minor, patch
    integer(c_int32_t) :: numbers(3), ignored
    ignored = c_version(numbers(1), numbers(2), numbers(3))
    major = int(numbers(1))
    minor = int(numbers(2))
    patch = int(numbers(3))
  end subroutine
end module
