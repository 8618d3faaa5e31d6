/**
 * Runs the configured service in this process at the end of the first run, and waits for the first
 * message to it.
 */
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
import type { SecretLookupResult, SecretLookupResults } from '../../src/config/found-secret.ts';
import {
  howToSet,
  namedSecrets,
  resolveSecrets,
  describeMissing,
} from '../../src/config/secrets.ts';
import { anyMessage, type MessageRow } from '../../src/domain/records.ts';
import { unknownCode } from '../../src/domain/gate.ts';
import type { Ending, Inside, Setup } from '../../src/app/run-contract.ts';
import type { Log } from '../../src/lib/log.ts';
import { stopOf, unlessStopped } from '../../src/lib/stop.ts';
import type { Keychain, ServiceSecrets } from '../../src/secrets/secrets.ts';
import { firstAnswerMs } from './pages.ts';
import type { SecretValues } from './session.ts';
import type { SetupEnd } from './setup.ts';
import type { Effect, FirstMessage } from './state.ts';

export type RunningServiceOptions = {
  /** The configuration file, absolute. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lookup: ServiceSecrets;
  readonly keychain: Keychain;
  readonly version: string;
  readonly webRoot: URL;
  /** Receives the log lines of the service. */
  readonly log: Log;
  /** Ends the service. */
  readonly stop: AbortSignal;
  readonly abandon: AbortSignal;
  /** Called after each turn of the service. */
  readonly onTurn?: Setup['onTurn'];
};

/** `since`: milliseconds since 1970. */
type Running = {
  readonly inside: Inside;
  readonly config: Config;
  readonly secrets: Secrets;
  readonly since: number;
};

type HearEffect = Extract<Effect, { readonly kind: 'hear' }>;

const stopped = 'It was stopped.';
const hello = 'Hello!';
const pollMs = 250;

export class RunningService implements AsyncDisposable {
  readonly #options: RunningServiceOptions;
  readonly #served = Promise.withResolvers<SetupEnd>();
  #stopping = new AbortController();
  #running: Running | null = null;
  #liveView: string | null = null;
  #run: Promise<unknown> = Promise.resolve();

  constructor(options: RunningServiceOptions) {
    this.#options = options;
  }

  /** Resolves when a service that listened has ended; stays pending if none listened. */
  get served(): Promise<SetupEnd> {
    return this.#served.promise;
  }

  /**
   * Starts the service as `svc serve` does. It finds pasted and generated secrets wherever they are
   * kept. A service that runs already ends first: it may be there with a channel that failed.
   * @returns null: the service listens; else why it does not
   */
  async start(secretValues: SecretValues): Promise<string | null> {
    await this.#endRun();
    const { file, env, lookup, version, webRoot, log, stop, abandon, onTurn } = this.#options;
    const inspection = await inspectConfig(file, env, 'file');
    const { validation, text, storage } = inspection;
    if (validation.kind === 'invalid')
      return validation.problems.map(({ message }) => message).join(' ');
    const { config, problems } = validation;
    const found = await this.#findSecrets(config, secretValues);
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
    const started = Promise.withResolvers<string | null>();
    const stopping = new AbortController();
    this.#stopping = stopping;
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
      stop: AbortSignal.any([stop, stopping.signal]),
      abandon,
      onTurn,
      onListening: ({ admin }, inside) => {
        this.#running = { inside, config, secrets, since: Date.now() };
        this.#liveView = admin;
        started.resolve(null);
      },
    }).then((ending) => this.#onEnd(ending, started.resolve));
    return started.promise;
  }

  /** Pasted and generated values take precedence over values found elsewhere. */
  async #findSecrets(config: Config, secretValues: SecretValues): Promise<SecretLookupResults> {
    const { lookup, keychain, stop } = this.#options;
    const names = namedSecrets(config).map(({ name }) => name);
    const elsewhere = names.filter((name) => !secretValues.has(name));
    const found = new Map<string, SecretLookupResult>(await lookup.find(elsewhere, stop));
    const stored = await keychain.stored();
    const kept = stored.kind === 'stored' ? stored.secrets.map(({ name }) => name) : [];
    for (const name of names) {
      const value = secretValues.get(name);
      const source = kept.includes(name) ? 'keychain' : 'environment';
      if (value !== undefined) found.set(name, { kind: 'value', value, source, unused: [] });
    }
    return found;
  }

  #onEnd(ending: Ending, unstarted: (problem: string) => void): void {
    const wasRunning = this.#running !== null;
    // A run that this class ended itself is no end of the first run.
    if (wasRunning && !this.#stopping.signal.aborted)
      this.#served.resolve(ending.kind === 'ended' ? { kind: 'served' } : failed(ending));
    else if (!wasRunning) unstarted(ending.kind === 'ended' ? stopped : ending.message);
    this.#running = null;
  }

  /** The URL of the live view; null: the service has none, or does not run yet. */
  get liveView(): string | null {
    return this.#liveView;
  }

  /** Waits for the next result of the first message. */
  async hear({ type, says }: HearEffect, signal: AbortSignal): Promise<FirstMessage> {
    const running = this.#running;
    if (running === null) return problem('svc does not run any more.', 'start');
    if (type === null || !kindOf(type).isMessenger)
      return sendForPerson(running, says ?? hello, signal);
    return awaitFirstMessage(running, type, signal);
  }

  async letIn(code: string, name: string): Promise<FirstMessage> {
    const running = this.#running;
    if (running === null) return problem('svc does not run any more.', 'start');
    const { ledger, admissions, now } = running.inside;
    const admission = await auditedAdmissions(ledger, admissions, now).admit(code);
    if (admission.kind === 'admitted') {
      return { kind: 'let_in', name: admission.pairing.name ?? admission.pairing.sender };
    }
    const why = admission.kind === 'not_found' ? unknownCode : 'Nobody could be let in.';
    return { kind: 'asking', name, said: why };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endRun();
  }

  async #endRun(): Promise<void> {
    this.#stopping.abort();
    await this.#run;
  }
}

function failed({ message }: Exclude<Ending, { readonly kind: 'ended' }>): SetupEnd {
  return { kind: 'failed', message };
}

/** Sends a message for the person, and receives the reply in place of the configured receiver. */
async function sendForPerson(
  { config, secrets }: Running,
  text: string,
  signal: AbortSignal,
): Promise<FirstMessage> {
  const isUnnamed = config.channels.some(({ name }) => name === 'webhook');
  const place = webhookIn(config, isUnnamed ? 'webhook' : null);
  if (place === null || typeof place === 'string')
    return problem('There is no webhook to say something to.');
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
  const reply = await unlessStopped(
    receiver.reply,
    stopOf(AbortSignal.any([signal, AbortSignal.timeout(firstAnswerMs)])),
  );
  return reply === null ? problem(late) : { kind: 'reply', said: text, text: reply.text };
}

function problem(message: string, again: 'start' | 'hear' = 'hear'): FirstMessage {
  return { kind: 'problem', message, again };
}

/**
 * Waits until somebody asks to be let in, or until the first message is answered: on the channel of
 * this type without a name, else on the first one.
 */
async function awaitFirstMessage(
  { inside, since, config }: Running,
  type: ChannelType,
  signal: AbortSignal,
): Promise<FirstMessage> {
  const { admissions, reader, channels } = inside;
  const names = config.channels.filter((one) => one.type === type).map(({ name }) => name);
  const [first] = names.includes(type) ? [type] : names;
  const filter = { ...anyMessage, channel: first ?? type, since };
  while (!signal.aborted) {
    const health = channels().find(({ name }) => name === filter.channel);
    if (health?.state === 'failed') return problem(health.reason ?? 'The channel failed.', 'start');
    const answered = (await reader.messages(filter, { limit: 10, after: null })).rows.find(
      ({ outcome, replies }) => isTurn(outcome) && replies.delivered > 0,
    );
    if (answered !== undefined) {
      const story = await reader.storyText(answered.id);
      const text = story?.replies.map((reply) => reply.text).join('\n') ?? '(not kept)';
      return { kind: 'reply', said: story?.text ?? '(not kept)', text };
    }
    const asking = (await admissions.list()).find(
      ({ channel, state }) => channel === filter.channel && state === 'asking',
    );
    if (asking !== undefined)
      return { kind: 'asking', name: asking.name ?? asking.sender, said: null };
    await pause(pollMs, signal);
  }
  return { kind: 'nothing' };
}

/** Commands and codes of strangers get replies too, but no brain answers them. */
function isTurn(outcome: MessageRow['outcome']): boolean {
  return outcome !== null && outcome !== 'command';
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
