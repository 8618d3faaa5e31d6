/** As much of a browser's document as a page needs that builds itself of text. */
export class FakeElement {
  readonly tag: string;
  readonly dataset: Record<string, string> = {};
  className = '';
  hidden = false;
  childNodes: (FakeElement | string)[] = [];
  readonly #attributes: Record<string, string> = {};
  /** How often its content was replaced. */
  changes = 0;

  constructor(tag: string) {
    this.tag = tag;
  }

  get textContent(): string {
    return this.childNodes
      .map((child) => (typeof child === 'string' ? child : child.textContent))
      .join(' ');
  }

  set textContent(text: string) {
    this.replaceChildren(text);
  }

  setAttribute(name: string, value: string): void {
    this.#attributes[name] = value;
  }

  append(...children: (FakeElement | string)[]): void {
    this.childNodes.push(...children);
  }

  replaceChildren(...children: (FakeElement | string)[]): void {
    this.changes++;
    this.childNodes = children;
  }

  cloneNode(): FakeElement {
    return new FakeElement(this.tag);
  }

  isEqualNode(other: FakeElement): boolean {
    return JSON.stringify(this.shape()) === JSON.stringify(other.shape());
  }

  shape(): unknown {
    const children = this.childNodes.map((child) =>
      typeof child === 'string' ? child : child.shape(),
    );
    return [this.tag, this.dataset, this.className, this.#attributes, children];
  }
}

/** @param html the page, whose ids make the elements that can be asked for */
export function fakeDocument(html: string) {
  const ids = [...html.matchAll(/<(\w+)[^>]*\sid="([\w-]+)"/g)];
  const elements = new Map(ids.map(([, tag, id]) => [id!, new FakeElement(tag!)]));
  const watchers: (() => void)[] = [];
  return {
    hidden: false,
    title: '',
    getElementById: (id: string) => elements.get(id) ?? null,
    createElement: (tag: string) => new FakeElement(tag),
    addEventListener: (name: string, act: () => void) => {
      if (name === 'visibilitychange') watchers.push(act);
    },
    turn(hidden: boolean) {
      this.hidden = hidden;
      for (const act of watchers) act();
    },
    text: (id: string) => elements.get(id)!.textContent,
    element: (id: string) => elements.get(id)!,
  };
}
