/** The log of tool calls. A call is written to the storage and the audit before it may run. */
import type { BegunCall, CallEnding, EarlierCall, LoggedCall } from '../../domain/tool-use.ts';
import { BegunCalls } from './begun-calls.ts';
import type { CallLog, InClaim } from '../ledger.ts';
import type { OpenClaims } from './open-claims.ts';
import type { LedgerStorage } from './storage.ts';

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
