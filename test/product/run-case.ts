/** Runs a case with real model servers over sockets, and records the result. */
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import { fromNow } from '../support/hand-clock.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import { createResponder } from '../../src/brains/responder.ts';
import type { ModelConfig } from '../../src/config/config.ts';
import type { Decision } from '../../src/domain/decision.ts';
import type { Message } from '../../src/domain/message.ts';
import type { TraceStep } from '../../src/domain/trace.ts';
import { createDeadlines, type Deadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { buildModel, CallBounds } from '../../src/brains/models/build-model.ts';
import { PromptRecords } from '../../src/brains/models/prompt-records.ts';
import { RelayDetections } from '../../src/brains/models/relay-detection.ts';
import { retryDelayMs } from '../../src/brains/models/provider-call.ts';
import { createConsensus } from '../../src/brains/policies/consensus.ts';
import { createPriority } from '../../src/brains/policies/priority.ts';
import type { Script, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import type { Case } from './cases.ts';
import { isClosed, mayRetry } from './expected.ts';
import { patienceMs } from '../support/waiting.ts';

export type Played = {
  readonly decision: Decision;
  /** Ranks in the order in which their servers were called; a closed port records nothing. */
  readonly heard: readonly number[];
  readonly steps: readonly TraceStep[];
  /** The number of calls to the target of redirects. */
  readonly astray: number;
};

const deadlines = createDeadlines();

/** No pause; the member limits the number of retries. */
const atOnce = { retriesMax: Infinity, random: () => 0 };

/** A port that was just closed may belong to another server by now; nobody has this one. */
const closedPort = 'http://127.0.0.1:1';

export async function play(given: Case): Promise<Played> {
  await using stack = new AsyncDisposableStack();
  const elsewhere = stack.use(await startFakeOllama());
  const stage = new Stage(given, elsewhere.origin);
  const urls: string[] = [];
  for (let rank = 0; rank < given.plans.length; rank++) {
    const start = rank % 2 === 0 ? startFakeOllama : startFakeOpenai;
    const closed = isClosed(given, rank);
    urls.push(closed ? closedPort : stack.use(await start(stage.scriptOf(rank))).url);
  }
  const events = {
    modelAsked() {},
    modelAnswered: ({ model }: { model: string }) => stage.ended(rankOf(model)),
    faulted: ({ error }: { error: unknown }) => stage.faults.push(error),
  };
  const relayDetections = new RelayDetections();
  const [bounds, prompts] = [new CallBounds(), new PromptRecords()];
  const deps = { deadlines, ...systemClock, events, relayDetections, bounds, prompts };
  const brain = createResponder({
    name: 'helper',
    sensitivity: 'public',
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    systemPrompt: null,
    deadlineMs: 60_000,
    dispatch: given.dispatch,
    policy: given.policy === 'priority' ? createPriority() : createConsensus(),
    members: given.listed.map((rank) => {
      const key = rank % 2 === 0 ? null : 'key-of-nobody';
      const http = createHttpClient(stage.deadlinesOf(rank));
      stack.defer(() => http.close());
      const config = { ...configOf(given, rank, urls[rank]!), modelId: stage.modelOf(rank) };
      const model = buildModel(config, key, { ...deps, http });
      return { model, rank, retriesMax: 2 };
    }),
    deadlines,
    ...systemClock,
    retryDelayMs: (failure, attempt) => retryDelayMs(failure, attempt, atOnce),
    onFault: (error) => stage.faults.push(error),
  });
  const message = { text: 'two plus two?', media: null, sensitivity: 'public' } as Message;
  const turnContext = new DryRunContext(new Stopper(), fromNow(60_000), new FakeBudgetGuard());
  const decision = await brain.think({ message, text: message.text, history: [] }, turnContext);
  if (stage.faults.length > 0) throw new AggregateError(stage.faults, 'faults in svc');
  const asked = [...elsewhere.calls, ...elsewhere.looks];
  const astray = asked.filter(({ path }) => path.includes(stage.name)).length;
  return { decision, heard: stage.heard, steps: turnContext.steps, astray };
}

/** The time limit ends only after the model's server has received the call. */
const hungMs = 50;

export const rankOf = (model: string): number => Number(model.at(-1));

function configOf({ plans }: Case, rank: number, baseUrl: string): Omit<ModelConfig, 'modelId'> {
  const plan = plans[rank]!;
  const hangs = plan !== 'answers' && plan.fails === 'hang';
  return {
    provider: rank % 2 === 0 ? 'local_runtime' : 'hosted_runtime',
    locality: 'local',
    baseUrl,
    apiKeyEnv: null,
    timeoutMs: hangs ? hungMs : patienceMs,
    retriesMax: 2,
    inFlightMax: 10,
    outputTokensMax: null,
    contextTokens: null,
    price: null,
    vision: null,
  };
}

/** Delays each answer until its turn in the order of the case. */
class Stage {
  readonly heard: number[] = [];
  readonly faults: unknown[] = [];
  readonly #given: Case;
  readonly #elsewhere: string;
  readonly #endings: number[] = [];
  /** Unique, since another process may still call the former server of a reused port. */
  readonly name = crypto.randomUUID();
  #waiting: { readonly ready: () => boolean; readonly go: () => void }[] = [];

  constructor(given: Case, elsewhere: string) {
    this.#given = given;
    this.#elsewhere = elsewhere;
  }

  modelOf(rank: number): string {
    return `${this.name}-${rank}`;
  }

  scriptOf(rank: number): Script {
    const plan = this.#given.plans[rank]!;
    return ({ body }): Step => {
      const { model } = body as { model?: unknown };
      if (model !== this.modelOf(rank)) return { fail: '404' };
      const ask = countOf(this.heard, rank);
      this.heard.push(rank);
      const after = this.#turnOf(rank, ask);
      this.#look();
      if (plan === 'answers' || ask >= plan.times)
        return { answer: this.#given.texts[rank]!, after };
      return { fail: plan.fails, location: `${this.#elsewhere}/${this.name}`, after };
    };
  }

  /** Deadlines for the calls to one model: none expires before its server has received the call. */
  deadlinesOf(rank: number): Deadlines {
    let asks = 0;
    const at: Deadlines['at'] = (time, act) => {
      const ask = asks++;
      const ready = (): boolean => countOf(this.heard, rank) > ask;
      return deadlines.at(time, () => {
        this.#waiting.push({ ready, go: act });
        this.#look();
      });
    };
    return { at, after: (ms, act) => at(fromNow(ms), act), size: 0 };
  }

  ended(rank: number): void {
    this.#endings.push(rank);
    this.#look();
  }

  #turnOf(rank: number, ask: number): Promise<void> {
    const { dispatch, order } = this.#given;
    if (dispatch === 'sequential') return Promise.resolve();
    const others = order.filter((other) => ask === 0 || mayRetry(this.#given, other, ask - 1));
    const before = others.slice(0, others.indexOf(rank));
    const ready = (): boolean =>
      others.every((other) => isClosed(this.#given, other) || countOf(this.heard, other) > ask) &&
      before.every((other) => countOf(this.#endings, other) > ask);
    return new Promise((go) => this.#waiting.push({ ready, go }));
  }

  #look(): void {
    const ready = this.#waiting.filter((one) => one.ready());
    this.#waiting = this.#waiting.filter((one) => !ready.includes(one));
    for (const { go } of ready) go();
  }
}

function countOf(ranks: readonly number[], rank: number): number {
  return ranks.filter((other) => other === rank).length;
}
