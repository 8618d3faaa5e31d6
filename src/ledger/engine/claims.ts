/** Hands rows out and takes them back, with their texts and the memory of their conversation. */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import {
  unreadBehind,
  mergedMessage,
  type InRow,
  type Row,
  type WholeRow,
  type WholeInRow,
  type WholeOutRow,
} from './queue.ts';
import type { Claim, InClaim, Memory, OutClaim, CallLog, Previews } from '../ledger.ts';
import type { WorkingSet } from './working-set.ts';
import type { Awaitable, LedgerStorage, RunningCall } from './storage.ts';
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import { Linked, LinkedSet } from '../../lib/queue.ts';
import { Stopper } from '../../lib/stop.ts';
import type { MessageOwner } from '../../domain/story.ts';
import type { BegunCall, CallEnding, EarlierCall, LoggedCall } from '../../domain/tool-use.ts';

export type ClaimingDeps = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  readonly open: OpenClaims;
  /** Called when a text or a history cannot be read. */
  readonly failed: (error: unknown) => void;
};

/** Why a reply waits although no attempt failed: the platform accepts no more just now. */
const pacedReason = { kind: 'rate_limited', status: null } as const;

export class Claiming {
  readonly #deps: ClaimingDeps;
  #stopped = false;

  constructor(deps: ClaimingDeps) {
    this.#deps = deps;
  }

  /** Hands out nothing from now on, since the end of a claim could not be written. */
  stop(): void {
    this.#stopped = true;
  }

  async claim(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    const { crashIsolation, mayHandOut } = this.#deps.storage;
    if (this.#stopped || !mayHandOut) return [];
    if (crashIsolation === null || crashIsolation.suspects === 0)
      return this.#take(box, channel, n);
    const suspect = box === 'in' ? await crashIsolation.next(channel) : null;
    const first = suspect === null ? [] : await this.#handOut([suspect]);
    if (crashIsolation.holdsOthers()) return first;
    return [...first, ...(await this.#take(box, channel, n - first.length))];
  }

  /**
   * Claims rows of a channel that is not served, also those that crash isolation holds back. They
   * become dead letters.
   */
  async takeUnserved(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    if (this.#stopped) return [];
    const { crashIsolation } = this.#deps.storage;
    const suspects: Row[] = [];
    for (let left = box === 'in' ? n : 0; left > 0; left--) {
      const row = crashIsolation?.takeUnserved(channel);
      if (row == null) break;
      suspects.push(row);
    }
    return this.#take(box, channel, n, suspects);
  }

  /** @param at a reply is not handed out again before this time; absent: at once */
  release(claim: Claim, at?: number): void {
    const { open, rows } = this.#deps;
    const row = claim.box === 'in' ? open.endIn(claim) : open.endOut(claim);
    if (row === null) return;
    if (row.box === 'in' || at === undefined) return this.#giveBack([row]);
    row.why ??= pacedReason;
    rows.postpone(row, at, false);
  }

  /** Revokes the claims on matching messages. The messages wait again. */
  takeBack(matches: (row: InRow) => boolean): void {
    this.#giveBack(this.#deps.open.revoke((row) => row.box === 'in' && matches(row)));
  }

  /** @param taken rows that go first; they count towards n */
  #take(box: Box, channel: ChannelKey, n: number, taken: Row[] = []): Awaitable<readonly Claim[]> {
    while (!this.#stopped && taken.length < n) {
      const row = this.#deps.rows.take(box, channel);
      if (row === undefined) break;
      taken.push(row);
    }
    return this.#handOut(taken);
  }

  #handOut(taken: readonly Row[]): Awaitable<readonly Claim[]> {
    return this.#areReady(taken) ? this.#claimsOf(taken) : this.#readFirst(taken);
  }

  #areReady(taken: readonly Row[]): taken is readonly WholeRow[] {
    const { storage } = this.#deps;
    return taken.every((row) => storage.isReady(row) && unreadWith(row).length === 0);
  }

  /** Reads the texts first. Meanwhile rows may be removed, and the ledger may close. */
  async #readFirst(taken: readonly Row[]): Promise<readonly Claim[]> {
    const { storage, failed } = this.#deps;
    let left = taken;
    while (!this.#stopped && !this.#areReady(left)) {
      try {
        await storage.read(left.flatMap((row) => this.#unreadOf(row)));
      } catch (error) {
        this.#giveBack(this.#stillPresent(left));
        // A closed storage cannot be read.
        if (!this.#stopped) failed(error);
        return [];
      }
      left = this.#withoutMergeWaits(this.#stillPresent(left));
    }
    if (!this.#stopped && storage.mayHandOut && this.#areReady(left)) return this.#claimsOf(left);
    this.#giveBack(left);
    return [];
  }

  #unreadOf(row: Row): readonly Row[] {
    return this.#deps.storage.isReady(row) ? unreadWith(row) : [row];
  }

  /** A message whose text was not in memory may have to wait for messages to merge with. */
  #withoutMergeWaits(taken: readonly Row[]): readonly Row[] {
    const { rows, storage } = this.#deps;
    return taken.filter((row) => {
      if (row.box === 'out' || row.message?.gather === undefined) return true;
      return storage.crashIsolation?.has(row) === true || !rows.waitToMerge(row);
    });
  }

  /**
   * Ends the rows that were removed meanwhile, and gives back those of conversations taken over
   * meanwhile.
   */
  #stillPresent(taken: readonly Row[]): readonly Row[] {
    for (const row of taken) if (row.gone) this.#deps.rows.settle(row);
    const left = taken.filter(({ gone }) => !gone);
    const isTakenOver = ({ box, queue }: Row): boolean => box === 'in' && queue.isTakenOver;
    if (!left.some(isTakenOver)) return left;
    this.#giveBack(left.filter(isTakenOver));
    return left.filter((row) => !isTakenOver(row));
  }

  #claimsOf(taken: readonly WholeRow[]): readonly Claim[] {
    const { open, rows, storage, now, failed } = this.#deps;
    const claims: Claim[] = [];
    try {
      for (const row of taken) {
        if (row.box === 'out') claims.push(open.claimOut(row, now()));
        else {
          if (row.message.gather !== undefined) rows.leaving.merge(row);
          claims.push(open.claimIn(row, storage.history.of(row.message)));
        }
      }
    } catch (error) {
      this.#giveBack(taken.slice(claims.length));
      failed(error);
    }
    return claims;
  }

  /** Gives rows back. They are the first to be taken again, in their order. */
  #giveBack(taken: readonly Row[]): void {
    const { rows, storage } = this.#deps;
    for (const row of taken.toReversed()) {
      if (row.box === 'in' && storage.crashIsolation?.released(row) === true) continue;
      rows.giveBack(row);
    }
  }
}

/** The rows whose text decides whether they are merged with this row. */
function unreadWith(row: Row): readonly Row[] {
  return row.box === 'in' ? unreadBehind(row) : nothing;
}

const nothing: readonly Row[] = [];

/** The claims that the ledger hands out. Each knows its row until it is ended, and it ends once. */
class OpenInClaim extends Linked implements InClaim {
  readonly box = 'in';
  readonly message: Message;
  readonly attempt: number;
  readonly poison: boolean;
  readonly memory: Memory;
  readonly stop = new Stopper();
  row: WholeInRow | null;

  constructor(row: WholeInRow, memory: Memory) {
    super();
    this.message = mergedMessage(row);
    this.attempt = row.attempt;
    this.poison = row.poison;
    this.memory = memory;
    this.row = row;
  }
}

class OpenOutClaim extends Linked implements OutClaim {
  readonly box = 'out';
  readonly reply: Reply;
  readonly attempt: number;
  readonly attemptOfSchedule: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  readonly stop = new Stopper();
  row: WholeOutRow | null;

  constructor(row: WholeOutRow) {
    super();
    this.reply = row.reply;
    this.attempt = row.attempt;
    this.attemptOfSchedule = row.attempt - row.replayedAfter;
    this.possibleDuplicate = row.possibleDuplicate;
    this.late = row.late;
    this.row = row;
  }
}

/** All claims that have not ended. */
export class OpenClaims {
  readonly #open = new LinkedSet<OpenInClaim | OpenOutClaim>();

  claimIn(row: WholeInRow, memory: Memory): InClaim {
    const claim = new OpenInClaim(row, memory);
    this.#open.add(claim);
    return claim;
  }

  /** @param now milliseconds since 1970 */
  claimOut(row: WholeOutRow, now: number): OutClaim {
    row.takenAt = now;
    const claim = new OpenOutClaim(row);
    this.#open.add(claim);
    return claim;
  }

  /** Ends a claim. @returns its row; null: the claim was ended before, or is not of this ledger */
  endIn(claim: InClaim): WholeInRow | null {
    if (!(claim instanceof OpenInClaim)) return null;
    const { row } = claim;
    claim.row = null;
    this.#open.delete(claim);
    return row;
  }

  endOut(claim: OutClaim): WholeOutRow | null {
    if (!(claim instanceof OpenOutClaim)) return null;
    const { row } = claim;
    claim.row = null;
    this.#open.delete(claim);
    return row;
  }

  /**
   * Ends every claim whose row, or a message merged into it, matches. Their holders lose them:
   * `stop` is stopped.
   * @returns the rows
   */
  revoke(matches: (row: Row) => boolean): readonly Row[] {
    const rows: Row[] = [];
    const lost: Stopper[] = [];
    for (const claim of this.#open) {
      const { row } = claim;
      if (row === null || !isAffected(row, matches)) continue;
      claim.row = null;
      this.#open.delete(claim);
      rows.push(row);
      lost.push(claim.stop);
    }
    // All claims end before the first holder is notified: it may ask for more work.
    for (const stop of lost) stop.stop();
    return rows;
  }

  /** The row of a claim; null: the claim has ended, or is not of this ledger. */
  rowOf(claim: InClaim): WholeInRow | null {
    return claim instanceof OpenInClaim ? claim.row : null;
  }

  /** Whether the claim is of this ledger and has not ended. */
  has(claim: Claim): boolean {
    return (claim instanceof OpenInClaim || claim instanceof OpenOutClaim) && claim.row !== null;
  }

  [Symbol.iterator](): Iterator<Claim> {
    return this.#open[Symbol.iterator]();
  }
}

function isAffected(row: Row, matches: (row: Row) => boolean): boolean {
  return matches(row) || (row.box === 'in' && row.merged.some(matches));
}

// Removes the rows of one conversation or one sender from memory.

/**
 * Removes matching rows in any state. A claim on one of them is lost.
 * @returns how many rows it removed
 */
export function removeRows(
  rows: WorkingSet,
  open: OpenClaims,
  whose: MessageOwner,
  matches: (row: Row) => boolean,
): number {
  for (const row of open.revoke(matches)) rows.giveBack(row);
  const conversation = whose.kind === 'conversation' ? whose.conversation : null;
  return rows.remove(whose.channel, conversation, matches);
}

/** The tool calls that runs of a message have begun, so that no run repeats one silently. */
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

/** The log of tool calls. A call is written to the storage and the audit before it may run. */
export class ToolCalls implements CallLog {
  readonly #open: OpenClaims;
  readonly #storage: LedgerStorage;
  readonly #begun: BegunCalls;

  constructor(open: OpenClaims, storage: LedgerStorage) {
    this.#open = open;
    this.#storage = storage;
    this.#begun = new BegunCalls((message) => storage.agents.callsOf(message));
  }

  async logCall(claim: InClaim, call: BegunCall): Promise<LoggedCall> {
    if (!this.#open.has(claim)) return { kind: 'unwritten' };
    const journaled = await this.#begun.begin(claim, call);
    if (journaled.kind !== 'run') return journaled;
    const written = await this.#storage.callBegun(claim.message, call);
    if (written && this.#open.has(claim)) return journaled;
    if (!written) this.#begun.drop(claim, call.key);
    return { kind: 'unwritten' };
  }

  /** Works for an ended claim too: the end of a call does not depend on the claim. */
  logCallEnd(claim: InClaim, key: string, ending: CallEnding): void {
    this.#begun.end(claim, key, ending);
    this.#storage.callEnded(key, ending);
  }

  async earlierCalls(claim: InClaim): Promise<readonly EarlierCall[]> {
    return this.#open.has(claim) ? this.#begun.earlier(claim) : [];
  }
}

/**
 * Keeps previews of unfinished replies. A preview is part of its message: it moves with the
 * message, and is deleted with it.
 */
export class KeptPreviews implements Previews {
  readonly #open: OpenClaims;
  readonly #storage: Pick<LedgerStorage, 'previewed'>;

  constructor(open: OpenClaims, storage: Pick<LedgerStorage, 'previewed'>) {
    this.#open = open;
    this.#storage = storage;
  }

  isNext(claim: InClaim): boolean {
    return this.#open.rowOf(claim)?.queue.outbox.length === 0;
  }

  async keep(claim: InClaim, preview: string): Promise<boolean> {
    const row = this.#open.rowOf(claim);
    if (row === null) return false;
    row.message = { ...row.message, preview };
    return this.#storage.previewed(row.message);
  }

  of(claim: InClaim): string | null {
    return this.#open.rowOf(claim)?.message.preview ?? null;
  }
}
