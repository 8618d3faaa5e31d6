/** Faults of tool/: grants, cages, the journal of effects. */
import type { Fault } from './fault.ts';

export const tool: readonly Fault[] = [
  {
    name: 'A tool of a server that is not what was pinned is announced.',
    file: 'src/tool/mcp/supervised-server.ts',
    find: 'pin === null || pin.hash !== definition.hash) return null;',
    replace: 'pin === null) return null;',
    seenBy: ['src/tool/mcp/servers.slow.test.ts'],
  },
  {
    name: 'A program that is a server has the whole environment of svc.',
    file: 'src/tool/mcp/command-transport.ts',
    find: 'env: { ...basicEnv(), ...env },',
    replace: 'env: { ...process.env, ...env },',
    seenBy: ['src/tool/mcp/servers.slow.test.ts'],
  },
  {
    name: 'What an MCP server says without being asked is not counted.',
    file: 'src/tool/mcp/message-guard.ts',
    find: 'if (this.#unasked <= unaskedMax) return true;',
    replace: 'if (this.#unasked >= 0) return true;',
    seenBy: ['src/tool/mcp/servers.slow.test.ts'],
  },
  {
    name: 'A program of an MCP server is taken over the API too.',
    file: 'src/config/by-hand.ts',
    find: 'if (known.some((one) => isEqual(one, command))) return [];',
    replace: 'if (known.length >= 0) return [];',
    seenBy: ['test/mcp/by-hand.test.ts'],
  },
  {
    name: 'A grant for one channel holds on every channel.',
    file: 'src/tool/governance.ts',
    find: '(channels === null || channels.includes(channel))',
    replace: '(channels === null || channel !== null)',
  },
  {
    name: 'A tool that no grant names runs.',
    file: 'src/tool/governance.ts',
    find: "if (at < 0) return { mode: 'deny',",
    replace: "if (at < 0) return { mode: 'allow',",
  },
  {
    name: 'A trial reaches out.',
    file: 'src/tool/governance.ts',
    find: '(surroundings.rehearsal && tool.reachesOut)',
    replace: '(surroundings.rehearsal && !tool.reachesOut)',
  },
  {
    name: 'A call that changes something elsewhere is not written down before it is made.',
    file: 'src/tool/governance.ts',
    find: 'if (isFree) return',
    replace: 'if (isFree || tool.effect) return',
  },
  {
    name: 'Of the addresses that a name has, the first alone is judged.',
    file: 'src/tool/host-cage.ts',
    find: 'for (const one of addresses) {',
    replace: 'for (const one of addresses.slice(0, 1)) {',
  },
  {
    name: 'A host that may be reached on one port is reached on every port.',
    file: 'src/tool/host-cage.ts',
    find: 'entry.host === host && (entry.port ?? port) === port',
    replace: 'entry.host === host',
  },
  {
    name: 'An agent reaches svc’s own listeners where its host is listed without a port.',
    file: 'src/tool/host-cage.ts',
    find: 'if (!(await reserved.holds({ host, address: one, port }))) continue;',
    replace: 'continue;',
  },
  {
    name: 'A model’s server is reserved by its name alone, not by its address.',
    file: 'src/tool/reserved-places.ts',
    find: 'const isOwn = isOwnAddress(address);',
    replace: 'if (host !== model) return false;\n    const isOwn = isOwnAddress(address);',
  },
  {
    name: 'A private brain’s tool reaches the Internet.',
    file: 'src/tool/host-cage.ts',
    find: "if (range === 'loopback' || range === 'private') return null;",
    replace: 'return null;',
  },
  {
    name: 'A redirect more than allowed is followed.',
    file: 'src/tool/http-fetch.ts',
    find: 'if (followed === cage.redirectsMax) {',
    replace: 'if (followed > cage.redirectsMax) {',
  },
  {
    name: 'A file outside the folder is read by a hard link inside it.',
    file: 'src/tool/read-file/cage.ts',
    find: 'if (stats.nlink > 1n) {',
    replace: 'if (stats.nlink > 1_000n) {',
  },
  {
    name: 'A folder that is a link is walked through.',
    file: 'src/tool/read-file/linux-cage.ts',
    find: 'constants.O_DIRECTORY | constants.O_NOFOLLOW',
    replace: 'constants.O_DIRECTORY',
  },
  {
    name: 'A root that was missing is taken for whatever comes in its place.',
    file: 'src/tool/read-file/read-file.ts',
    find: 'if (this.#root === null) return rootAbsent;',
    replace: '',
  },
  {
    name: 'An agent reads the service’s own database.',
    file: 'src/tool/read-file/read-file.ts',
    find: 'if (await this.#isHeld(join(real, ...wanted.parts))) return isHeld;',
    replace: '',
  },
  {
    name: 'A call of a webhook has no key by which its receiver knows a repeat.',
    file: 'src/tool/webhook-call.ts',
    find: "        'idempotency-key': surroundings.key,\n",
    replace: '',
  },
];
