# SPDX-License-Identifier: BSD-3-Clause
"""links.py DIRECTORY OUTSIDE: symbolic links below the mount point that lead out of it, to OUTSIDE, and back."""
import errno
import os
import stat
import subprocess
import sys

where, outside = sys.argv[1:3]


def fails(code, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except OSError as error:
        assert error.errno == code, f"{call.__name__}{arguments}: {errno.errorcode[error.errno]}, not {errno.errorcode[code]}"
        return
    raise AssertionError(f"{call.__name__}{arguments} succeeded")


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def names(path):
    return sorted(os.listdir(path))


os.mkdir(outside)
os.mkdir(f"{outside}/dir")
write(f"{outside}/file", "outside")
os.chdir(where)
os.mkdir("dir")
write("dir/file", "inside")

# within the servers: relative, absolute, and from above the mount point
os.symlink("dir/file", "relative")
os.symlink(f"{where}/dir", "absolute")
os.symlink("/.." * 2 + where + "/dir", "around")
os.symlink("../" * where.count("/") + "../.." + where + "/dir/file", "up")
assert read("relative") == read("absolute/file") == read("around/file") == read("up") == "inside"
assert os.path.realpath("up") == os.path.realpath("absolute/file") == f"{where}/dir/file"
assert os.stat("relative").st_ino == os.stat("dir/file").st_ino != os.lstat("relative").st_ino
assert os.readlink("relative") == "dir/file" and stat.S_ISLNK(os.lstat("relative").st_mode)
assert {entry.name: entry.is_symlink() for entry in os.scandir(".")} == {
    "dir": False, "relative": True, "absolute": True, "around": True, "up": True}
fails(errno.ENOTDIR, os.stat, "relative/")
fails(errno.ENOTDIR, os.rmdir, "absolute/")
assert stat.S_ISDIR(os.lstat("absolute/").st_mode)

# open
fails(errno.ELOOP, os.open, "relative", os.O_RDONLY | os.O_NOFOLLOW)
fails(errno.ENOTDIR, os.open, "absolute", os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
fails(errno.EEXIST, os.open, "relative", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
os.symlink("dir/new", "dangling")
fails(errno.ENOENT, os.open, "dangling", os.O_RDONLY)
fails(errno.EEXIST, os.mkdir, "dangling")
write("dangling", "made")
assert read("dir/new") == "made" and os.path.islink("dangling")
fd = os.open("relative", os.O_PATH | os.O_NOFOLLOW)
assert stat.S_ISLNK(os.fstat(fd).st_mode) and os.readlink("", dir_fd=fd) == "dir/file"
fails(errno.ENOTDIR, os.fchdir, fd)
os.close(fd)
fd = os.open("relative", os.O_RDONLY)
assert os.readlink(f"/proc/self/fd/{fd}") == f"{where}/dir/file"
os.close(fd)

# what is of the link itself
os.utime("relative", (1, 2), follow_symlinks=False)
assert os.lstat("relative").st_mtime == 2 != os.stat("relative").st_mtime
os.chown("relative", os.getuid(), os.getgid(), follow_symlinks=False)
os.chmod("relative", 0o600)
assert stat.S_IMODE(os.stat("dir/file").st_mode) == 0o600 and stat.S_IMODE(os.lstat("relative").st_mode) == 0o777
os.rename("relative", "renamed")
assert os.readlink("renamed") == "dir/file" and read("renamed") == "inside"
write("plain", "plain")
os.rename("renamed", "plain")
assert os.readlink("plain") == "dir/file" and read("dir/file") == "inside"
os.unlink("plain")
assert read("dir/file") == "inside"
fails(errno.EEXIST, os.symlink, "x", "dangling")
fails(errno.ENOENT, os.symlink, "", "empty")

# ".." and the working directory
os.makedirs("deep/er")
write("deep/file", "deep")
os.symlink("deep/er", "into")
assert read("into/../file") == "deep"
fails(errno.ENOENT, os.stat, "none/../dir")
fails(errno.ENOTDIR, os.stat, "dir/file/../file")
os.chdir("into")
assert os.getcwd() == f"{where}/deep/er" and read("../file") == "deep" and read("../../dir/file") == "inside"
os.chdir(where)
fails(errno.EINVAL, os.rename, "deep", "into/below")

# circles, and how far links are followed
os.symlink("circle", "circle")
fails(errno.ELOOP, os.stat, "circle")
fails(errno.ELOOP, os.open, "circle/x", os.O_RDONLY)
fails(errno.ELOOP, os.open, "circle", os.O_CREAT | os.O_WRONLY)
os.symlink("dir", "chain0")
for i in range(40):
    os.symlink(f"chain{i}", f"chain{i + 1}")
assert read("chain39/file") == "inside"
fails(errno.ELOOP, os.stat, "chain40")
assert stat.S_ISLNK(os.lstat("chain40").st_mode)

# out of the servers
os.symlink(f"{outside}/file", "file")
os.symlink(outside, "out")
os.symlink(f"{outside}/later", "later")
assert read("file") == read("out/file") == "outside" and os.stat("file").st_dev == os.stat(outside).st_dev
assert os.stat("file").st_ino == os.stat(f"{outside}/file").st_ino and os.access("file", os.W_OK)
assert os.path.realpath("out/file") == os.path.realpath(f"{outside}/file") and names("out") == ["dir", "file"]
write("later", "later")
assert read(f"{outside}/later") == "later"
with open("out/file", "a", encoding="ascii") as stream:
    stream.write(" more")
os.truncate("file", 7)
os.chmod("file", 0o640)
assert stat.S_IMODE(os.stat(f"{outside}/file").st_mode) == 0o640 and read("file") == "outside"
os.utime("file", (5, 5))
assert os.stat(f"{outside}/file").st_mtime == 5
os.mkdir("out/made")
os.symlink("file", "out/link")
assert os.readlink("out/link") == "file" and os.readlink(f"{outside}/link") == "file"
os.rename("out/link", "out/made/link")
fails(errno.EXDEV, os.rename, "out/file", "file")
fails(errno.EXDEV, os.rename, "dir/file", "out/moved")
os.unlink("out/made/link")
os.rmdir("out/made")
assert names(outside) == ["dir", "file", "later"] and os.statvfs("out").f_blocks == os.statvfs(outside).f_blocks
assert subprocess.run(["cat", "file"], capture_output=True, text=True).stdout == "outside"
assert subprocess.run(["pwd", "-P"], cwd="into", capture_output=True, text=True).stdout == f"{where}/deep/er\n"
os.chdir("out")
assert os.getcwd() == os.path.realpath(outside) and read("file") == "outside"
os.chdir(where)
fd = os.open("out", os.O_RDONLY | os.O_DIRECTORY)
assert os.read(os.open("file", os.O_RDONLY, dir_fd=fd), 9) == b"outside"
os.close(fd)

# attributes
os.setxattr("dir/file", "user.a", b"value")
os.symlink("dir/file", "attributes")
assert os.getxattr("attributes", "user.a") == b"value" and os.listxattr("attributes") == ["user.a"]
assert os.listxattr("attributes", follow_symlinks=False) == []
fails(errno.ENODATA, os.getxattr, "attributes", "user.a", follow_symlinks=False)
fails(errno.EPERM, os.setxattr, "attributes", "user.a", b"x", follow_symlinks=False)
fails(errno.ERANGE, os.setxattr, "dir/file", "user." + "n" * 255, b"x")
fails(errno.E2BIG, os.setxattr, "dir/file", "user.b", bytes(65537))
os.removexattr("attributes", "user.a")
fd = os.open("dir/file", os.O_RDWR)
os.setxattr(fd, "user.c", b"", os.XATTR_CREATE)
fails(errno.EEXIST, os.setxattr, fd, "user.c", b"", os.XATTR_CREATE)
assert os.listxattr("dir/file") == ["user.c"] and os.getxattr(fd, "user.c") == b""
os.close(fd)
