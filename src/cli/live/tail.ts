/** `svc tail`: follows the live events of the running svc. */
import { parseJson } from '../../lib/json.ts';
import { formatModelName, describeProvider } from '../../domain/model-words.ts';
import { channelName } from '../../channels/registry.ts';
import { liveEventKinds, liveEventSchema, liveEventOf } from '../../admin/schemas/live-event.ts';
import { Misshapen, read } from '../../admin/schemas/schema.ts';
import { statusSchema } from '../../admin/schemas/status.ts';
import { nearest } from '../../config/nearest.ts';
import type { Dropped, LiveEvent } from '../../domain/live-event.ts';
import { plural } from '../../domain/plural.ts';
import { fullJitter, pause } from '../../lib/backoff.ts';
import { readEventStream, type StreamEnd, type StreamEvent } from '../../lib/event-stream.ts';
import { Unanswered, type AdminClient } from '../frame/admin-client.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { localTime } from '../ledger/table.ts';
import { originOf } from '../../lib/own-address.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { programVersion } from '../../lib/program.ts';
import { adminClientAt, findAdmin } from './status.ts';

const table = {
  kind: { type: 'string', values: liveEventKinds },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const tail: Command = {
  name: 'tail',
  summary: 'Follow what the running svc does',
  usage: `Usage: svc tail [--kind <kind>,…] [--config <file>] [--json]

Follows the events of the running svc, one line for each, until Ctrl-C. It needs no token, and shows
nobody's words. If the connection breaks, or svc restarts, it connects again by itself, and reports
missed events.

  --kind <kind>,…  only events of these kinds:
${kindsPage()}
  --config <file>  the configuration file, for the address (default: svc.json)
  --json           print each event as one line of JSON

Exit codes: 0 ended as asked, 1 no running svc answers, 2 wrong usage, 78 there is no
configuration file.
`,
  flags: table,
  run,
};

/** After this silence, three of svc's comments in the stream must have been missing. */
const silenceMs = 50_000;
const backoff = { baseMs: 500, capMs: 15_000 } as const;

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'tail', parsed.message);
  const { flags } = parsed;
  const kinds = kindsIn(flags.kind);
  if (typeof kinds === 'string') return wrongUsage(io, 'tail', kinds);
  const address = await findAdmin(flags.config, io);
  if (typeof address === 'number') return address;
  await using client = adminClientAt(address, io);
  const follower = new EventFollower(originOf(address), client, io, (liveEvent) => {
    // Missed events may have been of any kind.
    if (liveEvent.kind === 'dropped') io.stderr.write(`${describeDropped(liveEvent)}\n`);
    else if (kinds !== null && !kinds.has(liveEvent.kind)) return;
    if (flags.json) io.stdout.write(`${plainJson(liveEventOf(liveEvent))}\n`);
    else if (liveEvent.kind !== 'dropped') io.stdout.write(`${lineOf(liveEvent)}\n`);
  });
  try {
    await follower.run();
    return exitCode.fine;
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    io.stderr.write(`${error.message}\n`);
    return exitCode.failed;
  }
}

/** Reads live events until it is stopped. Once it was connected, it reconnects by itself. */
class EventFollower {
  readonly #origin: URL;
  readonly #client: AdminClient;
  readonly #io: Io;
  readonly #show: (liveEvent: LiveEvent | Dropped) => void;
  #lastId: string | null = null;
  #wasConnected = false;
  /** Attempts since the last connection. */
  #attempts = 0;

  constructor(
    origin: URL,
    client: AdminClient,
    io: Io,
    show: (liveEvent: LiveEvent | Dropped) => void,
  ) {
    this.#origin = origin;
    this.#client = client;
    this.#io = io;
    this.#show = show;
  }

  /**
   * Runs until it is stopped.
   * @throws {Unanswered} if the first connection fails
   */
  async run(): Promise<void> {
    const { stop, stderr } = this.#io;
    while (!stop.aborted) {
      const end = await this.#follow();
      if (end.kind === 'cancelled') break;
      if (!this.#wasConnected) await this.#throwReason(end);
      this.#lastId = end.lastId;
      if (this.#attempts === 0) stderr.write('The connection is lost; coming back …\n');
      await pause(fullJitter(this.#attempts++, backoff), stop);
    }
  }

  async #follow(): Promise<StreamEnd> {
    const request = {
      url: new URL('/api/v1/events', this.#origin),
      headers: { 'user-agent': `svc/${programVersion()}` },
      lastId: this.#lastId,
      silenceMs,
    };
    return readEventStream(
      request,
      this.#io.stop,
      (event) => this.#take(event),
      () => {
        if (this.#attempts > 0) this.#io.stderr.write('Back again.\n');
        this.#wasConnected = true;
        this.#attempts = 0;
      },
    );
  }

  /** Ignores an event of a kind that only a newer svc knows. */
  #take({ data }: StreamEvent): void {
    let liveEvent: LiveEvent | Dropped;
    try {
      liveEvent = read(liveEventSchema, parseJson(data));
    } catch (error) {
      if (error instanceof Misshapen) return;
      throw error;
    }
    this.#show(liveEvent);
  }

  /**
   * Throws why there was no connection. Without a response it asks for the status, whose error says
   * why.
   */
  async #throwReason({ status, body }: StreamEnd): Promise<void> {
    if (status !== null && status !== 200) this.#client.refused({ status, body: parseJson(body) });
    await this.#client.read('reader', 'status', statusSchema);
  }
}

function describeDropped({ count }: Dropped): string {
  if (count === null) {
    return 'What happened before may have been missed: svc was started anew, or is several.';
  }
  return `${plural(count, 'event')} could not be had any more.`;
}

/** @returns null: all kinds; a string: what is wrong with the flag */
function kindsIn(written: string | null): ReadonlySet<string> | null | string {
  if (written === null) return null;
  const words = written.split(',').map((word) => word.trim());
  for (const word of words) {
    if (liveEventKinds.some((kind) => kind === word)) continue;
    const near = nearest(word, liveEventKinds);
    const hint = near === null ? '' : ` Did you mean ${near}?`;
    return `There is no kind "${word}".${hint}`;
  }
  return new Set(words);
}

function kindsPage(): string {
  const lines: string[] = [];
  let line = '';
  for (const kind of liveEventKinds) {
    if (line.length + kind.length > 76) {
      lines.push(line);
      line = '';
    }
    line += `${line === '' ? '                   ' : ', '}${kind}`;
  }
  return [...lines, line].join(',\n');
}

/** Platforms and models by their names, in quotes if a name has a space. */
function wordsOf(field: string, value: string): string {
  const words = displayName(field, value);
  return words !== value && words.includes(' ') ? `"${words}"` : words;
}

function displayName(field: string, value: string): string {
  if (field === 'channel') return channelName(value);
  if (field === 'model') return formatModelName(value);
  return field === 'provider' ? describeProvider(value) : value;
}

/** `18:05:04  turn_finished  channel=webhook id=… ms=450` */
function lineOf(liveEvent: LiveEvent): string {
  const { kind, at, ...fields } = liveEvent;
  const words = Object.entries(fields).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${plainLine(wordsOf(name, String(value)))}`],
  );
  const time = localTime(at).slice('2026-11-21 '.length);
  return [time, kind.padEnd('message_turned_away'.length), ...words].join(' ').trimEnd();
}
