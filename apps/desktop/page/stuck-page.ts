/** What no restart mends: what is in the way, and the button that does what a person would do. */
import type { ApplicationFacts, Stuck, StuckProblem } from '../desktop.ts';
import type { Earlier } from '../repairs/repairs.ts';
import { linesOf, link, paragraph, press, row, section, timeOf } from './frame.ts';
import { html, type Markup } from './markup.ts';

type Of<O extends Stuck['of']> = Extract<Stuck, { readonly of: O }>;
type Body = { readonly title: string; readonly body: readonly Markup[] };

export function stuckPage(
  why: Stuck,
  earlier: readonly Earlier[],
  facts: Pick<ApplicationFacts, 'config'>,
): Body {
  switch (why.of) {
    case 'config':
      return config(why, earlier, facts);
    case 'secrets':
      return secrets(why);
    case 'address':
      return address(why);
    case 'in_use':
      return inUse(why);
    case 'other':
      return other(why, earlier);
    default:
      return why satisfies never;
  }
}

const again = press('restart', 'Try again');

function config(
  { problems }: Of<'config'>,
  earlier: readonly Earlier[],
  { config: file }: Pick<ApplicationFacts, 'config'>,
): Body {
  const what = section(
    'What is wrong',
    html`<p>svc cannot start with its configuration, <code>${file}</code>.</p>`,
    problemList(problems),
    row(link('configuration', 'Change it here', true), again),
  );
  return { title: 'The configuration needs a correction', body: [what, ...takeBack(earlier)] };
}

export function problemList(problems: readonly StuckProblem[]): Markup {
  const items = problems.map(({ path, line, message, remedy }) => {
    const place = [line > 0 ? `line ${line}` : '', path].filter((part) => part !== '').join(', ');
    const where = place === '' ? null : html`<strong>${place}</strong>: `;
    return html`<li>${where}${message.replace(/\.$/, '')}. ${remedy}</li>`;
  });
  return html`<ul>
    ${items}
  </ul>`;
}

/** Configurations of before, the newest first. */
export function takeBack(earlier: readonly Earlier[]): readonly Markup[] {
  if (earlier.length === 0) return [];
  const items = earlier.map(({ revision, savedAt }) => {
    const button = press('take-back', `Use the one of ${timeOf(savedAt)}`, { data: { revision } });
    return html`<li>${button}</li>`;
  });
  const what = section(
    'Earlier configurations',
    paragraph(
      'svc keeps configurations that were in use before. What lies there now is kept as well.',
    ),
    html`<ul>
      ${items}
    </ul>`,
  );
  return [what];
}

function secrets({ missing, keychain, told }: Of<'secrets'>): Body {
  const title = missing.length === 1 ? 'A secret is missing' : 'Secrets are missing';
  const what = section(
    'What is missing',
    paragraph(
      'svc cannot start without what its configuration names here: a key or a token that was ' +
        'given to you, or that you choose.',
    ),
    html`<ul>
      ${missing.map(
        ({ name, usedAt, why }) =>
          html`<li><strong>${name}</strong>: ${why} It is used at ${usedAt.join(', ')}.</li>`,
      )}
    </ul>`,
  );
  switch (keychain) {
    case 'ready':
      return { title, body: [what, paste(missing, true, keptThere)] };
    case 'locked':
      return {
        title: 'The keychain is locked',
        body: [unlock, what, paste(missing, false, keptThere)],
      };
    case 'no_bus':
    case 'no_provider':
    case 'unavailable': {
      const none = section(
        'There is no keychain',
        html`<p class="soft">${told ?? 'svc could not reach the keychain of this system.'}</p>`,
      );
      return { title, body: [what, paste(missing, true, inMemoryOnly), none] };
    }
    case 'no_answer':
    case 'denied': {
      const body = section(
        'The keychain cannot be used',
        paragraph(told ?? 'svc could not reach the keychain of this system.'),
        press('restart', 'Try again', { isMain: true }),
      );
      return { title, body: [what, body] };
    }
    default:
      return keychain satisfies never;
  }
}

/** In place of what is told at a terminal of a keychain that is locked. */
const unlock: Markup = section(
  'Unlock it',
  paragraph(
    'What svc needs may be in the keychain of this system, which is locked. The system asks ' +
      'for its password in a window of its own, once.',
  ),
  row(press('unlock', 'Unlock the keychain', { isMain: true }), again),
);

const keptThere =
  'It goes into the keychain of this system, where svc finds it from now on. No page shows it ' +
  'again.';

const inMemoryOnly =
  'No keychain is here that could keep it. So svc has it until it is quit, and asks for it again ' +
  'the next time. No page shows it again.';

/** The name of a field tells its place in what is missing: no page has to be trusted with names. */
function paste(missing: Of<'secrets'>['missing'], isMain: boolean, kept: string): Markup {
  const fields = missing.map(
    ({ name }, index) =>
      html`<label class="field"
        >Value of ${name}
        <input type="password" name="value-${index}" autocomplete="off" spellcheck="false"
      /></label>`,
  );
  const look = isMain ? html` class="main"` : null;
  return section(
    'Paste it here',
    paragraph(kept),
    html`<form method="post" action="secrets" autocomplete="off">${fields}
<div class="row"><button${look}>Keep and start</button></div></form>`,
    isMain ? again : html``,
  );
}

function address({ field, address: text, message }: Of<'address'>): Body {
  const what = section(
    'What is in the way',
    paragraph(`svc wants to be reached at ${text}, and cannot: ${sentence(message)}`),
    paragraph(
      'It can take another number for the port. Whoever sends to this address by themselves ' +
        'then needs the new one, which is told here.',
    ),
    row(press('other-port', 'Use another port', { isMain: true }), again),
    html`<p class="soft">In the configuration: ${field}</p>`,
  );
  return { title: 'An address is taken', body: [what] };
}

function inUse({ message }: Of<'in_use'>): Body {
  const what = section(
    'What is in the way',
    paragraph(sentence(message)),
    paragraph(
      'One svc at a time can use its database. End the other one first; where it runs in a ' +
        'terminal, Ctrl-C there ends it.',
    ),
    press('restart', 'Try again', { isMain: true }),
  );
  return { title: 'svc already runs', body: [what] };
}

function other({ code, message }: Of<'other'>, earlier: readonly Earlier[]): Body {
  const what = section(
    'What is in the way',
    message.includes('\n')
      ? linesOf(message.split('\n'), 'What is in the way')
      : paragraph(sentence(message)),
    row(
      press('restart', 'Try again', { isMain: true }),
      link('log', 'Read the log'),
      link('configuration', 'Change the configuration'),
    ),
    html`<p class="soft">Its code: ${code}</p>`,
  );
  return { title: 'svc cannot start', body: [what, ...takeBack(earlier)] };
}

/** What other programs say may lack its full stop. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
