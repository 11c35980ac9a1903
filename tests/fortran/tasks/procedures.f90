! The ways to give a task: a bind(c) function with an argument, one with an argument of its own type, a copied argument
! with a drop, subroutines with and without an index, and the structures of C.
module bodies
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  integer :: total = 0, dropped = 0
  type, bind(c) :: pair
    integer(c_int) :: a, b
  end type
contains
  integer(c_int32_t) function add(self, arg) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    integer, pointer :: n
    call c_f_pointer(arg, n)
    total = total + n
    add = 0
  end function
  integer(c_int32_t) function add_pair(self, arg) bind(c)
    type(norn_self), value :: self
    type(pair), intent(inout) :: arg
    total = total + arg%a * arg%b
    add_pair = 0
  end function
  subroutine drop(arg) bind(c)
    type(c_ptr), value :: arg
    type(pair), pointer :: it
    call c_f_pointer(arg, it)
    dropped = dropped + it%a
  end subroutine
  subroutine plain()
    total = total + 1000
  end subroutine
  subroutine indexed(i)
    integer, intent(in) :: i
    total = total + 10000 * i
  end subroutine
  integer(c_int32_t) function seven(self, arg) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    seven = 7
  end function
end module

program test
  use bodies
  implicit none
  type(norn_runtime) :: rt
  type(norn_token) :: token, tokens(3)
  type(norn_task) :: task, tasks(3)
  type(norn_error_info) :: info
  type(c_funptr) :: typed, destroy
  integer, target :: n = 5
  type(pair), target :: p
  integer :: stat

  call norn_open(rt, norn_config(workers=1))
  call norn_submit(rt, add, c_loc(n), token=token)
  call norn_await(rt, token)
  call expect_equal(total, 5, "function")

  typed = c_funloc(add_pair)
  destroy = c_funloc(drop)
  p = pair(3, 4)
  call norn_submit(rt, typed, c_loc(p), drop=destroy, arg_bytes=int(c_sizeof(p)), token=token)
  p = pair(100, 100) ! norn has a copy
  call norn_await(rt, token)
  call expect_equal(total, 17, "copied argument of its own type")
  call expect_equal(dropped, 3, "drop got the copy")

  call norn_submit_subroutine(rt, plain, after=[token], token=token)
  call norn_submit_subroutine(rt, indexed, 2, after=[token], token=token, name="indexed")
  call norn_await(rt, token)
  call expect_equal(total, 21017, "subroutines")

  task%run = c_funloc(add)
  task%arg = c_loc(n)
  call norn_submit(rt, task, token)
  call norn_await(rt, token)
  call expect_equal(total, 21022, "structure")
  tasks = task
  call norn_submit_many(rt, tasks, tokens)
  call norn_await_all(rt, tokens)
  call expect_equal(total, 21037, "three structures")
  call norn_submit_many(rt, tasks(:0))
  call norn_submit_many(rt, tasks, tokens(:2), stat)
  call expect_status(stat, NORN_E_INVALID, "room for too few tokens")
  tasks(2)%flags = 1024
  call norn_submit_many(rt, tasks, stat=stat)
  call expect_status(stat, NORN_E_INVALID, "all or nothing")
  call norn_drain(rt)
  call expect_equal(total, 21037, "nothing of a refused batch")

  call norn_submit(rt, seven, token=token)
  call norn_await(rt, token, stat=stat)
  call expect_status(stat, NORN_E_TASK_FAILED, "a code of its own")
  call norn_error(rt, token, info)
  call expect_equal(int(info%code), 7, "the code")
  call norn_close(rt, stat)
end program
