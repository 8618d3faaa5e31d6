/**
 * A message's story as rows on one clock, in milliseconds since it was accepted. What no row
 * explains is a row too, so that the rows of a settled message add up to its whole time.
 */
import type { DeliveryTry, ReplyStory, Story } from '../../domain/story.ts';
import type { Trace, TraceStep } from '../../domain/trace.ts';
import { localTime, plural } from './table.ts';

/** `forMs` null: a moment. `deep` rows belong to the row above and count nothing themselves. */
export type Row = {
  readonly atMs: number;
  readonly forMs: number | null;
  readonly what: string;
  readonly deep: boolean;
};

/** A stretch of time that is explained. */
type Span = { readonly fromMs: number; readonly toMs: number };

/** @param now milliseconds since 1970: how long what waits has waited */
export function timelineOf(story: Story, now: number): readonly Row[] {
  const since = (at: number): number => at - story.acceptedAt;
  const rows: Row[] = [row(0, null, 'accepted')];
  const spans: Span[] = [];
  const explain = (fromMs: number, toMs: number, what: string): void => {
    if (toMs > fromMs) {
      spans.push({ fromMs, toMs });
      rows.push(row(fromMs, toMs - fromMs, what));
    }
  };
  if (story.trace !== null) {
    explain(0, since(story.trace.claimedAt), waitedFor(story.trace));
    for (const step of story.trace.steps) tellStep(step, story, story.trace, rows, spans);
  } else if (story.state === 'waiting') {
    explain(0, since(now), 'waits in the inbox, or is being worked on');
  }
  for (const reply of story.replies) tellReply(reply, { since, rows, now, explain });
  const endMs = endOf(story, since, now);
  if (story.state === 'dead') {
    rows.push(row(since(story.settledAt ?? now), null, `given up: ${sayFailure(story.failure)}`));
  }
  for (const { fromMs, toMs } of gapsIn(spans, endMs)) {
    rows.push(row(fromMs, toMs - fromMs, 'not accounted for'));
  }
  return inOrder(rows);
}

/** By time; rows that belong to the one above stay there. */
function inOrder(rows: readonly Row[]): readonly Row[] {
  const groups: Row[][] = [];
  for (const one of rows) {
    if (one.deep) groups.at(-1)!.push(one);
    else groups.push([one]);
  }
  return groups.sort(([a], [b]) => a!.atMs - b!.atMs).flat();
}

/** When everything was over; what is still open lasts until now. */
function endOf(story: Story, since: (at: number) => number, now: number): number {
  const ends = [story.settledAt, ...story.replies.map(({ settledAt }) => settledAt)];
  const open = ends.includes(null) && story.state !== 'dead';
  return Math.max(0, ...ends.map((at) => (at === null ? 0 : since(at))), open ? since(now) : 0);
}

function waitedFor({ attempt }: Trace): string {
  const again = attempt === 1 ? '' : ` (and had been begun ${plural(attempt - 1, 'time')} before)`;
  return `waited in the inbox${again}`;
}

function tellStep(step: TraceStep, story: Story, trace: Trace, rows: Row[], spans: Span[]): void {
  const claimedMs = trace.claimedAt - story.acceptedAt;
  const decidedMs = trace.decidedAt - story.acceptedAt;
  switch (step.kind) {
    case 'session': {
      const why = step.cut === null ? '' : `, which began with it: ${cuts[step.cut]}`;
      const command = step.command === null ? '' : `; ${step.command} was answered by svc itself`;
      rows.push(row(claimedMs, null, `session ${step.session}${why}${command}`));
      return;
    }
    case 'shield': {
      const dropped = step.dropped.length === 0 ? 'nothing' : step.dropped.join(', ');
      rows.push(row(claimedMs, null, `shield dropped ${dropped}; ${step.kept} may be asked`));
      return;
    }
    case 'model': {
      const fromMs = claimedMs + step.startMs;
      spans.push({ fromMs, toMs: fromMs + step.ms });
      rows.push(row(fromMs, step.ms, sayModel(step)));
      if (step.tries.length < 2) return;
      for (const [index, one] of step.tries.entries()) {
        const what = `try ${index + 1}: ${one.failed ?? 'answer'}`;
        rows.push({ ...row(one.startedAt - story.acceptedAt, one.ms, what), deep: true });
      }
      return;
    }
    case 'tool': {
      const fromMs = claimedMs + step.startMs;
      spans.push({ fromMs, toMs: fromMs + step.ms });
      const what = `tool ${step.tool}: ${step.outcome} (${step.mode}, ${step.rule})`;
      rows.push(row(fromMs, step.ms, what));
      return;
    }
    case 'policy': {
      rows.push(row(decidedMs, null, `${step.policy}: ${step.winner ?? 'no reply'} (${step.why})`));
      for (const what of sayVotes(step)) rows.push({ ...row(decidedMs, null, what), deep: true });
      return;
    }
    default:
      step satisfies never;
  }
}

const cuts = {
  command: 'a command asked for it',
  daily: 'its time of day had come',
  idle: 'nothing had been said for long',
} as const;

function sayModel(step: Extract<TraceStep, { kind: 'model' }>): string {
  const tries = step.tries.length > 1 ? ` after ${step.tries.length} tries` : '';
  const less = step.linesDropped > 0 ? `, ${plural(step.linesDropped, 'older line')} left out` : '';
  return `${step.model}: ${step.result}${tries} (rank ${step.rank + 1})${less}`;
}

/** The groups of a vote, the winner's first, and who dissented. */
function sayVotes({ votes, winner }: Extract<TraceStep, { kind: 'policy' }>): readonly string[] {
  return votes.map((group) => {
    const side = winner === null ? '' : group.includes(winner) ? ', the majority' : ', dissenting';
    return `${plural(group.length, 'vote')}${side}: ${group.join(', ')}`;
  });
}

type Telling = {
  readonly since: (at: number) => number;
  readonly rows: Row[];
  readonly now: number;
  readonly explain: (fromMs: number, toMs: number, what: string) => void;
};

/** A reply from its making to its end: tries, and the waits before and between them. */
function tellReply(reply: ReplyStory, { since, rows, now, explain }: Telling): void {
  const marks = [
    ...(reply.possibleDuplicate ? ['possible duplicate'] : []),
    ...(reply.late ? ['late'] : []),
  ];
  const marked = marks.length === 0 ? '' : ` (${marks.join(', ')})`;
  rows.push(row(since(reply.createdAt), null, `reply ${reply.id} in the outbox${marked}`));
  const unseen = reply.attempts - reply.tries.length;
  if (unseen > 0) {
    const what = `${plural(unseen, 'earlier try', 'earlier tries')} whose end was not kept`;
    rows.push({ ...row(since(reply.createdAt), null, what), deep: true });
  }
  let lastMs = since(reply.createdAt);
  for (const [index, one] of reply.tries.entries()) {
    const startMs = since(one.startedAt);
    explain(lastMs, startMs, index === 0 ? 'waited in the outbox' : 'waited for its next try');
    explainTry(one, startMs, unseen + index + 1, rows, explain);
    lastMs = startMs + one.ms;
  }
  tellEnd(reply, lastMs, { since, rows, now, explain });
}

function explainTry(
  { ms, failed, status }: DeliveryTry,
  startMs: number,
  number: number,
  rows: Row[],
  explain: Telling['explain'],
): void {
  const answered = status === null ? '' : `, ${status}`;
  const what = `delivery ${number}: ${failed ?? 'delivered'}${answered}`;
  if (ms > 0) explain(startMs, startMs + ms, what);
  else rows.push(row(startMs, 0, what));
}

function tellEnd(reply: ReplyStory, lastMs: number, telling: Telling): void {
  const { since, rows, now, explain } = telling;
  switch (reply.state) {
    case 'delivered':
      return;
    case 'dead': {
      const what = `dead letter ${reply.id}: ${sayFailure(reply.failure)}`;
      rows.push(row(since(reply.settledAt ?? now), null, what));
      return;
    }
    case 'waiting': {
      const { dueAt } = reply;
      const next = dueAt === null || dueAt <= now ? 'is next' : `next try ${localTime(dueAt)}`;
      explain(lastMs, since(now), `waits in the outbox: ${next}`);
      return;
    }
    default:
      reply.state satisfies never;
  }
}

export function sayFailure(failure: Story['failure']): string {
  if (failure === null) return 'why was not kept';
  const status = failure.status === null ? '' : `, status ${failure.status}`;
  return `${failure.kind}${status}: ${failure.detail}`;
}

/** What the spans leave open between 0 and the end. */
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

function row(atMs: number, forMs: number | null, what: string): Row {
  return { atMs, forMs, what, deep: false };
}
