/** The service that the way ends with, in this process, and the first message to it. */
import { auditedAdmissions } from '../../src/app/config/audited.ts';
import {
  postMessage,
  replyChecks,
  webhookIn,
} from '../../src/app/webhook-client/webhook-client.ts';
import { StandIn } from '../../src/app/webhook-client/one-reply-receiver.ts';
import { kindOf, type ChannelType } from '../../src/channels/registry.ts';
import type { Config, Secrets } from '../../src/config/config.ts';
import { inspectConfig } from '../../src/config/inspect.ts';
import type { FoundSecret, FoundSecrets } from '../../src/config/found-secret.ts';
import {
  howToSet,
  namedSecrets,
  resolveSecrets,
  describeMissing,
} from '../../src/config/secrets.ts';
import { anyMessage, type MessageRow } from '../../src/domain/records.ts';
import { unknownCode } from '../../src/domain/gate.ts';
import type { Ending, Inside } from '../../src/app/run-contract.ts';
import { firstAnswerMs } from './pages.ts';
import type { Pouch } from './session.ts';
import type { SetupEnd } from './setup.ts';
import type { Effect, Heard } from './state.ts';
import type { WorldOptions } from './world.ts';

/** `since`: milliseconds since 1970. */
type Up = {
  readonly inside: Inside;
  readonly config: Config;
  readonly secrets: Secrets;
  readonly since: number;
};

type Hearing = Extract<Effect, { readonly kind: 'hear' }>;

const stopped = 'It was stopped.';
const hello = 'Hello!';
const lookEveryMs = 250;

export class RunningService implements AsyncDisposable {
  readonly #options: WorldOptions;
  readonly #served = Promise.withResolvers<SetupEnd>();
  readonly #stopping = new AbortController();
  #up: Up | null = null;
  #liveView: string | null = null;
  #run: Promise<unknown> = Promise.resolve();

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  /** Resolves when a service that listened has ended; never where none did. */
  get served(): Promise<SetupEnd> {
    return this.#served.promise;
  }

  /**
   * As `serve` does. What was pasted or made on the way is there, wherever it is kept.
   * @returns null: it listens; else why it does not
   */
  async start(pouch: Pouch): Promise<string | null> {
    const { file, env, lookup, version, webRoot, log, stop, abandon, onTurn } = this.#options;
    const inspection = await inspectConfig(file, env, 'file');
    const { validation, text, storage } = inspection;
    if (validation.kind === 'invalid')
      return validation.problems.map(({ message }) => message).join(' ');
    const { config, problems } = validation;
    const found = await this.#find(config, pouch);
    if (stop.aborted) return stopped;
    const resolved = resolveSecrets(config, found);
    const unset = resolved.missing.flatMap((one) => [`${describeMissing(one)}.`, ...howToSet(one)]);
    const unfit = resolved.unfit.map(
      ({ path, message, remedy }) => `${path}: ${message}. ${remedy}`,
    );
    if (unset.length + unfit.length > 0) return [...unset, ...unfit].join('\n');
    lookup.hold(found);
    const { secrets } = resolved;
    log.scrub(secrets.values());
    const { runService } = await import('../../src/app/run.ts');
    const up = Promise.withResolvers<string | null>();
    this.#run = runService({
      config,
      text,
      file,
      env,
      lookup,
      onReload: () => {},
      storage,
      secrets,
      warnings: [...problems, ...resolved.warnings],
      log,
      version,
      webRoot,
      stop: AbortSignal.any([stop, this.#stopping.signal]),
      abandon,
      onTurn,
      onListening: ({ admin }, inside) => {
        this.#up = { inside, config, secrets, since: Date.now() };
        this.#liveView = admin;
        up.resolve(null);
      },
    }).then((ending) => this.#over(ending, up.resolve));
    return up.promise;
  }

  /** What was pasted or made counts before what stands elsewhere. */
  async #find(config: Config, pouch: Pouch): Promise<FoundSecrets> {
    const { lookup, keychain, stop } = this.#options;
    const names = namedSecrets(config).map(({ name }) => name);
    const elsewhere = names.filter((name) => !pouch.has(name));
    const found = new Map<string, FoundSecret>(await lookup.find(elsewhere, stop));
    const stored = await keychain.stored();
    const kept = stored.kind === 'stored' ? stored.secrets.map(({ name }) => name) : [];
    for (const name of names) {
      const value = pouch.get(name);
      const source = kept.includes(name) ? 'keychain' : 'environment';
      if (value !== undefined) found.set(name, { kind: 'value', value, source, unused: [] });
    }
    return found;
  }

  #over(ending: Ending, unstarted: (problem: string) => void): void {
    const isUp = this.#up !== null;
    if (isUp) this.#served.resolve(ending.kind === 'ended' ? { kind: 'served' } : failed(ending));
    else unstarted(ending.kind === 'ended' ? stopped : ending.message);
    this.#up = null;
  }

  /** Where it is; null: it has none, or does not run yet. */
  get liveView(): string | null {
    return this.#liveView;
  }

  /** The next news of the first message. */
  async hear({ type, says }: Hearing, signal: AbortSignal): Promise<Heard> {
    const up = this.#up;
    if (up === null) return { kind: 'problem', message: 'svc does not run any more.' };
    if (type === null || !kindOf(type).isMessenger) return say(up, says ?? hello, signal);
    return listen(up, type, signal);
  }

  async letIn(code: string, name: string): Promise<Heard> {
    const up = this.#up;
    if (up === null) return { kind: 'problem', message: 'svc does not run any more.' };
    const { ledger, admissions, now } = up.inside;
    const admission = await auditedAdmissions(ledger, admissions, now).admit(code);
    if (admission.kind === 'admitted') {
      return { kind: 'let_in', name: admission.pairing.name ?? admission.pairing.sender };
    }
    const why = admission.kind === 'not_found' ? unknownCode : 'Nobody could be let in.';
    return { kind: 'asking', name, said: why };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#run;
  }
}

function failed({ message }: Exclude<Ending, { readonly kind: 'ended' }>): SetupEnd {
  return { kind: 'failed', message };
}

/** Says something for the person, and takes the answer in the place of whoever gets replies. */
async function say({ config, secrets }: Up, text: string, signal: AbortSignal): Promise<Heard> {
  const place = webhookIn(config);
  if (place === null) return problem('There is no webhook to say something to.');
  const { webhook } = place;
  const read = replyChecks(webhook, secrets);
  if (read.kind === 'missing') return problem(`${read.name} is not set.`);
  const standIn = await StandIn.open(webhook, read.checks);
  if (typeof standIn === 'string') return problem(`The answer cannot be shown here: ${standIn}.`);
  await using receiver = standIn;
  const said = { sender: 'me', text };
  const posted = await postMessage(webhook, secrets.get(webhook.tokenEnv) ?? '', said, signal);
  if (posted.kind === 'refused') return problem(posted.message);
  receiver.expect(posted.id);
  const late = 'No answer came within five minutes. `svc tail` tells what goes on.';
  const reply = await orAborted(
    receiver.reply,
    AbortSignal.any([signal, AbortSignal.timeout(firstAnswerMs)]),
  );
  return reply === null ? problem(late) : { kind: 'reply', said: text, text: reply.text };
}

function problem(message: string): Heard {
  return { kind: 'problem', message };
}

/** Waits for somebody who asks to be let in, or for the first message that is answered. */
async function listen(
  { inside, since }: Up,
  type: ChannelType,
  signal: AbortSignal,
): Promise<Heard> {
  const { admissions, reader, channels } = inside;
  const filter = { ...anyMessage, channel: type, since };
  while (!signal.aborted) {
    const health = channels().find((one) => one.type === type);
    if (health?.state === 'failed') return problem(health.reason ?? 'The channel failed.');
    const answered = (await reader.messages(filter, { limit: 10, after: null })).rows.find(
      ({ outcome, replies }) => isTurn(outcome) && replies.delivered > 0,
    );
    if (answered !== undefined) {
      const told = await reader.storyText(answered.id);
      const text = told?.replies.map((reply) => reply.text).join('\n') ?? '(not kept)';
      return { kind: 'reply', said: told?.text ?? '(not kept)', text };
    }
    const asking = (await admissions.list()).find(
      ({ channel, state }) => channel === type && state === 'asking',
    );
    if (asking !== undefined)
      return { kind: 'asking', name: asking.name ?? asking.sender, said: null };
    await pause(lookEveryMs, signal);
  }
  return { kind: 'nothing' };
}

/** A command is answered too, and so is a stranger with a code, but by no brain. */
function isTurn(outcome: MessageRow['outcome']): boolean {
  return outcome !== null && outcome !== 'command';
}

/** Null: the signal came first. */
function orAborted<T>(awaited: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const aborted = Promise.withResolvers<null>();
  const leave = (): void => aborted.resolve(null);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  return Promise.race([awaited, aborted.promise]).finally(() =>
    signal.removeEventListener('abort', leave),
  );
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
