/** What the calls and turns of all instances showed, as those of one. */
import type { FailureKind } from '../../domain/failure.ts';
import type { ModelName } from '../../domain/ids.ts';
import {
  addWindows,
  emptyWindow,
  fiveMinutesMs,
  standingOfAll,
  standings,
  type Standing,
} from '../../domain/health.ts';
import { Histogram } from '../../lib/histogram.ts';
import type { BrainMeters, CallResult, Meters, ModelMeters } from '../../telemetry/meters.ts';
import type { ProviderMeters, Shown } from '../../telemetry/meters.ts';
import type { AskedReport } from './call-report.ts';
import { histogramOf } from './merging.ts';
import type { Whole } from './whole.ts';

export type Asked = Pick<Meters, 'providers' | 'models' | 'brains'>;

export function askedBy({ reports }: Pick<Whole, 'reports'>): Asked {
  const providers = new Map<string, ProviderSum>();
  const models = new Map<ModelName, ModelSum>();
  const brains = new Map<string, BrainSum>();
  for (const { report } of reports) {
    for (const told of report.providers) {
      const { provider } = told;
      const sum = providers.get(provider) ?? new ProviderSum();
      providers.set(provider, sum);
      sum.add(told);
    }
    for (const told of report.models) {
      const { model, provider } = told;
      const sum = models.get(model) ?? new ModelSum(provider);
      models.set(model, sum);
      sum.add(told);
    }
    for (const told of report.brains ?? []) {
      const sum = brains.get(told.brain) ?? new BrainSum();
      brains.set(told.brain, sum);
      sum.add(told);
    }
  }
  return { providers, models, brains };
}

type Calls = AskedReport['models'][number]['calls'];

class CallSums {
  readonly calls = new Map<CallResult, { readonly took: Histogram }>();

  protected addCalls(calls: Calls): void {
    for (const { result, took } of calls) {
      const sum = this.calls.get(result) ?? { took: new Histogram() };
      this.calls.set(result, sum);
      sum.took.add(histogramOf([took]));
    }
  }
}

class ModelSum extends CallSums implements ModelMeters {
  readonly provider: string;
  readonly #shown: Shown[] = [];
  last: FailureKind | null = null;
  window = emptyWindow;
  replies = 0;

  constructor(provider: string) {
    super();
    this.provider = provider;
  }

  get shown(): Shown {
    return wholeOf(this.#shown);
  }

  add({ calls, shown, last, window, replies }: AskedReport['models'][number]): void {
    this.addCalls(calls);
    if (window !== null) this.window = addWindows(this.window, window);
    this.replies += replies ?? 0;
    if (shown === null) return;
    if (last !== null && shown.shownAt >= this.shown.shownAt) this.last = last as FailureKind;
    this.#shown.push(readShown(shown));
  }
}

class ProviderSum extends CallSums implements ProviderMeters {
  readonly #shown: Shown[] = [];
  last: ProviderMeters['last'] = null;
  #lastAt = 0;

  get shown(): Shown {
    return wholeOf(this.#shown);
  }

  /** One of a release before tells its health alone, which is what its last call showed. */
  add({ calls, standing, health, shownAt }: AskedReport['providers'][number]): void {
    this.addCalls(calls);
    if (health === null) return;
    const { state, since, reason, model } = health;
    this.#shown.push(readShown({ standing: standing ?? state, since, shownAt }));
    if (reason === null || model === null || shownAt < this.#lastAt) return;
    this.#lastAt = shownAt;
    this.last = { reason: reason as FailureKind, model: model as ModelName };
  }
}

class BrainSum implements BrainMeters {
  readonly #shown: Shown[] = [];
  window = emptyWindow;

  get shown(): Shown {
    return wholeOf(this.#shown);
  }

  add({ shown, window }: NonNullable<AskedReport['brains']>[number]): void {
    this.window = addWindows(this.window, window);
    this.#shown.push(readShown(shown));
  }
}

/** A word of another release says as much as nothing. */
function readShown(told: { standing: string; since: number; shownAt: number }): Shown {
  return { ...told, standing: standings.find((one) => one === told.standing) ?? 'unknown' };
}

/** What was shown long before others showed something says nothing of now. */
function wholeOf(all: readonly Shown[]): Shown {
  const known = all.filter(({ standing }) => standing !== 'unknown');
  if (known.length === 0) return all.toSorted((a, b) => b.since - a.since)[0] ?? nothing;
  const shownAt = Math.max(...known.map((one) => one.shownAt));
  const fresh = known.filter((one) => one.shownAt > shownAt - fiveMinutesMs);
  const standing = standingOfAll(fresh.map((one) => one.standing));
  return { standing, since: sinceOf(standing, fresh), shownAt };
}

/** All of it works, or fails, since the last of them does; some of it fails since the first did. */
function sinceOf(standing: Standing, all: readonly Shown[]): number {
  if (standing !== 'degraded') return Math.max(...all.map(({ since }) => since));
  const troubled = all.filter((one) => one.standing !== 'up');
  return Math.min(...troubled.map(({ since }) => since));
}

const nothing: Shown = { standing: 'unknown', since: 0, shownAt: 0 };
