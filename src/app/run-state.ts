/** Whether a run of the service is to end, how it ends, and how it is doing until then. */
import type { Health } from '../admin/admin.ts';
import type { ChannelProblem } from '../channels/channel.ts';
import { isListener } from '../channels/registry.ts';
import type { Config } from '../config/config.ts';
import type { StoreProblem } from '../ledger/problem.ts';

export type Ending =
  | { readonly kind: 'ended' }
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly message: string;
      /** The address of the configuration that could not be had; null: it is about none. */
      readonly unbound: Unbound | null;
    }
  /**
   * It failed in a way that a restart may mend; the restart recovers what was accepted. `code` is
   * the storage's; null: another part failed.
   */
  | { readonly kind: 'failed'; readonly code: string | null; readonly message: string };

/** Of a start that cannot have its storage. */
export function endingBy({ code, message, isPassing }: StoreProblem): Ending {
  if (isPassing) return { kind: 'failed', code, message };
  return { kind: 'refused', code, message, unbound: null };
}

/** Only a listener has an address of the configuration that it may not get; a flag's is none. */
export function refusedBy({ code, message }: ChannelProblem, { channels }: Config): Ending {
  const index = channels.findIndex(isListener);
  const listener = channels.find(isListener);
  const isOfFile = listener !== undefined && listener.bind.byFlag === undefined;
  const field = `channels[${index}].${listener?.type}.bind`;
  const isUnbound = code === 'bind_failed' && isOfFile;
  const unbound = isUnbound ? { field, address: listener.bind.text } : null;
  return { kind: 'refused', code, message, unbound };
}

/** `field`: its place in the configuration. */
export type Unbound = { readonly field: string; readonly address: string };

/** Runs until it is told to stop, the storage fails for good, or the start fails. */
export class RunState {
  readonly #over = new AbortController();
  readonly #isOver = Promise.withResolvers<Ending>();
  #ending: Ending | null = null;
  #health: Health = { status: 'ok' };

  /** @param stop ends the run when it aborts */
  constructor(stop: AbortSignal) {
    const stopped = (): void => this.end({ kind: 'ended' });
    if (stop.aborted) stopped();
    else stop.addEventListener('abort', stopped, { once: true, signal: this.#over.signal });
  }

  /** Aborts when the run is to end. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when the run is to end. */
  get ending(): Promise<Ending> {
    return this.#isOver.promise;
  }

  /** What it came to once it is closed; null: it has not ended. */
  get outcome(): Ending | null {
    return this.#ending;
  }

  get health(): Health {
    return this.#health;
  }

  /** Ends the run; the first ending counts. */
  end(ending: Ending): void {
    if (this.#ending !== null) return;
    this.#ending = ending;
    this.#health = { status: 'failing', reason: 'it is stopping', isStopping: true };
    this.#isOver.resolve(ending);
    this.#over.abort();
  }

  /** One that fails while the service stops as it was told makes a failure of that end. */
  storageFailed(): void {
    const message = 'The storage failed; the log says how.';
    const failed: Ending = { kind: 'failed', code: null, message };
    this.end(failed);
    if (this.#ending?.kind === 'ended') this.#ending = failed;
    this.#health = { status: 'failing', reason: 'the storage failed' };
  }
}
