# SPDX-License-Identifier: BSD-3-Clause
"""exercise.py DIRECTORY SECONDS [SEED]: random operations on files of a directory, compared with a model in memory.

A file of the model is its bytes and extended attributes, and the names and descriptors that refer to it, so that
unlinking, replacing and renaming of open files is exercised as well. Symbolic links have names of their own.
"""
import errno
import os
import random
import sys
import time

directory, seconds = sys.argv[1], float(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
draw = random.Random(seed)
names = {}  # name -> contents
links = {}  # name -> target
opened = []  # (fd, contents, appends)
log = []
LARGEST = 300000


class File(bytearray):
    def __init__(self):
        super().__init__()
        self.xattrs = {}


def path(name):
    return os.path.join(directory, name)


def fail(text):
    print(f"seed {seed}, operation {len(log)}: {text}")
    print("\n".join(log[-15:]))
    sys.exit(1)


def note(text):
    log.append(text)


def compare(what, got, expected):
    if got != expected:
        at = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), min(len(got), len(expected)))
        fail(f"{what}: {len(got)} bytes, expected {len(expected)}; the first difference is at {at}")


def name_any():
    return f"n{draw.randrange(8)}"


def put(contents, offset, data):
    if len(contents) < offset:
        contents.extend(bytes(offset - len(contents)))
    contents[offset:offset + len(data)] = data


def do_open():
    name, append = name_any(), draw.random() < 0.3
    flags = os.O_RDWR | os.O_CREAT | (os.O_APPEND if append else 0) | (os.O_TRUNC if draw.random() < 0.2 else 0)
    note(f"open {name} {flags:o}")
    fd = os.open(path(name), flags, 0o644)
    contents = names.setdefault(name, File())
    if flags & os.O_TRUNC:
        del contents[:]
    opened.append((fd, contents, append))


def do_close():
    if opened:
        fd, _, _ = opened.pop(draw.randrange(len(opened)))
        note(f"close {fd}")
        os.close(fd)


def do_write():
    if opened:
        fd, contents, append = draw.choice(opened)
        offset, data = draw.randrange(LARGEST), draw.randbytes(draw.choice([1, 100, 4096, 5000, 70000]))
        note(f"write {fd} at {offset}, {len(data)} bytes, append {append}")
        if append:
            offset = len(contents)
            done = os.write(fd, data)
        else:
            done = os.pwrite(fd, data, offset)
        if done != len(data):
            fail(f"{done} bytes were written")
        put(contents, offset, data)


def do_read():
    if opened:
        fd, contents, _ = draw.choice(opened)
        offset, size = draw.randrange(LARGEST), draw.choice([1, 4096, 100000])
        note(f"read {fd} at {offset}, {size} bytes")
        compare("read", os.pread(fd, size, offset), bytes(contents[offset:offset + size]))


def do_truncate():
    size = draw.randrange(LARGEST)
    if opened and draw.random() < 0.5:
        fd, contents, _ = draw.choice(opened)
        note(f"ftruncate {fd} to {size}")
        os.ftruncate(fd, size)
    elif names:
        name = draw.choice(sorted(names))
        contents = names[name]
        note(f"truncate {name} to {size}")
        os.truncate(path(name), size)
    else:
        return
    put(contents, size, b"")
    del contents[size:]


def do_unlink():
    name = name_any()
    note(f"unlink {name}")
    try:
        os.unlink(path(name))
        if name not in names:
            fail(f"{name} could be removed")
        del names[name]
    except FileNotFoundError:
        if name in names:
            fail(f"{name} is not there")


def do_rename():
    old, new = name_any(), name_any()
    note(f"rename {old} {new}")
    try:
        os.rename(path(old), path(new))
        if old not in names:
            fail(f"{old} could be renamed")
        names[new] = names.pop(old)
    except FileNotFoundError:
        if old in names:
            fail(f"{old} is not there")


def do_exclusive():
    name = name_any()
    note(f"create {name}")
    try:
        opened.append((os.open(path(name), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), File(), False))
        if name in names:
            fail(f"{name} was created again")
        names[name] = opened[-1][1]
    except FileExistsError:
        if name not in names:
            fail(f"{name} is there")


def do_list():
    note("list")
    expected = sorted([*names, *links])
    listed = sorted(os.listdir(directory))
    if listed != expected:
        fail(f"listed {listed}, expected {expected}")


def do_stat():
    if opened and draw.random() < 0.5:
        fd, contents, _ = draw.choice(opened)
        note(f"fstat {fd}")
        size = os.fstat(fd).st_size
    elif names:
        name = draw.choice(sorted(names))
        note(f"stat {name}")
        size, contents = os.stat(path(name)).st_size, names[name]
    else:
        return
    if size != len(contents):
        fail(f"size {size}, expected {len(contents)}")


def do_sync():
    if opened:
        fd, _, _ = draw.choice(opened)
        note(f"fsync {fd}")
        os.fsync(fd)


def do_allocate():
    if opened:
        fd, contents, _ = draw.choice(opened)
        offset, length = draw.randrange(LARGEST), draw.randrange(1, 20000)
        note(f"fallocate {fd} {offset} {length}")
        os.posix_fallocate(fd, offset, length)
        put(contents, max(len(contents), offset + length), b"")


def do_whole():
    if names:
        name = draw.choice(sorted(names))
        note(f"read all of {name}")
        with open(path(name), "rb") as file:
            compare(name, file.read(), bytes(names[name]))


def link_any():
    return f"l{draw.randrange(4)}"


def do_symlink():
    name, target = link_any(), draw.choice([name_any(), name_any(), link_any(), "none"])
    note(f"symlink {target} {name}")
    try:
        os.symlink(target, path(name))
        if name in links:
            fail(f"{name} was made again")
        links[name] = target
    except FileExistsError:
        if name not in links:
            fail(f"{name} is there")


def do_unlink_link():
    name = link_any()
    note(f"unlink {name}")
    try:
        os.unlink(path(name))
        if links.pop(name, None) is None:
            fail(f"{name} could be removed")
    except FileNotFoundError:
        if name in links:
            fail(f"{name} is not there")


def do_rename_link():
    old, new = link_any(), link_any()
    note(f"rename {old} {new}")
    try:
        os.rename(path(old), path(new))
        if old not in links:
            fail(f"{old} could be renamed")
        links[new] = links.pop(old)
    except FileNotFoundError:
        if old in links:
            fail(f"{old} is not there")


def do_follow():
    """What is read through a link."""
    name = link_any()
    note(f"read through {name}")
    expected, at = errno.ENOENT, name
    for _ in range(41):
        if at not in links:
            expected = names.get(at, errno.ENOENT)
            break
        at = links[at]
    else:
        expected = errno.ELOOP
    if name in links and os.readlink(path(name)) != links[name]:
        fail(f"{name} leads to {os.readlink(path(name))}, expected {links[name]}")
    try:
        with open(path(name), "rb") as file:
            got = file.read()
        if isinstance(expected, int):
            fail(f"{name} could be read")
        compare(name, got, bytes(expected))
    except OSError as error:
        if error.errno != expected:
            raise


def file_any():
    """Something to hand to calls that take a path or a descriptor, and the file."""
    if opened and draw.random() < 0.5:
        fd, contents, _ = draw.choice(opened)
        return fd, contents
    if names:
        name = draw.choice(sorted(names))
        return path(name), names[name]
    return None, None


def do_set_xattr():
    where, contents = file_any()
    if contents is None:
        return
    name, value = f"user.x{draw.randrange(3)}", draw.randbytes(draw.choice([0, 1, 100, 5000]))
    flags = draw.choice([0, 0, os.XATTR_CREATE, os.XATTR_REPLACE])
    note(f"setxattr {where} {name} {len(value)} {flags}")
    try:
        os.setxattr(where, name, value, flags)
        if flags and (flags == os.XATTR_CREATE) == (name in contents.xattrs):
            fail(f"{name} could be set")
        contents.xattrs[name] = value
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENODATA) or (error.errno == errno.EEXIST) != (name in contents.xattrs):
            raise


def do_remove_xattr():
    where, contents = file_any()
    if contents is None:
        return
    name = f"user.x{draw.randrange(3)}"
    note(f"removexattr {where} {name}")
    try:
        os.removexattr(where, name)
        if contents.xattrs.pop(name, None) is None:
            fail(f"{name} could be removed")
    except OSError as error:
        if error.errno != errno.ENODATA or name in contents.xattrs:
            raise


def do_get_xattrs():
    where, contents = file_any()
    if contents is None:
        return
    note(f"listxattr {where}")
    got = {name: os.getxattr(where, name) for name in os.listxattr(where)}
    if got != contents.xattrs:
        fail(f"xattrs of {sorted(got)}, expected {sorted(contents.xattrs)}")


operations = ([do_open] * 4 + [do_close] * 3 + [do_write] * 10 + [do_read] * 10 + [do_truncate] * 2 + [do_unlink] +
              [do_rename] * 3 + [do_exclusive] + [do_list] + [do_stat] * 4 + [do_sync] + [do_allocate] + [do_whole] * 2 +
              [do_symlink, do_unlink_link, do_rename_link] + [do_follow] * 2 + [do_set_xattr, do_remove_xattr, do_get_xattrs])
end = time.monotonic() + seconds
while time.monotonic() < end:
    if len(opened) > 12:
        do_close()
    try:
        draw.choice(operations)()
    except OSError as error:
        fail(f"{errno.errorcode[error.errno]} {error}")
for each in list(opened):
    compare(f"descriptor {each[0]}", os.pread(each[0], len(each[1]) + 1, 0), bytes(each[1]))
    os.close(each[0])
do_list()
print(f"seed {seed}: {len(log)} operations")
