# shellcheck shell=bash
# The Debian packages, for run.sh, which sources this file: built by CPack, installed into a scratch root by dpkg
# with a copy of this machine's list of packages, used, and removed.

scratch=$work/debian/root
database=$work/debian/database
# dpkg on the scratch root. The scripts of a package run outside it, where `ldconfig` is ours and works on it; what
# other packages would do about a trigger is left to them.
in_scratch() {
    PATH="$work/debian/bin:$PATH" ${fakeroot:-} dpkg --instdir="$scratch" --admindir="$database" --log="$work/debian/log" \
        --force-not-root --force-script-chrootless --no-triggers "$@"
}
files_in() { (cd "$1" && find . ! -type d | sort); }

debian_built() {
    another_norn "$top" n5 -G Ninja -DCMAKE_INSTALL_PREFIX=/usr -DCPACK_PACKAGE_CONTACT="norn packagers <norn@example.org>"
    DESTDIR=$work/debian/whole cmake --install n5
    (umask 077 && cd n5 && cpack -G DEB)
    runtime=$work/n5/libnorn0_$version-1_$(dpkg --print-architecture).deb
    development=$work/n5/libnorn-dev_$version-1_$(dpkg --print-architecture).deb
    [ -f "$runtime" ]
    [ -f "$development" ]
}
debian_split() { # nothing in both, nothing lost, and only what runs in the first
    local plug_in
    mkdir -p debian/r debian/d debian/m
    dpkg-deb -x n5/libnorn0_*.deb debian/r
    dpkg-deb -x n5/libnorn-dev_*.deb debian/d
    for plug_in in n5/libnorn0-*_*.deb; do
        [ -e "$plug_in" ] || continue
        dpkg-deb -f "$plug_in" Depends | grep -F "libnorn0 (= $version-1)"
        dpkg-deb -f "$plug_in" Depends | no -iE 'mpi|mpich'
        dpkg-deb -x "$plug_in" debian/m
    done
    files_in debian/m | no -vE '/libnorn_mpi_[a-z]+\.so$|/doc/libnorn0-[a-z]+/copyright$'
    files_in debian/r | no -vE '/libnorn\.so\.0[.0-9]*$|/doc/libnorn0/copyright$'
    files_in debian/d | grep -E '/libnorn\.so$'
    [ -z "$(comm -12 <(files_in debian/r) <(files_in debian/d))" ]
    diff <(sort <(files_in debian/r) <(files_in debian/d) <(files_in debian/m) | grep -v /copyright) <(files_in debian/whole | grep -v /doc/norn/)
    find debian/r debian/d debian/m -mindepth 1 -type d ! -perm 755 | no .
}
debian_fields() {
    dpkg-deb -f n5/libnorn0_*.deb Depends | grep -E '^libc6 \(>= 2\.[0-9]+\), libgcc-s1 '
    dpkg-deb -f n5/libnorn-dev_*.deb Depends | grep -F "libnorn0 (= $version-1), "
    mkdir -p debian/control
    dpkg-deb -e n5/libnorn0_*.deb debian/control
    grep -Fx 'activate-noawait ldconfig' debian/control/triggers
    grep -Fx "libnorn 0 libnorn0 (>= $version)" debian/control/shlibs
    # The symbols file says the same as the library.
    dpkg-gensymbols -plibnorn0 -v"$version" -Pdebian/r -Idebian/control/symbols -Odebian/symbols -c4
}
debian_installed() {
    mkdir -p "$scratch" debian/bin "$database/updates" "$database/triggers"
    printf '#!/bin/sh\nexec "%s" -r "%s" "$@"\n' "$(PATH="/usr/sbin:/sbin:$PATH" command -v ldconfig)" "$scratch" >debian/bin/ldconfig
    chmod +x debian/bin/ldconfig
    cp /var/lib/dpkg/status /var/lib/dpkg/available "$database/" 2>/dev/null || cp /var/lib/dpkg/status "$database/"
    cp -r /var/lib/dpkg/info "$database/"
    mkdir -p "$scratch/etc"
    echo "/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" >"$scratch/etc/ld.so.conf"
    in_scratch --install n5/libnorn0_*.deb n5/libnorn-dev_*.deb
    in_scratch --status libnorn0 libnorn-dev | grep -c 'Status: install ok installed' | grep -x 2
    "$work/debian/bin/ldconfig" -p 2>/dev/null | grep -F libnorn.so.0
    mkdir -p debian/consumer
    consumer installed debian/consumer/b -G Ninja -DCONSUMER_LANGUAGES=C -DCMAKE_PREFIX_PATH="$scratch/usr"
    with_pkg_config "$scratch/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/pkgconfig"
}
debian_depended_on() { # dpkg-shlibdeps finds the package that a program needs, by the symbols it uses
    mkdir -p debian/source/debian
    printf 'Source: app\n\nPackage: app\nArchitecture: any\n' >debian/source/debian/control
    dpkg-deb -R n5/libnorn0_*.deb debian/source/debian/libnorn0
    (cd debian/source && dpkg-shlibdeps -Sdebian/libnorn0 -O "$work/debian/consumer/b/smoke_c") | tee debian/depends
    grep -F 'libnorn0 (>= 0.1)' debian/depends
}
debian_removed() { # development files first, as the dependency wants; nothing may stay
    if in_scratch --remove libnorn0; then return 1; fi
    in_scratch --purge libnorn-dev libnorn0
    find "$scratch" -iname '*norn*' | no .
    find "$database/info" -name 'libnorn*' | no .
    PATH="$work/debian/bin:$PATH" ldconfig -p | no libnorn
}

if has dpkg-shlibdeps && has dpkg-gensymbols && has cpack; then
    fakeroot=
    if [ "$(id -u)" -eq 0 ] || has fakeroot; then
        [ "$(id -u)" -eq 0 ] || fakeroot=fakeroot
        check "debian: CPack makes libnorn0 and libnorn-dev" debian_built
        check "debian: the two have all files, each once" debian_split
        check "debian: dependencies, symbols, shlibs, trigger" debian_fields
        check "debian: installed into a scratch root, consumers build and run" debian_installed
        check "debian: a program that was built so depends on libnorn0" debian_depended_on
        check "debian: removed without a trace" debian_removed
    fi
else
    echo "# debian packages left out: no dpkg-dev here"
fi
