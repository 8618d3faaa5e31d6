/** `svc receive`: listens where the webhook sends its replies, and prints them. */
import type { Writable } from 'node:stream';
import type { Config, Mapping } from '../../config/config.ts';
import { holderOfPort, describeHolder } from '../../lib/holders.ts';
import { readSecrets } from '../frame/boot.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { parseFlags, wholeNumber, wrongUsage } from '../frame/flags.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { aborted } from '../../lib/stop.ts';
import { locateService } from '../frame/service-location.ts';
import {
  openReplyReceiver,
  type ReceivedReply,
  type ReplyChecks,
} from '../../app/webhook-client/reply-receiver.ts';
import {
  localReplyAddress,
  replyChecks,
  webhookIn,
  type LocalAddress,
  type WebhookPlace,
} from '../../app/webhook-client/webhook-client.ts';

const table = {
  port: { type: 'string' },
  channel: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const receive: Command = {
  name: 'receive',
  summary: "Receive the webhook's replies on this machine, and print them",
  usage: `Usage: svc receive [--port <number>] [--channel <name>] [--config <file>] [--json]

Listens on this machine at the address to which the webhook sends its replies, until Ctrl-C. It
prints each reply, then confirms it, and prints a repeat only once. If the configuration names a
bearer or a signing key for replies, it refuses replies without it.

  --port <number>   listen at this port of 127.0.0.1 (default: that of webhook.outbound_url)
  --channel <name>  the name of the webhook; needed if there are several
  --config <file>   the configuration file (default: svc.json)
  --json            print each reply as one line of JSON, as it was sent

Exit codes: 0 ended as asked, 1 it could not listen, 2 wrong usage, 78 the configuration has no
webhook whose replies come to this machine, or a secret is missing.
`,
  flags: table,
  run,
};

/** Where to listen, and how to read and check a reply. */
type ReplyPlace = LocalAddress & {
  readonly mapping: Mapping;
  readonly checks: ReplyChecks;
  /** Where svc sends replies. */
  readonly outboundUrl: string;
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'receive', parsed.message);
  const { port: portText, config: given, channel, json } = parsed.flags;
  const port = portText === null ? null : wholeNumber(portText, 1, 65_535);
  if (portText !== null && port === null) {
    return wrongUsage(io, 'receive', `--port is a number from 1 to 65535; "${portText}" is none.`);
  }
  const file = useConfigFile(given, io);
  const location = await locateService(file, io);
  if (location.kind === 'refused') return refuse(io, location.report);
  const webhook = webhookIn(location.config, channel);
  if (typeof webhook === 'string') return wrongUsage(io, 'receive', webhook);
  const place = await findReplyPlace(webhook, location.config, file.name, port, io);
  if (typeof place === 'string') return refuse(io, place);
  const ended = new AbortController();
  const printer = new Printer(io.stdout, json, () => ended.abort());
  const receiver = await openReplyReceiver({ ...place, take: (reply) => printer.take(reply) });
  if ('kind' in receiver) {
    const holder = receiver.code === 'EADDRINUSE' ? describeHolder(holderOfPort(place.port)) : '';
    const why = receiver.code === 'EADDRINUSE' ? 'another program listens there' : receiver.code;
    io.stderr.write(`Cannot listen at ${place.host}:${place.port}: ${why}${holder}.\n`);
    return exitCode.failed;
  }
  await using _open = receiver;
  io.stderr.write(describeListening(place));
  const over = AbortSignal.any([io.stop, ended.signal]);
  await aborted(over);
  return exitCode.fine;
}

function refuse(io: Io, report: string): number {
  io.stderr.write(report);
  return exitCode.config;
}

/** @returns the place, or a sentence why there is none */
async function findReplyPlace(
  place: WebhookPlace | null,
  config: Config,
  name: string,
  port: number | null,
  io: Io,
): Promise<ReplyPlace | string> {
  if (place === null) return `${name} has no webhook channel, and only such a one sends replies.\n`;
  const { webhook, path } = place;
  const { mapping, outboundUrl } = webhook;
  const local = localReplyAddress(webhook);
  if (local === null && port === null) {
    return (
      `The replies of ${name} go to ${outboundUrl}, which is not here: let webhook.outbound_url ` +
      'name an address such as http://127.0.0.1:8091/reply, or choose a --port.\n'
    );
  }
  const read = await readSecrets(config, io, {
    concerns: (at) => at.startsWith(`${path}.webhook.`),
  });
  if (read.kind === 'refused') return read.report;
  const checks = replyChecks(webhook, read.secrets);
  if (checks.kind === 'missing') {
    return `${checks.name}, by which a reply of svc is known, is not set here.\n`;
  }
  const host = port === null ? local!.host : '127.0.0.1';
  return { host, port: port ?? local!.port, mapping, checks: checks.checks, outboundUrl };
}

function describeListening({ host, port, outboundUrl }: ReplyPlace): string {
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { port: wanted, hostname } = new URL(outboundUrl);
  const elsewhere =
    hostname !== host && hostname !== `[${host}]`
      ? true
      : (Number(wanted) || 80) !== port || !outboundUrl.startsWith('http:');
  const warning = elsewhere ? `! svc sends its replies to ${outboundUrl}, not here.\n` : '';
  return `${warning}Replies to ${at} are printed here. Ctrl-C ends it.\n`;
}

const idsKept = 10_000;

/** Prints each reply once. It does not accept a reply that it could not print. */
class Printer {
  readonly #out: Writable;
  readonly #json: boolean;
  readonly #onGone: () => void;
  readonly #printed = new Set<string>();
  #isGone = false;

  constructor(out: Writable, json: boolean, onGone: () => void) {
    this.#out = out;
    this.#json = json;
    this.#onGone = onGone;
  }

  async take(reply: ReceivedReply): Promise<boolean> {
    if (this.#isGone) return false;
    if (reply.id !== null && this.#printed.has(reply.id)) return true;
    const isWritten = await this.#write(this.#lineOf(reply));
    if (!isWritten) {
      this.#isGone = true;
      this.#onGone();
    } else if (reply.id !== null) {
      this.#printed.add(reply.id);
      if (this.#printed.size > idsKept) this.#printed.delete(this.#printed.values().next().value!);
    }
    return isWritten;
  }

  #lineOf({ conversation, text, body }: ReceivedReply): string {
    if (this.#json) return `${plainJson(body)}\n`;
    return `${plainLine(conversation)}: ${plainLine(text)}\n`;
  }

  #write(line: string): Promise<boolean> {
    return new Promise((resolve) => this.#out.write(line, (error) => resolve(error == null)));
  }
}
