# SPDX-License-Identifier: BSD-3-Clause
"""calls.py CASE DIRECTORY: single POSIX calls below a mount, and what they are to give."""
import errno
import fcntl
import os
import stat
import sys
import time

where = sys.argv[2]


def at(name):
    return os.path.join(where, name)


def fails(code, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno == code, f"{call.__name__}{arguments}: {errno.errorcode[error.errno]}, not {errno.errorcode[code]}"
        return
    raise AssertionError(f"{call.__name__}{arguments} succeeded")


def write(name, data=b"data"):
    with open(at(name), "wb") as file:
        file.write(data)


def errors():
    write("file")
    os.mkdir(at("dir"))
    write("dir/below")
    fails(errno.ENOENT, os.stat, at("none"))
    fails(errno.ENOENT, os.open, at("none/x"), os.O_CREAT | os.O_WRONLY)
    fails(errno.ENOTDIR, os.stat, at("file/x"))
    fails(errno.ENOTDIR, os.rmdir, at("file"))
    fails(errno.EISDIR, os.unlink, at("dir"))
    fails(errno.ENOTEMPTY, os.rmdir, at("dir"))
    fails(errno.EEXIST, os.mkdir, at("dir"))
    fails(errno.EEXIST, os.open, at("file"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    fails(errno.EISDIR, os.open, at("dir"), os.O_WRONLY)
    fails(errno.ENOTDIR, os.open, at("file"), os.O_RDONLY | os.O_DIRECTORY)
    fails(errno.EISDIR, os.rename, at("file"), at("dir"))
    fails(errno.ENOTDIR, os.rename, at("dir"), at("file"))
    fails(errno.EINVAL, os.rename, at("dir"), at("dir/inside"))
    fails(errno.ENAMETOOLONG, os.stat, at("n" * 256))
    fails(errno.EPERM, os.link, at("file"), at("link"))
    fails(errno.EPERM, os.mkfifo, at("fifo"))
    fails(errno.EOPNOTSUPP, os.setxattr, at("file"), "security.x", b"1")
    fails(errno.ENODATA, os.getxattr, at("file"), "user.x")
    fails(errno.EINVAL, os.truncate, at("file"), -1)
    fd = os.open(at("file"), os.O_RDONLY)
    fails(errno.EBADF, os.write, fd, b"x")
    fails(errno.ENXIO, os.lseek, fd, 4, os.SEEK_DATA)
    assert os.lseek(fd, 1, os.SEEK_DATA) == 1 and os.lseek(fd, 1, os.SEEK_HOLE) == 4
    os.close(fd)


def attributes():
    old = os.umask(0o027)
    os.close(os.open(at("made"), os.O_CREAT | os.O_WRONLY, 0o666))
    assert stat.S_IMODE(os.stat(at("made")).st_mode) == 0o640
    os.umask(old)
    os.chmod(at("made"), 0o4751)
    assert stat.S_IMODE(os.stat(at("made")).st_mode) == 0o4751
    os.truncate(at("made"), 10000)
    found = os.stat(at("made"))
    assert found.st_size == 10000 and found.st_nlink == 1 and found.st_ino != 0
    later = time.time_ns() + 3600 * 10**9
    os.utime(at("made"), ns=(later, later))
    assert os.stat(at("made")).st_mtime_ns == later
    write("made", b"bytes")
    os.utime(at("made"), ns=(10**18, 10**18))
    assert os.stat(at("made")).st_mtime_ns == 10**18
    before = time.time_ns()
    write("made", b"others")
    assert before - 10**9 < os.stat(at("made")).st_mtime_ns < later
    assert os.stat(at("made")).st_ino == found.st_ino
    os.rename(at("made"), at("renamed"))
    assert os.stat(at("renamed")).st_ino == found.st_ino
    os.mkdir(at("group"))
    space = os.statvfs(where)
    assert space.f_blocks > 0 and 0 < space.f_bavail <= space.f_blocks and space.f_namemax == 255


def unlinked():
    write("gone", b"before")
    fd = os.open(at("gone"), os.O_RDWR)
    os.unlink(at("gone"))
    assert not os.path.exists(at("gone")) and os.listdir(where) == [], os.listdir(where)
    assert os.pread(fd, 10, 0) == b"before" and os.pwrite(fd, b"after!!", 0) == 7
    assert os.fstat(fd).st_size == 7 and os.fstat(fd).st_nlink == 0
    os.ftruncate(fd, 3)
    os.fchmod(fd, 0o600)
    os.fsync(fd)
    write("gone", b"another")
    assert os.pread(fd, 10, 0) == b"aft"
    os.close(fd)
    write("new", b"new")
    fd = os.open(at("gone"), os.O_RDWR)
    os.rename(at("new"), at("gone"))
    assert os.pread(fd, 10, 0) == b"another"
    assert open(at("gone"), "rb").read() == b"new"
    assert os.listdir(where) == ["gone"]
    os.close(fd)
    os.mkdir(at("d"))
    write("d/f", b"kept")
    fd = os.open(at("d/f"), os.O_RDONLY)
    os.unlink(at("d/f"))
    os.rmdir(at("d"))
    assert os.listdir(where) == ["gone"] and os.pread(fd, 10, 0) == b"kept"
    os.close(fd)


def append_flag():
    write("log", b"0123456789")
    fd = os.open(at("log"), os.O_RDWR)
    os.write(fd, b"ab")
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    os.write(fd, b"end")
    assert open(at("log"), "rb").read() == b"ab23456789end"
    fcntl.fcntl(fd, fcntl.F_SETFL, 0)
    os.pwrite(fd, b"X", 2)
    assert open(at("log"), "rb").read() == b"abX3456789end"
    os.close(fd)


def append_lines():
    processes, lines = 8, 200
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            fd = os.open(at("lines"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            for line in range(lines):
                os.write(fd, f"{number} {line} {'x' * (number * 37 + line % 50)} end\n".encode())
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    seen = open(at("lines")).read().split("\n")
    assert seen.pop() == "" and len(seen) == processes * lines, len(seen)
    for number in range(processes):
        own = [line for line in seen if line.startswith(f"{number} ")]
        assert own == [f"{number} {line} {'x' * (number * 37 + line % 50)} end" for line in range(lines)]


def directories():
    for i in range(3000):
        os.close(os.open(at(f"entry{i:05}"), os.O_CREAT | os.O_WRONLY))
    assert sorted(os.listdir(where)) == [f"entry{i:05}" for i in range(3000)]
    with os.scandir(where) as entries:
        assert all(entry.is_file(follow_symlinks=False) for entry in entries)
    os.mkdir(at("tree"))
    os.makedirs(at("tree/a/b/c"))
    write("tree/a/b/c/f", b"deep")
    fd = os.open(at("tree/a/b/c/f"), os.O_RDONLY)
    inode = os.stat(at("tree/a/b")).st_ino
    os.rename(at("tree"), at("moved"))
    assert open(at("moved/a/b/c/f"), "rb").read() == b"deep" and os.pread(fd, 9, 0) == b"deep"
    assert os.stat(at("moved/a/b")).st_ino == inode
    fails(errno.ENOENT, os.stat, at("tree"))
    os.close(fd)


{"errors": errors, "attributes": attributes, "unlinked": unlinked, "append_flag": append_flag,
 "append_lines": append_lines, "directories": directories}[sys.argv[1]]()
