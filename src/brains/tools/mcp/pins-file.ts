import { readPins, type Pin, type Pins } from '../../../config/mcp-pins.ts';

/** The pins in the file beside the configuration; an unreadable file pins nothing. */
export class PinsFile {
  readonly #file: string | null;
  readonly #unreadable: (why: string) => void;
  #pins: Pins = new Map();
  #reported: string | null = null;

  /**
   * @param file null: there is no file, and nothing is pinned
   * @param unreadable gets the reason why it cannot be read, once for each reason in a row
   */
  constructor(file: string | null, unreadable: (why: string) => void) {
    this.#file = file;
    this.#unreadable = unreadable;
  }

  of(server: string, tool: string): Pin | null {
    return this.#pins.get(server)?.get(tool) ?? null;
  }

  /** Never rejects. */
  async refresh(): Promise<void> {
    if (this.#file === null) return;
    const read = await readPins(this.#file);
    this.#pins = read.kind === 'pins' ? read.pins : new Map();
    const why = read.kind === 'pins' ? null : read.why;
    if (why !== null && why !== this.#reported) this.#unreadable(why);
    this.#reported = why;
  }
}
