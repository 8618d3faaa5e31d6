/** What svc says by itself: that a call waits for a yes or was decided, and that one is let in. */
import { keepApprovals, type ApprovalKeepingParts } from './approval-upkeep.ts';
import { keepWelcoming, type WelcomingParts } from './welcome.ts';

/** @returns ends it */
export function keepOwnMessages(parts: ApprovalKeepingParts & WelcomingParts): () => void {
  const ends = [keepApprovals(parts), keepWelcoming(parts)];
  return () => ends.forEach((end) => end());
}
