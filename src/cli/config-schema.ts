/** `svc config schema`: prints the JSON Schema of the configuration file. */
import { jsonSchema } from '../config/json-schema.ts';
import { exitCode, type Command } from './cli.ts';
import { parseFlags, wrongUsage } from './frame/flags.ts';

export const configSchema: Command = {
  name: 'config schema',
  summary: 'Print the JSON Schema of the configuration file',
  usage: `Usage: svc config schema

Prints the JSON Schema (2020-12) of the configuration file. Save it and name it in
"$schema" at the top of svc.json, and an editor completes and checks the fields.`,
  flags: {},
  run(args, io) {
    const parsed = parseFlags(args, {});
    if (parsed.kind === 'wrong') {
      return Promise.resolve(wrongUsage(io, 'config schema', parsed.message));
    }
    io.stdout.write(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
    return Promise.resolve(exitCode.fine);
  },
};
