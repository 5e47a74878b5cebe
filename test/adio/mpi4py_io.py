# SPDX-License-Identifier: BSD-3-Clause
"""MPI-IO by mpi4py: mpirun -n N python3 mpi4py_io.py FILE. Each rank compares what it reads, and ends with 0 if all is right."""
import sys

from mpi4py import MPI

BLOCK = 5000
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
name = sys.argv[1]


def block(seed):
    """The bytes that rank `seed` writes."""
    return bytearray((seed * 31 + i) % 251 for i in range(BLOCK))


def expect(condition, what):
    """Raises for a condition that is false."""
    if not condition:
        raise AssertionError(f"rank {rank}: {what}")


def neighbour(file, read):
    """The block of the next rank, by a function that reads at an offset."""
    file.Sync()
    world.Barrier()
    file.Sync()
    other = (rank + 1) % ranks
    found = bytearray(BLOCK)
    status = MPI.Status()
    read(other * BLOCK, found, status)
    expect(found == block(other), "the bytes of the next rank")
    expect(status.Get_count(MPI.BYTE) == BLOCK, "the count in the status")
    world.Barrier()


def wait(request, status):
    """The end of a non-blocking call."""
    request.Wait(status)


def collective(file):
    """Explicit offsets, blocking, non-blocking and split."""
    file.Write_at_all(rank * BLOCK, block(rank))
    neighbour(file, file.Read_at_all)
    request = file.Iwrite_at_all(rank * BLOCK, block(rank))
    while not request.Test():
        pass
    neighbour(file, lambda at, found, status: wait(file.Iread_at_all(at, found), status))
    data = block(rank)
    file.Write_at_all_begin(rank * BLOCK, data)
    file.Write_at_all_end(data)
    neighbour(file, file.Read_at)


def several(file):
    """Several operations under way on two files, and messages meanwhile; ended in any order."""
    with_other = MPI.File.Open(world, name + ".other", MPI.MODE_RDWR | MPI.MODE_CREATE)
    data = [block(rank + k) for k in range(6)]
    at = [(k * ranks + rank) * BLOCK for k in range(6)]
    files = [file, with_other]
    requests = [files[k % 2].Iwrite_at_all(at[k], data[k]) for k in range(6)]
    requests += [files[k % 2].Iwrite_at(at[k], data[k]) for k in range(6)]
    expect(world.allreduce(1) == ranks, "a message while requests are under way")
    MPI.Request.Waitall(requests if rank % 2 else requests[::-1])
    found = [bytearray(BLOCK) for _ in range(6)]
    MPI.Request.Waitall([files[k % 2].Iread_at(at[k], found[k]) for k in range(6)])
    expect(found == data, "what each of the operations wrote")
    requests = [file.Iread_at_all(at[k], found[k]) for k in (0, 2)]
    file.Write_at_all(at[0], data[0])
    MPI.Request.Waitall(requests)
    with_other.Close()


def view(file):
    """A strided view and the individual pointer."""
    filetype = MPI.INT.Create_vector(BLOCK // 100, 1, ranks).Commit()
    file.Set_view(4 * rank, MPI.INT, filetype, "native")
    data = bytearray(block(rank)[: 4 * (BLOCK // 100)])
    file.Write_all([data, MPI.INT])
    expect(file.Get_position() == BLOCK // 100, "the position, in etypes")
    file.Seek(0)
    found = bytearray(len(data))
    file.Read([found, MPI.INT])
    expect(found == data, "what was written through the view")
    file.Set_view(0, MPI.BYTE, MPI.BYTE, "native")
    filetype.Free()


def shared(file):
    """The shared pointer: each rank's block is somewhere, in rank order if ordered."""
    file.Seek_shared(0)
    file.Write_ordered(block(rank))
    expect(file.Get_position_shared() == ranks * BLOCK, "the shared pointer")
    neighbour(file, file.Read_at)
    file.Seek_shared(0)
    found = bytearray(BLOCK)
    file.Read_shared(found)
    world.Barrier()
    places = world.allgather(found[0])
    expect(sorted(places) == sorted(block(k)[0] for k in range(ranks)), "each block by one rank")


def failure(function, error_class, what):
    """Raises MPI.Exception of the class, whose text names what is wrong."""
    try:
        function()
    except MPI.Exception as error:
        expect(error.Get_error_class() == error_class, f"{error_class}, not {error.Get_error_class()}: {error}")
        expect(what in error.Get_error_string(), f"{what} in {error.Get_error_string()}")
        return
    expect(False, f"no exception: {what}")


def errors(file):
    """Exceptions, and error handlers of a file."""
    absent = name + ".absent"
    failure(lambda: MPI.File.Open(world, absent, MPI.MODE_RDONLY), MPI.ERR_NO_SUCH_FILE, "absent")
    failure(lambda: MPI.File.Delete(absent), MPI.ERR_NO_SUCH_FILE, "absent")
    failure(lambda: MPI.File.Open(world, name, MPI.MODE_RDWR | MPI.MODE_RDONLY), MPI.ERR_AMODE, "MPI_MODE_RDWR")
    failure(lambda: file.Write_at(-1, block(0)), MPI.ERR_ARG, "negative")
    failure(lambda: file.Set_size(-1), MPI.ERR_ARG, "negative")
    failure(lambda: file.Set_view(0, MPI.BYTE, MPI.BYTE, "odd"), MPI.ERR_UNSUPPORTED_DATAREP, "representation")
    only = MPI.File.Open(world, name, MPI.MODE_RDONLY)
    failure(lambda: only.Write_at(0, block(0)), MPI.ERR_READ_ONLY, "reading")
    only.Set_errhandler(MPI.ERRORS_ARE_FATAL)
    expect(only.Get_errhandler() == MPI.ERRORS_ARE_FATAL, "the handler that was set")
    expect(file.Get_errhandler() == MPI.ERRORS_RETURN, "the other file's handler")
    expect(MPI.File.f2py(only.py2f()) == only, "the Fortran handle")
    only.Close()
    for number in range(200):
        failure(lambda: MPI.File.Open(MPI.COMM_SELF, f"{absent}{number}", MPI.MODE_RDONLY), MPI.ERR_NO_SUCH_FILE,
                f"absent{number}")


def attributes(file):
    """What a file says of itself."""
    expect(file.Get_amode() == MPI.MODE_RDWR | MPI.MODE_CREATE, "the mode")
    expect(file.Get_group().Get_size() == ranks, "the group")
    file.Set_size(12345)
    expect(file.Get_size() == 12345, "the size")
    file.Preallocate(20000)
    expect(file.Get_size() == 20000, "the size that was preallocated")
    file.Set_atomicity(True)
    expect(file.Get_atomicity(), "atomic mode")
    file.Set_atomicity(False)
    expect(file.Get_info().Get("striping_unit") is not None, "the hints")


def run():
    """All on one file."""
    file = MPI.File.Open(world, name, MPI.MODE_RDWR | MPI.MODE_CREATE)
    for part in (collective, several, view, shared, errors, attributes):
        part(file)
    file.Close()
    expect(not file, "the handle is null")
    world.Barrier()
    if rank == 0:
        MPI.File.Delete(name)


try:
    run()
except BaseException as error:  # the other ranks would wait
    print(f"rank {rank}: {error!r}", file=sys.stderr, flush=True)
    world.Abort(1)
