/** Faults of lib/, domain/ and policy/. */
import type { Fault } from './fault.ts';

export const lib: readonly Fault[] = [
  {
    name: 'That a process may open no more files is told to nobody.',
    file: 'src/lib/open-files.ts',
    find: "(result.code === 'EMFILE' || result.code === 'ENFILE')",
    replace: "result.code === 'ENOSPC'",
  },
  {
    name: 'A request with two Authorization headers is let in by the last of them.',
    file: 'src/lib/bearer.ts',
    find: 'count === 1 ?',
    replace: 'count >= 1 ?',
  },
  {
    name: 'A deadline that was cancelled comes all the same.',
    file: 'src/lib/deadlines.ts',
    find: '    this.act = null;\n',
    replace: '',
  },
  {
    name: 'A request that broke off after it was sent is told as never sent.',
    file: 'src/lib/http-client/exchange.ts',
    find: 'const sent = this.#giveUp !== null;',
    replace: 'const sent = false;',
  },
  {
    name: 'A secret stands in the log as it is.',
    file: 'src/lib/log.ts',
    find: 'return this.#mask.clean(text).replace(',
    replace: 'return text.replace(',
  },
  {
    name: 'An address is unbound though the new configuration still listens there.',
    file: 'src/lib/listener.ts',
    find: 'if (this.#holders > 0) return;',
    replace: '',
  },
  {
    name: 'The pause between tries grows without a bound.',
    file: 'src/lib/backoff.ts',
    find: 'Math.min(limits.capMs, limits.baseMs * 2 ** attempt)',
    replace: 'limits.baseMs * 2 ** attempt',
  },
  {
    name: 'The address of a cloud’s metadata counts as public.',
    file: 'src/lib/address-range.ts',
    find: ' 169.254.0.0/16',
    replace: '',
  },
  {
    name: 'What must stay near goes wherever a name leads.',
    file: 'src/lib/near-connector.ts',
    find: 'found.filter(({ address }) => isNear(address))',
    replace: 'found.filter(({ address }) => address)',
  },
  {
    name: 'What must stay near goes over a connection that was judged by nobody.',
    file: 'src/lib/http-client.ts',
    find: "nearOnly ? 'near' : 'any'",
    replace: "'any'",
  },
  {
    name: 'What a server sent unasked is taken for the answer to the next request.',
    file: 'src/lib/plain-client/plain-connection.ts',
    find: '    setImmediate(this.#send);',
    replace: '    this.#send();',
  },
  {
    name: 'A connection on which something came behind an answer is used again.',
    file: 'src/lib/plain-client/plain-connection.ts',
    find: ' || !isBlank(behind)',
    replace: '',
    seenBy: ['test/chaos/plain-client.test.ts'],
  },
  {
    name: 'A body that is in no coding is read as chunks.',
    file: 'src/lib/plain-client/read-answer.ts',
    find: "coding?.toLowerCase() === 'chunked'",
    replace: "/chunked|identity/i.test(coding ?? '')",
    seenBy: ['test/chaos/plain-client.test.ts'],
  },
  {
    name: 'What stands behind a chunk is not looked at.',
    file: 'src/lib/plain-client/read-answer.ts',
    find: '|| bytes[start + 1] !== lf)',
    replace: ')',
    seenBy: ['test/chaos/plain-client.test.ts'],
  },
  {
    name: 'An answer with two lengths is read by one of them.',
    file: 'src/lib/plain-client/read-answer.ts',
    find: 'headers[name] !== undefined || ',
    replace: '',
    seenBy: ['test/chaos/plain-client.test.ts'],
  },
  {
    name: 'A request may hold the line breaks of another one in a header.',
    file: 'src/lib/plain-client/write-request.ts',
    find: '|| !visible.test(value)',
    replace: '',
    seenBy: ['test/chaos/plain-client/wire.test.ts'],
  },
  {
    name: 'A tool talks to a server whose certificate nobody vouches for.',
    file: 'src/lib/pinned-client.ts',
    find: 'rejectUnauthorized: true',
    replace: 'rejectUnauthorized: false',
  },
  {
    name: 'What comes around the body of an answer is read without an end.',
    file: 'src/lib/answer-body.ts',
    find: 'return readBytes > wrappingBytesMax + wrappingPerByte * this.#bytes;',
    replace: 'return readBytes < 0;',
  },
  {
    name: 'A model may send interim answers without an end.',
    file: 'src/lib/http-client/exchange.ts',
    find: "if (this.#body.addInterim()) this.#fail('answer_too_large', null);",
    replace: 'this.#body.addInterim();',
  },
  {
    name: 'A server of a tool may send interim answers without an end.',
    file: 'src/lib/pinned-client.ts',
    find: "if (this.#body.addInterim()) this.#fail('answer_too_large');",
    replace: 'this.#body.addInterim();',
  },
  {
    name: 'Everything that is pipelined on a connection is begun at once.',
    file: 'src/lib/paced-reading.ts',
    find: 'const full = this.#unanswered >= unansweredMax;',
    replace: 'const full = false;',
  },
  {
    name: 'Idle strangers keep a known client out.',
    file: 'src/lib/connection.ts',
    find: 'this.#idleStrangers.first ?? this.#idle.first ?? this.#busyStrangers.first',
    replace: 'this.#idle.first',
  },
  {
    name: 'A connection that brings right bearers is cut after so many requests.',
    file: 'src/lib/connection.ts',
    find: '--this.#strangerRequests >=',
    replace: 'this.#strangerRequests >=',
  },
  {
    name: 'A wrong bearer keeps its connection.',
    file: 'src/lib/connection.ts',
    find: "    response.setHeader('connection', 'close');\n    const { wrongBearers",
    replace: '    const { wrongBearers',
  },
  {
    name: 'Wrong bearers are answered as fast as they come.',
    file: 'src/lib/connection.ts',
    find: 'if (delayMs === 0) return answer();',
    replace: 'if (delayMs >= 0) return answer();',
  },
];

export const domain: readonly Fault[] = [
  {
    name: 'An apology is headed as an answer.',
    file: 'src/domain/ending.ts',
    find: 'return trace === null || answered.has(trace.outcome);',
    replace: 'return trace === null || trace.brain !== null;',
  },
  {
    name: 'A model that is not there is told without the command that fetches it.',
    file: 'src/domain/remedy.ts',
    find: 'return known[kind]?.(modelId) ?? null;',
    replace: 'return null;',
    seenBy: ['src/events.test.ts'],
  },
  {
    name: 'The history that a model is given has no bound in characters.',
    file: 'src/domain/conversation.ts',
    find: 'if (characters > windowCharactersMax) break;',
    replace: '',
    seenBy: ['test/ledger-sqlite.test.ts'],
  },
  {
    name: 'A provider that refused the key is asked with it again.',
    file: 'src/domain/failure.ts',
    find: "unauthorized: row(false, 'operator'",
    replace: "unauthorized: row(true, 'operator'",
    seenBy: ['src/brain/retries.test.ts'],
  },
  {
    name: 'Ids go back with a clock that is set back, and with them the order of messages.',
    file: 'src/domain/ids.ts',
    find: 'if (ms > lastMs) begin(ms);',
    replace: 'if (ms !== lastMs) begin(ms);',
    seenBy: ['src/store/sqlite/files/people.test.ts'],
  },
  {
    name: 'What a model thought before its answer is shown to the person.',
    file: 'src/domain/think-block.ts',
    find: 'if (open === null) break;',
    replace: 'if (open !== null || open === null) break;',
  },
];

export const policy: readonly Fault[] = [
  {
    name: 'One model alone is a consensus.',
    file: 'src/policy/consensus.ts',
    find: 'most >= 2 && ',
    replace: '',
  },
  {
    name: 'Half of the models are a majority.',
    file: 'src/policy/consensus.ts',
    find: '2 * most > needed',
    replace: '2 * most >= needed',
  },
  {
    name: 'The first model to answer gives the reply, whatever its rank.',
    file: 'src/policy/priority.ts',
    find: "return pending ? { kind: 'wait', fallback: at } : reply(at);",
    replace: 'return reply(at);',
  },
];
