#!/usr/bin/env bash
# Makes a Debian 13 with WebKitGTK and systemd in a folder (default: .tmp/debian-13). The webview
# needs a newer C library than some systems have, and the Debian package is tested on a bare system.
# Needs root and debootstrap. Does nothing in a finished folder, and adds missing packages to the
# folder of an older script. `--is-finished` only reports, by its exit code, whether it is finished.
# The tests mount the other folders that they need.
set -euo pipefail
asks=
if [ "${1:-}" = --is-finished ]; then
  asks=1
  shift
fi
root="${1:-$(cd "$(dirname "$0")/.." && pwd)/.tmp/debian-13}"
packages='libwebkit2gtk-4.1-0 libxdo3 libayatana-appindicator3-1 fonts-dejavu-core'
packages="$packages systemd-sysv adduser libatomic1"
if [ -e "$root/finished" ] && [ "$(cat "$root/finished")" = "$packages" ]; then exit 0; fi
[ -z "$asks" ] || exit 1

add_packages() {
  local apt=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$1" apt-get -qq)
  "${apt[@]}" update >>"$root.log" 2>&1
  # shellcheck disable=SC2086 # Each is a word.
  "${apt[@]}" install --yes --no-install-recommends $packages >>"$root.log" 2>&1
  chroot "$1" apt-get clean
  rm -rf "$1"/var/lib/apt/lists/*
}

if [ -e "$root/finished" ]; then
  # If this fails, the folder counts as unfinished, and the next run makes it again.
  rm "$root/finished"
  add_packages "$root"
else
  making="$root.making"
  rm -rf "$making"
  mkdir -p "$making"
  debootstrap --variant=minbase --exclude=tzdata trixie "$making" >"$root.log"
  # Its files need not survive a crash, and nobody reads its manuals.
  cat >"$making/etc/dpkg/dpkg.cfg.d/small" <<'END'
force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
END
  # Installs must start no service.
  printf '#!/bin/sh\nexit 101\n' >"$making/usr/sbin/policy-rc.d"
  chmod +x "$making/usr/sbin/policy-rc.d"
  add_packages "$making"
  rm -rf "$root"
  mv "$making" "$root"
fi
printf '%s\n' "$packages" >"$root/finished"
rm "$root.log"
