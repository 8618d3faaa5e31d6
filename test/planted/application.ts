/** Faults of the service as the core of an application. */
import type { Fault } from './fault.ts';

const core = ['test/desktop/core.test.ts'];

export const application: readonly Fault[] = [
  {
    name: 'A page on another machine signs in with a code.',
    file: 'src/admin/routes/application.ts',
    find: "    contentType: 'application/json',\n    onlyHere: true,\n",
    replace: "    contentType: 'application/json',\n",
    seenBy: ['src/admin/application.test.ts'],
  },
  {
    name: 'Whoever may read is told of the page that ends svc.',
    file: 'src/admin/routes/application.ts',
    find: "asker === 'operator' && isHere",
    replace: 'isHere',
    seenBy: ['src/admin/application.test.ts'],
  },
  {
    name: 'A read-only service hands out a token that opens nothing.',
    file: 'src/admin/routes/application.ts',
    find: 'token: canWrite ? traded.token : null',
    replace: 'token: traded.token',
    seenBy: ['src/admin/application.test.ts'],
  },
  {
    name: 'A code that the shell withdrew still lets in.',
    file: 'src/admin/http/sign-in.ts',
    find: "    this.#replaceOpen();\n    this.#withdraw('code_used_twice');",
    replace: "    this.#withdraw('code_used_twice');",
  },
  {
    name: 'Who was signed in has a second use of the link forgotten, by asking for new ones.',
    file: 'src/admin/http/sign-in.ts',
    find: "(one.state === 'used' && offeredAt - one.offeredAt < usedMs)",
    replace: 'false',
    seenBy: ['src/admin/http/sign-in.test.ts'],
  },
  {
    name: 'Who was signed in by a link that two used keeps the page of the application.',
    file: 'apps/desktop/core/service-core.ts',
    find: '    this.#link.withdrawn();\n',
    replace: '',
    seenBy: ['test/desktop/shell.slow.test.ts'],
  },
  {
    name: 'The token of the window counts on an address for other machines.',
    file: 'src/app/admin-server.ts',
    find: 'opener.open(others, null)',
    replace: 'opener.open(others, application)',
    seenBy: core,
  },
  {
    name: 'With an application, an address of the file that is taken is moved in silence.',
    file: 'src/app/admin-address.ts',
    find: 'address.given ? [address] : [address, ...own]',
    replace: '[address, ...own]',
  },
  {
    name: 'The window has another address after each start.',
    file: 'src/app/admin-address.ts',
    find: 'port === 0 ? [onLoopback(0)] : [onLoopback(port), onLoopback(0)]',
    replace: '[onLoopback(0)]',
  },
  {
    name: 'A webhook that is moved to the port of the admin server takes it over.',
    file: 'src/lib/listener.ts',
    find: '      const listener = make(host, port);\n      bound',
    replace:
      '      const listener = make(host, port);\n' +
      '      shared.set(`${host.toLowerCase()} ${port}`, listener);\n      bound',
  },
  {
    name: 'A service that cannot start ends before its shell knows why.',
    file: 'apps/desktop/core/service-core.ts',
    find: '    await endsWithin(this.#connected.promise, this.#times.shellMs);\n',
    replace: '',
  },
  {
    name: 'A shell that comes later is not told where the pages are.',
    file: 'apps/desktop/core/service-core.ts',
    find: ', ...this.#latest.values()];',
    replace: '];',
  },
  {
    name: 'Pages may ask for a window as often as they like.',
    file: 'apps/desktop/core/service-core.ts',
    find: '    this.#askedAt = now;\n',
    replace: '',
  },
  {
    name: 'Processes that svc starts take themselves for cores.',
    file: 'apps/desktop/core/orders.ts',
    find: '  Reflect.deleteProperty(env, variable);\n',
    replace: '',
  },
  {
    name: 'Other users of the machine can read the log.',
    file: 'src/lib/log-files.ts',
    find: '    fchmodSync(fd, 0o600);\n',
    replace: '',
  },
  {
    name: 'The log grows for ever.',
    file: 'src/lib/log-files.ts',
    find: 'if (bytes > 0 && bytes + chunk.length > this.#bytesMax)',
    replace: 'if (bytes < 0)',
  },
];
