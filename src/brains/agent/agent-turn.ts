/** One turn of an agent: its loop of model calls and tool calls, and its requests. */
import type { Decision, ApologyFacts } from '../../domain/decision.ts';
import type { FailureKind } from '../../domain/failure.ts';
import { registeredNameOf, type ModelName } from '../../domain/ids.ts';
import type { Note } from '../../domain/note.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import type { EarlierCall } from '../../domain/tool-use.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Deadline } from '../../lib/deadlines.ts';
import { Stopper } from '../../lib/stop.ts';
import { strictest, type Sensitivity } from '../../domain/sensitivity.ts';
import type { ModelRequest } from '../models/model.ts';
import type { ToolNotice } from '../../domain/completion.ts';
import { apologyOf, cutReply, repliedText, reportLeftOut } from '../responder.ts';
import type { TurnContext, Turn, EarlierPictures } from '../brain.ts';
import { keptFromIn, linesOfTurn, type VisionModels } from '../turn-lines.ts';
import type { ModelCall, Candidate, RequestFor } from '../model-call.ts';
import { dispatch } from '../dispatch.ts';
import type { AgentOptions } from './agent-options.ts';
import { AgentModels, type InText, type LearnedLimits, type RefusedTools } from './models.ts';
import { withoutMark, readText, placeNotes, systemPrompt, withNewerNotes } from './prompt.ts';
import { ToolTranscript, transcriptCharactersMax, type WrittenCalls } from './tool-transcript.ts';
import { ToolCalls } from './tool-calls.ts';
import { quoteFor, turnsIn, type View } from '../privacy-filter.ts';

/** After so many answers in a row with only invalid calls, tools are switched off. */
const invalidMax = 2;
/** The most times that the results are halved for a model that cannot read them. */
const halvingsMax = 6;
/** A turn cannot lower the learned limit of result characters below this. */
const resultCharactersMin = 4_000;
/** The learned limit grows by this factor after each answered turn that dropped results. */
const growth = 1.25;

const askForAnswer =
  'No tool can be used any more in this turn. Answer the person now, with what you have; say ' +
  'plainly what you could not find out.';
const brokenCall =
  'That call could not be read: it must be one JSON object with "tool" and "arguments", and ' +
  'nothing else. It was not run.';

/** The request of one step, and its outcome. */
type StepResult = {
  /** Every model asked, best rank first. */
  readonly calls: readonly ModelCall[];
  /** The call with the answer; null: all have failed. */
  readonly answered: ModelCall | null;
  readonly inText: InText;
  /** A provider refused a call of its model as malformed. */
  readonly isMalformed: boolean;
  readonly withTools: boolean;
};

export type AgentTurnState = {
  /** The notes of the agent's scope that models may see, oldest first. */
  readonly notes: readonly Note[];
  /** The number of kept notes. */
  readonly notesKept: number;
  readonly earlier: readonly EarlierCall[];
  readonly sensitivity: Sensitivity;
  readonly visionModels: VisionModels;
};

/** The meaning of a model's answer; `broken`: an unreadable call. */
type ModelIntent =
  | { readonly kind: 'answer'; readonly text: string; readonly isCut?: true }
  | ({ readonly kind: 'calls' } & WrittenCalls)
  | { readonly kind: 'broken'; readonly text: string };

/**
 * One turn of an agent.
 *
 *     asking ──answer──▶ over ◀──no step is left, the turn's time is over, the model failed
 *       │ ▲
 *     calls └─results── running
 *
 * A step is one model call. The last step has no tools and asks for the answer. If the agent has
 * only one step, this step has tools, but its calls do not run. A request that was too long for the
 * model does not count as a step. Models that failed before another one answered do not count.
 */
export class AgentTurn {
  readonly #options: AgentOptions;
  readonly #models: AgentModels;
  readonly #learned: LearnedLimits;
  readonly #turnContext: TurnContext;
  readonly #announced: readonly ToolNotice[];
  readonly #mark: string;
  readonly #transcript: ToolTranscript;
  readonly #calls: ToolCalls;
  readonly #requests: AgentRequests;
  readonly #turn: Turn;
  readonly #turnAt: SteadyTime;
  readonly #turnEnd = new Stopper();
  readonly #deadline: Deadline;
  #step = 0;
  #closing = false;
  #asksForAnswer = false;
  #invalidInARow = 0;
  #halvings = 0;

  /**
   * @param candidates in the order of the requests
   * @param state the state from earlier turns, and from earlier runs of this turn
   */
  constructor(
    options: AgentOptions,
    candidates: readonly Candidate[],
    learned: LearnedLimits,
    turn: Turn,
    turnContext: TurnContext,
    { notes, notesKept, earlier, sensitivity, visionModels }: AgentTurnState,
  ) {
    this.#options = options;
    this.#models = new AgentModels(candidates, learned);
    this.#learned = learned;
    this.#turnContext = turnContext;
    this.#turn = turn;
    const channel = registeredNameOf(turn.message.channel);
    this.#announced = options.toolbox
      .announcedOn(channel)
      .map(({ name, description, parameters }) => ({ name, description, parameters }));
    const mark = options.mark(turn);
    this.#mark = mark;
    const transcript = new ToolTranscript(mark, learned.resultCharactersMax);
    const announced = this.#announced;
    this.#transcript = transcript;
    const deps = {
      agent: options,
      turn,
      turnContext,
      notes,
      transcript,
      announced,
      mark,
      visionModels,
    };
    this.#requests = new AgentRequests(deps, sensitivity);
    if (earlier.length > 0) transcript.addInterrupted(earlier);
    this.#turnAt = options.steady();
    this.#calls = new ToolCalls({
      agent: options,
      turn,
      turnContext,
      channel,
      transcript,
      sensitivity: () => this.#requests.sensitivity,
      turnEnd: this.#turnEnd,
      turnAt: this.#turnAt,
      notesBefore: notesKept,
      keysTaken: new Set(earlier.map(({ key }) => key)),
    });
    this.#deadline = options.deadlines.at(turnContext.deadlineAt, this.#end);
    turnContext.stop.listen(this.#end);
    if (turnContext.stop.stopped) this.#end();
  }

  async answer(): Promise<Decision> {
    try {
      const { followed } = this.#turn;
      if (followed !== undefined) await this.#calls.follow(followed);
      if (this.#calls.waiting > 0) return this.#askForApproval(this.#models.first);
      return await this.#loop();
    } finally {
      this.#deadline.cancel();
      this.#turnContext.stop.unlisten(this.#end);
    }
  }

  readonly #end = (): void => this.#turnEnd.stop();

  async #loop(): Promise<Decision> {
    while (this.#step < this.#options.stepsMax) {
      if (this.#turnEnd.stopped) return this.#apology('busy', 'the turn was given up');
      this.#step++;
      const result = await this.#ask();
      const { answered } = result;
      if (answered === null) {
        if (this.#canContinueAfter(result)) continue;
        return this.#failed(result);
      }
      const intent = intentOf(answered, result.inText(answered), this.#mark);
      if (intent.kind === 'answer') return this.#reply(intent, answered.model);
      if (!result.withTools || this.#isSpent) return this.#unfinished();
      await this.#carryOut(intent);
      if (this.#calls.waiting > 0) return this.#askForApproval(answered.model);
    }
    return this.#apology('unfinished', 'no step was left');
  }

  get #isSpent(): boolean {
    return this.#step >= this.#options.stepsMax;
  }

  async #ask(): Promise<StepResult> {
    const { stepsMax } = this.#options;
    const last = this.#closing || (this.#isSpent && stepsMax > 1);
    const withTools = !last && this.#announced.length > 0;
    if (last && !this.#asksForAnswer && this.#announced.length > 0) {
      this.#asksForAnswer = true;
      this.#transcript.addRemark(askForAnswer);
    }
    const inText = this.#models.inText();
    const members = this.#models.allowed(this.#requests.sensitivity, this.#turnContext);
    const requestFor = this.#requests.at(withTools, inText, this.#models.refused);
    const { verdict, calls } = await dispatch(
      members,
      requestFor,
      this.#turnContext,
      this.#options,
    );
    if (calls.length === 0) throw new Error('a turn that was given up was asked for');
    for (const call of calls) this.#turnContext.addStep(call.step(this.#turnAt));
    const answered = verdict.kind === 'reply' ? calls[verdict.slot]! : null;
    const isMalformed = this.#models.learn(calls, inText);
    if (answered !== null) this.#requests.answered(answered);
    return { calls, answered, inText, isMalformed, withTools };
  }

  /** Whether another step with a different request may succeed after this failed one. */
  #canContinueAfter({ calls, isMalformed, withTools }: StepResult): boolean {
    if (isMalformed && withTools) return !this.#isSpent;
    const kinds = failuresOf(calls);
    if (kinds.includes('context_overflow')) return this.#shortenResults();
    if (!kinds.includes('empty_answer') || this.#closing || this.#isSpent) return false;
    this.#closing = true;
    return true;
  }

  /**
   * Drops half of the results, because the request was too long for the model. The new limit is
   * remembered if the results are most of the request. A long message says nothing about other
   * turns.
   */
  #shortenResults(): boolean {
    const isWorthLearning = this.#transcript.outweighs(this.#requests.characters);
    const charactersMax = this.#halvings < halvingsMax ? this.#transcript.halve() : null;
    if (charactersMax === null) return false;
    this.#halvings++;
    if (isWorthLearning)
      this.#learned.resultCharactersMax = Math.max(resultCharactersMin, charactersMax);
    this.#step--;
    return true;
  }

  /** Raises the learned limit, because the model read a request with dropped results. */
  #raiseResultLimit(): void {
    const more = Math.ceil(this.#learned.resultCharactersMax * growth);
    this.#learned.resultCharactersMax = Math.min(transcriptCharactersMax, more);
  }

  async #carryOut(intent: Exclude<ModelIntent, { kind: 'answer' }>): Promise<void> {
    let invalid = true;
    if (intent.kind === 'broken') this.#transcript.addUnreadable(intent.text, brokenCall);
    else invalid = (await this.#calls.run(this.#step, intent)) === 'invalid';
    this.#invalidInARow = invalid ? this.#invalidInARow + 1 : 0;
    if (this.#invalidInARow >= invalidMax) this.#closing = true;
  }

  #reply(answer: Extract<ModelIntent, { kind: 'answer' }>, model: ModelName): Decision {
    if (this.#transcript.isShort && this.#halvings === 0) this.#raiseResultLimit();
    const { count } = this.#calls;
    const tools = count === 0 ? 'no tool' : count === 1 ? 'one tool call' : `${count} tool calls`;
    const why = `answered at step ${this.#step} after ${tools}`;
    return { kind: 'reply', ...repliedText(answer, this.#turn), model, why };
  }

  /** Ends the turn with a question. The person's decision starts a turn of its own. */
  #askForApproval(model: ModelName): Decision {
    const text = this.#turnContext.question();
    const why = `asked for a yes at step ${this.#step}`;
    return { kind: 'reply', text, model, why };
  }

  /** A model still calls a tool. Its text is not sent, because it may say that the call is done. */
  #unfinished(): Decision {
    return this.#apology('unfinished', `it still asked for tools at step ${this.#step}`);
  }

  /**
   * A model without text after its tools has not finished; otherwise the failure gives the reason.
   */
  #failed({ calls, withTools }: StepResult): Decision {
    const cut = cutReply(calls, this.#turn);
    if (cut !== null) return cut;
    const kinds = failuresOf(calls);
    const stuck =
      kinds.every((kind) => kind === 'empty_answer') && !withTools && this.#calls.count > 0;
    if (stuck) return this.#apology('unfinished', `no text came at step ${this.#step}`);
    if (kinds.every((kind) => kind === 'tool_call_malformed')) {
      return this.#apology('unfinished', 'its provider refused what it wrote as a call');
    }
    const subject = calls.length === 1 ? 'the model gave no answer' : 'no model gave an answer';
    return { kind: 'apology', ...apologyOf(calls), why: `${subject}: ${kinds.join(', ')}` };
  }

  #apology(apology: Exclude<ApologyFacts['apology'], 'over_budget'>, why: string): Decision {
    return { kind: 'apology', apology, why };
  }
}

function failuresOf(calls: readonly ModelCall[]): readonly FailureKind[] {
  return calls.flatMap(({ outcome }) => (outcome?.kind === 'failed' ? [outcome.failure.kind] : []));
}

/**
 * Reads calls only where they may stand: beside the text, or as the whole text. The mark goes
 * neither to a person nor to a tool.
 */
function intentOf({ outcome, model }: ModelCall, isText: boolean, mark: string): ModelIntent {
  if (outcome?.kind !== 'answer') throw new Error('a policy chose a model without an answer');
  const { extra } = outcome;
  const text = withoutMark(mark, outcome.text);
  const isCut = outcome.isCut === true ? { isCut: true as const } : {};
  const calls = outcome.calls.map((call) => callWithoutMark(mark, call));
  if (!isText) {
    return calls.length === 0
      ? { kind: 'answer', text, ...isCut }
      : { kind: 'calls', text, calls, model, extra };
  }
  if (calls.length > 0) return { kind: 'broken', text };
  const read = readText(text);
  if (read.kind !== 'call') return { kind: read.kind, text, ...isCut };
  return { kind: 'calls', text, calls: [read.call], model, extra };
}

function callWithoutMark(mark: string, call: ToolCall): ToolCall {
  const { name, arguments: args } = call;
  const written = JSON.stringify({ name, args });
  const clean = withoutMark(mark, written);
  if (clean === written) return call;
  const cleanCall = JSON.parse(clean) as { name: string; args: unknown };
  return { ...call, name: cleanCall.name, arguments: cleanCall.args };
}

type AgentRequestsDeps = {
  readonly agent: AgentOptions;
  readonly turn: Turn;
  readonly turnContext: TurnContext;
  /** The notes that models may see, oldest first. */
  readonly notes: readonly Note[];
  readonly transcript: ToolTranscript;
  /** The tools of this turn. */
  readonly announced: readonly ToolNotice[];
  readonly mark: string;
  readonly visionModels: VisionModels;
};

/** Makes the request of each step for each model, with the parts that the model may see. */
class AgentRequests {
  readonly #deps: AgentRequestsDeps;
  /** The turn's sensitivity. After the first answer, the texts that the model saw count, too. */
  #sensitivity: Sensitivity;
  /** Models that refused pictures in this turn. */
  readonly #blind = new Set<ModelName>();
  /** The view of the first answer, which all later steps use; null: no answer yet. */
  #view: TextView | null = null;

  /** @param sensitivity the turn's own at its start */
  constructor(deps: AgentRequestsDeps, sensitivity: Sensitivity) {
    this.#deps = deps;
    this.#sensitivity = sensitivity;
  }

  get sensitivity(): Sensitivity {
    return this.#sensitivity;
  }

  /** The characters of the request without the results. */
  get characters(): number {
    const { agent, turn } = this.#deps;
    const prompts = (agent.operatorPrompt?.length ?? 0) + (agent.skills?.length ?? 0);
    const view = this.#view ?? wholeView;
    const lines = linesOfTurn(turn, turnsIn(turn.history, view), null, quoteFor(turn, view));
    return lines.reduce((sum, { text }) => sum + text.length, prompts);
  }

  /** @param mayCall whether the model may call tools in this step */
  at(mayCall: boolean, inText: InText, refused: RefusedTools): RequestFor {
    return (view, model) => {
      const protocol = inText({ model, view }) ? 'text' : 'native';
      // Stored, so that later steps need not learn it again.
      if (!view.pictures) this.#blind.add(model);
      const pictured = this.#blind.has(model) ? null : (this.#deps.visionModels.get(model) ?? null);
      const refusedTools = refused({ model, view });
      const shown = this.#view ?? view;
      return this.#request({ protocol, model, mayCall, refusedTools, view: shown, pictured });
    };
  }

  /** Called with each answer. From the first one on, text of its model is in the turn. */
  answered(call: Pick<ModelCall, 'model' | 'view' | 'refusal'>): void {
    if (this.#view !== null) return;
    const { view } = call;
    this.#view = view;
    const { turn, turnContext, notes } = this.#deps;
    const privateNotes = notes.filter(({ sensitivity }) => sensitivity === 'private').length;
    reportLeftOut(turn, privateNotes, [call], call, turnContext);
    const quoted = quoteFor(turn, view);
    const shown = [...turnsIn(turn.history, view), ...notesIn(notes, view)];
    this.#sensitivity = strictestOf(
      this.#sensitivity,
      quoted === null ? shown : [...shown, quoted],
    );
  }

  /**
   * Whether the request names the tools even at a last step, which may not call them. The
   * beginning of the request is then the same at each step. A local runtime has no such field.
   */
  #namesTools(name: ModelName): boolean {
    const { members } = this.#deps.agent;
    const member = members.find(({ model }) => model.name === name);
    return member?.model.provider === 'hosted_runtime';
  }

  #request(options: RequestOptions): ModelRequest {
    const { protocol, model, mayCall, refusedTools, view, pictured } = options;
    const { agent, turn, turnContext, transcript, mark } = this.#deps;
    const announced = this.#deps.announced.filter(({ name }) => !refusedTools.includes(name));
    const turns = turnsIn(turn.history, view);
    const notes = notesIn(this.#deps.notes, view);
    const { windowAt, given } = turn;
    const outputTokensMax = given?.outputTokensMax ?? null;
    const budgetRunes = agent.notes?.budgetRunes ?? 0;
    const { first, behind } = placeNotes(notes, { windowAt, rows: turns, budgetRunes });
    const quoted = quoteFor(turn, view);
    const conversation = linesOfTurn(turn, turns, pictured, quoted, ({ role, text }, row) => {
      const newer = role === 'user' ? (behind.get(row) ?? []) : [];
      return withNewerNotes(withoutMark(mark, text), newer, mark);
    });
    const quotes = quoted === null ? [] : [quoted];
    const isNamed = mayCall || (protocol === 'native' && this.#namesTools(model));
    const system = systemPrompt({
      protocol,
      tools: isNamed ? announced : [],
      hadTools: announced.length > 0,
      stepsMax: agent.stepsMax,
      brainPrompt: agent.systemPrompt,
      operatorPrompt: agent.operatorPrompt,
      skills: agent.skills,
      keepsNotes: agent.notes !== null && given === undefined,
      notes: first,
      clientPrompt: given?.system ?? null,
      mark,
    });
    return {
      sensitivity: strictestOf(this.#sensitivity, [...turns, ...notes, ...quotes]),
      system,
      lines: [...conversation, ...transcript.linesFor(protocol, model)],
      keptFrom: keptFromIn(turn, conversation),
      tools: protocol === 'native' ? announced : [],
      mayCall,
      ...(outputTokensMax !== null && { outputTokensMax }),
      deadlineAt: turnContext.deadlineAt,
      budgetGuard: turnContext.budgetGuard,
    };
  }
}

type RequestOptions = {
  readonly protocol: 'native' | 'text';
  readonly model: ModelName;
  readonly mayCall: boolean;
  readonly refusedTools: readonly string[];
  readonly view: TextView;
  readonly pictured: EarlierPictures | null;
};

/** The parts of the conversation that a model sees, without pictures and tools. */
type TextView = Pick<View, 'private' | 'unanswered'>;

const wholeView: TextView = { private: true, unanswered: true };

function notesIn(notes: readonly Note[], view: TextView): readonly Note[] {
  return view.private ? notes : notes.filter(({ sensitivity }) => sensitivity === 'public');
}

function strictestOf(
  own: Sensitivity,
  shown: readonly { readonly sensitivity: Sensitivity }[],
): Sensitivity {
  return strictest(own, ...shown.map(({ sensitivity }) => sensitivity));
}
