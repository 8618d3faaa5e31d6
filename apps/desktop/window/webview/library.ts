/**
 * The library of the webview. Only the window's own process loads it, since a failure in it can end
 * the process without an error.
 */
import { createRequire } from 'node:module';
import type * as Library from '@webviewjs/webview';
import { sessionBusAddress } from '../../../../src/lib/session-bus.ts';

export type WebviewLibrary = typeof Library;

/** The version of the C library that the library's Linux binaries need. */
const glibcMin = { major: 2, minor: 39 };

export type WebviewFacts = {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  /** A version such as `2.39`; null: another C library, or another system. */
  readonly glibc: string | null;
  /** Whether a package of that name is installed. */
  readonly isInstalled: (name: string) => boolean;
};

/** The facts of this machine. Loads nothing. */
export function webviewFacts(): WebviewFacts {
  const require = createRequire(import.meta.url);
  const isInstalled = (name: string): boolean => {
    try {
      return require.resolve(name) !== '';
    } catch {
      return false;
    }
  };
  const { platform, arch } = process;
  return { platform, arch, glibc: platform === 'linux' ? glibcVersion() : null, isInstalled };
}

function glibcVersion(): string | null {
  // Without this, the report resolves the host names of all connected addresses.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as {
    readonly header?: { readonly glibcVersionRuntime?: string };
  };
  return header?.glibcVersionRuntime ?? null;
}

/** @returns null: it probably runs here, judged without loading it; else what is missing */
export function whyNoWebview({ platform, arch, glibc, isInstalled }: WebviewFacts): string | null {
  if (!isInstalled('@webviewjs/webview')) return 'its library is not installed';
  if (!isInstalled(`@webviewjs/webview-${nativeName(platform, arch)}`)) {
    return `its library has no part for ${platform} on ${arch} here`;
  }
  if (platform !== 'linux') return null;
  const [major = 0, minor = 0] = (glibc ?? '').split('.').map(Number);
  const isNew = major > glibcMin.major || (major === glibcMin.major && minor >= glibcMin.minor);
  const least = `${glibcMin.major}.${glibcMin.minor}`;
  return isNew ? null : `it needs glibc ${least} or newer, and this is ${glibc ?? 'another'}`;
}

function nativeName(platform: NodeJS.Platform, arch: string): string {
  const kind = { linux: '-gnu', win32: '-msvc' }[platform as string] ?? '';
  return `${platform}-${arch}${kind}`;
}

export type Loaded =
  | { readonly kind: 'loaded'; readonly library: WebviewLibrary; readonly version: string }
  | { readonly kind: 'fault'; readonly why: string };

/** Loads the library into this process. */
export async function loadWebview(): Promise<Loaded> {
  try {
    const library = await import('@webviewjs/webview');
    return { kind: 'loaded', library, version: library.getWebviewVersion() };
  } catch (error) {
    return { kind: 'fault', why: whyNotLoaded(error) };
  }
}

/** The message of the system's loader is at the end of a chain of causes. */
function whyNotLoaded(error: unknown): string {
  let missing = '';
  for (let one = error; one instanceof Error; one = one.cause) {
    missing = /(\S+\.so[.\d]*): cannot open shared object file/.exec(one.message)?.[1] ?? missing;
  }
  if (missing !== '') return `${missing} is missing on this system`;
  return 'its library could not be loaded';
}

/** Whether the system has this shared library. Only for Linux. */
export function hasSharedLibrary(file: string): boolean {
  try {
    process.dlopen({ exports: {} }, file);
    return true;
  } catch (error) {
    // An existing library is loaded, and then refused because it is no module of Node.
    return error instanceof Error && /self-register/.test(error.message);
  }
}

/** The icon in the tray and the task bar: an arrow on a rounded square. Pure. */

const side = 64;
const corner = 14;
const back = [0x1d, 0x4f, 0xc4] as const;
const arrow = [0xff, 0xff, 0xff] as const;

/** Red, green, blue and opacity of each pixel, row by row. */
export function drawIcon(): {
  readonly data: Buffer;
  readonly width: number;
  readonly height: number;
} {
  const data = Buffer.alloc(side * side * 4);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      if (!isInSquare(x, y)) continue;
      const colour = isInArrow(x, y) ? arrow : back;
      data.set([...colour, 0xff], (y * side + x) * 4);
    }
  }
  return { data, width: side, height: side };
}

function isInSquare(x: number, y: number): boolean {
  const [dx, dy] = [x, y].map((at) => Math.max(corner - at, at - (side - 1 - corner), 0));
  return Math.hypot(dx!, dy!) <= corner;
}

function isInArrow(x: number, y: number): boolean {
  const off = Math.abs(y - side / 2);
  const isShaft = off <= 4 && x >= 14 && x < 40;
  const isHead = x >= 34 && x <= 50 && off <= 50 - x;
  return isShaft || isHead;
}

// Finds out whether a program shows trays here. On Linux a tray can always be created, but nobody
// sees it if no program owns the watcher's name, as on a plain GNOME. Source:
// https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/StatusNotifierWatcher/

type Env = Readonly<Record<string, string | undefined>>;

const watcher = 'org.kde.StatusNotifierWatcher';
/** A bus answers within some milliseconds; after this time, it counts as hanging. */
const answerMs = 1_000;

export async function hasTrayHost(
  env: Env,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> {
  if (platform === 'darwin' || platform === 'win32') return true;
  const busAddress = sessionBusAddress(env);
  if (busAddress === null) return false;
  const library = await import('dbus-native').catch(() => null);
  if (library === null) return false;
  const { promise: none, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), answerMs);
  try {
    const bus = library.createClient({ busAddress });
    bus.connection.on('error', () => resolve(false));
    try {
      return await Promise.race([
        none,
        bus.nameHasOwner(watcher).then(
          (has) => has,
          () => false,
        ),
      ]);
    } finally {
      bus.connection.end();
    }
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
