/**
 * Runs test cases, several at once, each at a desk of its own where nothing is delivered or kept.
 * No case begins while one of its models has as many in hand as its bound lets through: a case that
 * waited there would lose the time in which its brain has to answer.
 */
import type { ChannelType, ModelConfig, Secrets } from '../../config/config.ts';
import { windowAfter, type TurnRow } from '../../domain/conversation.ts';
import { DryRun, type DryRunSettings } from '../dry-run.ts';
import type { BrainDeps } from '../service.ts';
import { missesOf, type Miss } from './expectation.ts';
import { judgeBrain, judgePrompt, verdictOf } from './judge.ts';
import { matchWithin } from './pattern.ts';
import type { PlannedCase, PlannedJudge } from './plan.ts';

export type TrialSettings = {
  readonly secrets: Secrets;
  readonly deps: BrainDeps;
  /** Texts of the folders of skills, by the brain's name. */
  readonly skills: ReadonlyMap<string, string>;
  /** What all cases together are charged to: they use one budget. */
  readonly spend: DryRunSettings['spend'];
  /** Where the brain is talked to, for the grants of an agent. */
  channelOf(brain: string): ChannelType | null;
  /** At most so many cases are under way. */
  readonly jobsMax: number;
  readonly stop: AbortSignal;
};

/** `reply` null: there was none. `ms` is how long the brain took. */
export type CaseRun = {
  readonly passed: boolean;
  readonly reply: string | null;
  readonly misses: readonly Miss[];
  readonly ms: number;
};

export type CaseResult = {
  readonly planned: PlannedCase;
  readonly passed: boolean;
  readonly runs: readonly CaseRun[];
  /** Of all runs. */
  readonly ms: number;
};

/** One for each case, in their order. They reject only for a bug; a stop lets each case fail. */
export function startCases(
  cases: readonly PlannedCase[],
  settings: TrialSettings,
): readonly Promise<CaseResult>[] {
  const seats = new Seats(settings.jobsMax);
  const waiting = cases.map((planned) => {
    return { planned, result: Promise.withResolvers<CaseResult>() };
  });
  const results = waiting.map(({ result }) => result.promise);
  const begin = (): void => {
    for (let at = 0; at < waiting.length;) {
      const { planned, result } = waiting[at]!;
      const seat = seats.take(modelsOf(planned));
      if (seat === null) {
        at++;
        continue;
      }
      waiting.splice(at, 1);
      runCase(planned, settings)
        .finally(() => seat[Symbol.dispose]())
        .then(result.resolve, result.reject)
        .finally(begin);
    }
  };
  begin();
  return results;
}

function modelsOf({ brain, judge }: PlannedCase): readonly ModelConfig[] {
  return judge === null ? brain.models : [...brain.models, judge.model];
}

/** What is in hand: cases, and calls of each model. */
class Seats {
  readonly #most: number;
  readonly #taken = new Map<string, number>();
  #cases = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** null: there is no room now. */
  take(models: readonly ModelConfig[]): Disposable | null {
    const wanted = new Map(models.map((model) => [keyOf(model), model.inFlightMax]));
    const isFull = [...wanted].some(([key, most]) => (this.#taken.get(key) ?? 0) >= most);
    if (isFull || this.#cases >= this.#most) return null;
    this.#move(wanted.keys(), 1);
    return { [Symbol.dispose]: () => this.#move(wanted.keys(), -1) };
  }

  #move(keys: Iterable<string>, by: 1 | -1): void {
    this.#cases += by;
    for (const key of keys) this.#taken.set(key, (this.#taken.get(key) ?? 0) + by);
  }
}

function keyOf({ provider, baseUrl, modelId }: ModelConfig): string {
  return JSON.stringify([provider, baseUrl, modelId]);
}

async function runCase(planned: PlannedCase, settings: TrialSettings): Promise<CaseResult> {
  const share = planned.expect?.of ?? { runs: 1, pass: 1 };
  const runs: CaseRun[] = [];
  while (runs.length < share.runs && !settings.stop.aborted) {
    runs.push(await runOnce(planned, settings));
  }
  const passed = runs.filter((run) => run.passed).length >= share.pass;
  return { planned, passed, runs, ms: runs.reduce((sum, { ms }) => sum + ms, 0) };
}

async function runOnce(planned: PlannedCase, settings: TrialSettings): Promise<CaseRun> {
  const { brain, text, history, expect, judge } = planned;
  const { secrets, deps, skills, spend, stop } = settings;
  const channel = settings.channelOf(brain.name);
  const place = { channel, skills: skills.get(brain.name) ?? null, spend };
  const turns = history.map(({ asked, answered }): TurnRow => {
    const reply = answered === '' ? null : answered;
    return { at: deps.now(), text: asked, reply, sensitivity: brain.sensitivity };
  });
  const dryRun = new DryRun(brain, secrets, deps, place);
  const seen = windowAfter(turns, brain.historyBounds);
  const { decision, uses, ms } = await dryRun.ask(text, seen, stop);
  if (decision.kind === 'apology') {
    const came = `there was none: ${decision.why}`;
    return { passed: false, reply: null, misses: [{ expected: 'a reply', came }], ms };
  }
  const reply = decision.text;
  const misses = expect === null ? [] : missesOf(expect, reply, uses, matchWithin);
  // What fails already need not cost another question.
  const judged =
    judge === null || misses.length > 0 ? [] : await missOfJudge(planned, judge, reply, settings);
  const all = [...misses, ...judged];
  return { passed: all.length === 0, reply, misses: all, ms };
}

async function missOfJudge(
  { brain, text }: PlannedCase,
  { model, asks }: PlannedJudge,
  reply: string,
  { secrets, deps, spend, stop }: TrialSettings,
): Promise<readonly Miss[]> {
  const place = { channel: null, skills: null, spend };
  const dryRun = new DryRun(judgeBrain(brain, model), secrets, deps, place);
  const mark = crypto.randomUUID().slice(0, 13);
  const { decision } = await dryRun.ask(judgePrompt(text, reply, asks, mark), [], stop);
  const expected = `a reply of which ${model.provider}/${model.modelId} says yes to “${asks}”`;
  if (decision.kind === 'apology') {
    return [{ expected, came: `the judge gave no answer: ${decision.why}` }];
  }
  const verdict = verdictOf(decision.text);
  switch (verdict) {
    case 'yes':
      return [];
    case 'no':
      return [{ expected, came: `it says no of “${reply}”` }];
    case 'unclear':
      return [{ expected, came: `its answer begins with neither: “${decision.text}”` }];
    default:
      return verdict satisfies never;
  }
}
