! What is not one run of memory, or no memory, is refused with a message, and nothing is registered.
program test
  use check
  use norn
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  implicit none
  type :: point
    real(real32) :: x, y
  end type
  type(norn_runtime) :: rt
  type(norn_data) :: data
  type(norn_runtime_stats) :: stats
  type(point), target :: points(4)
  real(real64), target :: a(10, 3)
  real(real64), allocatable, target :: none(:)
  real(real64), pointer :: view(:)
  real(real32), pointer :: xs(:)
  character(5), target :: text(3), table(2, 2)
  complex(real64), target :: z(3)
  integer :: stat
  character(200) :: why

  call norn_open(rt)
  call norn_data_register(rt, a(::2, 1), data, stat=stat, errmsg=why);      call refused("every second", "not contiguous")
  call norn_data_register(rt, a(1, :), data, stat=stat, errmsg=why);        call refused("a row", "not contiguous")
  call norn_data_register(rt, a(1:9, :), data, stat=stat, errmsg=why);      call refused("part of columns", "not contiguous")
  call norn_data_register(rt, a(10:1:-1, 1), data, stat=stat, errmsg=why);  call refused("backwards", "not contiguous")
  call norn_data_register(rt, a(:, 3:1:-1), data, stat=stat, errmsg=why);   call refused("columns backwards", "not contiguous")
  call norn_data_register(rt, points%x, data, stat=stat, errmsg=why);       call refused("a component of each", "not contiguous")
  call norn_data_register(rt, points%y, data, stat=stat, errmsg=why);       call refused("another component", "not contiguous")
  call norn_data_register(rt, text(:)(2:3), data, stat=stat, errmsg=why);   call refused("substrings", "not contiguous")
  call norn_data_register(rt, table(:, :)(1:4), data, stat=stat, errmsg=why); call refused("substrings", "not contiguous")
  call norn_data_register(rt, z%re, data, stat=stat, errmsg=why);           call refused("real parts", "not contiguous")
  call norn_data_register(rt, z%im, data, stat=stat, errmsg=why);           call refused("imaginary parts", "not contiguous")
  view => a(3, :)
  call norn_data_register(rt, view, data, stat=stat, errmsg=why);           call refused("pointer to a row", "not contiguous")
  xs => points%x
  call norn_data_register(rt, xs, data, stat=stat, errmsg=why);             call refused("pointer to components", "not contiguous")
  call norn_data_register(rt, none, data, stat=stat, errmsg=why);           call refused("unallocated", "not allocated")
  nullify (view)
  call norn_data_register(rt, view, data, stat=stat, errmsg=why);           call refused("null pointer", "not associated")
  call norn_data_register(rt, view, data, name="field", stat=stat, errmsg=why); call refused("with its name", '"field"')

  ! One element of what is not contiguous is contiguous. GCC 12 takes points(2:2)%y for points(2:2)%x: refused there.
  call norn_data_register(rt, points(2)%y, data)
  call norn_data_check(rt, data, norn_memory(c_loc(points(2)%y), 4_c_int64_t))
  call norn_data_unregister(rt, data)
  call norn_data_register(rt, a(1:1, 2:2), data)
  call norn_data_unregister(rt, data)

  call norn_stats(rt, stats)
  call expect_equal(stats%data, 0_c_int64_t, "data left")
  call norn_close(rt)

contains

  subroutine refused(what, text)
    character(*), intent(in) :: what, text
    call expect_status(stat, NORN_E_INVALID, what)
    call expect_says(why, text)
  end subroutine
end program
