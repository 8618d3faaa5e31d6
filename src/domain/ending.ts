/** The end of a message's story as one sentence, and its meaning for the sender. */
import { failure } from './failure.ts';
import type { ModelName } from './ids.ts';
import { formatModelName } from './model-words.ts';
import { plural } from './plural.ts';
import { remedyForModel, remedyOfCut } from './remedy.ts';
import type { FailureSummary, ReplyStory, Story } from './story.ts';
import { summaryOf, type Trace, type TraceStep } from './trace.ts';

/**
 * `words` continue a sentence. `good`: the person has an answer. `wait`: an answer may still come,
 * or nobody knows. `bad`: there is no answer, or only an apology. `off`: nobody waits for one.
 */
export type Ending = { readonly means: 'good' | 'wait' | 'bad' | 'off'; readonly words: string };

type ModelStep = Extract<TraceStep, { kind: 'model' }>;

/**
 * @param now milliseconds since 1970
 * @param formatTime formats a time (milliseconds since 1970) for the place where the sentence is
 *   shown
 */
export function endingOf(story: Story, now: number, formatTime: (at: number) => string): Ending {
  switch (story.state) {
    case 'waiting':
      return { means: 'wait', words: describeWaiting(story, formatTime) };
    case 'dead': {
      const delivery =
        story.replies.length === 0 ? '' : `; ${describeDelivery(story, now, formatTime)}`;
      return { means: 'bad', words: `given up: ${describeWhy(story.failure)}${delivery}` };
    }
    case 'answered': {
      const { trace, replies } = story;
      if (trace?.outcome === 'abandoned') return { means: 'off', words: describeDecision(trace) };
      const delivery = describeDelivery(story, now, formatTime);
      const words = `${describeDecision(trace)}; ${delivery}`;
      if (!hasAnswer(trace) || replies.some(({ state }) => state === 'dead')) {
        return { means: 'bad', words };
      }
      const isDone = replies.length > 0 && replies.every(({ state }) => state === 'delivered');
      return { means: isDone ? 'good' : 'wait', words };
    }
    default:
      return story.state satisfies never;
  }
}

function describeWaiting(
  { acceptedAt, diedUnder }: Story,
  formatTime: (at: number) => string,
): string {
  const died = diedUnder === 0 ? '' : `; svc ended ${plural(diedUnder, 'time')} while it was next`;
  return `waits since ${formatTime(acceptedAt)}${died}`;
}

const answered: ReadonlySet<Trace['outcome']> = new Set(['reply', 'command', 'by_hand']);

/** Whether the turn had an answer. Without a trace svc assumes that it had one. */
function hasAnswer(trace: Trace | null): boolean {
  return trace === null || answered.has(trace.outcome);
}

/** The result of the turn: who answered, or why there is no answer. */
function describeDecision(trace: Trace | null): string {
  if (trace === null) return 'answered, by whom was not kept';
  switch (trace.outcome) {
    case 'reply': {
      const { model } = summaryOf(trace);
      return model === null ? 'answered' : `answered by ${formatModelName(model)}`;
    }
    case 'command':
      return `answered by svc itself${commandIn(trace)}`;
    case 'by_hand':
      return 'answered by hand';
    case 'abandoned':
      return 'no answer: nobody waited for it any more';
    case 'no_consensus':
      return describeNoConsensus(trace);
    case 'busy':
    case 'no_answer':
      return `no answer: ${describeNoAnswer(trace)}`;
    case 'over_budget':
      return `no answer: ${describeOverBudget(trace)}`;
    case 'unfinished':
      return `no answer: ${describeUnfinished(trace)}`;
    case 'unseen':
      return `no answer: ${describeUnseen(trace)}`;
    case 'too_long':
      return 'no answer: the message alone is longer than its models can read';
    case 'fault':
      return 'no answer: something went wrong in svc itself';
    default:
      return trace.outcome satisfies never;
  }
}

function commandIn({ steps }: Trace): string {
  const session = steps.find((step) => step.kind === 'session');
  return session?.command === null || session === undefined ? '' : `: ${session.command}`;
}

function describeUnseen({ steps }: Trace): string {
  const isUnread = steps.some((step) => step.kind === 'file' && step.result !== 'read');
  const isBlind = !isUnread || steps.some(({ kind }) => kind === 'sight');
  return isBlind ? 'none of its models sees pictures' : 'a picture could not be read';
}

function describeNoConsensus({ steps }: Trace): string {
  const policy = steps.find((step) => step.kind === 'policy');
  const failed = describeFailures(lastCalls(steps));
  const also = failed === '' ? '' : ` (${failed})`;
  if (policy === undefined) return `no consensus${also}`;
  const answers = policy.votes.reduce((sum, group) => sum + group.length, 0);
  if (answers === 1) return `no consensus: only one model answered${also}`;
  const most = Math.max(0, ...policy.votes.map((group) => group.length));
  const agreed = most === 1 ? 'none agreed' : `only ${most} agreed`;
  return `no consensus: ${answers} answers, ${agreed}${also}`;
}

function describeNoAnswer({ steps }: Trace): string {
  const calls = lastCalls(steps);
  const [first] = calls;
  if (first === undefined) {
    const isDropped = steps.some((step) => step.kind === 'shield' && step.kept === 0);
    return isDropped ? 'the privacy filter let no model be asked' : 'why was not kept';
  }
  if (calls.length === 1) return `${formatModelName(first.model)} failed (${first.result})`;
  return `every model failed (${describeFailures(calls)})`;
}

/** Sentences for the operator: how to help the models that failed, or whose answer was cut. */
export function remediesOf({ trace }: Story): readonly string[] {
  const sentences = lastCalls(trace?.steps ?? []).flatMap(({ model, result, isCut }) => {
    const ofFailure = result === 'answer' ? null : remedyForModel(result, model);
    const remedy = isCut === true ? remedyOfCut : ofFailure;
    return remedy === null ? [] : [`What to do about ${formatModelName(model)}: ${remedy}`];
  });
  return [...new Set(sentences)];
}

function describeOverBudget({ steps }: Trace): string {
  const calls = lastCalls(steps);
  const why = 'a call would go over the budget of its brain';
  if (calls.every(({ result }) => result === 'over_budget')) return why;
  return `${why} (${describeFailures(calls)})`;
}

function describeUnfinished({ steps }: Trace): string {
  const [call] = lastCalls(steps);
  const tools = steps.filter((step) => step.kind === 'tool').length;
  const who = call === undefined ? 'the agent' : formatModelName(call.model);
  const after = tools === 0 ? '' : `, after ${plural(tools, 'tool call')}`;
  return `${who} did not come to an end${after}`;
}

/** The last call of each model. An agent asks one model several times. */
function lastCalls(steps: readonly TraceStep[]): readonly ModelStep[] {
  const calls = new Map<string, ModelStep>();
  for (const step of steps) if (step.kind === 'model') calls.set(keyOf(step), step);
  return [...calls.values()];
}

/** A brain may list one model twice, so the rank is a part of the key. */
const keyOf = ({ rank, model }: { rank: number; model: ModelName }): string => `${rank} ${model}`;

/** For example `2 connect_failed, 1 timeout`, the most frequent first. */
function describeFailures(calls: readonly ModelStep[]): string {
  const counts = new Map<string, number>();
  for (const { result } of calls) {
    if (result !== 'answer') counts.set(result, (counts.get(result) ?? 0) + 1);
  }
  const mostFirst = [...counts].sort(([, a], [, b]) => b - a);
  return mostFirst.map(([kind, count]) => `${count} ${kind}`).join(', ');
}

/** The delivery of the reply, or of the apology that replaces it. */
function describeDelivery(story: Story, now: number, formatTime: (at: number) => string): string {
  const { replies, state } = story;
  const isReply = state === 'answered' && hasAnswer(story.trace);
  const what = isReply ? '' : 'the apology is ';
  const dead = replies.find((reply) => reply.state === 'dead');
  if (dead !== undefined) {
    const tries = dead.attempts > 1 ? ` after ${plural(dead.attempts, 'try', 'tries')}` : '';
    return `${what}not delivered: ${describeWhy(dead.failure)}, given up${tries}`;
  }
  const waiting = replies.find((reply) => reply.state === 'waiting');
  if (waiting !== undefined) return `${what}${describeOnItsWay(waiting, now, formatTime)}`;
  return replies.length === 0 ? 'whether it was delivered is not kept' : `${what}delivered`;
}

function describeOnItsWay(
  reply: ReplyStory,
  now: number,
  formatTime: (at: number) => string,
): string {
  const { dueAt, failure: why } = reply;
  if (why === null) return 'on its way';
  const next = dueAt === null || dueAt <= now ? 'tried again now' : `next try ${formatTime(dueAt)}`;
  return `not delivered: ${describeWhy(why)}, ${next}`;
}

/** A status says more than the default sentence of its kind of failure. */
export function describeWhy(summary: FailureSummary | null): string {
  if (summary === null) return 'why was not kept';
  const { kind, status, detail } = summary;
  const isOwn = detail !== failure(kind).detail;
  return status === null || isOwn ? detail : `the receiver answers ${status}`;
}
