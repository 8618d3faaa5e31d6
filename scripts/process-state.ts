/**
 * What all files of a process share: where a test file leaves it changed, the files behind it run
 * in another world.
 */

export type ProcessState = ReadonlyMap<string, unknown>;

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

/** Names what can change, each with what it is just now. */
export function processState(): ProcessState {
  return new Map<string, unknown>([
    ['the working directory', process.cwd()],
    ['process.exitCode', process.exitCode],
    ...Object.entries(process.env).map(([name, value]) => [`the variable ${name}`, value] as const),
    ...watched.map((name) => [`the listeners of ${name}`, process.listenerCount(name)] as const),
    ...globals.map((name) => [`the global ${name}`, globalThis[name]] as const),
  ]);
}

/** The names of what is not as it was. */
export function changesBetween(before: ProcessState, after: ProcessState): readonly string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name));
}
