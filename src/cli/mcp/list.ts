/** `svc mcp list`: shows the MCP servers, and the state of each of their tools. */
import { plainJson } from '../../lib/plain-text.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { left, table as tableOf } from '../ledger/table.ts';
import { nameOf, describeDown, survey, toolLines, type Surveyed } from './survey.ts';

const table = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const mcpList: Command = {
  name: 'mcp list',
  summary: 'Show the MCP servers, and which of their tools are pinned',
  usage: `Usage: svc mcp list [--config <file>] [--json]

Connects to every MCP server that an agent lists, as a running svc does (it starts a command for
this, and ends it). It shows each tool: pinned; changed since it was pinned, and how; not pinned;
not offered by the server; or not listed, so no agent can use it. If a server is down, it says why.
For a program it also shows the end of its stderr. It calls no tool.

  --config <file>  the configuration file (default: svc.json)
  --json           print {"servers": [{"server", "state", "reason", "stderr", "tools"}]}

Exit codes: 0 every listed tool is as it was pinned, 1 one is not, 2 wrong usage, 78 the
configuration has a problem or a secret is missing.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, mcpList.name, parsed.message);
  const surveyed = await survey(parsed.flags.config, io);
  if (typeof surveyed === 'number') return surveyed;
  io.stdout.write(parsed.flags.json ? asJson(surveyed) : asTable(surveyed));
  return isFine(surveyed) ? exitCode.fine : exitCode.failed;
}

function isFine({ servers, pins }: Surveyed): boolean {
  return servers.every((server) =>
    toolLines(server, pins).every(({ state }) => state === 'pinned' || state === 'not listed'),
  );
}

function asJson({ servers, pins }: Surveyed): string {
  const rows = servers.map((one) => {
    const { server, answer } = one;
    const isDown = answer.kind === 'down';
    const [reason, stderr] = isDown ? [answer.reason, answer.said] : [null, null];
    const state = isDown ? 'down' : 'connected';
    return { server, state, reason, stderr, tools: toolLines(one, pins) };
  });
  return `${plainJson({ servers: rows }, 2)}\n`;
}

function asTable({ servers, pins }: Surveyed): string {
  const rows = servers.flatMap((one) => {
    const { server, answer } = one;
    const state = answer.kind === 'down' ? `down: ${describeDown(answer)}` : 'connected';
    const lines = toolLines(one, pins).map(({ tool, state: own, changed }) => [
      nameOf(server, tool),
      changed.length === 0 ? own : `${own}: ${changed.join(', ')}`,
    ]);
    return [[server, state], ...lines];
  });
  return tableOf([left('server or tool'), left('state')], rows);
}
