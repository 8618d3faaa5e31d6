/** The claims that the ledger hands out, and all that a turn reaches through its claim. */
import type { Attachment } from '../../domain/attachment.ts';
import type { Box } from '../../domain/event.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import type { BegunCall, CallEnding, EarlierCall, LoggedCall } from '../../domain/tool-use.ts';
import { Linked, LinkedSet } from '../../lib/queue.ts';
import { Stopper } from '../../lib/stop.ts';
import type {
  CallLog,
  Claim,
  InClaim,
  KeptAttachments,
  KeptPicture,
  Memory,
  OutClaim,
  Previews,
} from '../ledger.ts';
import {
  mergedMessage,
  unreadBehind,
  type Row,
  type WholeInRow,
  type WholeOutRow,
  type WholeRow,
} from './queue.ts';
import type { Awaitable, LedgerDeps, LedgerStorage, RunningCall } from './storage.ts';

/** A claim knows its row until it is ended, and it ends once. */
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
  end(claim: InClaim): WholeInRow | null;
  end(claim: OutClaim): WholeOutRow | null;
  end(claim: Claim): WholeRow | null;
  end(claim: Claim): WholeRow | null {
    if (!isOpen(claim)) return null;
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
      this.end(claim);
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
    return isOpen(claim) && claim.row !== null;
  }

  [Symbol.iterator](): Iterator<Claim> {
    return this.#open[Symbol.iterator]();
  }
}

function isOpen(claim: Claim): claim is OpenInClaim | OpenOutClaim {
  return claim instanceof OpenInClaim || claim instanceof OpenOutClaim;
}

function isAffected(row: Row, matches: (row: Row) => boolean): boolean {
  return matches(row) || (row.box === 'in' && row.merged.some(matches));
}

/** Why a reply waits although no attempt failed: the platform accepts no more just now. */
const pacedReason = { kind: 'rate_limited', status: null } as const;

/** Hands rows out and takes them back, with their texts and the memory of their conversation. */
export class Claims extends OpenClaims {
  readonly #deps: LedgerDeps;
  readonly #failed: (error: unknown) => void;
  #stopped = false;

  /** @param failed called when a text or a history cannot be read */
  constructor(deps: LedgerDeps, failed: (error: unknown) => void) {
    super();
    this.#deps = deps;
    this.#failed = failed;
  }

  /** Hands out nothing from now on. Called when the end of a claim could not be written. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Claims up to n rows that are offered. There are none while the ledger has stopped, or the
   * storage may not hand out. While crash isolation holds the others back, only one row is claimed:
   * the suspect whose turn it is.
   */
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
    const row = this.end(claim);
    if (row === null) return;
    if (row.box === 'in' || at === undefined) return this.#giveBack([row]);
    row.why ??= pacedReason;
    this.#deps.rows.postpone(row, at, false);
  }

  /** Revokes the claim on a message of the conversation. The message waits again. */
  takeBack(channel: ChannelKey, conversation: ConversationId): void {
    this.#giveBack(
      this.revoke(({ box, queue }) => {
        return box === 'in' && queue.channel === channel && queue.conversation === conversation;
      }),
    );
  }

  /**
   * Removes matching rows in any state. A claim on one of them is lost.
   * @param conversation null: all conversations of the channel
   * @returns how many rows it removed
   */
  remove(
    channel: ChannelKey,
    conversation: ConversationId | null,
    matches: (row: Row) => boolean,
  ): number {
    const { rows } = this.#deps;
    for (const row of this.revoke(matches)) rows.giveBack(row);
    return rows.remove(channel, conversation, matches);
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
    const mayHandOut = !this.#stopped && this.#areReady(taken);
    return mayHandOut ? this.#claimsOf(taken) : this.#readFirst(taken);
  }

  #areReady(taken: readonly Row[]): taken is readonly WholeRow[] {
    const { storage } = this.#deps;
    return taken.every((row) => storage.isReady(row) && unreadWith(row).length === 0);
  }

  /** Reads the texts first. Meanwhile rows may be removed, and the ledger may close. */
  async #readFirst(taken: readonly Row[]): Promise<readonly Claim[]> {
    const { storage } = this.#deps;
    let left = taken;
    while (!this.#stopped && !this.#areReady(left)) {
      try {
        await storage.read(left.flatMap((row) => this.#unreadOf(row)));
      } catch (error) {
        this.#giveBack(this.#stillPresent(left));
        // A closed storage cannot be read.
        if (!this.#stopped) this.#failed(error);
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
    const { rows, storage, now } = this.#deps;
    const claims: Claim[] = [];
    try {
      for (const row of taken) {
        if (row.box === 'out') claims.push(this.claimOut(row, now()));
        else {
          if (row.message.gather !== undefined) rows.merge(row);
          claims.push(this.claimIn(row, storage.history.of(row.message)));
        }
      }
    } catch (error) {
      this.#giveBack(taken.slice(claims.length));
      this.#failed(error);
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

const nothing: readonly Row[] = [];

/** The rows whose text decides whether they are merged with this row. */
function unreadWith(row: Row): readonly Row[] {
  return row.box === 'in' ? unreadBehind(row) : nothing;
}

type Call = Omit<RunningCall, 'ending'> & {
  ending: CallEnding | null;
  /** The run that began the call, or the last run that it answered; null: of a former process. */
  claim: InClaim | null;
};

/**
 * The log of tool calls. A call is written to the storage and the audit before it may run. No run
 * of a message repeats a call silently. A call is known by its hash, wherever the model asks for
 * it. Each call that an earlier run began answers one call of this run, in order.
 */
export class ToolCalls implements CallLog {
  readonly #claims: OpenClaims;
  readonly #storage: LedgerStorage;
  readonly #calls = new WeakMap<Message, Call[]>();

  constructor(claims: OpenClaims, storage: LedgerStorage) {
    this.#claims = claims;
    this.#storage = storage;
  }

  async logCall(claim: InClaim, call: BegunCall): Promise<LoggedCall> {
    if (!this.#claims.has(claim)) return { kind: 'unwritten' };
    const logged = begin(await this.#callsOf(claim.message), claim, call);
    if (logged.kind !== 'run') return logged;
    const written = await this.#storage.callBegun(claim.message, call);
    if (written && this.#claims.has(claim)) return logged;
    // A call that could not be written does not run.
    if (!written) this.#drop(claim, call.key);
    return { kind: 'unwritten' };
  }

  /** Works for an ended claim too: the end of a call does not depend on the claim. */
  logCallEnd({ message }: InClaim, key: string, ending: CallEnding): void {
    const call = this.#calls.get(message)?.find((one) => one.key === key);
    if (call !== undefined) call.ending = ending;
    this.#storage.callEnded(key, ending);
  }

  /** Calls that earlier runs began and this run has not asked for, oldest first. */
  async earlierCalls(claim: InClaim): Promise<readonly EarlierCall[]> {
    if (!this.#claims.has(claim)) return [];
    return (await this.#callsOf(claim.message))
      .filter((call) => call.claim !== claim)
      .map(({ key, tool, arguments: given, sensitivity, ending }) => {
        return { key, tool, arguments: given, sensitivity, ending };
      });
  }

  #drop({ message }: InClaim, key: string): void {
    const calls = this.#calls.get(message) ?? [];
    const at = calls.findIndex((one) => one.key === key);
    if (at >= 0) calls.splice(at, 1);
  }

  /** The calls of a message in order. Callers that come while they are read get the same list. */
  async #callsOf(message: Message): Promise<Call[]> {
    const known = this.#calls.get(message);
    if (known !== undefined) return known;
    const begun = await this.#storage.agents.callsOf(message);
    const calls = this.#calls.get(message) ?? begun.map((call): Call => ({ ...call, claim: null }));
    this.#calls.set(message, calls);
    return calls;
  }
}

/** Finds the earlier call that answers this one, or adds it to the calls of its message. */
function begin(calls: Call[], claim: InClaim, wanted: BegunCall): LoggedCall {
  const { key, hash, tool, sensitivity, arguments: given } = wanted;
  const before = calls.find((call) => call.hash === hash && call.claim !== claim);
  if (before === undefined) {
    if (calls.some((call) => call.key === key)) return { kind: 'unwritten' };
    calls.push({ key, hash, tool, arguments: given, sensitivity, ending: null, claim });
    return { kind: 'run' };
  }
  before.claim = claim;
  const { ending } = before;
  return ending === null
    ? { kind: 'unknown', key: before.key }
    : { kind: 'done', key: before.key, ending };
}

/**
 * Keeps previews of unfinished replies. A preview is part of its message: it moves with the
 * message, and is deleted with it.
 */
export class KeptPreviews implements Previews {
  readonly #claims: OpenClaims;
  readonly #storage: LedgerStorage;

  constructor(claims: OpenClaims, storage: LedgerStorage) {
    this.#claims = claims;
    this.#storage = storage;
  }

  isNext(claim: InClaim): boolean {
    return this.#claims.rowOf(claim)?.queue.outbox.length === 0;
  }

  async keep(claim: InClaim, preview: string): Promise<boolean> {
    const row = this.#claims.rowOf(claim);
    if (row === null) return false;
    row.message = { ...row.message, preview };
    return this.#storage.previewed(row.message);
  }

  of(claim: InClaim): string | null {
    return this.#claims.rowOf(claim)?.message.preview ?? null;
  }
}

/**
 * What was read of pictures and files, kept with the message that they came with. It serves
 * open claims only, so that it writes nothing of a forgotten message.
 */
export class ClaimedAttachments implements KeptAttachments {
  readonly #claims: OpenClaims;
  readonly #stored: LedgerStorage['attachments'];

  constructor(claims: OpenClaims, stored: LedgerStorage['attachments']) {
    this.#claims = claims;
    this.#stored = stored;
  }

  async keep(claim: InClaim, attachments: readonly Attachment[]): Promise<boolean> {
    if (!this.#claims.has(claim)) return false;
    const written = await this.#stored.keep(claim.message, attachments);
    return written && this.#claims.has(claim);
  }

  async of(claim: InClaim): Promise<readonly Attachment[] | null> {
    const kept = await this.#read(claim, () => this.#stored.of(claim.message));
    return kept.length === 0 ? null : kept;
  }

  acceptedAt(claim: InClaim, at: number): Promise<readonly (readonly Attachment[])[]> {
    return this.#read(claim, () => this.#stored.acceptedAt(claim.message, at));
  }

  picturesSince(claim: InClaim, since: number, n: number): Promise<readonly KeptPicture[]> {
    return this.#read(claim, () => this.#stored.picturesSince(claim.message, since, n));
  }

  /** If the attachments cannot be read, the turn goes on without them. */
  async #read<T>(claim: InClaim, read: () => Awaitable<readonly T[]>): Promise<readonly T[]> {
    if (!this.#claims.has(claim)) return [];
    try {
      return await read();
    } catch {
      return [];
    }
  }
}
