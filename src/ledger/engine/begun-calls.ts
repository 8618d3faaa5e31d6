/** The tool calls that runs of a message have begun, so that no run repeats one silently. */
import type { Message } from '../../domain/message.ts';
import type { BegunCall, CallEnding, EarlierCall, LoggedCall } from '../../domain/tool-use.ts';
import type { RunningCall } from './storage.ts';
import type { InClaim } from '../ledger.ts';

type Load = (message: Message) => readonly RunningCall[] | Promise<readonly RunningCall[]>;

type Call = {
  readonly kept: Omit<RunningCall, 'ending'>;
  ending: CallEnding | null;
  /** The run that began the call, or that it answered last; null: a run of an earlier process. */
  claim: InClaim | null;
};

/**
 * Knows which calls of a message may not be repeated. A call is known by its hash, wherever the
 * model asks for it. Each call that an earlier run began answers one call of this run, in order.
 */
export class BegunCalls {
  readonly #load: Load;
  readonly #calls = new WeakMap<Message, Call[]>();

  /** @param load reads what was begun for a message before this process held it, in order */
  constructor(load: Load) {
    this.#load = load;
  }

  /** Calls that earlier runs began and this run has not asked for, oldest first. */
  async earlier(claim: InClaim): Promise<readonly EarlierCall[]> {
    return (await this.#of(claim.message))
      .filter((call) => call.claim !== claim)
      .map(({ kept: { key, tool, arguments: given, sensitivity }, ending }) => {
        return { key, tool, arguments: given, sensitivity, ending };
      });
  }

  async begin(claim: InClaim, wanted: BegunCall): Promise<LoggedCall> {
    const { key, hash, tool, sensitivity, arguments: given } = wanted;
    const calls = await this.#of(claim.message);
    const before = calls.find((call) => call.kept.hash === hash && call.claim !== claim);
    if (before === undefined) {
      if (calls.some(({ kept }) => kept.key === key)) return { kind: 'unwritten' };
      const kept = { key, hash, tool, arguments: given, sensitivity };
      calls.push({ kept, ending: null, claim });
      return { kind: 'run' };
    }
    before.claim = claim;
    const { ending, kept } = before;
    return ending === null
      ? { kind: 'unknown', key: kept.key }
      : { kind: 'done', key: kept.key, ending };
  }

  /** Forgets a call that could not be written, and did not run. */
  drop({ message }: InClaim, key: string): void {
    const calls = this.#calls.get(message) ?? [];
    const at = calls.findIndex(({ kept }) => kept.key === key);
    if (at >= 0) calls.splice(at, 1);
  }

  end({ message }: InClaim, key: string, ending: CallEnding): void {
    const call = this.#calls.get(message)?.find(({ kept }) => kept.key === key);
    if (call !== undefined) call.ending = ending;
  }

  /** Callers that come while the calls are read get the same list. */
  async #of(message: Message): Promise<Call[]> {
    const known = this.#calls.get(message);
    if (known !== undefined) return known;
    const read = (await this.#load(message)).map(({ ending, ...kept }): Call => {
      return { kept, ending, claim: null };
    });
    const calls = this.#calls.get(message) ?? read;
    this.#calls.set(message, calls);
    return calls;
  }
}
