import { later, steadyNow, type SteadyTime } from './clock.ts';

/**
 * Many deadlines on one timer. A timer for every turn and call costs several microseconds each.
 * Here setting or cancelling a deadline is a push into a binary heap.
 */
export type Deadline = { cancel(): void };

export interface Deadlines {
  /** Calls `act` once at `at` or soon after, unless it is cancelled before. */
  at(at: SteadyTime, act: () => void): Deadline;
  /** Calls `act` after this many milliseconds. */
  after(ms: number, act: () => void): Deadline;
  readonly size: number;
}

/**
 * A class and not a closure: cancelled entries stay in the heap for a while. A closure's scope
 * would keep the memory of the call from the young garbage collections.
 */
class Entry implements Deadline {
  readonly at: number;
  act: (() => void) | null;
  readonly #cancelled: () => void;

  constructor(at: number, act: () => void, cancelled: () => void) {
    this.at = at;
    this.act = act;
    this.#cancelled = cancelled;
  }

  cancel(): void {
    if (this.act === null) return;
    this.act = null;
    this.#cancelled();
  }
}

/** @param steady the clock of the deadlines; changes of the time of day do not affect them */
export function createDeadlines(steady: () => SteadyTime = steadyNow): Deadlines {
  const heap: Entry[] = [];
  let timer: NodeJS.Timeout | null = null;
  let timerAt = Infinity;
  let live = 0;

  const arm = (): void => {
    while (heap.length > 0 && heap[0]!.act === null) pop(heap);
    const first = heap[0];
    if (first === undefined) {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      timerAt = Infinity;
      return;
    }
    if (timer !== null && timerAt <= first.at) return;
    if (timer !== null) clearTimeout(timer);
    timerAt = first.at;
    timer = setTimeout(fire, Math.min(Math.max(0, first.at - steady()), 0x7fffffff));
    timer.unref();
  };
  const fire = (): void => {
    timer = null;
    timerAt = Infinity;
    const time = steady();
    while (heap.length > 0 && (heap[0]!.act === null || heap[0]!.at <= time)) {
      const entry = pop(heap);
      const { act } = entry;
      if (act !== null) {
        // A cancel from now on finds nothing to cancel.
        entry.act = null;
        live--;
        act();
      }
    }
    arm();
  };
  /** Removes the cancelled entries, which otherwise stay until their time. */
  const sweep = (): void => {
    const kept = heap.filter((entry) => entry.act !== null);
    heap.length = 0;
    for (const entry of kept) push(heap, entry);
    arm();
  };
  const cancelled = (): void => {
    live--;
    if (heap.length > 1024 && live < heap.length / 4) sweep();
  };
  const at = (time: SteadyTime, act: () => void): Deadline => {
    const entry = new Entry(time, act, cancelled);
    live++;
    push(heap, entry);
    if (heap[0] === entry) arm();
    return entry;
  };
  return {
    at,
    after: (ms, act) => at(later(steady(), ms), act),
    get size() {
      return live;
    },
  };
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent]!.at <= entry.at) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): Entry {
  const first = heap[0]!;
  const last = heap.pop()!;
  const size = heap.length;
  if (size === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && heap[child + 1]!.at < heap[child]!.at) child++;
    if (heap[child]!.at >= last.at) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return first;
}

/** Resolves after this many milliseconds, or when the signal aborts. */
export function pauseUntil(deadlines: Deadlines, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const onAbort = (): void => {
      due.cancel();
      resolve();
    };
    const due = deadlines.after(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
