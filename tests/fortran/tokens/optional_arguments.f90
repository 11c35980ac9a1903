! Absent, present, unallocated and null optional arguments; stat and errmsg as Fortran's own statements have them.
module options
  use, intrinsic :: iso_c_binding
  use norn
  implicit none
contains
  subroutine nothing()
  end subroutine
end module

program test
  use options
  use check
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: data
  type(norn_token) :: token
  character(:), allocatable :: no_name, deferred
  character(10) :: short
  character(300) :: long
  integer, allocatable :: no_stat
  integer, pointer :: null_stat
  integer :: stat
  integer, target :: a

  call norn_open(rt, cpus=no_name)
  call norn_data_register(rt, a, data, name=no_name, stat=no_stat) ! unallocated is absent
  call norn_data_unregister(rt, data)
  nullify (null_stat)
  call norn_data_register(rt, a, data, name="  padded name   ", stat=null_stat)
  call norn_submit_subroutine(rt, nothing, name=no_name, token=token)
  call norn_await(rt, token)
  ! Success: stat is 0, errmsg is left alone.
  stat = 99
  short = "untouched"
  call norn_submit_subroutine(rt, nothing, name="", stat=stat, errmsg=short)
  call expect_equal(stat, 0, "stat on success")
  call expect_equal(short, "untouched ", "errmsg on success")
  ! Failure: cut or filled up with blanks; errmsg alone is not enough to go on, so it is given with stat.
  call norn_fulfill(rt, norn_token(), stat, short)
  call expect_status(stat, NORN_E_INVALID, "stat on failure")
  call expect_equal(short, "NORN_E_INV", "errmsg cut")
  long = repeat("x", len(long))
  call norn_fulfill(rt, norn_token(), stat, long)
  call expect_equal(long(:16), "NORN_E_INVALID: ", "errmsg begins with the status")
  call expect_equal(long(280:), repeat(" ", 21), "errmsg is filled up with blanks")
  deferred = repeat(" ", 40)
  call norn_fulfill(rt, norn_token(), stat, deferred)
  call expect_equal(len(deferred), 40, "errmsg keeps its length")
  call norn_fulfill(rt, norn_token(), stat)
  call expect_status(stat, NORN_E_INVALID, "stat without errmsg")
  call expect_equal(norn_status_name(int(NORN_E_INVALID)), "NORN_E_INVALID", "name of a status")
  call norn_drain(rt)
  call norn_close(rt)
  ! A handle that is closed is known as such.
  call norn_drain(rt, stat=stat)
  call expect_status(stat, NORN_E_INVALID, "drain after close")
end program
