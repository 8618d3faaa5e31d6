/**
 * Reads stored JSON. It omits or marks parts that cannot be read, which an older release or a
 * person wrote. It never throws: one bad row must not break a list.
 */
import { fieldsOf as fieldsOfValue, parseJson, type Fields } from '../../lib/json.ts';
import { failureKinds, type FailureKind } from '../../domain/failure.ts';
import type { MessageId, ModelName } from '../../domain/ids.ts';
import {
  triesMax,
  type DeliveryTry,
  type FailureSummary,
  type Takeovers,
  type UnsentAnswer,
} from '../../domain/story.ts';
import type { Trace, TraceStep } from '../../domain/trace.ts';

type Kept = string | null;

/** The reason of a dead letter whose stored reason cannot be read. */
const unreadable: FailureSummary = {
  kind: 'fault',
  whose: 'us',
  status: null,
  detail: 'what was kept of the reason cannot be read',
};

export function failureOf(kept: Kept): FailureSummary | null {
  if (kept === null) return null;
  const { kind, whose, status, detail } = fieldsOf(kept);
  const known = failureKinds.find((one) => one === kind);
  if (known === undefined || typeof detail !== 'string') return unreadable;
  return {
    kind: known,
    whose: whose === 'sender' || whose === 'operator' || whose === 'provider' ? whose : 'us',
    status: typeof status === 'number' ? status : null,
    detail,
  };
}

/** The reason of a dead letter, or a stand-in if it is missing. */
export function reasonOf(kept: Kept): FailureSummary {
  return failureOf(kept) ?? unreadable;
}

export function traceOf(kept: Kept): Trace | null {
  if (kept === null) return null;
  const trace = fieldsOf(kept);
  const times = [trace['acceptedAt'], trace['claimedAt'], trace['decidedAt'], trace['attempt']];
  const steps = trace['steps'];
  const isValid =
    times.every((time) => typeof time === 'number') &&
    typeof trace['brain'] === 'string' &&
    typeof trace['outcome'] === 'string' &&
    Array.isArray(steps) &&
    steps.every((step) => typeof (step as { kind?: unknown } | null)?.kind === 'string');
  return isValid ? withDefaults(trace as unknown as Trace) : null;
}

/** @param kept the trace of a turn that an operator answered; empty: not kept any more */
export function takeoverOf(kept: Kept): Takeovers | null {
  if (kept === null) return null;
  const { steps } = fieldsOf(kept);
  const step = (Array.isArray(steps) ? (steps as unknown[]) : []).find(isOperatorStep);
  return { answeredWith: step?.answeredWith ?? null };
}

const isOperatorStep = (step: unknown): step is { readonly answeredWith?: MessageId | null } =>
  (step as { kind?: unknown } | null)?.kind === 'operator';

/** Sets the fields that steps of older releases lack to null. */
function withDefaults(trace: Trace): Trace {
  const steps = trace.steps.map((step): TraceStep => {
    if (step.kind !== 'model') return step;
    const tries = step.tries.map((one) => {
      const tokens =
        one.tokens == null ? null : { ...one.tokens, cached: one.tokens.cached ?? null };
      return { ...one, tokens };
    });
    const usage =
      step.usage == null ? null : { ...step.usage, cachedTokens: step.usage.cachedTokens ?? null };
    const { cost = null, isCut = null, reuse = null, withoutTools = null } = step;
    const { status = null, said = null } = step;
    return { ...step, tries, usage, cost, isCut, reuse, withoutTools, status, said };
  });
  return { ...trace, steps };
}

/** @param kept a list of `[model, text]` */
export function unsentOf(kept: Kept): readonly UnsentAnswer[] {
  const list = kept === null ? [] : parseJson(kept);
  if (!Array.isArray(list)) return [];
  return list.flatMap((one: unknown) => {
    const [model, text] = Array.isArray(one) ? (one as unknown[]) : [];
    if (typeof model !== 'string' || typeof text !== 'string') return [];
    return [{ model: model as ModelName, text }];
  });
}

/**
 * The attempts of a reply, in their order.
 * @param kept the failed ones, as `[startedAt, ms, failure kind, status]`
 * @param delivered when the successful attempt ended and how long it took; null: none succeeded
 */
export function triesOf(
  kept: Kept,
  delivered: { readonly at: number; readonly ms: number } | null = null,
): readonly DeliveryTry[] {
  const list = kept === null ? [] : parseJson(kept);
  const tries = Array.isArray(list) ? list.flatMap(tryOf) : [];
  if (delivered !== null) {
    const { at, ms } = delivered;
    tries.push({ startedAt: at - ms, ms, failed: null, status: null });
  }
  return tries.slice(-triesMax);
}

function tryOf(kept: unknown): DeliveryTry[] {
  if (!Array.isArray(kept)) return [];
  const [startedAt, ms, kind, status] = kept as unknown[];
  if (typeof startedAt !== 'number' || typeof ms !== 'number') return [];
  const failed: FailureKind = failureKinds.find((known) => known === kind) ?? 'fault';
  return [{ startedAt, ms, failed, status: typeof status === 'number' ? status : null }];
}

/** The fields of a JSON object; none if it is no object. */
export function fieldsOf(kept: string): Fields {
  return fieldsOfValue(parseJson(kept));
}
