/** Faults of admin/, of the events behind it, and of the pages in web/. */
import type { Fault } from './fault.ts';

export const admin: readonly Fault[] = [
  {
    name: 'Any bearer is the administrator’s.',
    file: 'src/admin/http/auth.ts',
    find: " && access.kind === 'bearer' && access.matches(token);",
    replace: " && access.kind === 'bearer';",
  },
  {
    name: 'What people wrote is shown to who has no bearer.',
    file: 'src/admin/http/request-guard.ts',
    find: "return route.principal === 'reader' ? null",
    replace: "return route.method === 'GET' ? null",
  },
  {
    name: 'A page from elsewhere writes with the operator’s bearer.',
    file: 'src/admin/http/request-guard.ts',
    find: "if (route.method !== 'GET' && isForeign(",
    replace: "if (route.method === 'DELETE' && isForeign(",
  },
  {
    name: 'A page whose host name was bent to this machine reads along.',
    file: 'src/lib/known-host.ts',
    find: 'return name !== null && (ownNames.has(name) || isAllowedHost(name, allowed));',
    replace: 'return name !== null || isAllowedHost(host, allowed);',
  },
  {
    name: 'A write without If-Match changes whatever is there.',
    file: 'src/admin/http/request-guard.ts',
    find: 'if (given.length === 0) return requestBodyRefusals.ifMatchMissing;',
    replace: "if (given.length === 0) return '';",
  },
  {
    name: 'Nobody knows who read what people wrote.',
    file: 'src/admin/http/request-guard.ts',
    find: "await (view === '' ? this.#audit(row) :",
    replace: 'void (row !== null ? null :',
  },
  {
    name: 'One row of the audit opens what people wrote for ever.',
    file: 'src/admin/http/request-guard.ts',
    find: 'row.at - known.at < viewMs && ',
    replace: '',
  },
  {
    name: 'A write that failed is missing in the audit.',
    file: 'src/admin/http/request-guard.ts',
    find: 'await this.#audit({ ...use, at: this.#records.now(), reason: reasonIn(values) });',
    replace:
      'if (status < 400)\n        ' +
      'await this.#audit({ ...use, at: this.#records.now(), reason: reasonIn(values) });',
  },
  {
    name: 'A warning tells folders of this machine to who has no bearer.',
    file: 'src/admin/http/request-guard.ts',
    find: 'redactForReader({ code, path }: WarningStatus): WarningStatus {',
    replace:
      'redactForReader(whole: WarningStatus): WarningStatus {\n' +
      '  const { code, path } = whole;\n  if (code !== null) return whole;',
  },
  {
    name: 'The words of a bug’s error are answered to who asked.',
    file: 'src/admin/http/respond.ts',
    find: "'Something went wrong in svc itself; its log says more.'",
    replace: 'String((error as Error).message)',
  },
  {
    name: 'A secret is taken where the admin server listens for other machines.',
    file: 'src/admin/http/request-guard.ts',
    find: 'const isHere = this.#settings.loopback && isAskedHere(',
    replace: 'const isHere = isAskedHere(',
  },
  {
    name: 'Whoever comes by a proxy passes for somebody at this machine.',
    file: 'src/admin/http/auth.ts',
    find: 'if (ofProxies.some((name) => headersDistinct[name] !== undefined)) return false;',
    replace: '',
  },
  {
    name: 'A secret that was put into a path stands in the audit.',
    file: 'src/admin/http/request-guard.ts',
    find: 'given.length <= parameter.charactersMax && !isWrong ? given',
    replace: 'given.length <= parameter.charactersMax ? given',
  },
  {
    name: 'An answer says back how a value begins that was no text of JSON’s form.',
    file: 'src/admin/http/request-guard.ts',
    find: 'if (error instanceof SyntaxError) return refused(requestBodyRefusals.notJson);',
    replace:
      'if (error instanceof SyntaxError)\n      ' +
      "return refused(problem(400, 'invalid_json', error.message));",
  },
  {
    name: 'Changes of the keychain overtake one another.',
    file: 'src/app/config/secrets.ts',
    find: 'return await this.#changes.do(async',
    replace: 'return await ((act: () => Promise<SecretChange>) => act())(async',
  },
  {
    name: 'Nobody is told that a new value needs a restart.',
    file: 'src/app/config/secrets.ts',
    find: 'foundAt === null ? isUsed : setAt > foundAt',
    replace: 'foundAt === null && isUsed && setAt > 0',
  },
  {
    name: 'Any number of listeners follow the events.',
    file: 'src/admin/http/live.ts',
    find: 'all.length >= listenersMax',
    replace: 'this.#listeners.size < 0',
  },
  {
    name: 'A frame tells the reply’s text to whoever listens.',
    file: 'src/telemetry/live-events.ts',
    find: "const model = decision.kind === 'reply' ? decision.model : null;",
    replace: "const model = decision.kind === 'reply' ? (decision.text as never) : null;",
  },
  {
    name: 'What a parser quotes of a message stands in the log.',
    file: 'src/telemetry/events.ts',
    find: 'const quotes = !(error instanceof Error) || error instanceof SyntaxError;',
    replace: 'const quotes = !(error instanceof Error);',
  },
  {
    name: 'A duplicate counts as one more accepted message.',
    file: 'src/telemetry/events.ts',
    find: 'if (e.duplicate) {',
    replace: 'if (e.duplicate === null) {',
  },
  {
    name: 'A compressed page is sent to who does not take it.',
    file: 'src/admin/routes/pages.ts',
    find: 'if (!accepts(accepted, coding)) continue;',
    replace: '',
    seenBy: ['src/admin/http/server.test.ts'],
  },
  {
    name: 'Readers take the places of the event stream that are the operator’s.',
    file: 'src/admin/http/live.ts',
    find: 'readers >= readersMax',
    replace: 'readers >= listenersMax',
  },
];

export const web: readonly Fault[] = [
  {
    name: 'A draft with a secret in it is kept in the browser.',
    file: 'web/builder/document/kept.ts',
    find: "if (code === 'value_not_name') return path;",
    replace: '',
  },
  {
    name: 'What another person applied is overwritten without a question.',
    file: 'web/builder/review/merge.ts',
    find: "picks.get(conflict.path) === 'mine' ? conflict.mine : conflict.theirs",
    replace: 'conflict.mine',
  },
  {
    name: 'An entry that is taken out of a text leaves its comma behind.',
    file: 'src/config/edit/edit-text.ts',
    find: 'splice(text, entries[at - 1]!.end, place.end,',
    replace: 'splice(text, place.key, place.end,',
  },
  {
    name: 'The builder shows a cloud model of a private brain as one that is asked.',
    file: 'web/builder/document/privacy-filter.ts',
    find: "if (isPrivate && isDropped(one)) return { kind: 'never',",
    replace: "if (!isPrivate && isDropped(one)) return { kind: 'never',",
  },
  {
    name: 'An old answer wins over what an event told since.',
    file: 'web/live/messages/message-list.ts',
    find: 'if ((this.#movedAt.get(row.id) ?? -Infinity) < askedAt) this.#put(row);',
    replace: 'this.#put(row);',
  },
  {
    name: 'The live view is green though a channel has failed.',
    file: 'web/live/overview/cut-channels.ts',
    find: "return state === 'failed' ||",
    replace: "return state === 'starting' ||",
  },
  {
    name: 'A channel that its platform leaves without messages is a notice for ever.',
    file: 'web/live/overview/cut-channels.ts',
    find: 'now - (since ?? now) >= cutAfterMs',
    replace: 'now - (since ?? now) < 0',
  },
  {
    name: 'A receiver that answers nothing is green until its tries have failed.',
    file: 'src/telemetry/delivery-meters.ts',
    find: 'const arrives = this.#next(silentSince !== null, time);',
    replace: 'const arrives = this.#next(false, time);',
  },
  {
    name: 'A receiver that refuses a few replies for their content is red.',
    file: 'src/telemetry/delivery-meters.ts',
    find: 'other >= noneAfter.failed) return true;',
    replace: 'failed >= noneAfter.failed) return true;',
  },
  {
    name: 'The state of a model changes with each call.',
    file: 'src/domain/health.ts',
    find: 'export const holdMs = 30_000;',
    replace: 'export const holdMs = 0;',
  },
  {
    name: 'A model that failed and is no longer asked fails for ever.',
    file: 'src/telemetry/call-meters.ts',
    find: "return this.#change('unknown', time, shownAt, shownAt);",
    replace: 'return false;',
  },
  {
    name: 'The time since which a model fails begins anew when the trouble eases.',
    file: 'src/domain/health.ts',
    find: "was.standing === 'failing' && standing === 'degraded';",
    replace: "was.standing === 'failing' && standing === 'failing';",
  },
  {
    name: 'A brain of which every model fails is green until a turn has ended.',
    file: 'src/admin/status.ts',
    find: "({ standing }) => standing === 'failing');",
    replace: "({ standing }) => standing === 'unknown');",
  },
  {
    name: 'A name hides what turns its writing direction.',
    file: 'web/kit/visible.ts',
    find: '\\p{Default_Ignorable_Code_Point}',
    replace: '',
  },
  {
    name: 'The page applies a draft without saying which revision it changes.',
    file: 'web/kit/api.ts',
    find: 'headers.set(\'if-match\', `"${ifMatch}"`);',
    replace: "headers.delete('if-match');",
  },
  {
    name: 'A token that is refused is sent on and on.',
    file: 'web/kit/token.ts',
    find: '(hasLapsed ? null : token)',
    replace: 'token',
  },
  {
    name: 'Applying the rest takes along what needs a restart.',
    file: 'web/builder/review/apart.ts',
    find: 'return edited ?? so;',
    replace: 'return so;',
  },
  {
    name: 'A template takes the place of the listener that somebody has.',
    file: 'web/builder/templates/using.ts',
    find: '.map(({ key, value }) => there.get(key) ?? value)',
    replace: '.map(({ value }) => value)',
  },
  {
    name: 'The preflight says fine of an address that another program has.',
    file: 'src/app/preflight/preflight.ts',
    find: "if (held.kind === 'held') {",
    replace: "if (held.kind !== 'held') return ok(subject, 'can be listened on');\n      {",
  },
];
