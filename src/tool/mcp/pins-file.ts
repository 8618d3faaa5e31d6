import { readPins, type Pin, type Pins } from '../../config/mcp-pins.ts';

/** The pins as they lie beside the configuration; what cannot be read pins nothing. */
export class PinsFile {
  readonly #file: string | null;
  #pins: Pins = new Map();

  /** @param file null: there is none, and nothing is pinned */
  constructor(file: string | null) {
    this.#file = file;
  }

  of(server: string, tool: string): Pin | null {
    return this.#pins.get(server)?.get(tool) ?? null;
  }

  /** Never rejects. */
  async refresh(): Promise<void> {
    if (this.#file === null) return;
    const read = await readPins(this.#file);
    this.#pins = read.kind === 'pins' ? read.pins : new Map();
  }
}
