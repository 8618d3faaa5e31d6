import type { BegunCall, CallEnding, EarlierCall, Journaled } from '../domain/tool-use.ts';
import { BegunCalls } from './begun-calls.ts';
import type { CallJournal } from './call-journal.ts';
import type { OpenClaims } from './claims.ts';
import type { InClaim } from './store.ts';
import type { ToolUseRing } from './tool-use-ring.ts';

/** Known for as long as their message is held: the process is all. */
export class MemoryCalls implements CallJournal<InClaim> {
  readonly #open: OpenClaims;
  readonly #uses: ToolUseRing;
  readonly #begun = new BegunCalls(() => []);

  constructor(open: OpenClaims, uses: ToolUseRing) {
    this.#open = open;
    this.#uses = uses;
  }

  async journal(claim: InClaim, call: BegunCall): Promise<Journaled> {
    if (!this.#open.has(claim)) return { kind: 'unwritten' };
    const journaled = this.#begun.begin(claim, call);
    if (journaled.kind === 'run') this.#uses.begun(claim.message, call);
    return journaled;
  }

  journalEnd(claim: InClaim, key: string, ending: CallEnding): void {
    this.#begun.end(claim, key, ending);
    this.#uses.ended(key, ending);
  }

  async earlierCalls(claim: InClaim): Promise<readonly EarlierCall[]> {
    return this.#open.has(claim) ? this.#begun.earlier(claim) : [];
  }
}
