/** One conversation with one brain, kept in memory while the command runs. */
import type { BrainConfig, Secrets } from '../config/config.ts';
import { windowAfter, type HistoryBounds, type TurnRow } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { TraceStep } from '../domain/trace.ts';
import { createEvents } from '../telemetry/events.ts';
import { systemClock } from '../lib/clock.ts';
import type { HttpClient } from '../lib/http-client.ts';
import type { Log } from '../lib/log.ts';
import { DryRun, type DryRunSettings } from '../app/dry-run.ts';
import { createServiceDeps } from '../app/service.ts';

export type Answer = {
  readonly decision: Decision;
  readonly steps: readonly TraceStep[];
  readonly ms: number;
};

export interface Session extends AsyncDisposable {
  /**
   * Asks the brain. The session remembers the turn, unless the signal aborted it.
   * @param show is called with the whole reply so far while the model writes it; absent: nobody
   * looks
   */
  ask(text: string, signal: AbortSignal, show?: (whole: string) => void): Promise<Answer>;
  /** Forgets every turn so far. */
  startAfresh(): void;
}

export function openSession(
  config: BrainConfig,
  secrets: Secrets,
  log: Log,
  { version, ...place }: Omit<DryRunSettings, 'spend'> & { readonly version: string },
): Session {
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), version);
  const settings = { ...place, spend: null };
  return new BrainSession(new DryRun(config, secrets, deps, settings), deps.http, config);
}

class BrainSession implements Session {
  readonly #dryRun: DryRun;
  readonly #http: HttpClient;
  readonly #sensitivity: Sensitivity;
  readonly #bounds: HistoryBounds;
  #turns: readonly TurnRow[] = [];

  constructor(
    dryRun: DryRun,
    http: HttpClient,
    { sensitivity, historyBounds }: Pick<BrainConfig, 'sensitivity' | 'historyBounds'>,
  ) {
    this.#dryRun = dryRun;
    this.#http = http;
    this.#sensitivity = sensitivity;
    this.#bounds = historyBounds;
  }

  async ask(text: string, signal: AbortSignal, show?: (whole: string) => void): Promise<Answer> {
    const result = await this.#dryRun.ask(text, this.#turns, signal, 'public', show);
    const { decision, steps, askedAt, leftOut, ms } = result;
    if (!signal.aborted) {
      const reply = decision.kind === 'reply' ? decision.text : null;
      const before = this.#turns.filter((turn) => !leftOut.includes(turn));
      const turn = { at: askedAt, text, reply, sensitivity: this.#sensitivity };
      this.#turns = windowAfter([...before, turn], this.#bounds);
    }
    return { decision, steps, ms };
  }

  startAfresh(): void {
    this.#turns = [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http.close();
  }
}
