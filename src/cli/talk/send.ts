/** `svc send`: sends a message to the running svc, and prints its answer. */
import type { Config, Secrets } from '../../config/config.ts';
import { pause } from '../../lib/backoff.ts';
import { endsWithin } from '../../lib/lifetime.ts';
import { Unanswered, RemoteLedger, type Bearer } from '../frame/admin-client.ts';
import { readSecrets } from '../frame/boot.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { parseFlags, wholeNumber, wrongUsage } from '../frame/flags.ts';
import { plainText } from '../../lib/plain-text.ts';
import { aborted } from '../../lib/stop.ts';
import { commandName, programVersion } from '../../lib/program.ts';
import {
  listens,
  locateService,
  whereSvcListens,
  type ServiceLocation,
} from '../frame/service-location.ts';
import {
  postMessage,
  replyChecks,
  webhookIn,
  type WebhookPlace,
} from '../../app/webhook-client/webhook-client.ts';
import { StandIn } from '../../app/webhook-client/one-reply-receiver.ts';
import type { Story } from '../../domain/story.ts';

/** Seconds to wait for the answer. */
const secondsUsual = 120;
const secondsMax = 3_600;

const table = {
  as: { type: 'string' },
  channel: { type: 'string' },
  wait: { type: 'string' },
  config: { type: 'string' },
} as const;

/** How long the command waits for what is likely to come, in milliseconds. */
type SendTimes = {
  /** Until a service that was just started listens. */
  readonly startMs: number;
  /** Until the receiver has a reply that the admin server already showed. */
  readonly deliveryMs: number;
};

const usualTimes: SendTimes = { startMs: 5_000, deliveryMs: 3_000 };

export const createSend = (times: SendTimes = usualTimes): Command => ({
  name: 'send',
  summary: 'Say something to the running svc, and print its answer',
  usage: `Usage: svc send <text> [--as <sender>] [--channel <name>] [--wait <seconds>]
                [--config <file>]

Sends a message to the webhook of the running svc, and prints the answer. It needs the webhook's
secret. It gets the answer in two ways, and uses both if it can:

- as the operator, over the admin server, if the configuration has storage and an admin block, and
  this terminal has its token
- as the receiver, if replies go to this machine and nothing listens there. It takes only the answer
  to its own message; svc keeps all other replies, and tries them again.

  --as <sender>     who says it: messages of one sender are one conversation (default: your name)
  --channel <name>  the name of the webhook; needed if there are several
  --wait <seconds>  how long to wait for the answer, 1 to ${secondsMax} (default: ${secondsUsual})
  --config <file>   the configuration file (default: svc.json)

Exit codes: 0 it printed the answer, 1 it got none (it says whether svc has the message),
2 wrong usage, 78 the configuration has no webhook, or a secret is missing.
`,
  flags: table,
  run: (args, io) => run(args, io, times),
});

async function run(args: readonly string[], io: Io, times: SendTimes): Promise<number> {
  const parsed = parseFlags(args, table, Infinity);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'send', parsed.message);
  const { flags, positionals } = parsed;
  const text = positionals.join(' ');
  if (text.trim() === '') return wrongUsage(io, 'send', 'Say what: svc send "Hello"');
  const seconds = flags.wait === null ? secondsUsual : wholeNumber(flags.wait, 1, secondsMax);
  if (seconds === null) {
    const range = `a number of seconds from 1 to ${secondsMax}`;
    return wrongUsage(io, 'send', `--wait is ${range}; "${flags.wait}" is none.`);
  }
  const file = useConfigFile(flags.config, io);
  const location = await locateService(file, io);
  if (location.kind === 'refused') return refuse(io, location.report);
  const place = webhookIn(location.config, flags.channel);
  if (typeof place === 'string') return wrongUsage(io, 'send', place);
  if (place === null || !place.isRouted) return refuse(io, describeNoWebhook(file.name, place));
  const tokenPath = `${place.path}.token_env`;
  const read = await readSecrets(location.config, io, {
    concerns: (path) => path.startsWith(`${place.path}.`) || path === 'admin.token_env',
    needs: (path) => path === tokenPath,
  });
  if (read.kind === 'refused') return refuse(io, read.report);
  const sender = flags.as ?? io.env['USER'] ?? io.env['USERNAME'] ?? 'me';
  const waitMs = seconds * 1_000;
  const exchange = new Exchange({ io, location, place, secrets: read.secrets, waitMs, times });
  return exchange.send({ sender, text });
}

function refuse(io: Io, report: string): number {
  io.stderr.write(report);
  return exitCode.config;
}

function describeNoWebhook(name: string, place: WebhookPlace | null): string {
  if (place === null) {
    return `${name} has no webhook channel, where this could be said: add one, or try svc chat.\n`;
  }
  return `No route of ${name} names the webhook, so svc does not listen there: add one.\n`;
}

type Setting = {
  readonly io: Io;
  readonly location: ServiceLocation;
  readonly place: WebhookPlace;
  readonly secrets: Secrets;
  readonly waitMs: number;
  readonly times: SendTimes;
};

/** The pause between two checks whether the service listens. */
const checkPauseMs = 100;

/** Sends one message, and watches for its answer in every way in which it can be seen. */
class Exchange {
  readonly #setting: Setting;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  async send(message: { readonly sender: string; readonly text: string }): Promise<number> {
    const { io, place, secrets, times } = this.#setting;
    await waitUntilListening(place.webhook, times.startMs, io.stop);
    await using service = await this.#service();
    const reading = await this.#mayRead(service);
    const standIn = await this.#standIn();
    await using _own = typeof standIn === 'string' ? null : standIn;
    const secret = secrets.get(place.webhook.tokenEnv)!;
    const start = `${commandName(io.env)} serve`;
    const posted = await postMessage(place.webhook, secret, message, io.stop, start);
    if (posted.kind === 'refused') {
      io.stderr.write(`${posted.message}\n`);
      return exitCode.failed;
    }
    const { id } = posted;
    if (typeof standIn !== 'string') standIn.expect(id);
    else if (reading !== true) {
      io.stderr.write(
        `svc has the message (${id}). Its answer cannot be shown: ${standIn}; and ${reading}.\n`,
      );
      return exitCode.failed;
    }
    return await this.#wait(id, { service, mayRead: reading === true, standIn });
  }

  async #wait(
    id: string,
    by: {
      readonly service: RemoteLedger | null;
      readonly mayRead: boolean;
      readonly standIn: StandIn | string;
    },
  ): Promise<number> {
    const { io, waitMs, times } = this.#setting;
    const enough = new AbortController();
    const over = AbortSignal.any([io.stop, AbortSignal.timeout(waitMs), enough.signal]);
    const { service, mayRead, standIn } = by;
    const answers: Promise<WatchedAnswer | 'over'>[] = [aborted(over).then(() => 'over')];
    if (service !== null) answers.push(watchAnswer(service, id, mayRead, over));
    if (typeof standIn !== 'string') {
      answers.push(standIn.reply.then(({ text }) => ({ kind: 'reply', texts: [text] })));
    }
    const answer = await Promise.race(answers).finally(() => enough.abort());
    if (answer === 'over') return this.#reportTimeout(id, service);
    if (answer.kind === 'none') {
      io.stderr.write(`${answer.why} See svc trace ${id}\n`);
      return exitCode.failed;
    }
    for (const text of answer.texts) io.stdout.write(`${plainText(text)}\n`);
    if (typeof standIn !== 'string') await endsWithin(standIn.reply, times.deliveryMs);
    const why = service === null ? null : await describeWhoAnswered(service, id);
    if (why !== null) io.stderr.write(`${why}\n`);
    return exitCode.fine;
  }

  async #reportTimeout(id: string, service: RemoteLedger | null): Promise<number> {
    const { io, waitMs } = this.#setting;
    if (io.stop.aborted) {
      io.stderr.write(`Given up. svc has the message (${id}) and goes on with it.\n`);
      return exitCode.failed;
    }
    const far = service === null ? 'svc has the message' : await describeHowFar(service, id);
    io.stderr.write(`No answer came within ${waitMs / 1_000} s. ${far}. See svc trace ${id}\n`);
    return exitCode.failed;
  }

  /** @returns null: the admin server is switched off */
  async #service(): Promise<RemoteLedger | null> {
    const { io, location } = this.#setting;
    const address = await whereSvcListens(location.addresses, io);
    if (address === null) return null;
    return new RemoteLedger({
      address,
      bearer: this.#bearer(location.config),
      version: programVersion(),
      stop: io.stop,
      answerMs: 5_000,
    });
  }

  #bearer({ admin }: Config): Bearer {
    if (admin === null) {
      return { kind: 'none', message: 'without an admin block nobody may read it' };
    }
    const token = this.#setting.secrets.get(admin.tokenEnv);
    if (token !== undefined) return { kind: 'token', variable: admin.tokenEnv, token };
    return {
      kind: 'none',
      message: `${admin.tokenEnv}, with which it may be read, is not set here`,
    };
  }

  /** @returns true, or why the text of an answer may not be read, as the end of a sentence */
  async #mayRead(service: RemoteLedger | null): Promise<true | string> {
    const { config } = this.#setting.location;
    if (config.storage === null) return 'without storage svc keeps no text of it to read';
    if (service === null) return 'the admin server, which would tell it, is switched off';
    const bearer = this.#bearer(config);
    if (bearer.kind === 'none') return bearer.message;
    try {
      await service.list();
      return true;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      return `the admin server does not tell it (${error.message.replace(/\.$/, '')})`;
    }
  }

  #standIn(): Promise<StandIn | string> {
    const { place, secrets } = this.#setting;
    const read = replyChecks(place.webhook, secrets);
    if (read.kind === 'read') return StandIn.open(place.webhook, read.checks);
    return Promise.resolve(`${read.name}, by which a reply of svc is known, is not set here`);
  }
}

/** A service that was just started takes a moment to listen. */
async function waitUntilListening(
  { bind }: WebhookPlace['webhook'],
  startMs: number,
  stop: AbortSignal,
): Promise<void> {
  const over = AbortSignal.any([stop, AbortSignal.timeout(startMs)]);
  while (!over.aborted && !(await listens(bind, over))) await pause(checkPauseMs, over);
}

/** The outcome of a message, as the admin server of the running service shows it. */
type WatchedAnswer =
  | { readonly kind: 'reply'; readonly texts: readonly string[] }
  /** No reply will come; `why` is a sentence. */
  | { readonly kind: 'none'; readonly why: string };

const pauseMs = { first: 100, most: 1_000, growth: 1.5 } as const;

/**
 * Asks the admin server until there is a reply, or there will be none. If the server gives no
 * answer, the promise never settles.
 * @param mayRead whether the texts may be asked for: the token is known, and storage keeps them
 */
async function watchAnswer(
  service: RemoteLedger,
  id: string,
  mayRead: boolean,
  stop: AbortSignal,
): Promise<WatchedAnswer> {
  let pausedMs: number = pauseMs.first;
  while (!stop.aborted) {
    const story = await readStory(service, id);
    if (story === 'unanswered') break;
    const why = story === null ? null : whyNoReply(story);
    if (why !== null) return { kind: 'none', why };
    if (mayRead && story !== null && story.replies.length > 0) {
      const found = await service.storyText(id).catch(nullIfUnanswered);
      if (found !== null) return { kind: 'reply', texts: found.replies.map(({ text }) => text) };
    }
    await pause(pausedMs, stop);
    pausedMs = Math.min(pausedMs * pauseMs.growth, pauseMs.most);
  }
  return new Promise(() => {});
}

/** @returns a sentence if svc itself answered and no model; null: a model did, or nobody knows */
async function describeWhoAnswered(service: RemoteLedger, id: string): Promise<string | null> {
  const story = await readStory(service, id);
  const outcome = story === 'unanswered' ? null : (story?.trace?.outcome ?? null);
  if (outcome === null || outcome === 'reply' || outcome === 'command') return null;
  return `No model answered (${outcome}): this is a sentence of svc. See svc trace ${id}`;
}

/** How far a message is, for a person who waits no longer. */
async function describeHowFar(service: RemoteLedger, id: string): Promise<string> {
  const story = await readStory(service, id);
  if (story === 'unanswered' || story === null) return 'What became of it is not known';
  const waiting = story.replies.find(({ state }) => state === 'waiting');
  if (waiting !== undefined && waiting.attempts === 0) {
    return (
      'It is answered, and the reply waits behind earlier ones of its conversation, which nobody ' +
      'has taken yet (svc receive takes them)'
    );
  }
  if (waiting !== undefined) {
    return `It is answered, and the reply is not delivered: ${waiting.failure?.detail ?? 'no try'}`;
  }
  return story.state === 'waiting' ? 'svc still works on it' : 'It is answered and delivered';
}

function whyNoReply(story: Story): string | null {
  if (story.state === 'dead') {
    return `The message became a dead letter: ${story.failure?.detail ?? 'no reason is known'}.`;
  }
  const dead = story.replies.find(({ state }) => state === 'dead');
  if (dead === undefined) return null;
  return `The reply became a dead letter: ${dead.failure?.detail ?? 'no reason is known'}.`;
}

function readStory(service: RemoteLedger, id: string): Promise<Story | null | 'unanswered'> {
  return service.story(id).catch((error: unknown) => {
    nullIfUnanswered(error);
    return 'unanswered' as const;
  });
}

/**
 * A service that gives no answer is no fault of this program.
 * @returns null for `Unanswered`
 * @throws every other error
 */
function nullIfUnanswered(error: unknown): null {
  if (error instanceof Unanswered) return null;
  throw error;
}
