/**
 * The outgoing traffic, by the frames that capture.c wrote: its targets and all of its bytes.
 * Formats: Ethernet II, RFC 791, RFC 8200, RFC 9293, RFC 768; the machine's byte order for lengths.
 */
import { readFileSync } from 'node:fs';

export type Left = {
  readonly frames: number;
  /** `tcp 192.0.2.1:80` for each attempt at a connection, `udp …` for each packet. */
  readonly contacts: ReadonlyMap<string, number>;
  /** Descriptions of frames with an unknown protocol. */
  readonly unknown: readonly string[];
  /** Everything that was sent: each frame, and each stream put together. */
  readonly texts: readonly string[];
};

/** @param file of capture.c; an unfinished last frame is left out */
export function readCapture(file: string): Left {
  const capture = new Capture();
  const bytes = readFileSync(file);
  for (let at = 0; at + 4 <= bytes.length;) {
    const length = bytes.readUInt32LE(at);
    if (at + 4 + length > bytes.length) break;
    capture.take(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return capture.left();
}

const ethernetBytes = 14;
/** Neighbours find each other by it; it carries no text. */
const arp = 0x0806;
const linkOnly = new Set([1, 2, 58]);
const [tcp, udp] = [6, 17];

class Capture {
  #frames = 0;
  readonly #contacts = new Map<string, number>();
  readonly #unknown: string[] = [];
  readonly #texts: string[] = [];
  /** The parts of each stream, by their start. */
  readonly #streams = new Map<string, Map<number, Buffer>>();

  take(frame: Buffer): void {
    this.#frames++;
    this.#texts.push(frame.toString('latin1'));
    const type = frame.readUInt16BE(12);
    const packet = frame.subarray(ethernetBytes);
    if (type === 0x0800) {
      const head = (packet[0]! & 15) * 4;
      const to = [...packet.subarray(16, 20)].join('.');
      this.#inside(packet[9]!, packet.subarray(head, packet.readUInt16BE(2)), to);
    } else if (type === 0x86dd) {
      this.#six(packet);
    } else if (type !== arp) this.#unknown.push(`ethernet ${type.toString(16)}`);
  }

  left(): Left {
    const streams = Array.from(this.#streams.values(), (parts) => {
      const ordered = [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
      return Buffer.concat(ordered).toString('latin1');
    });
    const texts = [...this.#texts, ...streams];
    return { frames: this.#frames, contacts: this.#contacts, unknown: this.#unknown, texts };
  }

  #six(packet: Buffer): void {
    const groups = Array.from({ length: 8 }, (_, at) => packet.readUInt16BE(24 + 2 * at));
    const to = groups.map((group) => group.toString(16)).join(':');
    const payload = packet.subarray(40);
    // Hop-by-hop options stand before reports of group membership to routers.
    const optioned = packet[6] === 0;
    const protocol = optioned ? payload[0]! : packet[6]!;
    this.#inside(protocol, optioned ? payload.subarray((payload[1]! + 1) * 8) : payload, to);
  }

  #inside(protocol: number, segment: Buffer, to: string): void {
    if (linkOnly.has(protocol)) return;
    if (protocol === udp) return this.#contact(`udp ${to}:${segment.readUInt16BE(2)}`);
    if (protocol !== tcp) return void this.#unknown.push(`protocol ${protocol} to ${to}`);
    const place = `${to}:${segment.readUInt16BE(2)}`;
    const flags = segment[13]!;
    if ((flags & 0x12) === 2) this.#contact(`tcp ${place}`);
    const text = segment.subarray((segment[12]! >> 4) * 4);
    if (text.length === 0) return;
    const name = `${segment.readUInt16BE(0)} ${place}`;
    const parts = this.#streams.get(name) ?? new Map<number, Buffer>();
    parts.set(segment.readUInt32BE(4), text);
    this.#streams.set(name, parts);
  }

  #contact(whom: string): void {
    this.#contacts.set(whom, (this.#contacts.get(whom) ?? 0) + 1);
  }
}
