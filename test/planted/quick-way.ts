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
    find: ' || missingBytes < 0) return null;',
    replace: ') return null;',
  },
  {
    name: 'The quick way takes a request whose body has not come whole.',
    file: 'src/channel/webhook/inbound.ts',
    find: "    if (missingBytes > 0) return 'wait';\n",
    replace: '',
    seenBy: ['src/channel/webhook/inbound-quick.test.ts', ...proof],
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
    file: 'src/lib/connection.ts',
    find: '    this.#quickWay = null;\n    this.#stream = new',
    replace: '    this.#stream = new',
    seenBy: [...proof, ...promises],
  },
  {
    name: 'What comes behind a request of the quick way is answered before it.',
    file: 'src/lib/quick-way/quick-way.ts',
    find: '    if (this.isAnswering) {\n      this.#kept',
    replace: '    if (this.#missingBytes < 0) {\n      this.#kept',
    seenBy: promises,
  },
  {
    name: 'A connection with a request of the quick way counts as idle.',
    file: 'src/lib/connection.ts',
    find: '    this.unanswered++;\n    this.#changed(this);',
    replace: '    this.unanswered++;',
    seenBy: promises,
  },
  {
    name: 'Closing cuts the answers that are under way.',
    file: 'src/lib/connection-table.ts',
    find: 'for (const connection of this.#all) if (connection.isIdle) connection.close();',
    replace: 'for (const connection of this.#all) connection.close();',
    seenBy: promises,
  },
  {
    name: 'A body that the quick way waits for may take any time.',
    file: 'src/lib/connection.ts',
    find: 'return this.#isComing || this.#quickWay?.isWaiting === true;',
    replace: 'return this.#isComing;',
    seenBy: promises,
  },
];
