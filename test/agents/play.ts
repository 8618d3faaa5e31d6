/** Plays one agent's turns with answers from the test. */
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import { later, systemClock, type Clock } from '../../src/lib/clock.ts';
import { createAgent } from '../../src/brains/agent/agent.ts';
import { type AgentOptions } from '../../src/brains/agent/agent-options.ts';
import type { Brain, TurnContext, DecidedCall, Turn } from '../../src/brains/brain.ts';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import type { GrantConfig } from '../../src/config/config.ts';
import type { ChannelType } from '../../src/channels/registry.ts';
import type { TurnRow } from '../../src/domain/conversation.ts';
import type { Decision } from '../../src/domain/decision.ts';
import type { Failure, FailureKind } from '../../src/domain/failure.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Note } from '../../src/domain/note.ts';
import type { ToolCall } from '../../src/domain/outcome.ts';
import type { ToolUse } from '../../src/domain/tool-use.ts';
import type { TraceStep } from '../../src/domain/trace.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { type Stop, Stopper } from '../../src/lib/stop.ts';
import type { ModelRequest } from '../../src/brains/models/model.ts';
import { createPriority } from '../../src/brains/policies/priority.ts';
import { createToolbox } from '../../src/brains/tools/governance.ts';
import type { Tool } from '../../src/brains/tools/tool.ts';
import { ScriptedModel, settled } from '../fake/scripted-model.ts';

/** The model's answer: text, calls with text beside them, a failure, or nothing for ever. */
export type Said =
  | string
  | { readonly calls: readonly ToolCall[]; readonly text?: string }
  | { readonly fails: FailureKind; readonly more?: Partial<Failure> }
  /** The model does not answer; the test lets time pass meanwhile. */
  | { readonly meanwhile: () => void };

export type Played = {
  readonly decision: Decision;
  readonly requests: readonly ModelRequest[];
  /** The ids of the called models, in order. */
  readonly asked: readonly string[];
  readonly uses: readonly ToolUse[];
  readonly steps: readonly TraceStep[];
  readonly notes: readonly Note[];
};

export type Setting = Partial<AgentOptions> & {
  readonly tools?: readonly Tool[];
  readonly grants?: readonly GrantConfig[];
  /** Models behind the first one, by rank: `m`, and these. */
  readonly behind?: readonly { readonly id: string; readonly locality: 'local' | 'cloud' }[];
  /** The clock of its deadlines. */
  readonly clock?: Clock;
};

export type Moment = {
  readonly text?: string;
  readonly attachments?: Turn['attachments'];
  readonly quoted?: Turn['quoted'];
  readonly channel?: ChannelType | 'completions';
  readonly given?: Turn['given'];
  readonly history?: readonly TurnRow[];
  readonly notes?: Note[];
  readonly windowAt?: number;
  readonly turnContext?: Partial<TurnContext>;
  readonly turnMs?: number;
  readonly stop?: Stop;
  readonly followed?: DecidedCall;
};

/** An agent whose model is scripted; its knowledge of its model lasts over its turns. */
export class Stage {
  readonly faults: unknown[] = [];
  readonly model = new ScriptedModel('m');
  readonly brain: Brain;
  readonly #steady: Clock['steady'];

  constructor(setting: Setting = {}) {
    const { tools = [], grants = [], behind = [], clock = systemClock, ...more } = setting;
    this.#steady = clock.steady;
    const { questions } = this.model;
    const others = behind.map(({ id, locality }) => new ScriptedModel(id, locality, questions));
    const onFault = (error: unknown): void => void this.faults.push(error);
    this.brain = createAgent({
      name: 'helper',
      sensitivity: 'public',
      dispatch: 'sequential',
      budget: null,
      historyBounds: { turns: 40, characters: 16_000 },
      deadlineMs: 600_000,
      members: [this.model, ...others].map((model, rank) => ({ model, rank, retriesMax: 2 })),
      policy: createPriority(),
      ...clock,
      deadlines: createDeadlines(clock.steady),
      retryDelayMs: () => null,
      onFault,
      toolbox: createToolbox({ tools, grants, ...clock, onFault }),
      stepsMax: 5,
      systemPrompt: null,
      operatorPrompt: null,
      skills: null,
      notes: null,
      asking: null,
      mark: () => 'MARK',
      ...more,
    });
  }

  /** One turn. The model gives these answers in order, and repeats the last. */
  async play(said: readonly Said[], moment: Moment = {}): Promise<Played> {
    const { text = 'hi', channel = 'webhook', history = [], notes = [] } = moment;
    const {
      turnMs = 600_000,
      stop = new Stopper(),
      followed,
      attachments,
      quoted,
      given,
      windowAt,
    } = moment;
    const message = {
      id: 'message',
      channel,
      text,
      media: null,
      sensitivity: 'public',
    } as unknown as Message;
    const dryRun = new DryRunContext(
      stop,
      later(this.#steady(), turnMs),
      new FakeBudgetGuard(),
      notes,
    );
    const turnContext = Object.assign(dryRun, { dryRun: false }, moment.turnContext);
    const first = this.model.questions.length;
    const thinking = this.brain.think(
      {
        message,
        text,
        history,
        ...(followed && { followed }),
        ...(attachments && { attachments }),
        ...(quoted && { quoted }),
        ...(given && { given }),
        ...(windowAt !== undefined && { windowAt }),
      },
      turnContext,
    );
    const decision = await this.#talk(thinking, said, first);
    const questions = this.model.questions.slice(first);
    const requests = questions.map(({ request }) => request);
    const asked = questions.map((question) => question.asked);
    return { decision, requests, asked, uses: dryRun.toolUses, steps: dryRun.steps, notes };
  }

  /** @param first the number of the turn's first question */
  async #talk(
    thinking: Promise<Decision>,
    said: readonly Said[],
    first: number,
  ): Promise<Decision> {
    for (let at = 0; ;) {
      const decision = await Promise.race([settled(), thinking]);
      if (decision !== undefined) return decision;
      const question = this.model.questions[first + at];
      if (question === undefined) continue;
      const next = said[Math.min(at, said.length - 1)]!;
      at++;
      if (typeof next === 'object' && 'meanwhile' in next) {
        next.meanwhile();
        continue;
      }
      if (typeof next === 'string') await question.answer(next);
      else if ('fails' in next) await question.fail(next.fails, next.more);
      else await question.answer(next.text ?? '', next.calls);
    }
  }
}

let ids = 0;
export function call(name: string, given: unknown = {}): ToolCall {
  return { id: `id-${ids++}`, name, arguments: given };
}

export function calls(...all: ToolCall[]): Said {
  return { calls: all };
}

/** The decision in a few words. */
export function brief({ decision }: Pick<Played, 'decision'>): string {
  return decision.kind === 'reply' ? decision.text : `(${decision.apology})`;
}

/** The calls and results in the last request. */
export function results({ requests }: Pick<Played, 'requests'>): readonly string[] {
  return requests.at(-1)!.lines.flatMap((line) => (line.role === 'result' ? [line.text] : []));
}
