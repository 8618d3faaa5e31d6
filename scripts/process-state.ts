/**
 * Watches the state that all test files of a process share. A file that leaves it changed affects
 * the files after it.
 */

const watched = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'uncaughtException',
  'unhandledRejection',
  'message',
  'disconnect',
] as const;
const globals = ['fetch', 'setTimeout', 'setInterval', 'setImmediate', 'Date', 'console'] as const;

let noted = stateNow();
let begun = 0;

/** Records the state before a file. */
export function noteState(): void {
  noted = stateNow();
  begun++;
}

/** Counts the files that this process has begun; the count changes when a file is over. */
export function filesBegun(): number {
  return begun;
}

/** Returns the names of the values that differ from the recorded state. */
export function changesSinceNoted(): readonly string[] {
  const now = stateNow();
  const names = new Set([...noted.keys(), ...now.keys()]);
  return [...names].filter((name) => noted.get(name) !== now.get(name));
}

/** The names of all values that can change, with their present values. */
function stateNow(): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ['the working directory', process.cwd()],
    ['process.exitCode', process.exitCode],
    ...Object.entries(process.env).map(([name, value]) => [`the variable ${name}`, value] as const),
    ...watched.map((name) => [`the listeners of ${name}`, process.listenerCount(name)] as const),
    ...globals.map((name) => [`the global ${name}`, globalThis[name]] as const),
  ]);
}
