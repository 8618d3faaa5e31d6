/**
 * Calls `late` after so long. After a pause of the whole process what has come meanwhile is heard
 * first, and may end the waiting.
 * @returns ends it
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
