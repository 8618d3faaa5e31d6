/**
 * `svc approvals`: lists and shows calls of tools that wait for a person's yes, and decides them
 * through the running svc.
 */
import {
  approvalStates,
  type ApprovalRow,
  type ApprovalState,
  type ApprovalText,
} from '../../domain/approval.ts';
import type { Page } from '../../domain/page.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { locateLedger, locateLedgerStrictly, withService, withReader } from './access.ts';
import { limitRange, pageFlags, printList } from './pages.ts';
import { indented } from './trace.ts';
import { left, localTime, table } from './table.ts';

const listTable = { ...pageFlags, state: { type: 'string' } } as const;
const flagTable = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const approvalsList: Command = {
  name: 'approvals list',
  summary: 'List tool calls that wait for approval',
  usage: `Usage: svc approvals list [--state <state>] [--limit <n>] [--after <next>]
                          [--config <file>] [--json]

Lists tool calls that wait for a person's approval, newest first, without their arguments.

  --state <state>  ${approvalStates.join(', ')} (default: waiting)
  --limit <n>      at most so many, ${limitRange}
  --after <next>   go on where the list before ended
  --config <file>  the configuration file (default: svc.json)
  --json           print {"rows", "next"}
`,
  flags: listTable,
  run: list,
};

export const approvalsShow: Command = {
  name: 'approvals show',
  summary: 'Show one tool call that waits for approval, with its arguments',
  usage: `Usage: svc approvals show <id> [--config <file>] [--json]

Shows a tool call that waits, or waited, for approval: the tool, its arguments, and who asked.

  --config <file>  the configuration file (default: svc.json)
  --json           print it as JSON
`,
  flags: flagTable,
  run: show,
};

export const approvalsApprove: Command = {
  name: 'approvals approve',
  summary: 'Approve a waiting tool call: it runs once',
  usage: `Usage: svc approvals approve <id>... [--config <file>]

Approves a call. It runs once, with exactly these arguments, as a turn of its own in its
conversation, and the model goes on with the result. The command goes through the running svc.

  --config <file>  the configuration file (default: svc.json)
`,
  flags: { config: flagTable.config },
  run: (args, io) => decide(approvalsApprove, 'approve', args, io),
};

export const approvalsRefuse: Command = {
  name: 'approvals refuse',
  summary: 'Refuse a waiting tool call: it does not run',
  usage: `Usage: svc approvals refuse <id>... [--config <file>]

Refuses a call. It does not run. The model learns of that, and answers. The command goes through the
running svc.

  --config <file>  the configuration file (default: svc.json)
`,
  flags: { config: flagTable.config },
  run: (args, io) => decide(approvalsRefuse, 'refuse', args, io),
};

async function list(args: readonly string[], io: Io): Promise<number> {
  const { name } = approvalsList;
  const parsed = parseFlags(args, listTable);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const stateText = parsed.flags.state ?? 'waiting';
  const state = approvalStates.find((one) => one === stateText);
  if (state === undefined) {
    const message = `--state is one of ${approvalStates.join(', ')}.`;
    return wrongUsage(io, name, message);
  }
  const read = {
    name,
    read: readPage(state),
    show: (page: Page<ApprovalRow>) => listPage(page, state),
  };
  return printList(read, parsed.flags, io);
}

function readPage(state: ApprovalState) {
  return (...[reader, page]: Parameters<Parameters<typeof printList>[0]['read']>) =>
    reader.approvals(state, page);
}

function listPage({ rows }: Page<ApprovalRow>, state: ApprovalState): string {
  if (rows.length === 0) {
    return state === 'waiting' ? 'No call waits for a yes.\n' : `No call was ${state}.\n`;
  }
  return table(
    [left('id'), left('asked'), left('until'), left('brain'), left('tool'), left('message')],
    rows.map(({ id, askedAt, expiresAt, brain, tool, messageId }) => {
      return [id, localTime(askedAt), localTime(expiresAt), plainLine(brain), tool, messageId];
    }),
  );
}

async function show(args: readonly string[], io: Io): Promise<number> {
  const { name } = approvalsShow;
  const parsed = parseFlags(args, flagTable, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const [id] = parsed.positionals;
  if (id === undefined) return wrongUsage(io, name, 'The id is missing.');
  const place = await locateLedger(parsed.flags.config, io);
  if (typeof place === 'number') return place;
  return withReader(place, async (reader) => {
    const approval = await reader.approval(id);
    if (approval === null) {
      io.stderr.write('No approval with this id is known here. svc approvals list shows them.\n');
      return exitCode.failed;
    }
    io.stdout.write(parsed.flags.json ? `${plainJson(approval, 2)}\n` : approvalPage(approval));
    return exitCode.fine;
  });
}

function approvalPage(approval: ApprovalText): string {
  const { id, state, channel, conversation, messageId, sender, brain, tool } = approval;
  const who = sender.name === null ? sender.id : `${sender.name} (${sender.id})`;
  return [
    `approval ${id}: ${describeState(approval)}\n`,
    `${plainLine(brain)} asks for ${tool}\n`,
    indented(approval.arguments),
    `${plainLine(channel)}, conversation ${plainLine(conversation)}, message ${messageId}\n`,
    `written by ${plainLine(who)}, asked ${localTime(approval.askedAt)}`,
    state === 'waiting' ? `, waits until ${localTime(approval.expiresAt)}\n` : '\n',
    ...(state === 'waiting' ? howToDecide(approval) : []),
  ].join('');
}

/** How a person can decide the call. A running service of the former release sends no code. */
function howToDecide({ id, code }: { readonly id: string; readonly code?: string | null }) {
  const byCode = code == null ? [] : [`approvers write /approve ${code} or /refuse ${code}\n`];
  return [...byCode, `svc approvals approve ${id}\nsvc approvals refuse ${id}\n`];
}

function describeState({ state, decidedBy, decidedAt, outcome }: ApprovalText): string {
  const by = decidedBy === null ? '' : ` by ${plainLine(decidedBy)}`;
  const at = decidedAt === null ? '' : ` at ${localTime(decidedAt)}`;
  return `${state}${by}${at}${outcome === null ? '' : `, the call: ${outcome}`}`;
}

async function decide(
  { name }: Command,
  word: 'approve' | 'refuse',
  args: readonly string[],
  io: Io,
): Promise<number> {
  const parsed = parseFlags(args, { config: flagTable.config }, Infinity);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const ids = parsed.positionals;
  if (ids.length === 0) return wrongUsage(io, name, 'Say which one: its id.');
  const place = await locateLedgerStrictly(parsed.flags.config, io);
  if (typeof place === 'number') return place;
  return withService(place, async (service) => {
    for (const id of ids) {
      const { result } = await service.approvalRequests.decide(id, word);
      io.stdout.write(`${result}: ${plainLine(id)}\n`);
    }
    return exitCode.fine;
  });
}
