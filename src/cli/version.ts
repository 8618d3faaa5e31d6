import { exitCode, type Command } from './cli.ts';
import { programVersion } from './program.ts';

export const version: Command = {
  name: 'version',
  summary: 'Print the version of svc',
  usage: `svc version

Prints the version of svc on one line.
`,
  run(_args, io) {
    io.stdout.write(`svc ${programVersion()}\n`);
    return Promise.resolve(exitCode.fine);
  },
};
