/**
 * A message's story as rows on one clock, in milliseconds since its acceptance. Time that no row
 * explains becomes a row too, so the rows of a settled message add up to its whole time.
 */
import { describeRoute } from './routing.ts';
import type { ModelName } from './ids.ts';
import { formatModelName } from './model-words.ts';
import { plural } from './plural.ts';
import type { DeliveryTry, ReplyStory, Story } from './story.ts';
import { modeWords, outcomeWords, describeRule } from './tool-use.ts';
import {
  describeAnswered,
  describeApproval,
  describeLeftOut,
  describeSession,
  describePrivacyFilter,
  describeSight,
  describeReuse,
  describeSpentIn,
  type Trace,
  type TraceStep,
} from './trace.ts';
import { describeRead } from './attachment.ts';

/** The kind of a row. `unexplained`: no step says where the time went. */
export type RowPart =
  | 'accepted'
  | 'wait'
  | TraceStep['kind']
  | 'reply'
  | 'delivery'
  | 'end'
  | 'unexplained';

/**
 * `forMs` null: a moment. `deep` rows belong to the row above and do not count. `ended` null: the
 * row cannot end well or badly, or has not ended.
 */
export type Row = {
  readonly atMs: number;
  readonly forMs: number | null;
  readonly what: string;
  readonly deep: boolean;
  readonly part: RowPart;
  readonly ended: 'well' | 'badly' | null;
};

/** A stretch of time that a row explains. */
type Span = { readonly fromMs: number; readonly toMs: number };

type RowFacts = { readonly part: RowPart; readonly ended?: Row['ended']; readonly deep?: true };

/** Collects the rows; times are milliseconds since the acceptance. */
class TimelineBuilder {
  readonly rows: Row[] = [];
  readonly spans: Span[] = [];

  add(atMs: number, forMs: number | null, what: string, facts: RowFacts): void {
    const { part, ended = null, deep = false } = facts;
    this.rows.push({ atMs, forMs, what, deep, part, ended });
  }

  /** Adds a stretch that counts. Adds nothing if its length is 0. */
  explain(fromMs: number, toMs: number, what: string, facts: RowFacts): void {
    if (toMs <= fromMs) return;
    this.spans.push({ fromMs, toMs });
    this.add(fromMs, toMs - fromMs, what, facts);
  }
}

/**
 * @param now milliseconds since 1970: a waiting message has waited until then
 * @param formatTime formats a time (milliseconds since 1970) for the place where the rows are shown
 */
export function timelineOf(
  story: Story,
  now: number,
  formatTime: (at: number) => string,
): readonly Row[] {
  const since = (at: number): number => at - story.acceptedAt;
  const timeline = new TimelineBuilder();
  timeline.add(0, null, 'accepted', { part: 'accepted' });
  if (story.trace !== null) {
    timeline.explain(0, since(story.trace.claimedAt), waitedFor(story.trace), { part: 'wait' });
    for (const step of story.trace.steps) reportStep(step, story.trace, timeline);
  } else if (story.state === 'waiting') {
    timeline.explain(0, since(now), 'waits in the inbox, or is being worked on', { part: 'wait' });
  }
  for (const reply of story.replies) reportReply(reply, { since, timeline, now, formatTime });
  if (story.state === 'dead') {
    const what = `given up: ${describeFailure(story.failure)}`;
    timeline.add(since(story.settledAt ?? now), null, what, { part: 'end', ended: 'badly' });
  }
  for (const { fromMs, toMs } of gapsIn(timeline.spans, endOf(story, now))) {
    timeline.add(fromMs, toMs - fromMs, 'not accounted for', { part: 'unexplained' });
  }
  return inOrder(timeline.rows);
}

/** Sorts rows by time; deep rows stay below the row above them. */
function inOrder(rows: readonly Row[]): readonly Row[] {
  const groups: Row[][] = [];
  for (const one of rows) {
    if (one.deep) groups.at(-1)!.push(one);
    else groups.push([one]);
  }
  return groups.sort(([a], [b]) => a!.atMs - b!.atMs).flat();
}

/**
 * When everything was over, in milliseconds since the acceptance. An open story lasts until now.
 */
export function endOf(story: Story, now: number): number {
  const since = (at: number): number => at - story.acceptedAt;
  const ends = [story.settledAt, ...story.replies.map(({ settledAt }) => settledAt)];
  const open = ends.includes(null) && story.state !== 'dead';
  return Math.max(0, ...ends.map((at) => (at === null ? 0 : since(at))), open ? since(now) : 0);
}

/** The part of the whole time that no row explains. */
export function unexplainedIn(rows: readonly Row[]): number {
  return rows.reduce((sum, { part, forMs }) => {
    return part === 'unexplained' ? sum + (forMs ?? 0) : sum;
  }, 0);
}

function waitedFor({ attempt }: Trace): string {
  const again = attempt === 1 ? '' : ` (and had been begun ${plural(attempt - 1, 'time')} before)`;
  return `waited in the inbox${again}`;
}

function reportStep(step: TraceStep, trace: Trace, timeline: TimelineBuilder): void {
  const { acceptedAt } = trace;
  const claimedMs = trace.claimedAt - acceptedAt;
  const decidedMs = trace.decidedAt - acceptedAt;
  const atClaim = (what: string, part: RowPart) => timeline.add(claimedMs, null, what, { part });
  switch (step.kind) {
    case 'route':
      atClaim(describeRoute(step), 'session');
      return;
    case 'session':
      atClaim(describeSession(step), 'session');
      return;
    case 'shield':
      atClaim(describePrivacyFilter(step), 'shield');
      return;
    case 'sight':
      atClaim(describeSight(step), 'shield');
      return;
    case 'operator':
    case 'joined':
      timeline.add(decidedMs, null, describeAnswered(step), { part: 'policy', ended: 'well' });
      return;
    case 'approval':
      atClaim(describeApproval(step), 'session');
      return;
    case 'left_out':
      atClaim(`${listed(step.models)}: ${describeLeftOut(step)}`, 'shield');
      return;
    case 'file': {
      const facts = { part: 'file', ended: step.result === 'read' ? 'well' : 'badly' } as const;
      const what = describeRead(step.part, step.result);
      reportSpan(claimedMs + step.startMs, step.ms, what, facts, timeline);
      return;
    }
    case 'model':
      reportModel(step, acceptedAt, claimedMs, timeline);
      return;
    case 'tool': {
      const what = `tool ${step.tool}, ${modeWords[step.mode]}: ${outcomeWords[step.outcome]}`;
      const ended = wellEnded.has(step.outcome) ? 'well' : 'badly';
      const facts = { part: 'tool', ended } as const;
      reportSpan(
        claimedMs + step.startMs,
        step.ms,
        `${what} (${describeRule(step.rule)})`,
        facts,
        timeline,
      );
      return;
    }
    case 'policy': {
      const ended = step.verdict === 'reply' ? 'well' : 'badly';
      const winner = step.winner === null ? 'no reply' : formatModelName(step.winner);
      const what = `${step.policy}: ${winner}, ${step.why}`;
      timeline.add(decidedMs, null, what, { part: 'policy', ended });
      const facts = { part: 'policy', deep: true } as const;
      for (const group of describeVotes(step)) timeline.add(decidedMs, null, group, facts);
      return;
    }
    default:
      step satisfies never;
  }
}

const wellEnded: ReadonlySet<string> = new Set(['done', 'rehearsed', 'asked']);

type ModelStep = Extract<TraceStep, { kind: 'model' }>;

function reportModel(
  step: ModelStep,
  acceptedAt: number,
  claimedMs: number,
  timeline: TimelineBuilder,
): void {
  const ended = endOfCall(step.result);
  reportSpan(
    claimedMs + step.startMs,
    step.ms,
    describeModel(step),
    { part: 'model', ended },
    timeline,
  );
  if (step.tries.length < 2) return;
  for (const [index, { startedAt, ms, failed }] of step.tries.entries()) {
    const facts = { part: 'model', ended: endOfCall(failed ?? 'answer'), deep: true } as const;
    timeline.add(startedAt - acceptedAt, ms, `try ${index + 1}: ${failed ?? 'answer'}`, facts);
  }
}

/** A call that svc itself ended has not failed: mostly another answer was in hand. */
function endOfCall(result: ModelStep['result']): Row['ended'] {
  if (result === 'answer') return 'well';
  return result === 'cancelled' || result === 'outranked' ? null : 'badly';
}

const listed = (models: readonly ModelName[]): string => models.map(formatModelName).join(', ');

/** Adds a stretch even if it took no time. */
function reportSpan(
  fromMs: number,
  ms: number,
  what: string,
  facts: RowFacts,
  timeline: TimelineBuilder,
): void {
  timeline.spans.push({ fromMs, toMs: fromMs + ms });
  timeline.add(fromMs, ms, what, facts);
}

function describeModel(step: ModelStep): string {
  const tries = step.tries.length > 1 ? ` after ${step.tries.length} tries` : '';
  const less = step.linesDropped > 0 ? `, ${plural(step.linesDropped, 'older line')} left out` : '';
  const spent = describeSpentIn([step]);
  const name = formatModelName(step.model);
  const usage = spent === null ? '' : `, ${spent}`;
  const cut = step.isCut === true ? ', cut off at a limit of its length' : '';
  const without = step.withoutTools == null ? '' : `, not told of ${step.withoutTools}`;
  const status = step.status == null ? '' : `, status ${step.status}`;
  const said = step.said == null ? '' : `; its provider said: "${step.said}"`;
  const reuse = describeReuse(step);
  const again = reuse === null ? '' : `; ${reuse}`;
  const more = `${usage}${again}${less}${without}${status}${cut}${said}`;
  return `${name}: ${step.result}${tries} (rank ${step.rank + 1})${more}`;
}

/** The groups of a vote, the winner's first, and the dissenters. */
function describeVotes({
  votes,
  winner,
}: Extract<TraceStep, { kind: 'policy' }>): readonly string[] {
  return votes.map((group) => {
    const side = winner === null ? '' : group.includes(winner) ? ', the majority' : ', dissenting';
    return `${plural(group.length, 'vote')}${side}: ${listed(group)}`;
  });
}

type ReplyDeps = {
  readonly since: (at: number) => number;
  readonly timeline: TimelineBuilder;
  readonly now: number;
  readonly formatTime: (at: number) => string;
};

/** A reply from its making to its end: attempts, and the waits before and between them. */
function reportReply(reply: ReplyStory, deps: ReplyDeps): void {
  const { since, timeline } = deps;
  const marks = [
    ...(reply.possibleDuplicate ? ['possible duplicate'] : []),
    ...(reply.late ? ['late'] : []),
  ];
  const marked = marks.length === 0 ? '' : ` (${marks.join(', ')})`;
  const madeMs = since(reply.createdAt);
  timeline.add(madeMs, null, `reply ${reply.id} in the outbox${marked}`, { part: 'reply' });
  const unseen = reply.attempts - reply.tries.length;
  if (unseen > 0) {
    const what = `${plural(unseen, 'earlier try', 'earlier tries')} whose end was not kept`;
    timeline.add(madeMs, null, what, { part: 'delivery', deep: true });
  }
  let lastMs = madeMs;
  for (const [index, one] of reply.tries.entries()) {
    const startMs = since(one.startedAt);
    const wait = index === 0 ? 'waited in the outbox' : 'waited for its next try';
    timeline.explain(lastMs, startMs, wait, { part: 'wait' });
    reportTry(one, startMs, unseen + index + 1, timeline);
    lastMs = startMs + one.ms;
  }
  reportEnd(reply, lastMs, deps);
}

function reportTry(
  one: DeliveryTry,
  startMs: number,
  number: number,
  timeline: TimelineBuilder,
): void {
  const answered = one.status === null ? '' : `, ${one.status}`;
  const what = `delivery ${number}: ${one.failed ?? 'delivered'}${answered}`;
  const ended = one.failed === null ? 'well' : 'badly';
  reportSpan(startMs, one.ms, what, { part: 'delivery', ended }, timeline);
}

function reportEnd(reply: ReplyStory, lastMs: number, deps: ReplyDeps): void {
  const { since, timeline, now, formatTime } = deps;
  switch (reply.state) {
    case 'delivered':
      return;
    case 'dead': {
      const what = `dead letter ${reply.id}: ${describeFailure(reply.failure)}`;
      timeline.add(since(reply.settledAt ?? now), null, what, { part: 'end', ended: 'badly' });
      return;
    }
    case 'waiting': {
      const { dueAt } = reply;
      const next = dueAt === null || dueAt <= now ? 'is next' : `next try ${formatTime(dueAt)}`;
      timeline.explain(lastMs, since(now), `waits in the outbox: ${next}`, { part: 'wait' });
      return;
    }
    default:
      reply.state satisfies never;
  }
}

function describeFailure(failure: Story['failure']): string {
  if (failure === null) return 'why was not kept';
  const status = failure.status === null ? '' : `, status ${failure.status}`;
  return `${failure.kind}${status}: ${failure.detail}`;
}

/** The gaps between the spans, from 0 to the end. */
function gapsIn(spans: readonly Span[], endMs: number): readonly Span[] {
  const gaps: Span[] = [];
  let coveredMs = 0;
  for (const { fromMs, toMs } of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (fromMs > coveredMs) gaps.push({ fromMs: coveredMs, toMs: Math.min(fromMs, endMs) });
    coveredMs = Math.max(coveredMs, toMs);
  }
  if (endMs > coveredMs) gaps.push({ fromMs: coveredMs, toMs: endMs });
  return gaps;
}
