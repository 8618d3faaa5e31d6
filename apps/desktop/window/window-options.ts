/** The options that every kind of window gets from the shell. */
import type { WindowEvents, WindowKind } from '../desktop.ts';
import type { Places } from '../places.ts';

export type WindowOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly places: Pick<Places, 'profile' | 'runtime' | 'socket'>;
  /** The origin of the shell's own pages, `http://127.0.0.1:<port>`; trusted from the beginning. */
  readonly origin: string;
  /** The kind of window that the person chose; null: the first that works here. */
  readonly wanted: WindowKind | null;
  /** True: only a tray may be visible before the first `show`. */
  readonly isHidden: boolean;
  readonly events: WindowEvents;
  /** Writes a sentence to the shell's log: which window it is, and why not another. */
  readonly log: (line: string) => void;
};
