/** Faults of flow/: who may talk, turns, commands, sessions, deliveries. */
import type { Fault } from './fault.ts';

export const flow: readonly Fault[] = [
  {
    name: 'A delivered reply is sent once more.',
    file: 'src/flow/pipeline.ts',
    find: 'if (!(await kit.ledger.delivered(claim))) return;',
    replace: 'await kit.ledger.release(claim);',
    seenBy: ['test/host.test.ts'],
  },
  {
    name: 'A turn that is given up for a new configuration is answered with an apology.',
    file: 'src/flow/pipeline.ts',
    find: 'if (signal.aborted) return kit.ledger.release(claim);',
    replace: '',
    seenBy: ['test/host.test.ts'],
  },
  {
    name: 'The session is not cut: after /new the model still sees what was said before.',
    file: 'src/flow/pipeline.ts',
    find: 'decision.move === null ? linesOf(memory.turns) : []',
    replace: 'linesOf(memory.turns)',
    seenBy: ['test/sessions.test.ts'],
  },
  {
    name: 'A stranger whose message the ledger refused has used up the code that nobody saw.',
    file: 'src/flow/pipeline.ts',
    find: '  passage.undo();\n',
    replace: '',
  },
  {
    name: 'A pump takes more than it has slots for.',
    file: 'src/flow/pumps.ts',
    find: 'const free = this.#slots - this.#busy;',
    replace: 'const free = this.#slots;',
  },
  {
    name: 'A wake that comes while a pump takes is lost.',
    file: 'src/flow/pumps.ts',
    find: 'this.#woken = true;',
    replace: 'this.#woken = !this.#taking;',
  },
  {
    name: 'A receiver that asks for a pause is asked again sooner.',
    file: 'src/flow/retry-policy.ts',
    find: 'Math.min(failure.retryAfterMs ?? 0, retryAfterMsMax)',
    replace: '0',
  },
  {
    name: 'A reply that may have arrived is not marked so after a later try that did not.',
    file: 'src/flow/retry-policy.ts',
    find: 'claim.possibleDuplicate || mayHaveArrived',
    replace: 'mayHaveArrived',
  },
  {
    name: 'A reply that cannot be delivered holds up its conversation for days.',
    file: 'src/flow/retry-policy.ts',
    find: 'park: claim.attemptOfSchedule > durability.hotGaps || isLong(pauseMs, durability),',
    replace: 'park: false,',
  },
  {
    name: 'A message that ends the process is shown to every later turn.',
    file: 'src/flow/faults.ts',
    find: "kind === 'poison' ? { ...effects, turn: null } : effects",
    replace: 'effects',
    seenBy: ['test/poison.test.ts'],
  },
  {
    name: 'A list of those who may talk lets everybody talk.',
    file: 'src/flow/access.ts',
    find: 'if (allow !== null && allow.includes(sender.id)) return passes;',
    replace: 'if (allow !== null) return passes;',
  },
  {
    name: 'A code for a stranger counts for ever.',
    file: 'src/flow/pairing.ts',
    find: 'return code !== null && until > now;',
    replace: 'return code !== null;',
  },
  {
    name: 'A word that only begins like a trigger cuts the session.',
    file: 'src/flow/sessions.ts',
    find: 'session?.triggers.includes(word) === true',
    replace: 'session?.triggers.some((one) => word.startsWith(one)) === true',
  },
  {
    name: 'Minutes of silence after which a session ends count as seconds.',
    file: 'src/flow/sessions.ts',
    find: 'idleMinutes * 60_000',
    replace: 'idleMinutes * 1_000',
  },
  {
    name: '/recall brings an earlier session into one that is not empty.',
    file: 'src/flow/commands.ts',
    find: 'if (move === null && !claim.memory.empty)',
    replace: 'if (move !== null && !claim.memory.empty)',
    seenBy: ['test/sessions.test.ts'],
  },
  {
    name: 'A sentence of svc’s own stands in the history as if a model had said it.',
    file: 'src/flow/effects.ts',
    find: "const answered = end.kind === 'reply' ? end.text : null;",
    replace: "const answered = end.kind === 'command' ? null : text;",
    seenBy: ['test/conversations.test.ts'],
  },
  {
    name: 'What is recalled is quoted in its first line only.',
    file: 'src/flow/quotation.ts',
    find: '.map((line) => `> ${line}`)',
    replace: '.map((line, at) => (at === 0 ? `> ${line}` : line))',
  },
];
