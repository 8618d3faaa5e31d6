/**
 * A timer that tolerates a pause of the whole process. It handles the input that came during the
 * pause first, and that input may cancel the timer.
 * @returns cancels the timer
 */
export function whenLate(ms: number, late: () => void): () => void {
  let isOver = false;
  const look = (): void => {
    if (!isOver) late();
  };
  const timer = setTimeout(() => setImmediate(() => setImmediate(look)), ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
