/**
 * What a model wrote as a path, as names below the root. Nothing is decoded and nothing resolved:
 * a name is taken as it stands, so `%2e%2e` is a file of that name, and `..` is refused wherever
 * it stands.
 */
export type Wanted =
  | { readonly kind: 'wanted'; readonly parts: readonly string[] }
  | { readonly kind: 'refused'; readonly text: string; readonly rule: string };

/** UTF-16 code units. */
const pathLengthMax = 4_096;
const partsMax = 64;

/**
 * @param roots absolute paths of the one root: an absolute path must lie under one of them
 * @param windows backslashes part names too, letters count alike in both cases, and a colon
 *   (a drive, a stream of a file) is refused
 */
export function wantedPath(path: string, roots: readonly string[], windows = false): Wanted {
  if (path.length > pathLengthMax) return refused('odd_path', 'The path is too long.');
  if (path.includes('\0') || !path.isWellFormed()) {
    return refused('odd_path', 'The path has characters that no path has.');
  }
  const given = partsOf(path, windows);
  if (given.length > partsMax) return refused('odd_path', 'The path is too deep.');
  if (given.some(leadsUp)) {
    return refused('parent_part', 'A path may not have a part like "..": start from the root.');
  }
  const absolute = isAbsolute(path, windows);
  const parts = absolute ? partsUnder(given, roots, windows) : given;
  if (parts === null || (windows && parts.some((part) => part.includes(':')))) {
    return refused('outside_root', 'That path is not under the folder that may be read.');
  }
  return { kind: 'wanted', parts };
}

function partsOf(path: string, windows: boolean): readonly string[] {
  const parts = path.split(windows ? /[/\\]/ : '/');
  return parts.filter((part) => part !== '' && part !== '.');
}

/**
 * Whether a name is dots alone, also with what some file systems leave out: characters that nobody
 * sees, and spaces at the end.
 */
function leadsUp(part: string): boolean {
  const seen = part.replaceAll(/[\p{Default_Ignorable_Code_Point}\s]/gu, '');
  return seen === '' || /^\.+$/.test(seen);
}

function isAbsolute(path: string, windows: boolean): boolean {
  return windows ? /^(?:[/\\]|[a-z]:)/i.test(path) : path.startsWith('/');
}

function partsUnder(
  given: readonly string[],
  roots: readonly string[],
  windows: boolean,
): readonly string[] | null {
  const same = (a: string, b: string | undefined): boolean =>
    a === b || (windows && a.toLowerCase() === b?.toLowerCase());
  for (const root of roots) {
    const above = partsOf(root, windows);
    if (above.every((part, index) => same(part, given[index]))) return given.slice(above.length);
  }
  return null;
}

function refused(rule: string, text: string): Wanted {
  return { kind: 'refused', rule, text };
}
