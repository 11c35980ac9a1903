! A datum split into pieces, moved, held by the program, and of norn's own memory.
module halves
  use norn
  use, intrinsic :: iso_c_binding
  implicit none
  real(8), target :: a(8)
contains
  subroutine first_half()
    a(:4) = 1
  end subroutine
  subroutine second_half()
    a(5:) = 2
  end subroutine
end module

program test
  use halves
  use check
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: da, parts(2), own
  type(norn_token) :: hold
  type(c_ptr) :: address
  integer(c_int64_t) :: bytes, slots(1)
  real(8), pointer :: values(:)
  type(norn_access) :: later
  integer :: stat
  character(200) :: why

  call norn_open(rt)
  call norn_data_register(rt, a, da, name="a")
  call norn_data_split(rt, da, [norn_piece(0, 32, 0, 0), norn_piece(32, 32, 0, 0)], parts)
  call norn_submit_subroutine(rt, second_half, accesses=[norn_write(parts(2))])
  call norn_submit_subroutine(rt, first_half, accesses=[norn_write(parts(1))])
  call norn_data_acquire(rt, [norn_read(da)], hold)
  call expect(all(a == [1, 1, 1, 1, 2, 2, 2, 2]), "both halves")
  call norn_data_release(rt, hold)
  call norn_data_release(rt, hold, stat, why)
  call expect_status(stat, NORN_E_STATE, "second release")
  call norn_data_join(rt, da)
  call norn_data_split(rt, da, [norn_piece(0, 32, 0, 0), norn_piece(32, 32, 0, 0)], parts(:1), stat, why)
  call expect_status(stat, NORN_E_INVALID, "room for too few parts")

  ! A place taken now is filled by a later task.
  call norn_reserve(rt, [norn_write(da)], slots)
  call norn_data_acquire(rt, [norn_read(da)], hold, 0_c_int64_t, stat)
  call expect_status(stat, NORN_E_TIMEOUT, "acquire behind a reserved place")
  later = norn_write(da)
  later%slot = slots(1)
  call norn_submit_subroutine(rt, first_half, accesses=[later])
  call norn_reserve(rt, [norn_write(da)], slots)
  call norn_reserve_abandon(rt, slots(1))
  call norn_data_acquire(rt, [norn_read(da)], hold)
  call norn_data_release(rt, hold)

  call norn_data_alloc(rt, 64_c_int64_t, own, name="own")
  call norn_data_pointer(rt, own, address, bytes)
  call expect_equal(bytes, 64_c_int64_t, "bytes of norn's own")
  call c_f_pointer(address, values, [8])
  call expect(all(values == 0), "norn's own memory is zeroed")
  call norn_data_unregister(rt, own)
  call norn_data_register_name(rt, "only a name", own)
  call norn_data_unregister(rt, own)
  call norn_data_unregister(rt, da)
  call norn_close(rt)
end program
