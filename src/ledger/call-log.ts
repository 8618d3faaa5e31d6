import type { BegunCall, CallEnding, EarlierCall, LoggedCall } from '../domain/tool-use.ts';

/** The part of the ledger that knows which calls of a message were begun, over all its runs. */
export interface CallLog<InClaim> {
  /**
   * To be called before a tool runs that changes something elsewhere; resolves when the call is
   * safely written. `run`: it may run, and is in the audit from now on. A call that an earlier run
   * of the message began, with the same hash, is not made again, wherever the model asks for it:
   * each earlier call answers one call of this run. `unwritten`: the claim is over, the key was
   * used before, or nothing can be written.
   */
  logCall(claim: InClaim, call: BegunCall): Promise<LoggedCall>;
  /** How a journalled call ended. */
  logCallEnd(claim: InClaim, key: string, ending: CallEnding): void;
  /** Calls that earlier runs of the message began and this run has not asked for, oldest first. */
  earlierCalls(claim: InClaim): Promise<readonly EarlierCall[]>;
}
