/**
 * Shared by the commands that show or change the ledger: tables, times and sizes for a person, the
 * question before a deletion, and the conversation or sender that the arguments name.
 */
import { dayMs, hourMs, minuteMs } from '../../lib/durations.ts';
import { localDay } from '../../lib/local-day.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { createInterface } from 'node:readline/promises';
import { exitCode, type Io } from '../cli.ts';
import { findChannel } from '../../admin/channel-named.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { MessageOwner } from '../../domain/story.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { withReader, type LedgerLocation } from './access.ts';

/** A column of a table for a terminal. */
export type Column = { readonly title: string; readonly side: 'left' | 'right' };

/**
 * Formats a table with two spaces between its columns. Cells lose characters that could drive a
 * terminal.
 * @returns lines, each with its line end; the titles come first
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(plainLine))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    columns
      .map(({ side }, at) => {
        const cell = row[at] ?? '';
        return side === 'left' ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!);
      })
      .join('  ')
      .trimEnd();
  return cells.map((row) => `${line(row)}\n`).join('');
}

export const left = (title: string): Column => ({ title, side: 'left' });
export const right = (title: string): Column => ({ title, side: 'right' });

/** A time for a person, in the zone of this machine: `2026-11-21 18:05:04`. */
export function localTime(at: number): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, '0');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${localDay(at)} ${time}`;
}

/** A duration in the largest useful unit: `12 ms`, `1.2 s`, `3 min`, `4 h`, `2 d`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < hourMs) return `${Math.round(ms / minuteMs)} min`;
  return ms < 2 * dayMs ? `${Math.round(ms / hourMs)} h` : `${Math.round(ms / dayMs)} d`;
}

/** A size for a person: `812 KiB`, `1.4 GiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_048_576) return `${Math.ceil(bytes / 1_024)} KiB`;
  if (bytes < 1_073_741_824) return `${(bytes / 1_048_576).toFixed(1)} MiB`;
  return `${(bytes / 1_073_741_824).toFixed(1)} GiB`;
}

export const noTerminal = 'There is no terminal to ask at: say --yes to delete for good.';

/** Whether there is a terminal to ask at, before something that takes long or cannot be undone. */
export function canAsk({ stdin, stderr }: Io): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/**
 * Asks for confirmation. Only the whole word `yes` agrees; the end of the input does not.
 * @param no printed if the person does not agree
 */
export async function agrees(
  io: Io,
  question: string,
  no = 'Nothing was deleted.',
): Promise<boolean> {
  const agreed = await saysYes(io, question);
  if (!agreed) io.stderr.write(`${no}\n`);
  return agreed;
}

async function saysYes({ stdin, stderr, stop }: Io, question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const over = new AbortController();
  const end = (): void => over.abort();
  lines.once('close', end);
  lines.once('SIGINT', end);
  stop.addEventListener('abort', end, { once: true });
  try {
    return (await lines.question(question, { signal: over.signal })).trim() === 'yes';
  } catch {
    stderr.write('\n');
    return false;
  } finally {
    stop.removeEventListener('abort', end);
    lines.close();
  }
}

/**
 * Reads `<channel> <conversation>`, or `<channel>` with `--sender <id>`.
 * @returns the conversation or sender that is meant, or a sentence about what is wrong
 */
export function parseWhose(
  positionals: readonly string[],
  sender: string | null,
): MessageOwner | string {
  const [channel, conversation] = positionals;
  if (channel === undefined) return 'Say which channel, such as webhook, and which conversation.';
  if (sender === null) {
    if (conversation === undefined) return 'Say which conversation, or whose: --sender <id>.';
    return {
      kind: 'conversation',
      channel: channel as ChannelKey,
      conversation: conversation as ConversationId,
    };
  }
  if (conversation !== undefined) return '--sender and a conversation exclude each other.';
  return { kind: 'sender', channel: channel as ChannelKey, sender };
}

/**
 * Resolves the channel as `findChannel` does.
 * @returns the same with the resolved channel, or the exit code after the refusal was printed
 */
export async function resolveChannel<Of extends { readonly channel: ChannelKey }>(
  location: LedgerLocation,
  of: Of,
): Promise<Of | number> {
  let code: number = exitCode.fine;
  const channelKeys: LedgerReader['channelKeys'] = async (type) => {
    let keys: readonly ChannelKey[] = [];
    code = await withReader(location, async (reader) => {
      keys = await reader.channelKeys(type);
      return exitCode.fine;
    });
    return keys;
  };
  const found = await findChannel(of.channel, { channelKeys });
  if (code !== exitCode.fine) return code;
  if (found.kind === 'found') return { ...of, channel: found.key };
  location.io.stderr.write(`${found.message}\n`);
  return exitCode.failed;
}

export function describeUnknown(whose: MessageOwner): string {
  return whose.kind === 'conversation'
    ? 'No conversation with this id is known here.\n'
    : 'No turn of this sender is kept here.\n';
}
