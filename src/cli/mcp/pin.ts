/** `svc mcp pin`: shows new and changed tools of MCP servers, and pins them. */
import { writePins, type Pin } from '../../config/mcp-pins.ts';
import { plainJson, plainText } from '../../lib/plain-text.ts';
import type { SurveyedServer } from '../../app/mcp-survey.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { agrees, canAsk } from '../ledger/table.ts';
import { nameOf, describeDown, survey, toolLines, type Surveyed } from './survey.ts';

const table = { config: { type: 'string' }, yes: { type: 'boolean' } } as const;

export const mcpPin: Command = {
  name: 'mcp pin',
  summary: 'Look at tools of MCP servers, and let agents use them as they are',
  usage: `Usage: svc mcp pin [--yes] [--config <file>]

Connects to every MCP server that an agent lists. It shows the server's description of each listed
tool that is not pinned as it is now, and asks you. Then it writes a hash of the description into
svc.mcp.json beside the configuration. An agent gets a tool only while it is exactly as pinned. A
running svc takes new pins within seconds.

svc treats a call of a tool as one that changes something: it writes the call down before it runs,
and never repeats it by itself. For a tool that only reads, write "effect": false beside its hash.

  --yes            pin without asking; read the descriptions all the same
  --config <file>  the configuration file (default: svc.json)

Exit codes: 0 every listed tool is pinned, 1 one is not, 2 wrong usage, 78 the configuration
has a problem or a secret is missing.
`,
  flags: table,
  run,
};

const noTerminal = 'There is no terminal to ask at: say --yes to pin what there is.';

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, mcpPin.name, parsed.message);
  const { config, yes } = parsed.flags;
  if (!yes && !canAsk(io)) return wrongUsage(io, mcpPin.name, noTerminal);
  const surveyed = await survey(config, io);
  if (typeof surveyed === 'number') return surveyed;
  const pins = new Map([...surveyed.pins].map(([server, own]) => [server, new Map(own)]));
  let isWhole = true;
  for (const server of surveyed.servers) {
    const news = showChanges(server, surveyed, io);
    isWhole &&= news.isWhole;
    if (news.pins.size === 0) continue;
    const names = [...news.pins.keys()].map((tool) => nameOf(server.server, tool)).join(', ');
    const question = `Pin ${names} as shown? Type "yes": `;
    if (!yes && !(await agrees(io, question, 'It stays as it was.'))) {
      isWhole = false;
      continue;
    }
    const own = pins.get(server.server) ?? new Map<string, Pin>();
    for (const [tool, pin] of news.pins) own.set(tool, pin);
    pins.set(server.server, own);
    try {
      await writePins(surveyed.pinsFile, pins);
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException;
      io.stderr.write(`${surveyed.pinsFile} cannot be written (${code}).\n`);
      return exitCode.failed;
    }
    io.stderr.write(`Pinned in ${surveyed.pinsFile}: ${names}.\n`);
  }
  if (isWhole) io.stderr.write('All that is listed is pinned.\n');
  return isWhole ? exitCode.fine : exitCode.failed;
}

type News = { readonly pins: ReadonlyMap<string, Pin>; readonly isWhole: boolean };

/**
 * Shows new and changed tools. The pin of a changed tool no longer says anything about its effect.
 */
function showChanges(server: SurveyedServer, { pins }: Surveyed, io: Io): News {
  const { server: name, answer } = server;
  if (answer.kind === 'down') {
    io.stderr.write(`${name} is down: ${describeDown(answer)}.\n`);
    return { pins: new Map(), isWhole: false };
  }
  const news = new Map<string, Pin>();
  let isWhole = true;
  for (const { tool, state, changed } of toolLines(server, pins)) {
    if (state === 'not offered') {
      io.stderr.write(`${nameOf(name, tool)} is not offered by the server, or is too large.\n`);
      isWhole = false;
    }
    if (state !== 'not pinned' && state !== 'changed') continue;
    const { description, inputSchema, annotations, hash, parts } = answer.definitions.get(tool)!;
    const why = changed.length === 0 ? 'is not pinned' : `has changed: ${changed.join(', ')}`;
    const notes = annotations === null ? '' : `  annotations: ${plainJson(annotations)}\n`;
    io.stdout.write(
      `${nameOf(name, tool)} ${why}\n` +
        `  the server says: ${indented(plainText(description ?? 'nothing'))}\n` +
        `  schema: ${plainJson(inputSchema)}\n${notes}\n`,
    );
    news.set(tool, { hash, parts, effect: true, pinnedAt: new Date().toISOString() });
  }
  return { pins: news, isWhole };
}

const indented = (text: string): string => text.replaceAll('\n', '\n    ');
