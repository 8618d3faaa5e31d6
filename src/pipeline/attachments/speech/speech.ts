/**
 * Speech writes down what is spoken.
 *
 * What it promises: it does not throw (a failure is a value), sends nothing private but to a near
 * address, and ends soon after the stop is said. What it may not do: keep what it hears, or put
 * upstream text into a failure.
 * Who calls it: the flow, before a brain is asked.
 */
import type { Failure } from '../../../domain/failure.ts';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { Stop } from '../../../lib/stop.ts';

export interface Speech {
  transcribe(spoken: Spoken, stop: Stop): Promise<Transcript>;
  /**
   * Whether the server writes down a moment of silence; nothing of anyone's is sent. Null: it does.
   * @param sensitivity of what is to be written down: what is private goes to near addresses only
   */
  look(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Failure | null>;
}

/** `type` is a MIME type; null: unknown. `name` has the ending by which servers tell the format. */
export type Spoken = {
  readonly bytes: Uint8Array;
  readonly type: string | null;
  readonly name: string;
  readonly sensitivity: Sensitivity;
  readonly deadlineAt: SteadyTime;
};

export type Transcript =
  | { readonly kind: 'heard'; readonly text: string }
  | { readonly kind: 'failed'; readonly failure: Failure };
