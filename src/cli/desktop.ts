/** `svc desktop`: the application with a window, for a person who wants no terminal. */
import { windowKinds } from '../../apps/desktop/desktop.ts';
import { placesOf } from '../../apps/desktop/places.ts';
import type { ShellEnd } from '../../apps/desktop/shell/shell.ts';
import { exitCode, type Command, type Io } from './cli.ts';
import { findConfigFile } from './frame/config-file.ts';
import { parseFlags, wrongUsage } from './frame/flags.ts';
import { commandName, programVersion } from '../lib/program.ts';

const table = {
  config: { type: 'string', values: 'file' },
  window: { type: 'string', values: windowKinds },
  hidden: { type: 'boolean' },
} as const;

export const desktop: Command = {
  name: 'desktop',
  summary: 'Run the service with a window, for people who do not want a terminal',
  usage: `Usage: svc desktop [--config <file>] [--window webview|chromium|browser] [--hidden]

Runs the service and shows its pages in a window of its own. Without a configuration the window
leads through the first run. One runs at a time: a second start shows the window of the first.
It ends by Quit in the window, at the end of the session, or by SIGTERM or SIGINT (Ctrl-C). First it
lets the service finish its work in hand. It does not run as root: secrets and files belong to a
person.

  --config <file>  the configuration file (default: SVC_CONFIG, svc.json, or the one of this user)
  --window <kind>  webview, chromium (an app window of Chromium, Chrome or Edge) or browser (a tab);
                   default: the first of these that works here
  --hidden         begin without showing the window

Exit codes: 0 ended as asked, or the window of a running one is shown; 1 there is no display, no
window, or one runs with another file; 2 wrong usage, or root.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'desktop', parsed.message);
  const { config, window: named, hidden } = parsed.flags;
  const window = windowKinds.find((kind) => kind === named) ?? null;
  if (named !== null && window === null) {
    const message = `--window is one of ${windowKinds.join(', ')}; "${named}" is none of them.`;
    return wrongUsage(io, 'desktop', message);
  }
  if (process.getuid?.() === 0) return refuseRoot(io);
  const places = placesOf(io.env);
  const { runShell } = await import('../../apps/desktop/shell/shell.ts');
  const end = await runShell({
    env: io.env,
    places,
    ...fileOf(config, places.config, io),
    window,
    isHidden: hidden,
    version: programVersion(),
    keychain: async () => {
      const { openKeychain } = await import('../app/keychain.ts');
      return openKeychain({ env: io.env, atTerminal: false });
    },
    onFirst: () => io.stderr.write(`svc runs with a window; its log is in ${places.logs}.\n`),
    stop: io.stop,
    abandon: io.abandon,
  });
  return reportEnd(end, io);
}

/**
 * Ignores a configuration in /etc unless a person named it: it belongs to the machine's service.
 */
function fileOf(
  given: string | null,
  userConfig: string,
  io: Io,
): { readonly config: string; readonly isNamed: boolean } {
  const { path, by } = findConfigFile(given, io);
  const isNamed = by === 'flag' || by === 'variable';
  const isOwn = isNamed || (by === 'found' && !path.startsWith('/etc/'));
  return { config: isOwn ? path : userConfig, isNamed };
}

function refuseRoot(io: Io): number {
  io.stderr.write(
    `svc desktop: this is root. Start it as the person who will use it; a service of the machine ` +
      `is "${commandName(io.env)} serve".\n`,
  );
  return exitCode.usage;
}

function reportEnd(end: ShellEnd, io: Io): number {
  switch (end.kind) {
    case 'ended':
      return exitCode.fine;
    case 'shown':
      io.stderr.write('svc runs already; its window is shown.\n');
      return exitCode.fine;
    case 'other':
      io.stderr.write(
        `svc desktop: it runs already, with ${end.config}. Quit it in its window, then start it ` +
          'with this file.\n',
      );
      return exitCode.failed;
    case 'fault':
      io.stderr.write(`svc desktop: ${end.message}\n`);
      return exitCode.failed;
    default:
      return end satisfies never;
  }
}
