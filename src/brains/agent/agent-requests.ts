/** What an agent's models are asked at each step of one turn, and how much of it they are shown. */
import type { ModelName } from '../../domain/ids.ts';
import type { Note } from '../../domain/note.ts';
import { strictest, type Sensitivity } from '../../domain/sensitivity.ts';
import type { ModelRequest, ToolNotice } from '../models/model.ts';
import type { TurnContext, EarlierPictures, Turn } from '../brain.ts';
import { tellLeftOut } from '../left-out.ts';
import type { ModelCall, RequestFor } from '../model-call.ts';
import { quoteFor, turnsIn, type View } from '../privacy-filter.ts';
import type { Seers } from '../vision.ts';
import { linesOfTurn } from '../turn-lines.ts';
import type { AgentOptions } from './agent.ts';
import type { InText, RefusedTools } from './models.ts';
import { placeNotes } from './notes.ts';
import { systemPrompt, withNewerNotes, withoutMark } from './prompt.ts';
import type { ToolTranscript } from './tool-transcript.ts';

export type AgentRequestsDeps = {
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

export class AgentRequests {
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
