import type { Decision, Sorry } from '../../domain/decision.ts';
import type { FailureKind } from '../../domain/failure.ts';
import type { ModelName } from '../../domain/ids.ts';
import { kindTypeOf } from '../../channels/registry.ts';
import type { Note } from '../../domain/note.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import type { EarlierCall } from '../../domain/tool-use.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Deadline } from '../../lib/deadlines.ts';
import { Stopper } from '../../lib/stop.ts';
import { strictest, type Sensitivity } from '../../domain/sensitivity.ts';
import type { ToolNotice, ModelRequest } from '../models/model.ts';
import { apologyOf, tellLeftOut } from '../responder.ts';
import type { TurnContext, Followed, Turn, EarlierPictures } from '../brain.ts';
import { linesOfTurn, type Seers } from '../turn-lines.ts';
import type { ModelCall, Candidate, RequestFor } from '../model-call.ts';
import { dispatch } from '../dispatch.ts';
import type { AgentOptions } from './agent-options.ts';
import { AgentModels, type InText, type LearnedLimits, type RefusedTools } from './models.ts';
import { withoutMark, readText, placeNotes, systemPrompt, withNewerNotes } from './prompt.ts';
import { ToolTranscript, transcriptCharactersMax, type WrittenCalls } from './tool-transcript.ts';
import { ToolCalls } from './tool-calls.ts';
import { quoteFor, turnsIn, type View } from '../privacy-filter.ts';

/** After so many answers in a row with nothing but wrong calls, no more tools are used. */
const invalidMax = 2;
/** At most so often what was found is halved for a model that cannot read it. */
const halvingsMax = 6;
/** What one hard turn teaches about the model holds for the next turns, down to this. */
const findingsCharactersMin = 4_000;
/** The limit grows by this factor with each turn that left something out and was answered. */
const growth = 1.25;

const askForAnswer =
  'No tool can be used any more in this turn. Answer the person now, with what you have; say ' +
  'plainly what you could not find out.';
const brokenCall =
  'That call could not be read: it must be one JSON object with "tool" and "arguments", and ' +
  'nothing else. It was not run.';

/** One step's question, and what became of it. */
type Asked = {
  /** Every model that was asked, best rank first. */
  readonly calls: readonly ModelCall[];
  /** Whose answer it is; null: all have failed. */
  readonly answered: ModelCall | null;
  readonly inText: InText;
  /** A provider refused what its model wrote as a call. */
  readonly isMalformed: boolean;
  readonly withTools: boolean;
};

export type AgentTurnState = {
  /** Those of the agent's scope that may be shown, oldest first. */
  readonly notes: readonly Note[];
  /** How many are kept. */
  readonly notesKept: number;
  readonly earlier: readonly EarlierCall[];
  readonly sensitivity: Sensitivity;
  readonly seers: Seers;
};

/** What the model wants. */
type ModelIntent =
  | { readonly kind: 'answer'; readonly text: string }
  | ({ readonly kind: 'calls' } & WrittenCalls)
  | { readonly kind: 'broken'; readonly text: string };

/**
 * One turn of an agent.
 *
 *     asking ──answer──▶ over ◀──no step is left, the turn's time is over, the model failed
 *       │ ▲
 *     calls └─results── running
 *
 * A step is one call to the model. The last step has no tools and asks for the answer. When there
 * is one step in all, it has tools, and its calls are not run. A request that the model refused to
 * read is not counted as a step, and neither are models that failed before another one answered.
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
  readonly #followed: Followed | null;
  readonly #turnAt: SteadyTime;
  readonly #over = new Stopper();
  readonly #deadline: Deadline;
  #step = 0;
  #closing = false;
  #asksForAnswer = false;
  #invalidInARow = 0;
  #halvings = 0;

  /**
   * @param candidates in the order in which they are to be asked
   * @param before what this turn may know of earlier turns, and of its own earlier runs
   */
  constructor(
    options: AgentOptions,
    candidates: readonly Candidate[],
    learned: LearnedLimits,
    turn: Turn,
    turnContext: TurnContext,
    { notes, notesKept, earlier, sensitivity, seers }: AgentTurnState,
  ) {
    this.#options = options;
    this.#models = new AgentModels(candidates, learned);
    this.#learned = learned;
    this.#turnContext = turnContext;
    this.#followed = turn.followed ?? null;
    const channel = kindTypeOf(turn.message.channel);
    this.#announced = options.toolbox
      .announcedOn(channel)
      .map(({ name, description, parameters }) => ({ name, description, parameters }));
    const mark = options.mark(turn);
    this.#mark = mark;
    const transcript = new ToolTranscript(mark, learned.findingsCharactersMax);
    const announced = this.#announced;
    this.#transcript = transcript;
    const parts = { agent: options, turn, turnContext, notes, transcript, announced, mark, seers };
    this.#requests = new AgentRequests(parts, sensitivity);
    if (earlier.length > 0) transcript.recalled(earlier);
    this.#turnAt = options.steady();
    this.#calls = new ToolCalls({
      agent: options,
      turn,
      turnContext,
      channel,
      transcript,
      sensitivity: () => this.#requests.sensitivity,
      over: this.#over,
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
      if (this.#followed !== null) await this.#calls.follow(this.#followed);
      if (this.#calls.asked > 0) return this.#question(this.#models.first);
      return await this.#loop();
    } finally {
      this.#deadline.cancel();
      this.#turnContext.stop.unlisten(this.#end);
    }
  }

  readonly #end = (): void => this.#over.stop();

  async #loop(): Promise<Decision> {
    while (this.#step < this.#options.stepsMax) {
      if (this.#over.stopped) return this.#apology('busy', 'the turn was given up');
      this.#step++;
      const asked = await this.#ask();
      const { answered } = asked;
      if (answered === null) {
        if (this.#goesOnAfter(asked)) continue;
        return this.#failed(asked);
      }
      const wish = wishOf(answered, asked.inText(answered), this.#mark);
      if (wish.kind === 'answer') return this.#reply(wish.text, answered.model);
      if (!asked.withTools || this.#isSpent) return this.#unfinished();
      await this.#fulfil(wish);
      if (this.#calls.asked > 0) return this.#question(answered.model);
    }
    return this.#apology('unfinished', 'no step was left');
  }

  get #isSpent(): boolean {
    return this.#step >= this.#options.stepsMax;
  }

  async #ask(): Promise<Asked> {
    const { stepsMax } = this.#options;
    const last = this.#closing || (this.#isSpent && stepsMax > 1);
    const withTools = !last && this.#announced.length > 0;
    if (last && !this.#asksForAnswer && this.#announced.length > 0) {
      this.#asksForAnswer = true;
      this.#transcript.say(askForAnswer);
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

  /** Whether another step, asked in another way, may do better than the one that failed. */
  #goesOnAfter({ calls, isMalformed, withTools }: Asked): boolean {
    if (isMalformed && withTools) return !this.#isSpent;
    const kinds = failuresOf(calls);
    if (kinds.includes('context_overflow')) return this.#findLess();
    if (!kinds.includes('empty_answer') || this.#closing || this.#isSpent) return false;
    this.#closing = true;
    return true;
  }

  /**
   * The model could not read the whole request: half of what was found is dropped. The limit is
   * remembered where what was found is most of the request: one long message says nothing of
   * others.
   */
  #findLess(): boolean {
    const teaches = this.#transcript.outweighs(this.#requests.characters);
    const fits = this.#halvings < halvingsMax ? this.#transcript.halve() : null;
    if (fits === null) return false;
    this.#halvings++;
    if (teaches) this.#learned.findingsCharactersMax = Math.max(findingsCharactersMin, fits);
    this.#step--;
    return true;
  }

  /** The model could read all that it was given, and was not given all: next time it gets more. */
  #findMore(): void {
    const more = Math.ceil(this.#learned.findingsCharactersMax * growth);
    this.#learned.findingsCharactersMax = Math.min(transcriptCharactersMax, more);
  }

  async #fulfil(wish: Exclude<ModelIntent, { kind: 'answer' }>): Promise<void> {
    let invalid = true;
    if (wish.kind === 'broken') this.#transcript.objected(wish.text, brokenCall);
    else invalid = (await this.#calls.run(this.#step, wish)) === 'invalid';
    this.#invalidInARow = invalid ? this.#invalidInARow + 1 : 0;
    if (this.#invalidInARow >= invalidMax) this.#closing = true;
  }

  #reply(text: string, model: ModelName): Decision {
    if (this.#transcript.isShort && this.#halvings === 0) this.#findMore();
    const { count } = this.#calls;
    const tools = count === 0 ? 'no tool' : count === 1 ? 'one tool call' : `${count} tool calls`;
    const why = `answered at step ${this.#step} after ${tools}`;
    return { kind: 'reply', text, model, why };
  }

  /** Nothing goes on before a person has said yes or no, and that is a turn of its own. */
  #question(model: ModelName): Decision {
    const text = this.#turnContext.question();
    const why = `asked for a yes at step ${this.#step}`;
    return { kind: 'reply', text, model, why };
  }

  /** The model wants a tool where none is left; its text beside the call may tell of it as done. */
  #unfinished(): Decision {
    return this.#apology('unfinished', `it still asked for tools at step ${this.#step}`);
  }

  /** A model that goes silent after its tools has not finished; otherwise the failure tells why. */
  #failed({ calls, withTools }: Asked): Decision {
    const kinds = failuresOf(calls);
    const stuck =
      kinds.every((kind) => kind === 'empty_answer') && !withTools && this.#calls.count > 0;
    if (stuck) return this.#apology('unfinished', `no text came at step ${this.#step}`);
    if (kinds.every((kind) => kind === 'tool_call_malformed')) {
      return this.#apology('unfinished', 'its provider refused what it wrote as a call');
    }
    const who = calls.length === 1 ? 'the model gave no answer' : 'no model gave an answer';
    return { kind: 'apology', ...apologyOf(calls), why: `${who}: ${kinds.join(', ')}` };
  }

  #apology(apology: Exclude<Sorry['apology'], 'over_budget'>, why: string): Decision {
    return { kind: 'apology', apology, why };
  }
}

function failuresOf(calls: readonly ModelCall[]): readonly FailureKind[] {
  return calls.flatMap(({ outcome }) => (outcome?.kind === 'failed' ? [outcome.failure.kind] : []));
}

/**
 * Calls are looked for only where they may stand: beside the text, or as the whole text. The mark
 * goes neither to a person nor to a tool.
 */
function wishOf({ outcome, model }: ModelCall, isText: boolean, mark: string): ModelIntent {
  if (outcome?.kind !== 'answer') throw new Error('a policy chose a model without an answer');
  const { extra } = outcome;
  const text = withoutMark(mark, outcome.text);
  const calls = outcome.calls.map((call) => callWithoutMark(mark, call));
  if (!isText) {
    return calls.length === 0
      ? { kind: 'answer', text }
      : { kind: 'calls', text, calls, model, extra };
  }
  if (calls.length > 0) return { kind: 'broken', text };
  const read = readText(text);
  if (read.kind !== 'call') return { kind: read.kind, text };
  return { kind: 'calls', text, calls: [read.call], model, extra };
}

function callWithoutMark(mark: string, call: ToolCall): ToolCall {
  const { name, arguments: given } = call;
  const written = JSON.stringify({ name, given });
  const clean = withoutMark(mark, written);
  if (clean === written) return call;
  const told = JSON.parse(clean) as { name: string; given: unknown };
  return { ...call, name: told.name, arguments: told.given };
}

/** What an agent's models are asked at each step of one turn, and how much of it they are shown. */
type AgentRequestsDeps = {
  readonly agent: AgentOptions;
  readonly turn: Turn;
  readonly turnContext: TurnContext;
  /** All that may be shown, oldest first. */
  readonly notes: readonly Note[];
  readonly transcript: ToolTranscript;
  /** What it may use in this turn. */
  readonly announced: readonly ToolNotice[];
  readonly mark: string;
  readonly seers: Seers;
};

class AgentRequests {
  readonly #deps: AgentRequestsDeps;
  /** Of the turn: from the first answer on also what the model was shown of private texts. */
  #sensitivity: Sensitivity;
  /** Models that took no pictures in this turn. */
  readonly #blind = new Set<ModelName>();
  /** What the first that answered was shown, and all are in later steps; null: none has. */
  #view: TextView | null = null;

  /** @param sensitivity of the turn as it begins */
  constructor(deps: AgentRequestsDeps, sensitivity: Sensitivity) {
    this.#deps = deps;
    this.#sensitivity = sensitivity;
  }

  get sensitivity(): Sensitivity {
    return this.#sensitivity;
  }

  /** Characters of all that is asked beside what was found. */
  get characters(): number {
    const { agent, turn } = this.#deps;
    const own = (agent.operatorPrompt?.length ?? 0) + (agent.skills?.length ?? 0);
    const view = this.#view ?? wholeView;
    const said = linesOfTurn(turn, turnsIn(turn.history, view), null, quoteFor(turn, view));
    return said.reduce((sum, { text }) => sum + text.length, own);
  }

  /** @param mayCall whether tools may be called at this step */
  at(mayCall: boolean, inText: InText, refused: RefusedTools): RequestFor {
    return (view, model) => {
      const protocol = inText({ model, view }) ? 'text' : 'native';
      // Later steps need not find it out once more.
      if (!view.pictures) this.#blind.add(model);
      const pictured = this.#blind.has(model) ? null : (this.#deps.seers.get(model) ?? null);
      const refusedTools = refused({ model, view });
      const shown = this.#view ?? view;
      return this.#request({ protocol, model, mayCall, refusedTools, view: shown, pictured });
    };
  }

  /** To be called with each answer: from the first one on its model's words are in the turn. */
  answered(asked: Pick<ModelCall, 'model' | 'view' | 'refusal'>): void {
    if (this.#view !== null) return;
    const { view } = asked;
    this.#view = view;
    const { turn, turnContext, notes } = this.#deps;
    const secret = notes.filter(({ sensitivity }) => sensitivity === 'private').length;
    tellLeftOut(turn, secret, [asked], asked, turnContext);
    const quoted = quoteFor(turn, view);
    const shown = [...turnsIn(turn.history, view), ...notesIn(notes, view)];
    this.#sensitivity = strictestOf(
      this.#sensitivity,
      quoted === null ? shown : [...shown, quoted],
    );
  }

  /**
   * Whether the request names the tools also at a last step, where none may be called: then its
   * beginning is the same at each step. A local runtime knows no way to name them so.
   */
  #namesTools(name: ModelName): boolean {
    const { members } = this.#deps.agent;
    const asked = members.find(({ model }) => model.name === name);
    return asked?.model.provider === 'hosted_runtime';
  }

  #request(asking: Asking): ModelRequest {
    const { protocol, model, mayCall, refusedTools, view, pictured } = asking;
    const { agent, turn, turnContext, transcript, mark } = this.#deps;
    const announced = this.#deps.announced.filter(({ name }) => !refusedTools.includes(name));
    const turns = turnsIn(turn.history, view);
    const notes = notesIn(this.#deps.notes, view);
    const { windowAt } = turn;
    const budgetRunes = agent.notes?.budgetRunes ?? 0;
    const { first, behind } = placeNotes(notes, { windowAt, rows: turns, budgetRunes });
    const quoted = quoteFor(turn, view);
    const said = linesOfTurn(turn, turns, pictured, quoted, ({ role, text }, row) => {
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
      keepsNotes: agent.notes !== null,
      notes: first,
      mark,
    });
    return {
      sensitivity: strictestOf(this.#sensitivity, [...turns, ...notes, ...quotes]),
      system,
      lines: [...said, ...transcript.linesFor(protocol, model)],
      keptFrom: said.length - 1,
      tools: protocol === 'native' ? announced : [],
      mayCall,
      deadlineAt: turnContext.deadlineAt,
      budgetGuard: turnContext.budgetGuard,
    };
  }
}

type Asking = {
  readonly protocol: 'native' | 'text';
  readonly model: ModelName;
  readonly mayCall: boolean;
  readonly refusedTools: readonly string[];
  readonly view: TextView;
  readonly pictured: EarlierPictures | null;
};

/** What of the conversation a model sees, whatever its tools are. */
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
