! An array that an assignment allocates anew is found at the next call that names it, in every mode; norn_data_rebind
! tells norn the new place.
module growing
  use check
  use norn
  use, intrinsic :: iso_c_binding
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: du
  real(8), allocatable, target :: u(:)
contains
  subroutine add_one()
    u = u + 1 ! same shape: not allocated anew
  end subroutine
  ! What a body must not do: after it nothing that names u is where norn thinks.
  subroutine grow()
    u = [u, u]
  end subroutine
  subroutine look_inside()
    integer :: stat
    call norn_data_check(rt, du, norn_memory(u), stat)
    call expect_status(stat, NORN_OK, "the check inside a body")
  end subroutine
end module

program test
  use growing
  implicit none
  integer :: stat
  character(200) :: why

  call norn_open(rt)
  u = [real(8) :: 1, 2, 3]
  call norn_data_register(rt, u, du, name="u")
  call norn_submit_subroutine(rt, add_one, accesses=[norn_update(du, norn_memory(u))])
  call norn_submit_subroutine(rt, look_inside, accesses=[norn_read(du, norn_memory(u))])
  call norn_drain(rt)

  ! In the program.
  u = [u, 9d0, 9d0, 9d0, 9d0, 9d0]
  call norn_submit_subroutine(rt, add_one, accesses=[norn_update(du, norn_memory(u))], stat=stat, errmsg=why)
  call expect_status(stat, NORN_E_STATE, "submit after a reallocation")
  call expect_says(why, "access 1")
  call expect_says(why, "norn_data_rebind")
  call norn_data_check(rt, du, norn_memory(u), stat, why)
  call expect_status(stat, NORN_E_STATE, "check after a reallocation")
  call norn_data_unregister(rt, du, norn_memory(u), stat, why)
  call expect_status(stat, NORN_E_STATE, "unregister after a reallocation")
  call norn_data_rebind(rt, du, u)
  call norn_submit_subroutine(rt, add_one, accesses=[norn_update(du, norn_memory(u))])
  call norn_drain(rt)
  call expect(all(u == [3, 4, 5, 10, 10, 10, 10, 10]), "the values after rebind")

  ! In a body; the access does not say so, the next one does.
  call norn_submit_subroutine(rt, grow, accesses=[norn_update(du, norn_memory(u))])
  call norn_drain(rt)
  call norn_submit_subroutine(rt, add_one, accesses=[norn_update(du, norn_memory(u))], stat=stat)
  call expect_status(stat, NORN_E_STATE, "submit after a body has allocated anew")

  ! An expression lies elsewhere, and what is of the wrong array too.
  deallocate (u)
  call norn_data_check(rt, du, norn_memory(u), stat, why)
  call expect_status(stat, NORN_E_INVALID, "check of what is deallocated")
  call expect_says(why, "not allocated")
  call norn_close(rt)
end program
