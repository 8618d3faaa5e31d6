/** Faults of the commands, the preflight, and the composition of the service. */
import type { Fault } from './fault.ts';

export const cli: readonly Fault[] = [
  {
    name: 'A supervisor restarts svc again and again over a problem of its configuration.',
    file: 'src/cli/cli.ts',
    find: 'config: 78',
    replace: 'config: 1',
  },
  {
    name: 'The check says that all is fine though a provider does not answer.',
    file: 'src/cli/frame/report.ts',
    find: 'return failed.length > 0 ? exitCode.failed : exitCode.fine;',
    replace: 'return exitCode.fine;',
  },
  {
    name: 'Anything but a no deletes what people wrote.',
    file: 'src/cli/ledger/table.ts',
    find: ".trim() === 'yes'",
    replace: ".trim() !== 'no'",
    seenBy: ['test/cli/delete-conversation.test.ts'],
  },
  {
    name: 'What a command deleted from the database of a stopped svc is in no audit.',
    file: 'src/app/config/audited.ts',
    find: 'await note({ ...done, status: 200, reason: null });',
    replace: '',
    seenBy: ['test/cli/records-command.test.ts'],
  },
  {
    name: 'Who says one thing takes the replies that others wait for.',
    file: 'src/app/webhook-client/one-reply-receiver.ts',
    find: 'if (reply.inReplyTo === null || reply.inReplyTo !== id) return false;',
    replace: 'if (reply.inReplyTo === null || id === undefined) return false;',
    seenBy: ['test/cli/send-receive.slow.test.ts'],
  },
  {
    name: 'Anybody may post a reply to who waits for one.',
    file: 'src/app/webhook-client/reply-receiver.ts',
    find: 'if (!isFromSvc(request, body.text)) return end(401);',
    replace: '',
    seenBy: ['test/cli/send-receive.slow.test.ts'],
  },
  {
    name: 'A mistyped SVC_CONFIG runs svc on the configuration of somebody else.',
    file: 'src/cli/frame/config-file.ts',
    find: "if (named !== '') return namedBy('variable', named, cwd);",
    replace:
      "if (named !== '' && isThere(resolve(cwd, named))) return namedBy('variable', named, cwd);",
    seenBy: ['test/config/which-file.test.ts'],
  },
  {
    name: 'A terminal shows a line for each of a thousand messages a second.',
    file: 'src/cli/frame/turn-lines.ts',
    find: 'if (this.#room < 1) return false;',
    replace: '',
  },
  {
    name: 'One signal that comes both ways ends svc at once.',
    file: 'src/cli/frame/signals.ts',
    find: 'if (count > (there.get(signal) ?? 0)) this.#act(signal);',
    replace: 'if (there !== here) this.#act(signal);',
    seenBy: ['test/cli/launcher.slow.test.ts'],
  },
  {
    name: 'A program whose launcher was killed lives on for as long as its work takes.',
    file: 'src/cli/frame/signals.ts',
    find: "process.on('disconnect', onGone);",
    replace: "process.on('disconnect', () => stopping.abort());",
    seenBy: ['test/cli/launcher.slow.test.ts'],
  },
  {
    name: 'A command whose input is over ends before its model has answered, with 0.',
    file: 'src/main.ts',
    find: 'const hold = setInterval(() => {}, 0x7fffffff);',
    replace: 'const hold = setInterval(() => {}, 0x7fffffff).unref();',
    seenBy: ['test/cli/chat.test.ts'],
  },
  {
    name: 'A demo whose model does not run says that it is ready.',
    file: 'src/cli/demo/demo.ts',
    find: "mark === 'ok' ? null",
    replace: "mark !== 'ok' ? null",
  },
];

export const preflight: readonly Fault[] = [
  {
    name: 'An address for replies where nobody listens is told as fine.',
    file: 'src/app/preflight/preflight.ts',
    find: "resolve({ kind: 'failed', code });",
    replace: "resolve({ kind: 'connected', address: host });",
  },
  {
    name: 'The preflight asks a cloud model that the brain may never ask.',
    file: 'src/app/preflight/models.ts',
    find: "if (isPrivate && config.locality === 'cloud') {",
    replace: "if (!isPrivate && config.locality === 'cloud') {",
  },
  {
    name: 'A secret that is not set fails no preflight.',
    file: 'src/app/preflight/preflight.ts',
    find: 'return { ...refusing(name, message, describeHowToSet(one)), secret: true };',
    replace: 'return warning(name, message, describeHowToSet(one));',
  },
];

export const service: readonly Fault[] = [
  {
    name: 'A new configuration gives up at once what is under way.',
    file: 'src/app/running-config.ts',
    find: '    await this.#idleWithin(graceMs);\n',
    replace: '',
  },
  {
    name: 'Two connections of one bot are open at once while the configuration changes.',
    file: 'src/app/running-config.ts',
    find: 'connection.start(acceptOn(key), events, cluster, allStopped);',
    replace: 'connection.start(acceptOn(key), events, cluster, null && allStopped);',
  },
  {
    name: 'When one channel cannot be opened, the others stay open.',
    file: 'src/app/running-config.ts',
    find: 'if (!isOpen) await this.#close();',
    replace: '',
  },
  {
    name: 'A stop gives up what is in hand.',
    file: 'src/app/runtime.ts',
    find: 'await this.#untilIdle(withinMs, abandon);',
    replace: '',
    seenBy: ['test/messages/runtime.test.ts'],
  },
  {
    name: 'A service that stops takes messages in.',
    file: 'src/app/runtime.ts',
    find: '    ledger.closeIntake();\n',
    replace: '',
    seenBy: ['test/messages/runtime.test.ts'],
  },
  {
    name: 'A bug in one turn leaves its message claimed for ever.',
    file: 'src/app/runtime.ts',
    find: 'await deadLetterMessage(this.#deps, channel, claim).catch(',
    replace: 'await Promise.resolve([buryMessage, channel]).catch(',
  },
  {
    name: 'The order of the policy counts for nothing.',
    file: 'src/app/service.ts',
    find: 'rank: ranked.indexOf(index),',
    replace: 'rank: index + 0 * ranked.length,',
  },
  {
    name: 'A supervisor does not restart svc though its disk may be well again.',
    file: 'src/ledger/sqlite/files/problem.ts',
    find: "new Set(['storage_io', ",
    replace: 'new Set([',
    seenBy: ['test/chaos/failing-start.slow.test.ts'],
  },
  {
    name: 'Its health is fine while nothing can be accepted.',
    file: 'src/app/storage-alerts.ts',
    find: "    case 'full':\n      return { status: 'failing', reason",
    replace: "    case 'full':\n      return { status: 'ok', reason",
  },
];
