import type { ChannelType } from '../../config/config.ts';
import type { Decision } from '../../domain/decision.ts';
import type { Note } from '../../domain/note.ts';
import type { Outcome, ToolCall } from '../../domain/outcome.ts';
import type { ModelRequest, RequestLine, ToolNotice } from '../../model/model.ts';
import type { CallSurroundings } from '../../tool/tool.ts';
import { apologyOf } from '../apologies.ts';
import type { Desk, Turn } from '../brain.ts';
import type { Call, Member } from '../call.ts';
import { dispatch } from '../dispatch.ts';
import { linesOf } from '../turn-lines.ts';
import type { AgentOptions, Protocol } from './agent.ts';
import { Findings } from './findings.ts';
import { runes, systemPrompt } from './prompt.ts';
import { callIn } from './text-protocol.ts';

/** So many calls of one model answer are run; the model is told of the others. */
const callsMax = 8;
/** So many times one and the same call is run in a turn. */
const repeatsMax = 2;
/** So many calls in a row whose arguments are wrong end the use of tools. */
const invalidMax = 2;

const askForAnswer =
  'No tool can be used any more in this turn. Answer the person now, with what you have; say ' +
  'plainly what you could not find out.';

/** One turn of an agent. */
export class AgentTurn {
  readonly #options: AgentOptions;
  readonly #member: Member;
  readonly #protocol: Protocol;
  readonly #turn: Turn;
  readonly #desk: Desk;
  readonly #channel: ChannelType;
  readonly #tools: readonly ToolNotice[];
  readonly #lines: RequestLine[];
  readonly #keptFrom: number;
  readonly #findings: Findings;
  readonly #mark: string;
  readonly #turnAt: number;
  readonly #repeats = new Map<string, number>();
  #iteration = 0;
  #toolCalls = 0;
  #invalidInARow = 0;
  #notes: readonly Note[] | null = null;
  #retriedBadCall = false;

  constructor(options: AgentOptions, member: Member, protocol: Protocol, turn: Turn, desk: Desk) {
    this.#options = options;
    this.#member = member;
    this.#protocol = protocol;
    this.#turn = turn;
    this.#desk = desk;
    this.#channel = turn.message.channel.split(':', 1)[0] as ChannelType;
    this.#tools = options.toolbox
      .announcedOn(this.#channel)
      .map(({ name, description, parameters }) => ({ name, description, parameters }));
    this.#lines = [...linesOf(turn)];
    this.#keptFrom = this.#lines.length - 1;
    this.#mark = options.mark();
    this.#findings = new Findings(this.#lines, this.#mark);
    this.#turnAt = options.now();
  }

  async answer(): Promise<Decision> {
    const { iterationsMax } = this.#options;
    while (this.#iteration < iterationsMax) {
      this.#iteration++;
      const last = this.#isLast;
      if (last) this.#lines.push({ role: 'user', text: askForAnswer });
      const call = await this.#ask(last);
      const outcome = call.outcome!;
      if (outcome.kind === 'failed') return this.#apology(apologyOf([call]), 'the model failed');
      const calls = this.#callsOf(outcome);
      if (calls.length === 0) return this.#reply(outcome.text);
      if (this.#iteration === iterationsMax || last) return this.#unfinished(outcome);
      await this.#runAll(outcome.text, calls);
      if (this.#desk.signal.aborted) return this.#apology('busy', 'it was cancelled');
    }
    return this.#apology('unfinished', 'no step was left');
  }

  /** With one step in all, that one has tools; else the last one has none. */
  get #isLast(): boolean {
    const { iterationsMax } = this.#options;
    const spent = this.#iteration === iterationsMax && iterationsMax > 1;
    return spent || this.#invalidInARow >= invalidMax;
  }

  /** Asks until the model answers in a protocol that it knows, or fails. */
  async #ask(last: boolean): Promise<Call> {
    for (;;) {
      const request = await this.#request(last);
      const judged = await dispatch([this.#member], request, this.#desk, this.#options);
      const call = judged.calls[0]!;
      this.#desk.step(call.step(this.#turnAt));
      if (!this.#changesProtocol(call.outcome)) return call;
    }
  }

  /** A refusal of tools is no answer, so it costs no step. */
  #changesProtocol(outcome: Outcome | null): boolean {
    if (outcome?.kind !== 'failed' || this.#protocol.now === 'text') return false;
    const { kind } = outcome.failure;
    if (kind === 'tool_call_malformed' && !this.#retriedBadCall) {
      this.#retriedBadCall = true;
      return true;
    }
    if (kind !== 'tools_unsupported' && kind !== 'tool_call_malformed') return false;
    this.#protocol.now = 'text';
    return true;
  }

  async #request(last: boolean): Promise<ModelRequest> {
    const { sensitivity, iterationsMax, operatorPrompt, skills, notes } = this.#options;
    const tools = last ? [] : this.#tools;
    const native = this.#protocol.now === 'native';
    this.#notes ??= notes === null ? [] : await this.#desk.notes(notes.scope);
    return {
      sensitivity,
      system: systemPrompt({
        protocol: this.#protocol.now,
        tools: this.#tools,
        iterationsMax,
        operatorPrompt,
        skills,
        notes: this.#notes,
        notesBudgetRunes: notes?.budgetRunes ?? 0,
        mark: this.#mark,
      }),
      lines: this.#findings.linesFor(this.#protocol.now),
      keptFrom: this.#keptFrom,
      tools: native ? tools : [],
      deadlineAt: this.#desk.deadlineAt,
    };
  }

  #callsOf(outcome: Extract<Outcome, { kind: 'answer' }>): readonly ToolCall[] {
    if (this.#protocol.now === 'native' && outcome.calls.length > 0) return outcome.calls;
    const call = callIn(outcome.text, this.#tools);
    return call === null ? [] : [call];
  }

  async #runAll(text: string, calls: readonly ToolCall[]): Promise<void> {
    const run = calls
      .slice(0, callsMax)
      .map((call, n) => ({ ...call, id: call.id || `call_${n}` }));
    this.#findings.asked(text, run);
    for (const [n, call] of run.entries()) {
      this.#findings.found(call, await this.#run(call, n));
      if (this.#desk.signal.aborted) return;
    }
    const left = calls.length - run.length;
    if (left > 0)
      this.#findings.say(`${left} more calls were not run: at most ${callsMax} at once.`);
  }

  async #run(call: ToolCall, n: number): Promise<string> {
    const same = `${call.name} ${JSON.stringify(call.arguments)}`;
    const before = this.#repeats.get(same) ?? 0;
    this.#repeats.set(same, before + 1);
    if (before >= repeatsMax) {
      return 'This very call was run before, and gives nothing new. Go on with what you have.';
    }
    const { text, use } = await this.#options.toolbox.run(call, this.#surroundings(n));
    this.#toolCalls++;
    this.#invalidInARow = use.outcome === 'invalid' ? this.#invalidInARow + 1 : 0;
    this.#desk.used(use);
    const { tool, mode, outcome, rule, at, ms } = use;
    const startMs = at - this.#turnAt;
    this.#desk.step({ kind: 'tool', tool, mode, outcome, rule, startMs, ms });
    return text;
  }

  #surroundings(n: number): CallSurroundings {
    const desk = this.#desk;
    return {
      signal: desk.signal,
      deadlineAt: desk.deadlineAt,
      sensitivity: this.#options.sensitivity,
      key: `${this.#turn.message.id}:${this.#iteration}:${n}`,
      channel: this.#channel,
      rehearsal: desk.rehearsal,
      note: (text) => this.#keepNote(text),
      journal: (key, tool) => desk.journal(key, tool),
      journalEnd: (key, text) => desk.journalEnd(key, text),
    };
  }

  #keepNote(text: string): string {
    const { notes, now } = this.#options;
    if (notes === null) return 'Notes are not kept here.';
    const { scope, notesMax, noteRunesMax } = notes;
    if (runes(text) > noteRunesMax) {
      return `The note was not kept: it may have ${noteRunesMax} characters at most.`;
    }
    this.#desk.keep({ kind: 'add', scope, note: { at: now(), text }, notesMax });
    return `Kept. When there are more than ${notesMax} notes, the oldest goes.`;
  }

  #reply(text: string): Decision {
    const tools = this.#toolCalls === 0 ? 'no tool' : `${this.#toolCalls} tool calls`;
    const why = `answered at step ${this.#iteration} after ${tools}`;
    return { kind: 'reply', text, model: this.#member.model.name, why };
  }

  /** It asks for tools where it has none left: what it wrote beside that is its answer, if any. */
  #unfinished({ text, calls }: Extract<Outcome, { kind: 'answer' }>): Decision {
    if (calls.length > 0 && text !== '') return this.#reply(text);
    return this.#apology('unfinished', `it still asked for tools at step ${this.#iteration}`);
  }

  #apology(apology: Extract<Decision, { kind: 'apology' }>['apology'], why: string): Decision {
    return { kind: 'apology', apology, why };
  }
}
