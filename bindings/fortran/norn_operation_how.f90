! How an operation is submitted: what messages, collectives and the calls of devices take in common.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_operation_how
  use, intrinsic :: iso_c_binding, only: c_int32_t, c_int64_t, c_loc, c_ptr, c_sizeof
  use norn_c, only: NORN_E_INVALID, norn_group, norn_place, norn_task, norn_token, c_access => norn_access
  use norn_accesses, only: norn_access
  implicit none
  private
  public :: fill, limit_of

contains

  ! What every operation takes, as C takes it. The arrays live as long as the call. An access cannot name its memory here: to
  ! compare it takes the runtime.
  subroutine fill(how, places, tokens, after, accesses, priority, flags, group, as, status, problem, place, stream)
    type(norn_task), intent(inout) :: how
    type(c_access), allocatable, target, intent(inout) :: places(:)
    type(norn_token), allocatable, target, intent(inout) :: tokens(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_access), intent(in), optional :: accesses(:)
    integer(c_int32_t), intent(in), optional :: priority, flags
    type(norn_group), intent(in), optional :: group
    integer(c_int32_t), intent(out) :: status
    character(:), allocatable, intent(out) :: problem
    type(norn_place), intent(in), optional :: place
    type(c_ptr), intent(in), optional :: stream
    integer :: i
    status = 0
    how%struct_size = c_sizeof(how)
    if (present(priority)) how%priority = priority
    if (present(flags)) how%flags = flags
    if (present(group)) how%group = group
    if (present(as)) how%as = as
    if (present(place)) how%place = place
    if (present(stream)) how%stream = stream
    if (present(accesses)) then
      if (size(accesses) > 0) then
        if (any(accesses%names_memory)) then
          status = NORN_E_INVALID
          problem = "an access of an operation names no memory; give the datum alone"
          return
        end if
        places = [(c_access(accesses(i)%data, accesses(i)%slot, accesses(i)%mode, 0), i = 1, size(accesses))]
        how%accesses = c_loc(places)
        how%access_count = size(places, kind=c_int64_t)
      end if
    end if
    if (present(after)) then
      if (size(after) > 0) then
        tokens = after
        how%after = c_loc(tokens)
        how%after_count = size(tokens, kind=c_int64_t)
      end if
    end if
  end subroutine

  pure function limit_of(timeout_ns) result(value)
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer(c_int64_t) :: value
    value = -1
    if (present(timeout_ns)) value = timeout_ns
  end function
end module
