! More accesses and predecessors than fit into the room a submit has ready, sections with a stride, and none at all.
module counting
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  integer, parameter :: n = 1000
  integer, target :: cells(2 * n) = 0
contains
  subroutine set(i)
    integer, intent(in) :: i
    cells(i) = i
  end subroutine
  subroutine add_all()
    integer :: i
    do i = 2, n
      cells(1) = cells(1) + cells(i)
    end do
  end subroutine
end module

program test
  use counting
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: data(2 * n)
  type(norn_token) :: tokens(2 * n), last
  type(norn_token), allocatable :: none(:)
  type(norn_access), allocatable :: no_accesses(:)
  integer :: i
  call norn_open(rt)
  do i = 1, 2 * n
    call norn_data_register(rt, cells(i), data(i))
    call norn_submit_subroutine(rt, set, i, accesses=[norn_write(data(i))], token=tokens(i))
  end do
  call norn_submit_subroutine(rt, add_all, accesses=[norn_update(data(1)), norn_read(data(2:n))], token=last)
  call norn_await(rt, last)
  call expect_equal(cells(1), n * (n + 1) / 2, "by accesses")
  call norn_submit_subroutine(rt, set, 1, after=tokens(2 * n:1:-2), token=last)
  call norn_await_all(rt, tokens(::3))
  call norn_await(rt, last)
  ! Unallocated is absent; empty is none.
  call norn_submit_subroutine(rt, set, 2, accesses=no_accesses, after=none)
  call norn_submit_subroutine(rt, set, 2, accesses=data_of(0), after=tokens(:0))
  call norn_await_all(rt, tokens(:0))
  call norn_drain(rt)
  call norn_close(rt)
contains
  function data_of(count) result(accesses)
    integer, intent(in) :: count
    type(norn_access) :: accesses(count)
    accesses = norn_read(data(:count))
  end function
end program
