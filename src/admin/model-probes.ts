/**
 * The port to probe a model of the configuration in use: is it there? A probe sends no one's
 * content.
 */
import type { FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import type { HealthLevel } from '../domain/health.ts';

export interface ModelProbes {
  /**
   * `none`: no brain may ask such a model. `busy`: too many probes run. A probe takes up to 5 s.
   */
  probe(
    name: string,
  ): Promise<
    { readonly kind: 'looked'; readonly probe: ModelProbe } | { readonly kind: 'none' | 'busy' }
  >;
}

export type ModelProbe = {
  readonly model: ModelName;
  /** The address of its provider. */
  readonly address: string;
  /** The name of the variable that holds its key; null: it needs none. */
  readonly keyEnv: string | null;
  /** Why it will not answer; null: nothing prevents it. */
  readonly failure: { readonly kind: FailureKind; readonly detail: string } | null;
  /** Some models that a local runtime has instead of this one. */
  readonly others: readonly string[];
};

// The parts of a status about calls: providers, models, and whether brains answer.

/** null: nothing was measured. */
export type TimesStatus = { readonly p50Ms: number | null; readonly p95Ms: number | null };

/**
 * svc ended `givenUp` calls itself, mostly because another answer came first. They are no failures.
 */
export type CallsStatus = {
  readonly provider: string;
  readonly answers: number;
  readonly failures: number;
  readonly givenUp: number;
  /** Failures by reason, the most frequent first. */
  readonly reasons: readonly { readonly code: FailureKind; readonly count: number }[];
  readonly times: TimesStatus;
};

/** Successes and failures of the last minute and of the last five. */
export type WindowStatus = {
  readonly oneMinute: SpanStatus;
  readonly fiveMinutes: SpanStatus;
};
type SpanStatus = { readonly answers: number; readonly failures: number };

/**
 * The health by the results of the last minutes (domain/health.ts): calls, turns and probes.
 * Without new results it stays as it was. A field that svc is too old to have is null.
 */
type StandingStatus = {
  readonly standing: HealthLevel | null;
  /** When the last result came. */
  readonly shownAt: number | null;
  readonly window: WindowStatus | null;
};

/**
 * `state` is `failing` if all its models in use fail, as far as they have results. It is `up` also
 * if the standing is `degraded`. `since` belongs to the standing. `model` (`provider/model_id`) is
 * the one that failed last; null unless the state is `failing`.
 */
export type ProviderStatus = CallsStatus &
  StandingStatus & {
    readonly state: 'up' | 'failing' | 'unknown';
    readonly since: number | null;
    readonly reason: FailureKind | null;
    readonly model: string | null;
  };

/**
 * `model` is `provider/model_id`. A model that is not `inUse` has left the configuration and has
 * only its counts. `reason` is its last failure unless its standing is good. `answeredByOthers`:
 * how many turns of the last five minutes another model of its brains answered.
 */
export type ModelCallsStatus = CallsStatus &
  StandingStatus & {
    readonly model: string;
    readonly inUse: boolean | null;
    readonly since: number | null;
    readonly reason: FailureKind | null;
    readonly answeredByOthers: number | null;
  };

/**
 * Whether messages to a brain are answered: `failing` if none is, `degraded` if some are not. A
 * failure in the window is a turn without an answer of any model. A turn that the policy or an
 * agent's limits ended is none. `model` and `reason`: which of its models does not answer.
 */
export type AnsweringStatus = {
  readonly brain: string;
  readonly standing: HealthLevel;
  readonly since: number | null;
  readonly shownAt: number | null;
  readonly model: string | null;
  readonly reason: FailureKind | null;
  readonly window: WindowStatus;
};
