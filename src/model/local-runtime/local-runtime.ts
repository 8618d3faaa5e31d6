/**
 * A model on the local runtime, which may hand a model on to a vendor without saying so in its
 * address. Whatever shows that (the tag's name, the list of models, an answer) is remembered, and
 * nothing private is sent to that model from then on. Until something shows where it runs, a
 * private request waits for a look at the list. A runtime that does not answer the look, or does
 * not list the model, gives no evidence: it is asked all the same, and looked at the next time.
 */
import { isCloudTag } from '../../domain/cloud-tag.ts';
import { failure } from '../../domain/failure.ts';
import type { Outcome, Try } from '../../domain/outcome.ts';
import { earlier, later, type SteadyTime } from '../../lib/clock.ts';
import type { RelayDetection } from '../relay-detection.ts';
import type { Model, ModelCheck, ModelRequest } from '../model.ts';
import { callProvider, failureOfLook, lookAtProvider, outcomeOf } from '../provider-call.ts';
import { refusesPrivate } from '../provider-call.ts';
import type { RuntimeOptions } from '../provider-call.ts';
import { findTag, fromWire, toWire } from './wire.ts';

/** How long a private request waits for the look. */
const lookMs = 5_000;

export function createLocalRuntime(options: RuntimeOptions): Model {
  return new LocalRuntime(options);
}

class LocalRuntime implements Model {
  readonly name;
  readonly provider = 'local_runtime';
  readonly modelId;
  readonly locality;
  readonly mayForward = true;
  readonly #options: RuntimeOptions;
  readonly #chatUrl: URL;
  readonly #tagsUrl: URL;
  readonly #relay: RelayDetection;
  /** The look under way, if any: every request that needs a look waits for it. */
  #looking: Promise<ModelCheck> | null = null;

  constructor(options: RuntimeOptions) {
    this.name = options.name;
    this.modelId = options.modelId;
    this.locality = options.locality;
    this.#options = options;
    this.#chatUrl = new URL(`${options.baseUrl}/api/chat`);
    this.#tagsUrl = new URL(`${options.baseUrl}/api/tags`);
    this.#relay = options.relay;
    if (isCloudTag(options.modelId)) this.#relay.shownAway();
  }

  async ask(request: ModelRequest, signal: AbortSignal): Promise<Outcome> {
    const refused = refusesPrivate(this.#options, request);
    if (refused !== null) return refused;
    const isPrivate = request.sensitivity === 'private';
    if (isPrivate && this.#relay.state === 'unknown') await this.#look(request.deadlineAt);
    if (isPrivate && this.#relay.state === 'away') return leftMachine([]);
    const tries: Try[] = [];
    const call = { url: this.#chatUrl, body: toWire(this.modelId, request), fromWire };
    const { parsed } = await callProvider(this.#options, call, request, signal, tries);
    if (parsed.kind === 'answer') {
      if (parsed.remoteHost === null) this.#relay.shownHere();
      else this.#relay.shownAway();
      if (isPrivate && parsed.remoteHost !== null) return leftMachine(tries);
    }
    return outcomeOf(parsed, tries);
  }

  check(deadlineAt: SteadyTime): Promise<ModelCheck> {
    const looking = this.#readList(deadlineAt).finally(() => {
      if (this.#looking === looking) this.#looking = null;
    });
    this.#looking = looking;
    return looking;
  }

  async #look(deadlineAt: SteadyTime): Promise<void> {
    const ownEnd = earlier(deadlineAt, later(this.#options.steady(), lookMs));
    // A look that was under way already may fail long before this request has waited its time.
    const joined = await this.#looking;
    if (joined?.kind === 'reached') return;
    await (this.#looking ?? this.check(ownEnd));
  }

  async #readList(deadlineAt: SteadyTime): Promise<ModelCheck> {
    const result = await lookAtProvider(this.#options, this.#tagsUrl, deadlineAt);
    const failed = failureOfLook(result);
    if (failed !== null) return { kind: 'failed', failure: failed };
    const found = result.kind === 'answer' ? findTag(result.body, this.modelId) : null;
    if (found?.leavesMachine === true) this.#relay.shownAway();
    else if (found?.hasModel === true) this.#relay.shownHere();
    const leavesMachine = this.#relay.state === 'away';
    return { kind: 'reached', hasModel: found?.hasModel ?? null, leavesMachine };
  }
}

const leftMachine = (tries: readonly Try[]): Outcome => ({
  kind: 'failed',
  failure: failure('left_machine'),
  tries: tries.map((one) => ({ ...one, failed: 'left_machine' })),
});
