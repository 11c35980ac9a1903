! In a body that reduces a datum, norn_data_check compares with the private copy, and says so.
module adding
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: dsum
  real(8), target :: total = 0
contains
  subroutine zero(copy, bytes, arg) bind(c)
    type(c_ptr), value :: copy
    integer(c_int64_t), value :: bytes
    type(c_ptr), value :: arg
    real(8), pointer :: x(:)
    call c_f_pointer(copy, x, [bytes / 8])
    x = 0
  end subroutine
  subroutine add(into, from, bytes, arg) bind(c)
    type(c_ptr), value :: into, from
    integer(c_int64_t), value :: bytes
    type(c_ptr), value :: arg
    real(8), pointer :: x(:), y(:)
    call c_f_pointer(into, x, [bytes / 8])
    call c_f_pointer(from, y, [bytes / 8])
    x = x + y
  end subroutine
  subroutine term()
    type(c_ptr) :: address
    real(8), pointer :: mine
    integer :: stat
    character(300) :: why
    call norn_data_pointer(rt, dsum, address)
    call c_f_pointer(address, mine)
    mine = mine + 1
    call norn_data_check(rt, dsum, norn_memory(mine), stat=stat)
    call expect_status(stat, NORN_OK, "the private copy")
    call norn_data_check(rt, dsum, norn_memory(total), stat=stat, errmsg=why)
    call expect_status(stat, NORN_E_STATE, "the array that was registered")
    call expect_says(why, "private copy")
  end subroutine
end module

program test
  use adding
  implicit none
  type(norn_reduction) :: reduction
  integer :: i
  call norn_open(rt)
  reduction%identity = c_funloc(zero)
  reduction%combine = c_funloc(add)
  call norn_data_register(rt, total, dsum, reduce=reduction)
  do i = 1, 3
    call norn_submit_subroutine(rt, term, accesses=[norn_reduce_into(dsum)])
  end do
  call norn_drain(rt)
  call norn_data_check(rt, dsum, norn_memory(total))
  call norn_data_unregister(rt, dsum)
  call expect_equal(nint(total), 3, "the sum")
  call norn_close(rt)
end program
