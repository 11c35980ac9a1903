! Copies, fills, kernels, a task that queues work itself, and the program's own stream, from Fortran: what comes back is what the
! steps give one after the other; what is wrong is told. Without a device left out.
module bodies
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  integer(c_int), target :: queued = 0
contains
  integer(c_int32_t) function queue_nothing(self, stream, arg) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: stream, arg
    integer(c_int), pointer :: count
    call c_f_pointer(arg, count)
    count = count + 1
    queue_nothing = merge(0_c_int32_t, 1_c_int32_t, c_associated(stream))
  end function
  ! The same step as the kernel mix_u64, by a carry of the product that Fortran leaves away.
  integer(c_int64_t) function mixed(x, i, key)
    integer(c_int64_t), intent(in) :: x, i, key
    integer(c_int64_t), parameter :: low = int(z"4C957F2D", c_int64_t), high = int(z"5851F42D", c_int64_t)
    integer(c_int64_t) :: v, a, b, carried
    v = ieor(x, key)
    a = iand(v, int(z"FFFFFFFF", c_int64_t))
    b = shiftr(v, 32)
    ! Modulo 2**64 in halves, so that nothing overflows.
    carried = iand(low_times(a, high) + low_times(b, low), int(z"FFFFFFFF", c_int64_t))
    mixed = plus(product_of(a, low), shiftl(carried, 32))
    mixed = plus(mixed, i)
  end function
  integer(c_int64_t) function low_times(a, b)
    integer(c_int64_t), intent(in) :: a, b
    low_times = iand(product_of(a, b), int(z"FFFFFFFF", c_int64_t))
  end function
  ! a * b modulo 2**64 of two numbers below 2**32.
  integer(c_int64_t) function product_of(a, b)
    integer(c_int64_t), intent(in) :: a, b
    integer(c_int64_t) :: a0, a1
    a0 = iand(a, int(z"FFFF", c_int64_t))
    a1 = shiftr(a, 16)
    product_of = plus(a0 * b, shiftl(a1 * b, 16))
  end function
  ! a + b modulo 2**64.
  integer(c_int64_t) function plus(a, b)
    integer(c_int64_t), intent(in) :: a, b
    integer(c_int64_t) :: low, high
    low = iand(a, int(z"FFFFFFFF", c_int64_t)) + iand(b, int(z"FFFFFFFF", c_int64_t))
    high = shiftr(a, 32) + shiftr(b, 32) + shiftr(low, 32)
    plus = ior(shiftl(iand(high, int(z"FFFFFFFF", c_int64_t)), 32), iand(low, int(z"FFFFFFFF", c_int64_t)))
  end function
end module

program test
  use bodies
  implicit none
  interface
    subroutine leave(status) bind(c, name="exit")
      import
      integer(c_int), value :: status
    end subroutine
  end interface
  integer(c_int64_t), parameter :: count = 500
  type(norn_runtime) :: rt
  type(norn_place) :: place
  type(norn_device_info) :: info
  type(norn_module) :: kernels
  type(norn_kernel) :: mix
  type(norn_data) :: x, up, down
  type(norn_token) :: token, recorded
  type(norn_slice) :: part
  type(c_ptr) :: address
  integer(c_int64_t), pointer :: start(:), end(:)
  integer(c_int64_t), target :: n, key, seven
  integer(c_int64_t) :: i
  integer :: stat
  character(200) :: text

  call norn_open(rt)
  call norn_device_open(rt, place, stat=stat)
  if (stat == NORN_E_UNSUPPORTED) then
    print "(2a)", "skipped: ", norn_last_error()
    call norn_close(rt)
    call leave(77_c_int)
  end if
  call expect_status(stat, NORN_OK, "norn_device_open")
  call norn_device_get(rt, place, info)
  call expect(info%total_bytes > 0 .and. info%failed == 0, "the device is known")
  call norn_module_load(rt, place, file_of("TEST_KERNELS"), kernels)
  call norn_kernel_get(rt, kernels, "mix_u64", mix)

  call norn_data_alloc(rt, count * 8, x, kind=NORN_MEMORY_DEVICE, place=place, name="x")
  call norn_data_alloc(rt, count * 8, up, kind=NORN_MEMORY_PINNED)
  call norn_data_alloc(rt, count * 8, down, kind=NORN_MEMORY_PINNED)
  call norn_data_pointer(rt, up, address)
  call c_f_pointer(address, start, [count])
  call norn_data_pointer(rt, down, address)
  call c_f_pointer(address, end, [count])
  do i = 1, count
    start(i) = i * 3
  end do

  n = count
  key = 77
  seven = 7
  call norn_copy(rt, norn_slice_of(up, NORN_I64, count), norn_slice_of(x, NORN_I64, count))
  part = norn_slice_of(x, NORN_I64, 10_c_int64_t)
  part%offset = 20
  call norn_fill(rt, part, c_loc(seven))
  call norn_launch(rt, mix, [norn_pointer(x, NORN_ACCESS_READ_WRITE), norn_value(c_loc(n), c_sizeof(n)), &
    norn_value(c_loc(key), c_sizeof(key))], grid=[4], block=[64])
  call norn_submit_enqueue(rt, c_funloc(queue_nothing), c_loc(queued), name="queue", accesses=[norn_update(x)], place=place)
  call norn_copy(rt, norn_slice_of(x, NORN_I64, count), norn_slice_of(down, NORN_I64, count), token=token)
  call norn_await(rt, token)
  do i = 1, count
    if (i > 20 .and. i <= 30) then
      call expect_equal(end(i), mixed(7_c_int64_t, i - 1, key), "an element that was filled")
    else
      call expect_equal(end(i), mixed(start(i), i - 1, key), "an element")
    end if
  end do
  call expect_equal(queued, 1, "bodies that queue work")

  ! The program's own stream, here the default one.
  call norn_stream_record(rt, place, c_null_ptr, recorded)
  call norn_await(rt, recorded)
  call norn_stream_wait(rt, token, place, c_null_ptr)

  call norn_kernel_get(rt, kernels, "no_such_kernel", mix, stat=stat, errmsg=text)
  call expect_status(stat, NORN_E_INVALID, "a kernel that is not there")
  call expect(index(text, "no_such_kernel") > 0, "the text names it")
  part%offset = count
  call norn_copy(rt, part, norn_slice_of(down, NORN_I64, 10_c_int64_t), stat=stat)
  call expect_status(stat, NORN_E_INVALID, "a slice beyond its datum")
  call norn_data_unregister(rt, x)
  call norn_close(rt)
contains
  function file_of(variable) result(content)
    character(*), intent(in) :: variable
    character(:), allocatable :: content
    character(4096) :: path
    integer :: unit, bytes
    call get_environment_variable(variable, path)
    open (newunit=unit, file=trim(path), access="stream", form="unformatted", status="old", action="read")
    inquire (unit, size=bytes)
    allocate (character(bytes) :: content)
    read (unit) content
    close (unit)
  end function
end program
