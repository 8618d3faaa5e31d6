/** Compares the stored rows, the calls that arrived and the texts to people with outside deeds. */
import assert from 'node:assert/strict';
import type { Approval } from '../../../src/domain/approval.ts';
import type { ToolUseRow } from '../../../src/domain/tool-use.ts';
import type { Deeds } from './life.ts';
import { keyOf, type OrderKey } from './orders.ts';
import type { Told } from './people.ts';
import type { Run } from './till.ts';

export type Evidence = {
  readonly approvals: readonly Approval[];
  readonly toolUses: readonly ToolUseRow[];
  readonly runs: readonly Run[];
  readonly told: readonly Told[];
  readonly strange: readonly string[];
  readonly deeds: Deeds;
  readonly lateAnswers: number;
  /** At most this many calls were under way at a kill. */
  readonly unknownMax: number;
};

/** The text that the model gets for each end. */
const words = {
  refused: /said no/,
  expired: /nobody decided in time/,
  done: /^told \S+ Status 200/,
  failed: /Whether it took effect is not known/,
  unknown: /had begun before/,
} as const;

/** Faults, each with the calls that it is about; the numbers of all must be 0. */
type Faults = Record<
  | 'runs without a yes'
  | 'double runs'
  | 'not run though done'
  | 'left hanging'
  | 'decided twice'
  | 'decided otherwise than told'
  | 'told twice'
  | 'not told'
  | 'told wrongly'
  | 'told beside'
  | 'not in the audit',
  unknown[]
>;

export function assertKept(evidence: Evidence): void {
  const { approvals, runs } = evidence;
  const faults: Faults = {
    'runs without a yes': runs.filter((run) => !hasYes(evidence, run)),
    'double runs': [...doubles(runs.map(({ key }) => key))],
    'not run though done': approvals.filter((one) => {
      return one.outcome === 'done' && runsOf(runs, one) === 0;
    }),
    'left hanging': approvals.filter(({ settledAt }) => settledAt === null),
    'decided twice': [...evidence.deeds.decided].filter(([, verdicts]) => verdicts.length > 1),
    'decided otherwise than told': approvals.filter((one) => isOtherwise(evidence, one)),
    'told twice': [...doubles(evidence.told.map(({ key, kind }) => `${key} ${kind}`))],
    'not told': approvals.filter((one) => endOf(evidence, one) === undefined),
    'told wrongly': approvals.filter((one) => isToldWrongly(evidence, one)),
    'told beside': [...evidence.strange],
    'not in the audit': notAudited(evidence),
  };
  const none = Object.fromEntries(Object.keys(faults).map((name) => [name, []]));
  assert.deepEqual(faults, none);
  const unknown = approvals.filter(({ outcome }) => outcome === 'unknown').length;
  assert.ok(unknown <= evidence.unknownMax, `${unknown} of ${evidence.unknownMax} are unknown`);
  const { deeds, lateAnswers } = evidence;
  const few = `${lateAnswers} answers to ${deeds.lateWritten} who were late`;
  assert.ok(lateAnswers >= deeds.lateWritten, few);
}

/** Counts of each kind, for the table. */
export function figuresOf({ approvals, runs, deeds }: Evidence) {
  const count = (is: (one: Approval) => boolean): number => approvals.filter(is).length;
  return {
    approved: count(({ state }) => state === 'approved'),
    refused: count(({ state }) => state === 'refused'),
    expired: count(({ state }) => state === 'expired'),
    runs: runs.length,
    unknown: count(({ outcome }) => outcome === 'unknown'),
    'tries of others': deeds.tries.strangers + deeds.tries.intruders,
    'late tries': deeds.tries.late,
  };
}

const keyOfApproval = ({ arguments: given }: Approval): OrderKey => keyOf(given)!;

function runsOf(runs: readonly Run[], approval: Approval): number {
  return runs.filter(({ key }) => key === keyOfApproval(approval)).length;
}

/** An approver had said yes to this very call before it ran, and the row is approved. */
function hasYes({ approvals, deeds }: Evidence, { key, at }: Run): boolean {
  const approval = approvals.find((one) => keyOfApproval(one) === key);
  const said = deeds.words.some((word) => {
    return word.key === key && word.verdict === 'approved' && word.at <= at;
  });
  return said && approval?.state === 'approved';
}

function isOtherwise({ deeds }: Evidence, approval: Approval): boolean {
  const [told] = deeds.decided.get(keyOfApproval(approval)) ?? [];
  return told !== undefined && told !== approval.state;
}

function endOf({ told }: Evidence, approval: Approval): Told | undefined {
  const key = keyOfApproval(approval);
  const next = key.replace(/\.1$/, '.2');
  return (
    told.find((one) => one.key === key && one.kind === 'end') ??
    // The next turn asked for another call.
    told.find((one) => next !== key && one.key === next && one.kind === 'question')
  );
}

function isToldWrongly(evidence: Evidence, approval: Approval): boolean {
  const end = endOf(evidence, approval);
  if (end?.kind !== 'end') return false;
  const { state, outcome } = approval;
  if (state === 'refused' || state === 'expired') return !words[state].test(end.text);
  if (outcome === 'done' || outcome === 'failed' || outcome === 'unknown') {
    return !words[outcome].test(end.text);
  }
  return true;
}

/** Finds questions without one row, and approvals without a row of the call's result. */
function notAudited({ toolUses, approvals }: Evidence): unknown[] {
  const asked = Map.groupBy(
    toolUses.filter(({ outcome }) => outcome === 'asked'),
    ({ messageId }) => messageId,
  );
  const unasked = approvals.filter(({ messageId }) => asked.get(messageId)?.length !== 1);
  const ran = toolUses.filter(({ rule }) => rule.startsWith('approved_by_'));
  const outcomes = (all: readonly { readonly outcome: string | null }[]) =>
    all.map(({ outcome }) => String(outcome)).toSorted();
  const yes = approvals.filter(({ state }) => state === 'approved');
  const isSame = JSON.stringify(outcomes(ran)) === JSON.stringify(outcomes(yes));
  return isSame ? unasked : [...unasked, outcomes(ran), outcomes(yes)];
}

function doubles<T>(all: readonly T[]): Set<T> {
  const seen = new Set<T>();
  return new Set(all.filter((one) => seen.size === seen.add(one).size));
}
