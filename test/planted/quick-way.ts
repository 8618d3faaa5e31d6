/** Faults of the quick way into the webhook (src/lib/quick-way/). */
import type { Fault } from './fault.ts';

const reader = 'src/lib/quick-way/read-request.ts';
const proof = ['test/chaos/quick-way.test.ts'];
const promises = ['src/lib/quick-way/quick-way.test.ts'];

export const quickWay: readonly Fault[] = [
  {
    name: 'A request with two lengths goes the quick way.',
    file: reader,
    find: ' || name in headers',
    replace: '',
  },
  {
    name: 'Lines of a head may end with LF alone on the quick way.',
    file: reader,
    find: '[\\x20-\\x7e]*\\r\\n`',
    replace: '[\\x20-\\x7e]*\\r?\\n`',
  },
  {
    name: 'A chunked request goes the quick way by its length.',
    file: reader,
    find: "  'transfer-encoding',\n",
    replace: '',
  },
  {
    name: 'The quick way takes a request that another one follows.',
    file: reader,
    find: 'Number(length) !== bytes.length - head.length',
    replace: 'Number(length) > bytes.length - head.length',
  },
  {
    name: 'Bytes before a request are skipped on the quick way.',
    file: reader,
    find: '`^${plainLine}',
    replace: '`${plainLine}',
  },
  {
    name: 'A request without a right bearer goes the quick way.',
    file: 'src/channel/webhook/inbound.ts',
    find: 'if (this.#checkSender(pathOf(url), method, token) !== null) return null;',
    replace: '',
    seenBy: ['src/channel/webhook/inbound-quick.test.ts'],
  },
  {
    name: 'A body that begins like a request is taken for one.',
    file: 'src/lib/paced-reading.ts',
    find: "if (looked === 'other') this.#look = null;",
    replace: '',
    seenBy: [...proof, ...promises],
  },
  {
    name: 'What comes behind a request of the quick way is answered before it.',
    file: 'src/lib/paced-reading.ts',
    find: ' || this.#isTaken) this',
    replace: ') this',
    seenBy: promises,
  },
  {
    name: 'A connection with a request of the quick way counts as idle.',
    file: 'src/lib/connection.ts',
    find: '    this.#reading.beginTaken();\n    this.#changed(this);',
    replace: '    this.#reading.beginTaken();',
    seenBy: promises,
  },
  {
    name: 'Closing cuts the answers of the quick way that are under way.',
    file: 'src/lib/listener.ts',
    find: 'const taken = this.#connections.taken();',
    replace: 'const taken: Socket[] = [];',
    seenBy: promises,
  },
  {
    name: 'A request of the quick way is cut once its connection would have been idle long.',
    file: 'src/lib/listener.ts',
    find: 'if (this.#connections.of(socket)?.isTaken !== true) socket.destroy();',
    replace: 'socket.destroy();',
    seenBy: promises,
  },
];
