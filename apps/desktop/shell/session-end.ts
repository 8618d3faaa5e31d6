/**
 * The end of the person's session, where nobody says so by a signal: the screen that the window is
 * shown on is there no more. One look that fails is none; a display server may be busy.
 */
const lookEveryMs = 5_000;
const againMs = 500;
const looks = 3;

export type SessionWatch = Disposable & {
  /** Looks now: a window went away, and this may be why. Resolves with whether it is over. */
  look(): Promise<boolean>;
};

export type SessionOptions = {
  /** null: the screen is there; else why not. */
  readonly displayFault: () => Promise<string | null>;
  /** Is called once. */
  readonly onOver: (why: string) => void;
  readonly everyMs?: number;
  readonly againMs?: number;
};

export function watchSession(options: SessionOptions): SessionWatch {
  const { displayFault, onOver, everyMs = lookEveryMs, againMs: pauseMs = againMs } = options;
  let isOver = false;
  let looking: Promise<boolean> | null = null;
  const lookWell = async (): Promise<boolean> => {
    let fault = await displayFault();
    for (let left = looks - 1; left > 0 && fault !== null; left--) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      fault = await displayFault();
    }
    if (fault === null || isOver) return isOver;
    isOver = true;
    clearInterval(timer);
    onOver(fault);
    return true;
  };
  const look = (): Promise<boolean> => {
    looking ??= lookWell().finally(() => (looking = null));
    return looking;
  };
  const timer = setInterval(() => void look(), everyMs).unref();
  return {
    look,
    [Symbol.dispose]: () => {
      isOver = true;
      clearInterval(timer);
    },
  };
}
