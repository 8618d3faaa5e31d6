/** One request that waits for its answer. */
import type { OpenRequest } from '../channel.ts';

export interface WaitingRequest extends OpenRequest {
  /** Sends the end. @returns false: the client has gone, or there is no end */
  finish(): boolean;
}
