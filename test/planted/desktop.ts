/** Faults of the desktop application: its own pages, and the effects of their buttons. */
import type { Fault } from './fault.ts';

export const desktop: readonly Fault[] = [
  {
    name: 'A link into the application is good for any number of uses, and nobody is told.',
    file: 'apps/desktop/page/page-server.ts',
    find: "if (traded.kind !== 'refused' || traded.why !== 'used_twice') return;",
    replace: 'return;',
    seenBy: ['test/desktop/page.test.ts'],
  },
  {
    name: 'Whoever came first by a link that two have is let in.',
    file: 'apps/desktop/page/page-server.ts',
    find: "if (ended.aborted && this.signIn.withdrawn === 'code_used_twice') {",
    replace: 'if (ended.aborted && url !== null) {',
    seenBy: ['test/desktop/page.test.ts'],
  },
  {
    name: 'Any key opens the page of the application.',
    file: 'apps/desktop/page/page-server.ts',
    find: 'if (!isRoom || !matches(secret)) return nothingHere;',
    replace: 'if (!isRoom) return nothingHere;',
    seenBy: ['test/desktop/page.test.ts'],
  },
  {
    name: 'What was asked for before the page moved leads in.',
    file: 'apps/desktop/page/page-server.ts',
    find: 'return ended.signal.aborted ? nothingHere : answer;',
    replace: 'return answer;',
    seenBy: ['test/desktop/page.test.ts'],
  },
  {
    name: 'What shows a folder gets every secret of the environment.',
    file: 'apps/desktop/repairs/make-repairs.ts',
    find: 'openInBrowser(opener, windowEnvironment(env))',
    replace: 'openInBrowser(opener, env)',
    seenBy: ['test/desktop/page-acts.test.ts'],
  },
  {
    name: 'A page from elsewhere presses the buttons of the application.',
    file: 'apps/desktop/page/page-server.ts',
    find: 'if (isForeign(request, this.#host, [])) return foreign;',
    replace: '',
    seenBy: ['test/desktop/page.test.ts'],
  },
  {
    name: 'A configuration that is changed on the page of the application is lost.',
    file: 'apps/desktop/repairs/make-repairs.ts',
    find: 'const fault = await this.#keep(disk.text);',
    replace: 'const fault: RepairFault | null = null;',
    seenBy: ['test/desktop/page-acts.test.ts'],
  },
  {
    name: 'What is shown on the page of the application is read as markup.',
    file: 'apps/desktop/page/frame.ts',
    find: 'return escape(part.replace(invisible, byNumber));',
    replace: 'return part.replace(invisible, byNumber);',
  },
];
