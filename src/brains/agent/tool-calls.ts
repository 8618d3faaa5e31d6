/** Runs the tool calls of one agent turn, and records their results. */
import { canonicalJson, isObject } from '../../lib/json.ts';
import { madeCallId, type ToolCall } from '../../domain/outcome.ts';
import type { GivenApproval } from '../../domain/approval.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { nodeCrypto } from '../../lib/node-http.ts';
import type { Stop } from '../../lib/stop.ts';
import type { CallSurroundings } from '../tools/tool.ts';
import type { TurnContext, DecidedCall, Turn } from '../brain.ts';
import type { AgentOptions } from './agent-options.ts';
import { callOf, notRun } from './call-approvals.ts';
import type { ToolTranscript, WrittenCalls } from './tool-transcript.ts';

/** The most calls of one model answer that run; the model learns how many did not run. */
const callsMax = 8;
/** The most runs of the same call in one turn. */
const repeatsMax = 2;

/** `invalid`: every call of the round had wrong arguments. */
export type Round = 'went' | 'invalid';

export type ToolCallsOptions = {
  readonly agent: AgentOptions;
  readonly turn: Turn;
  readonly turnContext: TurnContext;
  readonly channel: string;
  readonly transcript: ToolTranscript;
  /** The sensitivity of the turn at this moment. */
  readonly sensitivity: () => Sensitivity;
  /** Fires when the turn ends, also by its deadline. */
  readonly turnEnd: Stop;
  /** The start of the turn. */
  readonly turnAt: SteadyTime;
  /** The keys of calls that earlier runs of this turn began. */
  readonly keysTaken: ReadonlySet<string>;
  /** The number of notes before this turn. */
  readonly notesBefore: number;
};

export class ToolCalls {
  /** The number of calls so far. */
  count = 0;
  /** The number of calls that wait for an approval. */
  waiting = 0;
  #notesKept = 0;
  readonly #options: ToolCallsOptions;
  readonly #repeats = new Map<string, number>();
  readonly #ids = new Set<string>();
  #idsMade = 0;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  /**
   * Runs the calls of one answer, one after the other, in their order. Stops early when the turn
   * ends.
   * @param step the number of the model call in the turn, from 1
   */
  async run(step: number, written: WrittenCalls): Promise<Round> {
    const { text, calls, model, extra } = written;
    const { transcript, turnEnd } = this.#options;
    const accepted = calls.slice(0, callsMax);
    const clean = accepted.map((call) => this.#cleaned(call));
    transcript.addCalls({ text, calls: clean, model, extra });
    let invalidCount = 0;
    for (const [n, call] of accepted.entries()) {
      if (turnEnd.stopped) return 'went';
      const { text: result, invalid } = await this.#runOne(call, `${step}:${n}`);
      transcript.addResult(clean[n]!, result);
      if (invalid) invalidCount++;
    }
    const skipped = calls.length - accepted.length;
    if (skipped > 0)
      transcript.addRemark(`${skipped} more calls were not run: at most ${callsMax} at once.`);
    return invalidCount === accepted.length ? 'invalid' : 'went';
  }

  /** Continues with a call that an earlier turn requested; an approved one runs now. */
  async follow(followed: DecidedCall): Promise<void> {
    const call = callOf(followed);
    const { transcript } = this.#options;
    const clean = this.#cleaned(call);
    transcript.addEarlierCall(clean);
    if (followed.verdict !== 'approved')
      return transcript.addResult(clean, notRun[followed.verdict]);
    const { text } = await this.#runOne(call, '0:0', followed);
    transcript.addResult(clean, text);
  }

  async #runOne(
    call: ToolCall,
    place: string,
    approved?: GivenApproval,
  ): Promise<{ text: string; invalid: boolean }> {
    const { agent, turnContext, turnAt } = this.#options;
    this.count++;
    const startMs = agent.steady() - turnAt;
    const { text, use } = await agent.toolbox.run(call, {
      ...this.#surroundings(call, place),
      ...(approved !== undefined && { approved }),
    });
    turnContext.recordToolUse(use, text);
    const { tool, mode, outcome, rule, ms } = use;
    if (outcome === 'asked') this.waiting++;
    turnContext.addStep({ kind: 'tool', tool, mode, outcome, rule, startMs, ms });
    return { text, invalid: outcome === 'invalid' };
  }

  #surroundings(call: ToolCall, place: string): CallSurroundings {
    const { turn, turnContext, channel, turnEnd } = this.#options;
    return {
      signal: turnEnd.signal,
      deadlineAt: turnContext.deadlineAt,
      sensitivity: this.#options.sensitivity(),
      key: this.#freshKey(`${turn.message.id}:${place}`),
      channel,
      dryRun: turnContext.dryRun,
      repeated: this.#isRepeated(call),
      note: (text) => this.#keepNote(text),
      ask: (wanted) => turnContext.ask(wanted),
      logCall: (begun) => turnContext.logCall(begun),
      logCallEnd: (key, ending) => turnContext.logCallEnd(key, ending),
    };
  }

  /** Avoids the keys of an earlier run's calls, because two calls must not share a key. */
  #freshKey(place: string): string {
    const { keysTaken } = this.#options;
    let key = place;
    for (let n = 2; keysTaken.has(key); n++) key = `${place}:${n}`;
    return key;
  }

  #isRepeated({ name, arguments: args }: ToolCall): boolean {
    const fingerprint = callFingerprint(name, args);
    if (fingerprint === null) return false;
    const before = this.#repeats.get(fingerprint) ?? 0;
    this.#repeats.set(fingerprint, before + 1);
    return before >= repeatsMax;
  }

  #keepNote(text: string): string {
    const { agent, turnContext, sensitivity } = this.#options;
    const { notes, now } = agent;
    if (notes === null) return 'Notes are not kept here.';
    const { scope, notesMax } = notes;
    const note = { at: now(), text, sensitivity: sensitivity() };
    turnContext.keep({ kind: 'add', scope, note, notesMax });
    this.#notesKept++;
    if (this.#options.notesBefore + this.#notesKept <= notesMax) return 'Kept.';
    const lostNote = scope.kind === 'brain' ? 'An older note' : 'The oldest note';
    return `Kept. ${lostNote} went for it: ${notesMax} are kept at most.`;
  }

  /**
   * The call as it goes back to its model. Providers refuse calls of their own models if the name
   * has odd characters, the arguments are no object, or two calls have the same id.
   */
  #cleaned({ id, name, arguments: args, extra }: ToolCall): ToolCall {
    let freshId = id.length <= idLengthMax ? id : '';
    while (freshId === '' || this.#ids.has(freshId)) freshId = madeCallId(++this.#idsMade);
    this.#ids.add(freshId);
    const plain = name.slice(0, nameLengthMax).replace(/[^\w-]/g, '_');
    return { id: freshId, name: plain, arguments: asObject(args), ...(extra && { extra }) };
  }
}

const idLengthMax = 100;
const nameLengthMax = 64;
const argumentsLengthMax = 65_536;

function asObject(args: unknown): object {
  const value = (typeof args === 'string' ? parsed(args) : args) ?? {};
  const object = isObject(value) ? value : { value };
  return (canonicalJson(object)?.length ?? Infinity) <= argumentsLengthMax ? object : {};
}

/** A hash of the call without the order of its arguments; null: they have no JSON form. */
function callFingerprint(name: string, args: unknown): string | null {
  const text = canonicalJson([name, typeof args === 'string' ? parsed(args) : args]);
  return text === null ? null : nodeCrypto().createHash('sha256').update(text).digest('base64');
}

/** A text that is no JSON stays as it is. */
function parsed(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}
