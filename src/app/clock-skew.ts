/** Whether this machine's clock agrees with the database server's, by which svc goes. */
import type { WarningStatus } from '../admin/admin.ts';
import type { Events } from '../domain/event.ts';

/** More than this is told. */
const skewMsMax = 2_000;

export class ClockSkew {
  readonly #events: Pick<Events, 'warned' | 'noticed'>;
  /** null: they agree. */
  warning: WarningStatus | null = null;

  constructor(events: Pick<Events, 'warned' | 'noticed'>) {
    this.#events = events;
  }

  /** @param aheadMs how far the server's clock is ahead; negative: behind */
  is(aheadMs: number): void {
    const isApart = Math.abs(aheadMs) > skewMsMax;
    if (isApart && this.warning === null) {
      this.warning = warningOf(aheadMs);
      const { code, path, message, remedy } = this.warning;
      this.#events.warned({ code, path, message: `${message} ${remedy}` });
    }
    // A clock that is put right may be moved slowly.
    if (this.warning === null || Math.abs(aheadMs) > skewMsMax / 2) return;
    this.warning = null;
    const message = "This machine's clock agrees with the database server's again.";
    this.#events.noticed({ code: 'clock_agrees', message });
  }
}

function warningOf(aheadMs: number): WarningStatus {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const side = aheadMs > 0 ? 'behind' : 'ahead of';
  return {
    code: 'clock_skewed',
    path: 'storage.url_env',
    message:
      `This machine's clock is ${seconds} s ${side} the database server's. svc goes by the ` +
      "server's, so that all who work on that database tell one time; the log does not.",
    remedy: 'Set the clock that is wrong, and let both be kept right (NTP).',
  };
}
