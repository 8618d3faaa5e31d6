/**
 * What all files of a process share. A test file that leaves it changed changes the world of the
 * files that run after it.
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

/** Notes how the process is before a file. */
export function noteState(): void {
  noted = stateNow();
  begun++;
}

/** How many files this process has begun: whoever has it written down knows when his is over. */
export function filesBegun(): number {
  return begun;
}

/** The names of what differs from what was noted. */
export function changesSinceNoted(): readonly string[] {
  const now = stateNow();
  const names = new Set([...noted.keys(), ...now.keys()]);
  return [...names].filter((name) => noted.get(name) !== now.get(name));
}

/** Names what can change, each with its value now. */
function stateNow(): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ['the working directory', process.cwd()],
    ['process.exitCode', process.exitCode],
    ...Object.entries(process.env).map(([name, value]) => [`the variable ${name}`, value] as const),
    ...watched.map((name) => [`the listeners of ${name}`, process.listenerCount(name)] as const),
    ...globals.map((name) => [`the global ${name}`, globalThis[name]] as const),
  ]);
}
