/** Calls that wait for a yes, and what was decided: counted and told, without any person. */
import { verdicts, type Verdict } from '../domain/approval.ts';
import type { Events } from '../domain/event.ts';
import type { Log } from '../lib/log.ts';

export class ApprovalCounts {
  readonly byVerdict = Object.fromEntries(verdicts.map((one) => [one, 0])) as Record<
    Verdict,
    number
  >;
  waiting = 0;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  asked(e: Parameters<Events['approvalAsked']>[0]): void {
    this.#log.info('approval_asked', `A call of ${e.tool} waits for a yes.`, e);
  }

  decided(e: Parameters<Events['approvalDecided']>[0]): void {
    this.byVerdict[e.verdict]++;
    this.#log.info('approval_decided', `A call of ${e.tool} that waited was ${e.verdict}.`, e);
  }

  wait(count: number): void {
    this.waiting = count;
  }
}
