/** What all of the shell's pages have around them, and the parts that they are made of. */
import { html, type Markup } from './markup.ts';
import { style } from './style.ts';

/** What an act led to, for the page that is shown next. */
export type Notice = { readonly is: 'good' | 'bad'; readonly text: string };

/** The pages that lead to each other, by the end of their address. */
const rooms = [
  ['./', 'This application'],
  ['log', 'Log'],
  ['configuration', 'Configuration'],
  ['settings', 'Settings'],
] as const;
export type Room = (typeof rooms)[number][0];

export type PageParts = {
  readonly title: string;
  readonly body: Markup | readonly Markup[];
  /** null: it belongs to none, and leads nowhere. */
  readonly room: Room | null;
  /** Where what comes next is asked for; null: nothing comes by itself. */
  readonly next?: string | null;
  readonly notice?: Notice | null;
};

/**
 * A page that waits asks at once for what comes next, and is shown until that is answered: so
 * nothing is loaded anew that has not changed, and what has the focus keeps it. (Playwright looks
 * at no page that is about to be left: tests look at the answer of the server meanwhile.)
 * Format: HTML, the refresh pragma.
 */
export function pageOf({ title, body, room, next = null, notice = null }: PageParts): string {
  const refresh =
    next === null ? null : html`<meta http-equiv="refresh" content="0; url=${next}" />`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${refresh}
        <title>${title === 'svc' ? title : `${title} · svc`}</title>
        <link rel="icon" href="data:," />
        ${styleElement}
      </head>
      <body>
        ${room === null ? null : navigation(room)}
        <main>
          <h1>${title}</h1>
          ${notice === null ? null : told(notice)} ${body}
        </main>
      </body>
    </html> `;
  return page.html;
}

/** Byte for byte what the policy names by its hash. */
const styleElement: Markup = { html: `<style>${style}</style>` };

function navigation(here: Room): Markup {
  const links = rooms.map(([address, name]) =>
    address === here
      ? html`<li><a href="${address}" aria-current="page">${name}</a></li>`
      : html`<li><a href="${address}">${name}</a></li>`,
  );
  return html`<nav aria-label="This application">
    <ul>
      ${links}
    </ul>
  </nav>`;
}

export function told({ is, text }: Notice): Markup {
  return html`<p class="told ${is}" role="${is === 'bad' ? 'alert' : 'status'}">${text}</p>`;
}

export function section(title: string, ...deps: readonly Markup[]): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${deps}
  </section>`;
}

export function paragraph(text: string): Markup {
  return html`<p>${text}</p>`;
}

/** `data` goes along with the press, by name. */
export function press(
  action: string,
  name: string,
  { isMain = false, data = {} }: { isMain?: boolean; data?: Readonly<Record<string, string>> } = {},
): Markup {
  const hidden = Object.entries(data).map(
    ([key, value]) => html`<input type="hidden" name="${key}" value="${value}" />`,
  );
  const look = isMain ? html` class="main"` : null;
  const button = html`<button${look}>${name}</button>`;
  return html`<form method="post" action="${action}">${hidden}${button}</form>`;
}

export function link(address: string, name: string, isMain = false): Markup {
  return html`<a class="button${isMain ? ' main' : ''}" href="${address}">${name}</a>`;
}

export function row(...deps: readonly Markup[]): Markup {
  return html`<div class="row">${deps}</div>`;
}

/** Lines of a program, which may be long: the box can be reached and scrolled by keys. */
export function linesOf(lines: readonly string[], name: string): Markup {
  return html`<pre tabindex="0" role="region" aria-label="${name}">${lines.join('\n')}</pre>`;
}

/** In the time of this machine, which is the person's: pages without a script cannot tell it. */
export function timeOf(at: number): string {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}
