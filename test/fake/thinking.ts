/** One turn of a brain over scripted models. */
import { FakeBudgetGuard } from './budget-guard.ts';
import type { TestContext } from 'node:test';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import type { Turn } from '../../src/brains/brain.ts';
import { createResponder, type ResponderOptions } from '../../src/brains/responder.ts';
import type { TurnRow } from '../../src/domain/conversation.ts';
import type { Decision } from '../../src/domain/decision.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { Media, Message } from '../../src/domain/message.ts';
import type { Sensitivity } from '../../src/domain/sensitivity.ts';
import type { UnsentAnswer } from '../../src/domain/story.ts';
import type { TraceStep } from '../../src/domain/trace.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { type Stop, Stopper } from '../../src/lib/stop.ts';
import { createPriority } from '../../src/brains/policies/priority.ts';
import { mockedClock } from '../support/hand-clock.ts';
import { ScriptedModel } from './scripted-model.ts';

type Thinking = {
  readonly steps: readonly TraceStep[];
  /** The answers beside the reply. */
  readonly unsent: readonly UnsentAnswer[];
  readonly faults: readonly unknown[];
  readonly stopper: Stopper;
  readonly decision: Promise<Decision>;
  /** null while the brain still thinks. */
  now(): Decision | null;
};

export type Asking = Partial<ResponderOptions> & {
  text?: string;
  media?: Media | null;
  attachments?: Turn['attachments'];
  quoted?: Turn['quoted'];
  pictured?: Turn['pictured'];
  given?: Turn['given'];
  context?: Message['context'];
  /** The message's own. */
  label?: Sensitivity;
  history?: readonly TurnRow[];
  turnMs?: number;
  stop?: Stop;
  /** Called with each partial reply; absent: nobody watches. */
  show?: (whole: string) => void;
};

/** Starts one turn over the models, the first ranked best. Time stands still by default. */
export function think(
  t: TestContext,
  models: readonly ScriptedModel[],
  asking: Asking = {},
): Thinking {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
  const stopper = new Stopper();
  const { text = 'hi', media = null, history = [], turnMs = 600_000, ...more } = asking;
  const { stop = stopper, label = 'public', ...rest } = more;
  const { attachments, quoted, pictured, given, context, show, ...options } = rest;
  const faults: unknown[] = [];
  const brain = createResponder({
    name: 'helper',
    sensitivity: 'public',
    dispatch: 'fanout',
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    systemPrompt: null,
    deadlineMs: turnMs,
    members: models.map((model, rank) => ({ model, rank, retriesMax: 2 })),
    policy: createPriority(),
    ...mockedClock,
    deadlines: createDeadlines(mockedClock.steady),
    retryDelayMs: delayOf,
    onFault: (error) => faults.push(error),
    ...options,
  });
  const sender = { id: '7', name: 'Anna' };
  const message = { id: 'message', text, media, sensitivity: label, sender, context } as Message;
  const around = {
    ...(attachments && { attachments }),
    ...(quoted && { quoted }),
    ...(pictured && { pictured }),
    ...(given && { given }),
  };
  const turn = { message, text, history, ...around };
  const turnContext = new DryRunContext(stop, mockedClock.in(turnMs), new FakeBudgetGuard());
  if (show !== undefined) Object.assign(turnContext, { show });
  const { steps } = turnContext;
  const unsent: UnsentAnswer[] = [];
  turnContext.keepUnsent = (answers) => void unsent.push(...answers);
  let now: Decision | null = null;
  const decision = brain.think(turn, turnContext);
  void decision.then((made) => (now = made));
  return { steps, unsent, faults, stopper, decision, now: () => now };
}

const delayOf = (failure: Failure, attempt: number): number | null =>
  failure.retryable ? (failure.retryAfterMs ?? 200 * 2 ** attempt) : null;

type Three = [ScriptedModel, ScriptedModel, ScriptedModel];

/** Three models, the first ranked best. */
export const three = (): Three => [
  new ScriptedModel('a'),
  new ScriptedModel('b'),
  new ScriptedModel('c'),
];

/** The model and text of the reply, or the kind of the apology. */
export const brief = (decision: Decision | null): string =>
  decision === null
    ? 'thinking'
    : decision.kind === 'reply'
      ? `${decision.model.split('/')[1]}: ${decision.text}`
      : decision.apology;

/** `a answer`, `b outranked` … in the trace's order. */
export const results = (steps: readonly TraceStep[]): readonly string[] =>
  steps.flatMap((step) =>
    step.kind === 'model' ? [`${step.model.split('/')[1]} ${step.result}`] : [],
  );
