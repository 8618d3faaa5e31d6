/**
 * Transcribes voice messages.
 *
 * It promises: it does not throw (a failure is a value), sends private audio to near addresses
 * only, and ends soon after the stop. It may not keep audio, or put upstream text into a failure.
 * The pipeline calls it before a brain is asked.
 */
import type { Failure } from '../../../domain/failure.ts';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { Stop } from '../../../lib/stop.ts';

export interface Speech {
  transcribe(spoken: Spoken, stop: Stop): Promise<Transcript>;
  /**
   * Probes whether the server transcribes a moment of silence; nobody's audio is sent.
   * @param sensitivity of the audio to come: private audio goes to near addresses only
   * @returns null: the server works
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
