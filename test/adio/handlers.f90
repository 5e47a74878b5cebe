! SPDX-License-Identifier: BSD-3-Clause
! Error handlers of files in Fortran programs: handlers_f CASE FILE, on any file system; the exit status is 0 if all checks
! passed.
module seen
    implicit none
    integer :: called = 0, code_seen = 0, faults = 0
contains
    ! The file that MPICH 4.0 passes is half of a C pointer, on any file system; so only the code is
    ! checked.
    subroutine handler(file, code)
        integer :: file, code
        called = called + 1
        code_seen = code
    end subroutine handler

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(len=*), intent(in) :: what
        if (condition) return
        faults = faults + 1
        write (0, '(2a)') 'failed: ', what
    end subroutine expect
end module seen

program handlers
    use mpi
    use seen
    implicit none
    character(len=200) :: which, name
    integer :: error

    call MPI_INIT(error)
    call get_command_argument(1, which)
    call get_command_argument(2, name)
    select case (which)
    case ('own')
        call own_handler
    case ('return')
        call errors_return
    case default
        faults = 1
    end select
    call MPI_FINALIZE(error)
    if (faults /= 0) stop 1
contains
    integer function open_file()
        call MPI_FILE_OPEN(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, open_file, error)
        if (error /= MPI_SUCCESS) call MPI_ABORT(MPI_COMM_WORLD, 1, error)
    end function open_file

    ! A wrong call: a count below 0.
    integer function wrong(file)
        integer, intent(in) :: file
        integer :: bytes(1)
        bytes = 0
        call MPI_FILE_WRITE_AT(file, 0_MPI_OFFSET_KIND, bytes, -1, MPI_INTEGER, MPI_STATUS_IGNORE, wrong)
    end function wrong

    integer function class_of(code)
        integer, intent(in) :: code
        call MPI_ERROR_CLASS(code, class_of, error)
    end function class_of

    subroutine own_handler
        integer :: file, own, found, code
        file = open_file()
        call MPI_FILE_CREATE_ERRHANDLER(handler, own, error)
        call expect(error == MPI_SUCCESS, 'a handler is made')
        call MPI_FILE_SET_ERRHANDLER(file, own, error)
        call MPI_FILE_GET_ERRHANDLER(file, found, error)
        call expect(found == own, 'the handler is the file''s')
        call MPI_ERRHANDLER_FREE(found, error)
        code = wrong(file)
        call expect(called == 1 .and. code_seen == code, 'it is called once, with the code')
        call expect(class_of(code) == MPI_ERR_COUNT, 'and the call returns the code')
        call MPI_FILE_CALL_ERRHANDLER(file, MPI_ERR_IO, error)
        call expect(error == MPI_SUCCESS .and. called == 2 .and. code_seen == MPI_ERR_IO, 'it can be called')
        call MPI_FILE_SET_ERRHANDLER(file, MPI_ERRORS_RETURN, error)
        code = wrong(file)
        call expect(class_of(code) == MPI_ERR_COUNT .and. called == 2, 'MPI_ERRORS_RETURN only returns')
        call MPI_ERRHANDLER_FREE(own, error)
        call MPI_FILE_CLOSE(file, error)
        call expect(error == MPI_SUCCESS, 'the file closes')
    end subroutine own_handler

    ! MPI_ERRORS_RETURN is the default for files.
    subroutine errors_return
        integer :: file, code, rank
        call MPI_FILE_OPEN(MPI_COMM_WORLD, trim(name)//'.missing', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
        call expect(class_of(code) == MPI_ERR_NO_SUCH_FILE, 'a file that is not there')
        call MPI_FILE_OPEN(MPI_COMM_WORLD, name, MPI_MODE_RDONLY + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
        call expect(class_of(code) == MPI_ERR_AMODE, 'a wrong mode')
        file = open_file()
        call expect(class_of(wrong(file)) == MPI_ERR_COUNT, 'a wrong count')
        call MPI_FILE_SEEK(file, -4_MPI_OFFSET_KIND, MPI_SEEK_SET, code)
        call expect(class_of(code) == MPI_ERR_ARG, 'a wrong offset')
        call MPI_FILE_CLOSE(file, error)
        call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
        if (rank == 0) call MPI_FILE_DELETE(name, MPI_INFO_NULL, error)
        call expect(error == MPI_SUCCESS, 'delete')
        call MPI_BARRIER(MPI_COMM_WORLD, error)
        call MPI_FILE_DELETE(name, MPI_INFO_NULL, code)
        call expect(class_of(code) == MPI_ERR_NO_SUCH_FILE, 'delete once more')
    end subroutine errors_return
end program handlers
