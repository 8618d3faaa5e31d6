#!/usr/bin/env bash
# Makes a Debian 13 with WebKitGTK in a folder, for the tests of the webview: its library needs a
# newer C library than some systems have. Without an argument, in .tmp/debian-13. Needs root and
# debootstrap; does nothing where the folder is finished. The tests mount what else they need.
set -euo pipefail
root="${1:-$(cd "$(dirname "$0")/.." && pwd)/.tmp/debian-13}"
[ ! -e "$root/finished" ] || exit 0
making="$root.making"
rm -rf "$making"
mkdir -p "$making"

debootstrap --variant=minbase --exclude=tzdata trixie "$making" >"$making.log"
# Nothing of it has to outlive a crash, and nobody reads its manuals.
cat >"$making/etc/dpkg/dpkg.cfg.d/small" <<'END'
force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
END
# No service is started in there.
printf '#!/bin/sh\nexit 101\n' >"$making/usr/sbin/policy-rc.d"
chmod +x "$making/usr/sbin/policy-rc.d"
env DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$making" \
  apt-get -qq install --yes --no-install-recommends \
  libwebkit2gtk-4.1-0 libxdo3 libayatana-appindicator3-1 fonts-dejavu-core >>"$making.log" 2>&1
chroot "$making" apt-get clean
rm -rf "$making"/var/lib/apt/lists/*
touch "$making/finished"
rm -rf "$root"
mv "$making" "$root"
rm "$making.log"
