/**
 * A DNS server of names and their addresses, for A and AAAA. Format: RFC 1035, section 4; one
 * question a packet.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface NameServer extends AsyncDisposable {
  /** `address:port`. */
  readonly place: string;
  /** The names of the questions, in order, once for each type. */
  readonly asked: readonly string[];
}

/**
 * @param answer the addresses of a name, of both families; `times`: the number of earlier questions
 * for that name and type
 * @param place where it listens; by default a free port of this machine
 */
export async function startNameServer(
  answer: (name: string, times: number) => readonly string[],
  { host = '127.0.0.1', port = 0 }: { readonly host?: string; readonly port?: number } = {},
): Promise<NameServer> {
  const asked: string[] = [];
  const counts = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (packet, from) => {
    const { name, end } = nameIn(packet, 12);
    const type = packet.readUInt16BE(end);
    const before = counts.get(`${name} ${type}`) ?? 0;
    counts.set(`${name} ${type}`, before + 1);
    asked.push(name);
    const family = type === 1 ? '.' : ':';
    const records = answer(name, before)
      .filter((address) => (type === 1 || type === 28) && isOf(address, family))
      .map((address) => recordOf(type, address));
    const head = Buffer.alloc(12);
    packet.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8580, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    const question = packet.subarray(12, end + 4);
    socket.send(Buffer.concat([head, question, ...records]), from.port, from.address);
  });
  socket.bind(port, host);
  await once(socket, 'listening');
  return {
    place: `${host}:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function nameIn(packet: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = packet[at]!; length > 0; length = packet[at]!) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

const isOf = (address: string, family: '.' | ':'): boolean =>
  family === ':' ? address.includes(':') : !address.includes(':');

function recordOf(type: number, address: string): Buffer {
  const data = type === 1 ? Buffer.from(address.split('.').map(Number)) : sixteenBytes(address);
  const record = Buffer.alloc(12);
  // A pointer to the question's name; no time to live.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}

function sixteenBytes(address: string): Buffer {
  const [left = '', right = ''] = address.split('::');
  const groups = (half: string): string[] => (half === '' ? [] : half.split(':'));
  const missing = 8 - groups(left).length - groups(right).length;
  const all = [...groups(left), ...Array<string>(missing).fill('0'), ...groups(right)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
