/** Faults of the first run and of its page. */
import type { Fault } from './fault.ts';

export const setup: readonly Fault[] = [
  {
    name: 'The application begins a service whose secrets stand nowhere.',
    file: 'apps/setup/conditions.ts',
    find: ' && (written?.unset ?? []).length === 0;',
    replace: ';',
    seenBy: ['apps/desktop/first-run/first-run.test.ts'],
  },
  {
    name: 'The application ends a first run before its last page was shown.',
    file: 'apps/desktop/first-run/first-run.ts',
    find: 'if (session.goesOn && revision === session.revision) link.written();',
    replace: 'if (revision === session.revision) link.written();',
  },
  {
    name: 'The link of the first run lets in whoever has it, as often as they like.',
    file: 'src/admin/http/sign-in.ts',
    find: "if (code.state === 'used') {",
    replace: "if (code.state === 'used' && this.#token === null) {",
  },
  {
    name: 'A second use of the link leaves whoever used it first signed in.',
    file: 'src/admin/http/sign-in.ts',
    find: '      this.withdraw();\n      return',
    replace: "      this.#withdrawn = 'code_used_twice';\n      return",
  },
  {
    name: 'A link of yesterday still lets in.',
    file: 'src/admin/http/sign-in.ts',
    find: ' || this.#steady() - code.offeredAt > codeMs;',
    replace: ';',
  },
  {
    name: 'The page of the first run answers under any host name.',
    file: 'apps/setup/browser/wizard-server.ts',
    find: 'loopback: true,',
    replace: 'loopback: false,',
  },
  {
    name: 'Everybody on the machine can read the file with the link.',
    file: 'src/lib/person-browser.ts',
    find: '{ mode: 0o600,',
    replace: '{ mode: 0o644,',
    seenBy: ['src/cli/init/browser.test.ts'],
  },
  {
    name: 'Everybody on the machine can read the link in the arguments of the browser.',
    file: 'src/cli/init/browser.ts',
    find: 'openerFor(this.#file.path,',
    replace: 'openerFor(url,',
  },
  {
    name: 'The file with the link stays behind when svc ends.',
    file: 'src/cli/init/browser.ts',
    find: '      lines.close();\n      this.#clearCode();',
    replace: '      lines.close();',
  },
];
