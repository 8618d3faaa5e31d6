/** What operators do, and what is tried in their name: counted and told. */
import type { Events } from '../domain/event.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { entryOf, newTallies, newTally, Pace } from './meters.ts';

export class OperatorCounts {
  readonly writes = new Map<string, Map<number, { count: number }>>();
  readonly configs = new Map<string, { count: number }>();
  readonly bearers = { missing: new Pace(), wrong: new Pace() };
  readonly #log: Log;
  readonly #steady: () => SteadyTime;

  constructor(log: Log, { steady }: Pick<Clock, 'steady'>) {
    this.#log = log;
    this.#steady = steady;
  }

  wrote({ action, target, status }: Parameters<Events['operatorWrote']>[0]): void {
    entryOf(entryOf(this.writes, action, newTallies), status, newTally).count++;
    const message = `An operator used the admin API: ${action}, answered ${status}.`;
    this.#log.info('operator_wrote', message, { ...target, who: 'operator', action, status });
  }

  tried({ by, result, detail }: Parameters<Events['configTried']>[0]): void {
    entryOf(this.configs, result, newTally).count++;
    // An operator who asked over the API has the answer; for a signal only the log can tell.
    if (detail !== null && by === 'signal')
      this.#log.error('config_not_applied', detail, { result });
  }

  refused({ why }: Parameters<Events['bearerRefused']>[0]): void {
    const pace = this.bearers[why];
    pace.count++;
    if (!pace.isDue(this.#steady())) return;
    const what = why === 'missing' ? 'without a bearer' : 'with a wrong bearer';
    const told = { why, ...pace.unsaid() };
    this.#log.warn('bearer_refused', `The admin server was asked ${what}.`, told);
  }
}
