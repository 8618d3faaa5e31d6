/** Looking at a model of the configuration in use: is it there? Nothing of anyone is sent. */
import type { FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import type { Standing } from '../domain/health.ts';

export interface ModelProbes {
  /** `none`: no brain may ask such a model. `busy`: too many are looked at. It takes up to 5 s. */
  look(
    name: string,
  ): Promise<
    { readonly kind: 'looked'; readonly look: ModelProbe } | { readonly kind: 'none' | 'busy' }
  >;
}

export type ModelProbe = {
  readonly model: ModelName;
  /** Where its provider is asked. */
  readonly address: string;
  /** The name of the variable that holds its key; null: it needs none. */
  readonly keyEnv: string | null;
  /** Why it will not answer; null: nothing speaks against it. */
  readonly failure: { readonly kind: FailureKind; readonly detail: string } | null;
  /** Where a local runtime lacks the model: some that it has. */
  readonly others: readonly string[];
};

// What a status tells of those who are asked: providers, models, and whether brains answer.

/** null while nothing was measured. */
export type TimesStatus = { readonly p50Ms: number | null; readonly p95Ms: number | null };

/** `givenUp` calls were ended by svc, mostly since another answer was in hand: no failure. */
export type CallsStatus = {
  readonly provider: string;
  readonly answers: number;
  readonly failures: number;
  readonly givenUp: number;
  /** The failures by why, most frequent first. */
  readonly reasons: readonly { readonly code: FailureKind; readonly count: number }[];
  readonly times: TimesStatus;
};

/** How often something went well and did not, in the last minute and the last five. */
export type WindowStatus = {
  readonly oneMinute: SpanStatus;
  readonly fiveMinutes: SpanStatus;
};
type SpanStatus = { readonly answers: number; readonly failures: number };

/**
 * How something stands by what the last minutes showed (domain/health.ts): a call, a turn, or a
 * look. While nothing is asked it stands as it did. What svc is too old to tell is null.
 */
type StandingStatus = {
  readonly standing: Standing | null;
  /** When it was last shown. */
  readonly shownAt: number | null;
  readonly window: WindowStatus | null;
};

/**
 * `state` is `failing` where all models of it that are in use fail, as far as any of them showed
 * anything, and `up` also where it stands `degraded`; `since` is of its standing. `model`
 * (`provider/model_id`) is the one that failed last; null where the state is not `failing`.
 */
export type ProviderStatus = CallsStatus &
  StandingStatus & {
    readonly state: 'up' | 'failing' | 'unknown';
    readonly since: number | null;
    readonly reason: FailureKind | null;
    readonly model: string | null;
  };

/**
 * `model` is `provider/model_id`; one that is not `inUse` has no place in the configuration any
 * more, and only its counts. `reason` is its last failure where it does not stand well.
 * `answeredByOthers`: the turns of the last five minutes of brains that may ask it which another
 * model gave the reply of.
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
 * Whether messages to a brain are answered: `failing` where none is, `degraded` where some are not.
 * A failure of the window is a turn for which no model gave an answer; what the policy or the
 * bounds of an agent ended is none. `model` and `reason`: which of its models does not answer.
 */
export type AnsweringStatus = {
  readonly brain: string;
  readonly standing: Standing;
  readonly since: number | null;
  readonly shownAt: number | null;
  readonly model: string | null;
  readonly reason: FailureKind | null;
  readonly window: WindowStatus;
};
