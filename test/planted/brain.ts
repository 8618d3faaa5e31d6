/** Faults of the brains with their agents, and of the models. */
import type { Fault } from './fault.ts';

export const brain: readonly Fault[] = [
  {
    name: 'The privacy filter lets a cloud model of a private brain pass.',
    file: 'src/brains/privacy-filter.ts',
    find: "kept: members.filter(({ model }) => model.locality === 'local'),",
    replace: 'kept: members,',
  },
  {
    name: 'A model is asked again though another has answered.',
    file: 'src/brains/dispatch.ts',
    find: 'for (const call of this.#slots) ended = call.endPause() || ended;',
    replace: '',
  },
  {
    name: 'In turn, the next model is asked though the one before has answered.',
    file: 'src/brains/dispatch.ts',
    find: 'else if (failed !== null && this.#queue.length > 0) this.#next();',
    replace: 'else if (this.#queue.length > 0) this.#next();',
  },
  {
    name: 'A model that hangs holds its turn for ever.',
    file: 'src/brains/dispatch.ts',
    find: "this.#deps.deadlines.at(deadlineAt, () => this.#end('deadline'));",
    replace: 'this.#deps.deadlines.at(deadlineAt, () => {});',
  },
  {
    name: 'A call that nobody waits for any more goes on.',
    file: 'src/brains/model-call.ts',
    find: '      stopper.stop();\n',
    replace: '',
  },
  {
    name: 'A skill is read through a link to another place.',
    file: 'src/brains/skills.ts',
    find: '(O_NOFOLLOW ?? 0)',
    replace: '0',
  },
];

export const agent: readonly Fault[] = [
  {
    name: 'An agent takes a step more than it may.',
    file: 'src/brains/agent/agent-turn.ts',
    find: 'return this.#step >= this.#options.stepsMax;',
    replace: 'return this.#step > this.#options.stepsMax;',
  },
  {
    name: 'An agent’s last step offers tools whose calls nobody runs.',
    file: 'src/brains/agent/agent-turn.ts',
    find: 'const withTools = !last && this.#announced.length > 0;',
    replace: 'const withTools = this.#announced.length > 0;',
  },
  {
    name: 'One answer of a model runs any number of calls.',
    file: 'src/brains/agent/tool-calls.ts',
    find: 'calls.slice(0, callsMax)',
    replace: 'calls',
  },
  {
    name: 'What a tool gave back can end the data that it is, and give orders.',
    file: 'src/brains/agent/prompt.ts',
    find: '\\n${withoutMark(mark, text)}\\n',
    replace: '\\n${text}\\n',
  },
  {
    name: 'What somebody said can end the data of an agent, and give orders.',
    file: 'src/brains/agent/agent-turn.ts',
    find: 'withNewerNotes(withoutMark(mark, text), newer, mark)',
    replace: 'withNewerNotes(text, newer, mark)',
  },
  {
    name: 'A model tells a person the mark of its data.',
    file: 'src/brains/agent/agent-turn.ts',
    find: 'const text = withoutMark(mark, outcome.text);',
    replace: 'const { text } = outcome;',
  },
  {
    name: 'Notes that were cleared are shown up to the next cut.',
    file: 'src/brains/agent/prompt.ts',
    find: 'if (from < 0 || (from > 0 && kept.length < notesMax)) return [];',
    replace: 'if (from < 0) return [...before.replaced, ...before.kept];',
  },
  {
    name: 'Each new note of an agent changes the beginning of its prompt.',
    file: 'src/brains/agent/prompt.ts',
    find: 'const before = notes.filter(({ at }) => at <= windowAt);',
    replace: 'const before = notes;',
  },
];

export const model: readonly Fault[] = [
  {
    name: 'A model that is declared cloud answers a private request.',
    file: 'src/brains/models/provider-call.ts',
    find: "|| options.locality === 'local') return null;",
    replace: '|| options.locality) return null;',
  },
  {
    name: 'Private calls do not wait for the one that goes first.',
    file: 'src/brains/models/relay-detection.ts',
    find: 'if (this.#first !== null && now < this.#first.endsAt) return {',
    replace:
      "if (this.#first !== null) return { kind: 'go' };\n    if (this.#first !== null) return {",
    seenBy: ['test/privacy/became-relay.test.ts'],
  },
  {
    name: 'A private request goes to a model that the local runtime hands on.',
    file: 'src/brains/models/local-runtime/local-runtime.ts',
    find: "return state === 'here' ? null : leftMachine;",
    replace: 'return null;',
  },
  {
    name: 'A look that fails lets a private request pass.',
    file: 'src/brains/models/local-runtime/local-runtime.ts',
    find: 'if (status !== 200 || found === null)',
    replace: 'if (found === null)',
  },
  {
    name: 'A model that is not in the runtime’s list gets private text.',
    file: 'src/brains/models/local-runtime/local-runtime.ts',
    find: 'return found.hasModel ? null',
    replace: 'return found ? null',
  },
  {
    name: 'A public look shows a model to be here.',
    file: 'src/brains/models/local-runtime/local-runtime.ts',
    find: "if (listFailure === null && sensitivity === 'private')",
    replace: 'if (listFailure === null)',
  },
  {
    name: 'A private request goes to any address.',
    file: 'src/brains/models/provider-call.ts',
    find: "nearOnly: request.sensitivity === 'private',",
    replace: 'nearOnly: false,',
  },
  {
    name: 'A model that was seen to leave the machine is trusted again.',
    file: 'src/brains/models/relay-detection.ts',
    find: "if (this.#state === 'unknown') this.#state = 'here';",
    replace: "this.#state = 'here';",
  },
  {
    name: 'A model gets one call more at once than it may.',
    file: 'src/brains/models/build-model.ts',
    find: 'if (this.#inFlight < this.#bound) return this.#pass();',
    replace: 'if (this.#inFlight <= this.#bound) return this.#pass();',
  },
  {
    name: 'A call to a model goes on when its turn is over.',
    file: 'src/brains/models/provider-call.ts',
    find: 'deadlineAt: earlier(ownEnd, request.deadlineAt),',
    replace: 'deadlineAt: ownEnd,',
  },
  {
    name: 'The local runtime forgets the beginning of a long conversation without a word.',
    file: 'src/brains/models/local-runtime/wire.ts',
    find: 'truncate: false',
    replace: 'truncate: true',
  },
  {
    name: 'The local runtime is told how much to read with some requests only.',
    file: 'src/brains/models/local-runtime/wire.ts',
    find: '...(contextTokens !== null && { num_ctx',
    replace: '...(contextTokens !== null && sendsThink && { num_ctx',
  },
  {
    name: 'Each message moves the beginning of a prompt that is too long.',
    file: 'src/brains/models/context-trimmer.ts',
    find: 'const half = history / 2;',
    replace: 'const half = history;',
  },
  {
    name: 'A model elsewhere is shown the private turns of a conversation.',
    file: 'src/brains/privacy-filter.ts',
    find: "(view.private || turn.sensitivity === 'public') && ",
    replace: '',
    seenBy: ['test/privacy/private-for-good.test.ts'],
  },
  {
    name: 'A private message that outlives its brain is asked of a cloud model.',
    file: 'src/brains/responder.ts',
    find: 'strictest(this.sensitivity, turn.message.sensitivity)',
    replace: 'this.sensitivity',
    seenBy: ['test/privacy/private-for-good.test.ts'],
  },
  {
    name: 'What a local model says of something private is public.',
    file: 'src/brains/responder.ts',
    find: 'if (chosen?.view.private === true) turnContext.becomePrivate();',
    replace: '',
    seenBy: ['test/privacy/private-for-good.test.ts'],
  },
  {
    name: 'A model elsewhere is shown private notes.',
    file: 'src/brains/agent/agent-turn.ts',
    find: "view.private ? notes : notes.filter(({ sensitivity }) => sensitivity === 'public')",
    replace: 'view ? notes : []',
    seenBy: ['test/privacy/private-for-good.test.ts'],
  },
  {
    name: 'A message that the model refuses is shown with every message after it.',
    file: 'src/brains/privacy-filter.ts',
    find: 'if (view.unanswered && textFailures.has(kind))',
    replace: 'if (false)',
    seenBy: ['test/models/refused-message.slow.test.ts'],
  },
  {
    name: 'A message that the model refuses fails every turn after it once.',
    file: 'src/brains/responder.ts',
    find: 'turnContext.leaveOut([newest]);',
    replace: '',
    seenBy: ['test/models/refused-message.slow.test.ts'],
  },
  {
    name: 'An agent shows what became private to the next model, wherever that is.',
    file: 'src/brains/agent/models.ts',
    find: 'filterMembers(sensitivity, this.#candidates)',
    replace: "filterMembers('public', this.#candidates)",
    seenBy: ['src/brains/agent/failover.test.ts'],
  },
  {
    name: 'An agent asks a model first that has failed in this turn.',
    file: 'src/brains/agent/models.ts',
    find: 'this.#candidates = [...healthy, ...failing];',
    replace: 'this.#candidates = [...failing, ...healthy];',
    seenBy: ['src/brains/agent/failover.test.ts'],
  },
];
