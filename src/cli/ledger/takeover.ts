/**
 * `svc conversations hold`, `answer` and `release`: an operator takes a conversation over, answers
 * in it and gives it back, through the running svc.
 */
import { addAbortSignal, type Readable } from 'node:stream';
import { plural } from '../../domain/plural.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import type { RemoteTakeovers, WaitingMessage } from '../frame/admin-client.ts';
import { withService, locateLedgerStrictly } from './access.ts';
import { indented } from './trace.ts';
import { localTime } from './table.ts';

const flagTable = { config: { type: 'string' }, json: { type: 'boolean' } } as const;
const answerFlags = { ...flagTable, message: { type: 'string' } } as const;

/** The service accepts no longer text. */
const textCharactersMax = 32_000;

export const conversationsHold: Command = {
  name: 'conversations hold',
  summary: 'Take a conversation over, and show its waiting messages',
  usage: `Usage: svc conversations hold <id> [--config <file>] [--json]

Takes a conversation over from its brain, or holds it for an hour more, and shows its waiting
messages. A turn at work ends. svc asks no model there until you release the conversation, or 60
minutes after the last hold or answer. The command goes through the running svc, which needs
storage.

  <id>             the id that svc gave it: see svc conversations show <channel> <conversation>
  --config <file>  the configuration file (default: svc.json)
  --json           print {"since", "untilAt", "waiting"}
`,
  flags: flagTable,
  run: hold,
};

export const conversationsAnswer: Command = {
  name: 'conversations answer',
  summary: 'Answer by hand in a conversation that you hold',
  usage: `Usage: svc conversations answer <id> [<text>] [--message <id>] [--config <file>] [--json]

Answers the oldest waiting message of a conversation that you hold. With --message it answers that
message and all before it. The answer is the text, or comes through a pipe. The command goes through
the running svc.

  --message <id>   the last message that this answers
  --config <file>  the configuration file (default: svc.json)
  --json           print {"messages", "untilAt"}
`,
  flags: answerFlags,
  run: answer,
};

export const conversationsRelease: Command = {
  name: 'conversations release',
  summary: 'Give a conversation back to its brain',
  usage: `Usage: svc conversations release <id> [--config <file>] [--json]

Gives a conversation back: its brain answers the waiting messages, in order. The command goes
through the running svc.

  --config <file>  the configuration file (default: svc.json)
  --json           print {"result"}
`,
  flags: flagTable,
  run: release,
};

async function hold(args: readonly string[], io: Io): Promise<number> {
  const { name } = conversationsHold;
  const parsed = parseFlags(args, flagTable, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const [id] = parsed.positionals;
  if (id === undefined) return wrongUsage(io, name, noId);
  const { config, json } = parsed.flags;
  return withTakeovers(config, io, async (takeovers) => {
    const held = await takeovers.hold(id);
    const waiting = await takeovers.waiting(id);
    if (json) return printJson(io, { ...held, waiting });
    io.stdout.write(
      `${describeHeld(held)}; ${describeWaiting(waiting)}\n${waiting.map(waitingPage).join('')}`,
    );
    return exitCode.fine;
  });
}

async function answer(args: readonly string[], io: Io): Promise<number> {
  const { name } = conversationsAnswer;
  const parsed = parseFlags(args, answerFlags, Infinity);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const [id, ...words] = parsed.positionals;
  if (id === undefined) return wrongUsage(io, name, noId);
  const isPiped = words.length === 0 && io.stdin.isTTY !== true;
  const text = isPiped ? await readPiped(io) : words.join(' ');
  if (text === null) return exitCode.failed;
  if (text.trim() === '') return wrongUsage(io, name, 'Say what the answer is, or pipe it in.');
  if (text.length > textCharactersMax) {
    return wrongUsage(io, name, `${textCharactersMax} characters are the most for an answer.`);
  }
  const { config, json, message } = parsed.flags;
  return withTakeovers(config, io, async (takeovers) => {
    const answered = await takeovers.answer(id, { text, message });
    if (json) return printJson(io, answered);
    const count = answered.messages.length;
    const what = `${plural(count, 'message')} ${count === 1 ? 'is' : 'are'} answered`;
    io.stdout.write(`${what}; ${describeHeld(answered)}\n`);
    return exitCode.fine;
  });
}

async function release(args: readonly string[], io: Io): Promise<number> {
  const { name } = conversationsRelease;
  const parsed = parseFlags(args, flagTable, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const [id] = parsed.positionals;
  if (id === undefined) return wrongUsage(io, name, noId);
  const { config, json } = parsed.flags;
  return withTakeovers(config, io, async (takeovers) => {
    const released = await takeovers.release(id);
    if (json) return printJson(io, released);
    io.stdout.write('given back: its brain goes on with what waits\n');
    return exitCode.fine;
  });
}

const noId =
  "Say which conversation, by svc's own id: svc conversations show <channel> <conversation> " +
  'shows it.';

async function withTakeovers(
  config: string | null,
  io: Io,
  use: (takeovers: RemoteTakeovers) => Promise<number>,
): Promise<number> {
  const place = await locateLedgerStrictly(config, io);
  return typeof place === 'number'
    ? place
    : withService(place, (service) => use(service.takeovers));
}

function printJson(io: Io, value: object): number {
  io.stdout.write(`${plainJson(value, 2)}\n`);
  return exitCode.fine;
}

/** @returns null: the command was stopped */
async function readPiped({ stdin, stop }: Io): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const part of addAbortSignal(stop, stdin as Readable)) {
      text += typeof part === 'string' ? part : decoder.decode(part as Buffer, { stream: true });
      if (text.length > textCharactersMax) break;
    }
  } catch {
    return null;
  }
  return text.trimEnd();
}

const describeHeld = ({ untilAt }: { readonly untilAt: number | null }): string =>
  untilAt === null ? 'not held any more' : `held until ${localTime(untilAt)}`;

const describeWaiting = ({ length }: readonly WaitingMessage[]): string =>
  length === 0
    ? 'nothing waits'
    : `${plural(length, 'message')} ${length === 1 ? 'waits' : 'wait'}`;

/** A line with the time, the speaker and the message; the text stands indented below it. */
function waitingPage({ id, acceptedAt, sender, text }: WaitingMessage): string {
  const who = plainLine(sender.name ?? sender.id);
  return `\n${localTime(acceptedAt)}  ${who}, message ${plainLine(id)}\n${indented(text)}`;
}
