# SPDX-License-Identifier: BSD-3-Clause
"""exercise.py [OPTION...] DIRECTORY SECONDS [SEED]: random operations on files of a directory, and directories below it,
compared with a model in memory.

A file of the model is its bytes and extended attributes, and the names and descriptors that refer to it, so that
unlinking, replacing and renaming of open files is exercised as well. Symbolic links have names of their own.

Each option adds a door: another way to the files of the same directory. Then each operation goes through one that is
drawn, and nothing is removed that is open, as it ends with its name for other doors.

  --preload LIBRARY DIRECTORY    calls of a process with this library in front
  --command DIRECTORY            the command themis
  --mpi LIBRARY PROGRAM DIRECTORY   MPI-IO by test/mount/mpi_door.c
"""
import errno
import os
import random
import sys
import time

import doors

arguments = sys.argv[1:]
others = []
while arguments and arguments[0].startswith("--"):
    option = arguments.pop(0)
    kind, words = {"--preload": (doors.Process, 2), "--command": (doors.Command, 1), "--mpi": (doors.Mpi, 3)}[option]
    others.append(kind(*arguments[:words]))
    del arguments[:words]
directory, seconds = arguments[0], float(arguments[1])
seed = int(arguments[2]) if len(arguments) > 2 else int(time.time())
draw = random.Random(seed)
own = doors.Local(directory)
every = [own, *others]
opened = []  # Open
log = []
LARGEST = 300000
# How late another door may see that a directory has gone or has another name.
LATE = 1.2


class File(bytearray):
    def __init__(self):
        super().__init__()
        self.xattrs = {}


class Link(str):
    pass


root = {}  # a directory: name -> File, Link or another directory


class Open:
    def __init__(self, door, fd, contents, appends):
        self.door, self.fd, self.contents, self.appends = door, fd, contents, appends


def fail(text):
    print(f"seed {seed}, operation {len(log)}: {text}")
    print("\n".join(log[-15:]))
    sys.exit(1)


def note(door, text):
    log.append(f"{type(door).__name__}: {text}")


def compare(what, got, expected):
    if got != expected:
        at = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), min(len(got), len(expected)))
        fail(f"{what}: {len(got)} bytes, expected {len(expected)}; the first difference is at {at}")


def door_for(operation):
    return draw.choice([door for door in every if hasattr(door, operation)])


def expect(call, expected, what):
    """Makes the call, which is to fail with one of these errnos, or succeed if there are none. A door that knows none says
    None. Returns the result, or None."""
    try:
        result = call()
    except OSError as error:
        if not expected or (error.errno is not None and error.errno not in expected):
            names = [errno.errorcode[each] for each in expected]
            fail(f"{what}: {error}; expected {names or 'success'}")
        return None
    if expected:
        fail(f"{what} succeeded, expected {[errno.errorcode[each] for each in expected]}")
    return result


# --- the model


def all_of(kind, at=None, prefix=""):
    """Paths and nodes of a kind, at any depth."""
    for name, node in sorted((root if at is None else at).items()):
        if isinstance(node, kind):
            yield prefix + name, node
        if isinstance(node, dict):
            yield from all_of(kind, node, prefix + name + "/")


def directory_any():
    """"" or the path of a directory with a slash."""
    found = [""] + [path + "/" for path, _ in all_of(dict)]
    return draw.choice(found) if draw.random() < 0.97 else "none/"


def name_any():
    return f"{directory_any()}n{draw.randrange(6)}"


def link_any():
    return f"l{draw.randrange(4)}"


def directory_name_any():
    parent = directory_any()
    return f"{parent if parent.count('/') < 3 else ''}d{draw.randrange(3)}"


def place(path):
    """The directory in which the last name of a path is, and that name; None: there is no such directory."""
    *parents, name = path.split("/")
    at = root
    for each in parents:
        at = at.get(each)
        if not isinstance(at, dict):
            return None, name
    return at, name


def find(path):
    at, name = place(path)
    return None if at is None else at.get(name)


def file_any():
    found = list(all_of(File))
    return draw.choice(found) if found else (None, None)


def put(contents, offset, data):
    if len(contents) < offset:
        contents.extend(bytes(offset - len(contents)))
    contents[offset:offset + len(data)] = data


def truncate(contents, size):
    put(contents, size, b"")
    del contents[size:]


# --- open files


def close_all(contents):
    """Before another door removes it."""
    if others:
        for each in [each for each in opened if each.contents is contents]:
            opened.remove(each)
            each.door.close(each.fd)


def do_open():
    name, append = name_any(), draw.random() < 0.3
    at, last = place(name)
    flags = os.O_RDWR | os.O_CREAT | (os.O_APPEND if append else 0)
    flags |= (os.O_TRUNC if draw.random() < 0.2 else 0) | (os.O_EXCL if draw.random() < 0.1 else 0)
    there = at is not None and last in at
    door = door_for("open")
    note(door, f"open {name} {flags:o}")
    expected = {errno.ENOENT} if at is None else {errno.EEXIST} if there and flags & os.O_EXCL else set()
    fd = expect(lambda: door.open(name, flags, 0o644), expected, f"open {name}")
    if fd is None:
        return
    contents = at.setdefault(last, File())
    if flags & os.O_TRUNC:
        del contents[:]
    opened.append(Open(door, fd, contents, append))


def do_close():
    if opened:
        each = opened.pop(draw.randrange(len(opened)))
        note(each.door, f"close {each.fd}")
        each.door.close(each.fd)


def do_write():
    if opened:
        each = draw.choice(opened)
        offset, data = draw.randrange(LARGEST), draw.randbytes(draw.choice([1, 100, 4096, 5000, 70000]))
        note(each.door, f"write {each.fd} at {offset}, {len(data)} bytes, append {each.appends}")
        if each.appends:
            offset = len(each.contents)
            done = each.door.write(each.fd, data)
        else:
            done = each.door.write_at(each.fd, data, offset)
        if done != len(data):
            fail(f"{done} bytes were written")
        put(each.contents, offset, data)


def do_read():
    if opened:
        each = draw.choice(opened)
        offset, size = draw.randrange(LARGEST), draw.choice([1, 4096, 100000])
        note(each.door, f"read {each.fd} at {offset}, {size} bytes")
        compare("read", each.door.read_at(each.fd, size, offset), bytes(each.contents[offset:offset + size]))


def do_map():
    """A shared map of the whole file, changed at some place."""
    if not opened:
        return
    each = draw.choice(opened)
    if not each.contents:
        return
    offset, size = draw.randrange(len(each.contents)), len(each.contents)
    data = draw.randbytes(min(draw.choice([1, 100, 5000]), size - offset))
    note(each.door, f"map {each.fd}, {len(data)} bytes at {offset} of {size}")
    try:
        before = each.door.map(each.fd, offset, data, size)
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
        return  # this door has no shared maps
    compare("map", before, bytes(each.contents[offset:offset + len(data)]))
    put(each.contents, offset, data)


def do_sync():
    if opened:
        each = draw.choice(opened)
        note(each.door, f"fsync {each.fd}")
        each.door.sync(each.fd)


def do_allocate():
    if opened:
        each = draw.choice(opened)
        offset, length = draw.randrange(LARGEST), draw.randrange(1, 20000)
        note(each.door, f"fallocate {each.fd} {offset} {length}")
        each.door.allocate(each.fd, offset, length)
        put(each.contents, max(len(each.contents), offset + length), b"")


def anywhere(operation):
    """A door, something to hand to calls that take a path or a descriptor, and the file. Attributes are kept with the name,
    which is not known of a descriptor when another door has changed it."""
    if opened and draw.random() < 0.5 and not (others and "xattr" in operation):
        each = draw.choice(opened)
        return each.door, each.fd, each.contents
    name, contents = file_any()
    return door_for(operation), name, contents


def do_truncate():
    size, (door, where, contents) = draw.randrange(LARGEST), anywhere("truncate")
    if contents is not None:
        note(door, f"truncate {where} to {size}")
        door.truncate(where, size)
        truncate(contents, size)


def do_size():
    door, where, contents = anywhere("size")
    if contents is not None:
        note(door, f"stat {where}")
        size = door.size(where)
        if size != len(contents):
            fail(f"size {size}, expected {len(contents)}")


# --- whole files


def do_get():
    name, contents = file_any()
    if name:
        door = door_for("get")
        note(door, f"read all of {name}")
        compare(name, door.get(name), bytes(contents))


def do_put():
    name = name_any()
    at, last = place(name)
    data, door = draw.randbytes(draw.choice([0, 1, 3000, 90000])), door_for("put")
    if isinstance(door, doors.Command) and at is not None and last in at:
        close_all(at[last])  # it may be made anew
    note(door, f"put {name}, {len(data)} bytes")
    expect(lambda: door.put(name, data), {errno.ENOENT} if at is None else set(), f"put {name}")
    if at is not None:
        contents = at.setdefault(last, File())
        if isinstance(door, doors.Command):
            contents.xattrs = seen_xattrs(name, contents)
        contents[:] = data


def seen_xattrs(name, contents):
    """Of a file that a command has written: those of before, or none, as it may be another file."""
    found = own.xattrs(name)
    if found not in ({}, contents.xattrs):
        fail(f"xattrs of {sorted(found)}, expected {sorted(contents.xattrs)} or none")
    return found


def do_by_name():
    """Accesses that open and close the file themselves."""
    name, contents = file_any()
    usable = [door for door in every if hasattr(door, "read_name_at")]
    if not name or not usable:
        return
    door, offset = draw.choice(usable), draw.randrange(LARGEST)
    if draw.random() < 0.5:
        data = draw.randbytes(draw.choice([1, 4096, 50000]))
        note(door, f"write {name} at {offset}, {len(data)} bytes")
        if door.write_name_at(name, data, offset) != len(data):
            fail("less was written")
        put(contents, offset, data)
    else:
        size = draw.choice([1, 4096, 100000])
        note(door, f"read {name} at {offset}, {size} bytes")
        compare(name, door.read_name_at(name, size, offset), bytes(contents[offset:offset + size]))


# --- names


def do_unlink():
    name = name_any()
    at, last = place(name)
    there = at is not None and last in at
    if there:
        close_all(at[last])
    door = door_for("unlink")
    note(door, f"unlink {name}")
    expect(lambda: door.unlink(name), set() if there else {errno.ENOENT}, f"unlink {name}")
    if there:
        del at[last]


def do_rename():
    old, new = name_any(), name_any()
    (old_at, old_name), (new_at, new_name) = place(old), place(new)
    good = old_at is not None and old_name in old_at and new_at is not None
    if good and old != new:
        close_all(new_at.get(new_name))
    door = door_for("rename")
    note(door, f"rename {old} {new}")
    expect(lambda: door.rename(old, new), set() if good else {errno.ENOENT}, f"rename {old} {new}")
    if good:
        new_at[new_name] = old_at.pop(old_name)


def do_list():
    where = directory_any().rstrip("/")
    at = root if not where else find(where)
    door = door_for("list")
    note(door, f"list {where}")
    listed = expect(lambda: door.list(where), set() if at is not None else {errno.ENOENT}, f"list {where}")
    if listed is not None and sorted(listed) != sorted(at):
        fail(f"listed {sorted(listed)}, expected {sorted(at)}")


# --- directories


def settle():
    if others:
        time.sleep(LATE)


def do_mkdir():
    name = directory_name_any()
    at, last = place(name)
    door = door_for("mkdir")
    note(door, f"mkdir {name}")
    expect(lambda: door.mkdir(name), {errno.ENOENT} if at is None else {errno.EEXIST} if last in at else set(), f"mkdir {name}")
    if at is not None:
        at.setdefault(last, {})


def do_rmdir():
    name = directory_name_any()
    at, last = place(name)
    node, door = find(name), door_for("rmdir")
    note(door, f"rmdir {name}")
    expect(lambda: door.rmdir(name), {errno.ENOENT} if node is None else {errno.ENOTEMPTY} if node else set(), f"rmdir {name}")
    if node == {} and node is not None:
        del at[last]
        settle()


def do_rename_directory():
    old, new = directory_name_any(), directory_name_any()
    (old_at, old_name), (new_at, new_name) = place(old), place(new)
    door, node, there = door_for("rename"), find(old), find(new)
    expected = set()
    if node is None or new_at is None:
        expected.add(errno.ENOENT)
    if (new + "/").startswith(old + "/") and new != old:
        expected.add(errno.EINVAL)
    if there and there is not node:
        expected |= {errno.ENOTEMPTY, errno.EEXIST}
    if (old + "/").startswith(new + "/") and new != old:
        expected |= {errno.ENOTEMPTY, errno.EEXIST}
    note(door, f"rename {old} {new}")
    expect(lambda: door.rename(old, new), expected, f"rename {old} {new}")
    if not expected:
        new_at[new_name] = old_at.pop(old_name)
        settle()


# --- symbolic links, in the directory itself


def do_symlink():
    name, target = link_any(), draw.choice([name_any(), name_any(), link_any(), "none"])
    door = door_for("symlink")
    note(door, f"symlink {target} {name}")
    expect(lambda: door.symlink(target, name), {errno.EEXIST} if name in root else set(), f"symlink {name}")
    root.setdefault(name, Link(target))


def do_unlink_link():
    name, door = link_any(), door_for("unlink")
    note(door, f"unlink {name}")
    expect(lambda: door.unlink(name), set() if name in root else {errno.ENOENT}, f"unlink {name}")
    root.pop(name, None)


def do_rename_link():
    old, new = link_any(), link_any()
    door = door_for("rename")
    note(door, f"rename {old} {new}")
    expect(lambda: door.rename(old, new), set() if old in root else {errno.ENOENT}, f"rename {old} {new}")
    if old in root:
        root[new] = root.pop(old)


def do_follow():
    """What is read through a link."""
    name, door = link_any(), door_for("readlink")
    note(door, f"read through {name}")
    node, at = root.get(name), name
    for _ in range(41):
        if not isinstance(node, Link):
            break
        at, node = node, find(node)
    expected = {errno.ELOOP} if isinstance(node, Link) else {errno.ENOENT} if node is None else set()
    if name in root and door.readlink(name) != root[name]:
        fail(f"{name} leads to {door.readlink(name)}, expected {root[name]}")
    got = expect(lambda: door.get(name), expected, f"read {name}, which leads to {at}")
    if got is not None:
        compare(name, got, bytes(node))


# --- extended attributes


def do_set_xattr():
    door, where, contents = anywhere("set_xattr")
    if contents is None:
        return
    name, value = f"user.x{draw.randrange(3)}", draw.randbytes(draw.choice([0, 1, 100, 5000]))
    flags = draw.choice([0, 0, os.XATTR_CREATE, os.XATTR_REPLACE])
    note(door, f"setxattr {where} {name} {len(value)} {flags}")
    expected = set()
    if flags == os.XATTR_CREATE and name in contents.xattrs:
        expected = {errno.EEXIST}
    if flags == os.XATTR_REPLACE and name not in contents.xattrs:
        expected = {errno.ENODATA}
    expect(lambda: door.set_xattr(where, name, value, flags), expected, f"setxattr {where}")
    if not expected:
        contents.xattrs[name] = value


def do_remove_xattr():
    door, where, contents = anywhere("remove_xattr")
    if contents is None:
        return
    name = f"user.x{draw.randrange(3)}"
    note(door, f"removexattr {where} {name}")
    expect(lambda: door.remove_xattr(where, name), set() if name in contents.xattrs else {errno.ENODATA}, f"removexattr {where}")
    contents.xattrs.pop(name, None)


def do_get_xattrs():
    door, where, contents = anywhere("xattrs")
    if contents is None:
        return
    note(door, f"listxattr {where}")
    got = door.xattrs(where)
    if got != contents.xattrs:
        fail(f"xattrs of {sorted(got)}, expected {sorted(contents.xattrs)}")


operations = ([do_open] * 40 + [do_close] * 30 + [do_write] * 100 + [do_read] * 100 + [do_truncate] * 20 + [do_unlink] * 10 +
              [do_rename] * 30 + [do_list] * 10 + [do_size] * 40 + [do_sync] * 10 + [do_allocate] * 10 + [do_get] * 20 +
              [do_put] * 10 + [do_map] * 20 + [do_by_name] * (60 if others else 0) +
              [do_symlink, do_unlink_link, do_rename_link] * 10 + [do_follow] * 20 +
              [do_set_xattr, do_remove_xattr, do_get_xattrs] * 10 + [do_mkdir] * 5 +
              [do_rmdir, do_rename_directory] * (1 if others else 5))


def run():
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if len(opened) > 12:
            do_close()
        draw.choice(operations)()
    for each in list(opened):
        compare(f"descriptor {each.fd}", each.door.read_at(each.fd, len(each.contents) + 1, 0), bytes(each.contents))
        each.door.close(each.fd)
    for name, contents in all_of(File):
        for door in every:
            if hasattr(door, "get"):
                compare(name, door.get(name), bytes(contents))
    do_list()
    for door in others:
        if hasattr(door, "end"):
            door.end()


try:
    run()
except OSError as error:
    fail(f"{errno.errorcode.get(error.errno)} {error}")
except doors.Ended as error:
    fail(error)
print(f"seed {seed}: {len(log)} operations, {len(every)} doors")
