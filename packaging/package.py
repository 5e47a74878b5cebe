# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: packages/themis/package.py of a repository of your own ("spack repo create").
from spack.package import *


class Themis(AutotoolsPackage):
    """Parallel I/O servers for MPI programs, with shares for jobs, users and groups."""

    homepage = "https://example.org/themis"
    url = "https://example.org/themis/themis-0.1.0.tar.xz"

    license("BSD-3-Clause")

    # "spack checksum themis" adds the releases of your mirror; a git clone is built with "spack dev-build".
    version("develop", branch="main", git="https://example.org/themis.git")

    variant("fuse", default=True, description="themis mount")
    variant("glpk", default=True, description="Linear programs that shorten periodic I/O schedules")

    depends_on("autoconf@2.71:", type="build", when="@develop")
    depends_on("automake@1.16:", type="build", when="@develop")
    depends_on("libtool", type="build", when="@develop")
    depends_on("pkgconfig", type="build")
    depends_on("perl", type="build")
    depends_on("uthash", type="build")
    depends_on("check@0.15:", type="build")

    # the library stands in front of this MPICH, and is built from its ROMIO
    depends_on("mpich@4.0.2")
    depends_on("ucx@1.12:")
    depends_on("hwloc@2.4:")
    depends_on("rdma-core")
    depends_on("rocksdb")
    depends_on("xxhash@0.8:")
    depends_on("inih")
    depends_on("nettle@3.4:")
    depends_on("jansson@2.13:")
    depends_on("libmicrohttpd")
    depends_on("ncurses")
    depends_on("libfuse@3.12:", when="+fuse")
    depends_on("glpk", when="+glpk")

    resource(
        name="mpich",
        url="https://www.mpich.org/static/downloads/4.0.2/mpich-4.0.2.tar.gz",
        sha256="5a42f1a889d4a2d996c26e48cbf9c595cbf4316c6814f7c181e3320d21dedd42",
        destination="",
        placement="mpich-source",
    )

    def configure_args(self):
        return [
            "MPICC=" + self.spec["mpich"].mpicc,
            "--without-openmpi",
            "--with-romio-source=" + join_path(self.stage.source_path, "mpich-source"),
        ] + self.with_or_without("fuse") + self.with_or_without("glpk")

    def setup_run_environment(self, env):
        env.set("THEMIS_ROOT", self.prefix)
