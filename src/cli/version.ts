/** `svc version`: prints the version of svc. */
import { exitCode, type Command } from './cli.ts';
import { parseFlags, wrongUsage } from './frame/flags.ts';
import { programVersion } from '../lib/program.ts';

export const version: Command = {
  name: 'version',
  summary: 'Print the version of svc',
  usage: `Usage: svc version

Prints the version of svc on one line.
`,
  flags: {},
  run(args, io) {
    const parsed = parseFlags(args, {});
    if (parsed.kind === 'wrong') return Promise.resolve(wrongUsage(io, 'version', parsed.message));
    io.stdout.write(`svc ${programVersion()}\n`);
    return Promise.resolve(exitCode.fine);
  },
};
