import type { ChannelType } from '../../config/config.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { madeCallId, type ToolCall } from '../../domain/outcome.ts';
import type { Yes } from '../../domain/approval.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { nodeCrypto } from '../../lib/node-http.ts';
import type { Stop } from '../../lib/stop.ts';
import type { CallSurroundings } from '../tools/tool.ts';
import type { TurnContext, Followed, Turn } from '../brain.ts';
import type { AgentOptions } from './agent-options.ts';
import { callOf, notRun } from './call-approvals.ts';
import type { ToolTranscript, WrittenCalls } from './tool-transcript.ts';

/** At most so many calls of one model answer are run; the model is told of the others. */
const callsMax = 8;
/** At most so many times one and the same call is run in a turn. */
const repeatsMax = 2;

/** How a round of calls ended: with nothing but wrong arguments, or otherwise. */
export type Round = 'went' | 'invalid';

export type ToolCallsOptions = {
  readonly agent: AgentOptions;
  readonly turn: Turn;
  readonly turnContext: TurnContext;
  readonly channel: ChannelType;
  readonly transcript: ToolTranscript;
  /** Of the turn, as it is by now. */
  readonly sensitivity: () => Sensitivity;
  /** Is said when the turn is over, by its deadline too. */
  readonly over: Stop;
  /** When the turn began. */
  readonly turnAt: SteadyTime;
  /** Keys of calls that an earlier run of this turn began. */
  readonly keysTaken: ReadonlySet<string>;
  /** How many notes there were before this turn. */
  readonly notesBefore: number;
};

/** Runs what the answers of one turn ask for, and writes down what comes of it. */
export class ToolCalls {
  /** How many calls were asked for so far. */
  count = 0;
  /** How many of them wait for a yes. */
  asked = 0;
  #notesKept = 0;
  readonly #options: ToolCallsOptions;
  readonly #repeats = new Map<string, number>();
  readonly #ids = new Set<string>();
  #idsMade = 0;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  /**
   * One answer's calls, one after the other, in their order. Ends early when the turn is over.
   * @param step which model call of the turn it is, from 1
   */
  async run(step: number, written: WrittenCalls): Promise<Round> {
    const { text, calls, model, extra } = written;
    const { transcript, over } = this.#options;
    const asked = calls.slice(0, callsMax);
    const told = asked.map((call) => this.#tellable(call));
    transcript.asked({ text, calls: told, model, extra });
    let wrong = 0;
    for (const [n, call] of asked.entries()) {
      if (over.stopped) return 'went';
      const { text: result, invalid } = await this.#runOne(call, `${step}:${n}`);
      transcript.found(told[n]!, result);
      if (invalid) wrong++;
    }
    const left = calls.length - asked.length;
    if (left > 0) transcript.say(`${left} more calls were not run: at most ${callsMax} at once.`);
    return wrong === asked.length ? 'invalid' : 'went';
  }

  /** What became of a call that an earlier turn asked for; with a yes it runs now. */
  async follow(followed: Followed): Promise<void> {
    const call = callOf(followed);
    const { transcript } = this.#options;
    const told = this.#tellable(call);
    transcript.followed(told);
    if (followed.verdict !== 'approved') return transcript.found(told, notRun[followed.verdict]);
    const { text } = await this.#runOne(call, '0:0', followed);
    transcript.found(told, text);
  }

  async #runOne(
    call: ToolCall,
    place: string,
    approved?: Yes,
  ): Promise<{ text: string; invalid: boolean }> {
    const { agent, turnContext, turnAt } = this.#options;
    this.count++;
    const startMs = agent.steady() - turnAt;
    const { text, use } = await agent.toolbox.run(call, {
      ...this.#surroundings(call, place),
      ...(approved !== undefined && { approved }),
    });
    turnContext.used(use, text);
    const { tool, mode, outcome, rule, ms } = use;
    if (outcome === 'asked') this.asked++;
    turnContext.addStep({ kind: 'tool', tool, mode, outcome, rule, startMs, ms });
    return { text, invalid: outcome === 'invalid' };
  }

  #surroundings(call: ToolCall, place: string): CallSurroundings {
    const { turn, turnContext, channel, over } = this.#options;
    return {
      signal: over.signal,
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

  /** No call gets a key of an earlier run's call: the two calls are not the same. */
  #freshKey(place: string): string {
    const { keysTaken } = this.#options;
    let key = place;
    for (let n = 2; keysTaken.has(key); n++) key = `${place}:${n}`;
    return key;
  }

  #isRepeated({ name, arguments: given }: ToolCall): boolean {
    const same = sameness(name, given);
    if (same === null) return false;
    const before = this.#repeats.get(same) ?? 0;
    this.#repeats.set(same, before + 1);
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
    const gone = scope.kind === 'brain' ? 'An older note' : 'The oldest note';
    return `Kept. ${gone} went for it: ${notesMax} are kept at most.`;
  }

  /**
   * The call as it goes back to its model: providers refuse what their own models wrote where a
   * name has odd characters, the arguments are no object, or an id is not the only one of its kind.
   */
  #tellable({ id, name, arguments: given, extra }: ToolCall): ToolCall {
    let own = id.length <= idLengthMax ? id : '';
    while (own === '' || this.#ids.has(own)) own = madeCallId(++this.#idsMade);
    this.#ids.add(own);
    const plain = name.slice(0, nameLengthMax).replace(/[^\w-]/g, '_');
    return { id: own, name: plain, arguments: asObject(given), ...(extra && { extra }) };
  }
}

const idLengthMax = 100;
const nameLengthMax = 64;
const argumentsLengthMax = 65_536;

function asObject(given: unknown): object {
  const value = (typeof given === 'string' ? parsed(given) : given) ?? {};
  const whole = typeof value === 'object' && value !== null && !Array.isArray(value);
  const told = whole ? value : { value };
  return (canonicalJson(told)?.length ?? Infinity) <= argumentsLengthMax ? told : {};
}

/** Names one call whatever the order of its arguments; null: they cannot be written down. */
function sameness(name: string, given: unknown): string | null {
  const text = canonicalJson([name, typeof given === 'string' ? parsed(given) : given]);
  return text === null ? null : nodeCrypto().createHash('sha256').update(text).digest('base64');
}

/** A text that is no JSON is itself. */
function parsed(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}
