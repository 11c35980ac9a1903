! A module procedure is no contained one, wherever it is linked: a program with fixed addresses or without, a shared library.
program test
  use check
  use norn
  use in_library
  implicit none
  type(norn_runtime) :: rt
  call norn_open(rt)
  call norn_submit_subroutine(rt, count_call)
  call norn_close(rt)
  call expect_equal(calls, 1, "calls")
end program
