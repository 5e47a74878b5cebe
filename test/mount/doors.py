# SPDX-License-Identifier: BSD-3-Clause
"""Ways to the same files for test/mount/exercise.py. Each door has those of the operations of `Local` that it offers; paths
are relative to a directory. An operation that fails raises OSError with its errno, or with None where that is not known.

doors.py DIRECTORY: serves a `Local` to another process, as for one with a preloaded library.
"""
import errno
import mmap
import os
import pickle
import subprocess
import sys


class Ended(Exception):
    """The process of a door has ended before its time, or with a failure."""


def end(process):
    process.stdin.close()
    if process.wait() != 0:
        raise Ended(f"{process.args}: status {process.returncode}")


class Local:
    """Calls of the C library."""

    def __init__(self, root):
        self.root = root

    def path(self, name):
        return os.path.join(self.root, name) if name else self.root

    def open(self, name, flags, mode):
        return os.open(self.path(name), flags, mode)

    def close(self, fd):
        os.close(fd)

    def write_at(self, fd, data, offset):
        return os.pwrite(fd, data, offset)

    def write(self, fd, data):
        return os.write(fd, data)

    def read_at(self, fd, size, offset):
        return os.pread(fd, size, offset)

    def truncate(self, where, size):
        os.truncate(self.of(where), size)

    def of(self, where):
        """A descriptor, or the path of a name."""
        return where if isinstance(where, int) else self.path(where)

    def size(self, where):
        return os.stat(self.of(where)).st_size

    def sync(self, fd):
        os.fsync(fd)

    def allocate(self, fd, offset, length):
        os.posix_fallocate(fd, offset, length)

    def map(self, fd, offset, data, size):
        """Through a shared map of `size` bytes: what was there before, and then has the data."""
        with mmap.mmap(fd, size) as area:
            before = area[offset:offset + len(data)]
            area[offset:offset + len(data)] = data
            area.flush()
        return before

    def put(self, name, data):
        """A whole file, which is there already or is made."""
        with open(self.path(name), "wb") as file:
            file.write(data)

    def get(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def unlink(self, name):
        os.unlink(self.path(name))

    def rename(self, old, new):
        os.rename(self.path(old), self.path(new))

    def mkdir(self, name):
        os.mkdir(self.path(name))

    def rmdir(self, name):
        os.rmdir(self.path(name))

    def list(self, name):
        return os.listdir(self.path(name))

    def symlink(self, target, name):
        os.symlink(target, self.path(name))

    def readlink(self, name):
        return os.readlink(self.path(name))

    def set_xattr(self, where, name, value, flags):
        os.setxattr(self.of(where), name, value, flags)

    def remove_xattr(self, where, name):
        os.removexattr(self.of(where), name)

    def xattrs(self, where):
        where = self.of(where)
        return {name: os.getxattr(where, name) for name in os.listxattr(where)}


def send(stream, value):
    data = pickle.dumps(value)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def receive(stream):
    head = stream.read(8)
    return pickle.loads(stream.read(int.from_bytes(head, "little"))) if head else None


class Process:
    """A `Local` in a process with a library in front."""

    def __init__(self, library, root):
        self.process = subprocess.Popen([sys.executable, __file__, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "LD_PRELOAD": library})

    def __getattr__(self, operation):
        if not hasattr(Local, operation):
            raise AttributeError(operation)

        def call(*arguments):
            send(self.process.stdin, (operation, arguments))
            answer = receive(self.process.stdout)
            if answer is None:
                raise Ended(f"the process of the preloaded library ended in {operation} {arguments}")
            if answer[0]:
                raise OSError(answer[0], os.strerror(answer[0]))
            return answer[1]
        return call

    def end(self):
        end(self.process)


class Command:
    """The command `themis`; it tells no errno."""

    def __init__(self, root):
        self.root = root

    def run(self, *words, data=None):
        done = subprocess.run(["themis", *words], input=data, capture_output=True, check=False)
        if done.returncode:
            raise OSError(None, done.stderr.decode(errors="replace").strip())
        return done.stdout

    def path(self, name):
        return f"{self.root}/{name}"

    def put(self, name, data):
        self.run("cp", "-", self.path(name), data=data)

    def get(self, name):
        return self.run("cat", self.path(name))

    def unlink(self, name):
        self.run("rm", self.path(name))

    def mkdir(self, name):
        self.run("mkdir", self.path(name))

    def rmdir(self, name):
        self.run("rmdir", self.path(name))

    def list(self, name):
        return [each.rstrip("/") for each in self.run("ls", self.path(name)).decode().split()]


class Mpi:
    """Accesses by MPI-IO; there has to be such a file."""

    def __init__(self, library, program, root):
        self.root = root
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "LD_PRELOAD": library})

    def ask(self, operation, name, length, offset, data=b""):
        self.process.stdin.write(f"{operation} {length} {offset} {self.root}/{name}\n".encode() + data)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line or int(line) < 0:
            raise OSError(None, f"MPI-IO: {operation} {name}")
        return int(line)

    def write_name_at(self, name, data, offset):
        return self.ask("write", name, len(data), offset, data)

    def read_name_at(self, name, size, offset):
        return self.process.stdout.read(self.ask("read", name, size, offset))

    def end(self):
        end(self.process)


def serve(root):
    local, answers = Local(root), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (asked := receive(sys.stdin.buffer)) is not None:
        try:
            send(answers, (0, getattr(local, asked[0])(*asked[1])))
        except OSError as error:
            send(answers, (error.errno or errno.EIO, None))


if __name__ == "__main__":
    serve(sys.argv[1])
