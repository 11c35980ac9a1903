! An array of assumed size, which GCC does not let through, is refused when it comes.
module legacy
  use check
  use norn
  implicit none
contains
  subroutine use_it(rt, a)
    type(norn_runtime), intent(in) :: rt
    real, target :: a(2, *)
    type(norn_data) :: data
    integer :: stat
    character(200) :: why
    call norn_data_register(rt, a, data, stat=stat, errmsg=why)
    call expect_status(stat, NORN_E_INVALID, "assumed size")
    call expect_says(why, "assumed size")
    call norn_data_register(rt, a(:, 1:3), data)
  end subroutine
end module

program test
  use legacy
  implicit none
  type(norn_runtime) :: rt
  real, target :: a(2, 3)
  call norn_open(rt)
  call use_it(rt, a)
  call norn_close(rt)
end program
