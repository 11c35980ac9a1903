! A logical result has the right value and nothing beside it is touched, whatever the kind of logical is in this build.
program test
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  type :: guarded
    sequence
    integer(c_int8_t) :: before(8)
    logical :: done
    integer(c_int8_t) :: after(8)
  end type
  type(guarded) :: it
  type(norn_runtime) :: rt
  type(norn_token) :: token
  integer :: i
  it%before = -86
  it%after = -86
  call norn_open(rt)
  do i = 1, 2
    call norn_promise(rt, token)
    it%done = .true.
    call norn_test(rt, token, it%done)
    call expect(.not. it%done .and. (it%done .eqv. .false.), "false")
    call norn_fulfill(rt, token)
    it%done = .false.
    call norn_test(rt, token, it%done)
    call expect(it%done .and. (it%done .eqv. .true.), "true")
    call expect(all(it%before == -86) .and. all(it%after == -86), "the guards")
  end do
  call norn_close(rt)
end program
